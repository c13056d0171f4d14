"""The recorded client's values against the playing client's: which differences are allowed, and what they stand for.

Two frames match if they are the same JSON value, whatever the order of members, except where a client makes a value up
(`msp.md §4`; in ACP ids of messages and of its terminals). There the recorded value and the played one are bound to
each other, and from then on the one must appear wherever the other does.
"""

from __future__ import annotations

import re
from collections.abc import Set
from typing import Any

import msgspec

# Who the client says it is, and where it is in a trace: any value will do, and nothing else depends on it.
_FREE = frozenset({"params.clientInfo", "params._meta"})
_IGNORED = frozenset({"trace"})

_MINTED = frozenset({"params.commandId", "params.uploadId", "params.messageId", "result.terminalId"})

_INDEX = re.compile(r"\[\d+\]")


class Difference(msgspec.Struct, frozen=True):
    """The first place where two frames differ. Only `detail` shows values, which may be anybody's secrets."""

    path: str
    problem: str
    detail: str = ""


class Bindings:
    """Recorded strings and what stands for them in this play. Minted ids are one to one; variables need not be."""

    def __init__(self) -> None:
        self._played: dict[str, str] = {}
        self._recorded: dict[str, str] = {}

    def copy(self) -> Bindings:
        """The same bindings, to try something on."""
        twin = Bindings()
        twin._played = self._played.copy()
        twin._recorded = self._recorded.copy()
        return twin

    def bind(self, recorded: str, played: str, *, one_to_one: bool) -> str | None:
        """Let `played` stand for `recorded`; in words what speaks against it, if something does."""
        bound = self._played.get(recorded)
        if bound is not None:
            return None if bound == played else "is not what it was before"
        if one_to_one:
            if self._recorded.get(played, recorded) != recorded:
                return "was used before; the recording has a new value here"
            self._recorded[played] = recorded
        self._played[recorded] = played
        return None

    def carry_over(self, value: Any) -> Any:
        """A recorded value with every bound string replaced; member names are left alone."""
        if isinstance(value, str):
            return self._played.get(value, value)
        if isinstance(value, dict):
            return {name: self.carry_over(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self.carry_over(item) for item in value]
        return value


def minted_paths(frame: dict[str, Any]) -> Set[str]:
    """Where a client frame holds ids that the client made up, besides its JSON-RPC id."""
    # A client may choose the id of the session it starts; everywhere else a session id is the host's.
    return _MINTED | {"params.sessionId"} if frame.get("method") == "session/start" else _MINTED


def free_paths(frame: dict[str, Any]) -> Set[str]:
    """Where a client frame may say anything."""
    # Which of its requests a client takes back it says with an id of its own, of any type.
    return _FREE | {"params.requestId"} if frame.get("method") == "$/cancel_request" else _FREE


class Unification(msgspec.Struct, frozen=True):
    """One attempt to match a client frame; binds in `bindings` as it goes, so give it a copy.

    `minted`, `variables` and `free` are paths; `[*]` in one stands for every entry of a list.
    """

    bindings: Bindings
    minted: Set[str]
    variables: Set[str]
    free: Set[str] = _FREE

    def difference(self, recorded: Any, played: Any, path: str = "") -> Difference | None:
        """The first difference that nothing allows."""
        if path in self.free:
            return None
        if path in self.minted or self._varies(path):
            return self._bound(recorded, played, path)
        if type(recorded) is not type(played):
            return _differs(path, recorded, played)
        if isinstance(recorded, dict):
            return self._object(recorded, played, path)
        if isinstance(recorded, list):
            return self._list(recorded, played, path)
        wanted = self.bindings.carry_over(recorded)
        return None if wanted == played else _differs(path, wanted, played)

    def _bound(self, recorded: Any, played: Any, path: str) -> Difference | None:
        if not isinstance(recorded, str) or not isinstance(played, str):
            # Only strings are carried back, so of anything else only its kind matters.
            return None if type(recorded) is type(played) else _differs(path, recorded, played)
        objection = self.bindings.bind(recorded, played, one_to_one=path in self.minted)
        return Difference(path, objection, f"is {played!r}") if objection else None

    def _object(self, recorded: dict[str, Any], played: dict[str, Any], path: str) -> Difference | None:
        skipped = _IGNORED if not path else frozenset()
        own = 0
        for name, member in recorded.items():
            here = f"{path}.{name}" if path else name
            if name in skipped:
                continue
            if name not in played:
                if self._varies(here):
                    # Its name may be a stand-in; the client may have its own.
                    own += 1
                    continue
                return Difference(here, "is missing")
            if found := self.difference(member, played[name], here):
                return found
        for name in played:
            here = f"{path}.{name}" if path else name
            if name not in recorded and name not in skipped and not self._varies(here):
                own -= 1
                if own >= 0:
                    continue
                return Difference(here, "is not in the recording")
        return None

    def _varies(self, path: str) -> bool:
        """Whether what is there is the client's own, or may be left out."""
        return path in self.free or path in self.variables or _INDEX.sub("[*]", path) in self.variables

    def _list(self, recorded: list[Any], played: list[Any], path: str) -> Difference | None:
        for at, (item, other) in enumerate(zip(recorded, played, strict=False)):
            if found := self.difference(item, other, f"{path}[{at}]"):
                return found
        if len(recorded) != len(played):
            return Difference(path, f"has {len(played)} entries, the recording {len(recorded)}")
        return None


def _differs(path: str, wanted: Any, played: Any) -> Difference:
    return Difference(path, "differs", f"must be {_shown(wanted)}, is {_shown(played)}")


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 120 else shown[:117] + "..."
