"""Playing a recording against a client: pure, one client frame in, the host's next lines out.

The client's requests come in the order of the recording. Its notifications and its receipts for server requests may
come early or late, because nothing in the protocol ties them to the requests around them. The host's lines keep their
one order; each follows as soon as the client frame recorded before it has come.
"""

from __future__ import annotations

from typing import Any

import msgspec
import orjson

from adapter.hosts.recorded.script import Line, Script, Shape, shape_of
from adapter.hosts.recorded.unify import Bindings, Difference, Unification, free_paths, minted_paths
from adapter.wire.envelope import INTERNAL_ERROR, PARSE_ERROR, Id, RpcError, failure_object, usable_id

EXPECTED_CHARACTERS = 2000
"""How much of the expected frame a mismatch shows."""


class Mismatch(msgspec.Struct, frozen=True):
    """A client frame that is not in the script. The script stays where it was.

    `expected` is the line it was held against, None if nothing of its kind is left. `reply` is the error line to
    write, None for a frame that is never answered. As a string it says where the frames part, without their values.
    """

    expected: Line | None
    difference: Difference
    reply: bytes | None = None

    def __str__(self) -> str:
        wanted = f"line {self.expected.number} was expected" if self.expected else "nothing like it was expected"
        return f"Off script: {wanted}; {self.difference.path or 'the frame'} {self.difference.problem}"


class Player:
    """One play of a script. Feed it the client's frames in the order they come."""

    def __init__(self, script: Script) -> None:
        self._lines = script.lines
        self._variables = script.manifest.variables
        self._ended = script.manifest.ended
        self._bindings = Bindings()
        self._waiting = [at for at, line in enumerate(self._lines) if line.direction == "client"]
        self._opening = next((at for at in self._waiting if self._lines[at].frame is not None), None)
        self._next = 0
        self._gate: int | None = None
        """The client's line nearest before the host's next one."""
        # Ids of the client's open requests by the recorded id, and of the host's requests that have no receipt yet.
        self._open: dict[Id, Id] = {}
        self._asked: set[Id] = set()

    def opening(self) -> list[bytes]:
        """What the host wrote before any client frame: nothing, if it kept to the protocol."""
        return self._play()

    def feed(self, frame: dict[str, Any]) -> list[bytes] | Mismatch:
        """The lines the host writes now that `frame` has come, without LF: byte for byte as recorded, except that
        what the client minted stands where the recorded client's stood."""
        shape = shape_of(frame)
        missed: list[tuple[int, Difference]] = []
        for at in self._candidates(frame, shape):
            trial = self._bindings.copy()
            difference = self._difference(at, frame, shape, trial)
            if difference is None:
                self._bindings = trial
                self._accept(at, frame, shape)
                return self._play()
            missed.append((at, difference))
        if not missed:
            return _mismatch(frame, None, Difference("", f"is one {shape} more than the recording has"))
        # Of several notifications the one of the same name tells most.
        alike = [(at, each) for at, each in missed if self._frame(at).get("method") == frame.get("method")]
        at, difference = (alike or missed)[0]
        return _mismatch(frame, self._lines[at], difference)

    def unreadable(self, problem: str) -> list[bytes] | Mismatch:
        """The client wrote a line that is no frame; `problem` says so in words that follow "the line". One stands for
        any other, where the recorded client wrote one too."""
        for at in self._waiting:
            if self._lines[at].frame is None:
                self._waiting.remove(at)
                return self._play()
        error = RpcError(PARSE_ERROR, f"Off script: the line {problem}", {"kind": "parseError", "retryable": False})
        expected = self._lines[self._waiting[0]] if self._waiting else None
        return Mismatch(expected, Difference("", problem), orjson.dumps(failure_object(None, error)))

    def unfinished(self) -> str | None:
        """What is left of the script, in a sentence; None at its end."""
        if self._waiting:
            line = self._lines[self._waiting[0]]
            return f"line {line.number} of the recording never came: {line.raw[:EXPECTED_CHARACTERS].rstrip()}"
        return None

    def ended(self) -> int | None:
        """How the recorded command ended, once it has come to that: as `subprocess` has it. None before, or if it
        did not end by itself."""
        over = self._next == len(self._lines) and not self._waiting
        return self._ended.code if over and self._ended is not None else None

    # -- matching

    def _candidates(self, frame: dict[str, Any], shape: Shape) -> list[int]:
        if self._opening is not None and self._opening in self._waiting:
            # Nothing comes before the frame that opens the dialogue.
            return [self._opening]
        of_shape = [at for at in self._waiting if shape_of(self._frame(at)) == shape]
        if shape == "request":
            return of_shape[:1]
        if shape == "answer":
            answered = usable_id(frame.get("id"))
            return [at for at in of_shape if answered is not None and self._frame(at).get("id") == answered][:1]
        return of_shape

    def _difference(self, at: int, frame: dict[str, Any], shape: Shape, trial: Bindings) -> Difference | None:
        recorded = self._frame(at)
        if shape_of(recorded) != shape:
            return Difference("", f"is {_a(shape)}, the recording opens with {_a(shape_of(recorded))}")
        if shape == "request":
            played_id = usable_id(frame["id"])
            if played_id is None:
                return Difference("id", "must be a string or an integer")
            if played_id in self._open.values():
                return Difference("id", "belongs to a request that is still open", f"is {played_id!r}")
        elif shape == "answer" and frame["id"] not in self._asked:
            return Difference("id", "names no request of the host that is open", f"is {frame['id']!r}")
        unification = Unification(trial, minted_paths(recorded), self._variables, free_paths(recorded))
        return unification.difference(_without_id(recorded), _without_id(frame))

    def _accept(self, at: int, frame: dict[str, Any], shape: Shape) -> None:
        self._waiting.remove(at)
        if shape == "request":
            self._open[self._frame(at)["id"]] = frame["id"]
        elif shape == "answer":
            self._asked.discard(frame["id"])

    def _frame(self, at: int) -> dict[str, Any]:
        return self._lines[at].frame or {}

    # -- the host's lines

    def _play(self) -> list[bytes]:
        played: list[bytes] = []
        while self._next < len(self._lines):
            line = self._lines[self._next]
            if line.direction == "client":
                self._gate = self._next
            elif self._gate in self._waiting:
                break
            else:
                played.append(self._restated(line))
            self._next += 1
        return played

    def _restated(self, line: Line) -> bytes:
        recorded = line.frame
        if recorded is None:
            return line.written()
        frame: dict[str, Any] = self._bindings.carry_over(recorded)
        frame_id = usable_id(recorded.get("id"))
        if frame_id is not None and shape_of(recorded) == "answer":
            frame["id"] = self._open.pop(frame_id, frame_id)
        elif frame_id is not None:
            # A request's id is the host's own, whatever a client's id of the same spelling stands for.
            frame["id"] = frame_id
            self._asked.add(frame_id)
        return line.written() if frame == recorded else orjson.dumps(frame)


def _mismatch(frame: dict[str, Any], expected: Line | None, difference: Difference) -> Mismatch:
    mismatch = Mismatch(expected, difference)
    if shape_of(frame) != "request":
        return mismatch
    details: dict[str, Any] = {"path": difference.path, "problem": difference.problem, "detail": difference.detail}
    if expected is not None:
        details |= {"line": expected.number, "expected": expected.raw[:EXPECTED_CHARACTERS].rstrip()}
    data = {"kind": "internal", "retryable": False, "reason": "offScript", "details": details}
    reply = failure_object(usable_id(frame["id"]), RpcError(INTERNAL_ERROR, str(mismatch), data))
    return Mismatch(expected, difference, orjson.dumps(reply))


def _without_id(frame: dict[str, Any]) -> dict[str, Any]:
    return {name: member for name, member in frame.items() if name != "id"}


def _a(shape: Shape) -> str:
    return f"an {shape}" if shape == "answer" else f"a {shape}"
