"""Output of a command as a terminal of the client shows it: appended, each piece once (`acp.md §20`). Pure.

A client that announced `terminal_output` draws the terminal itself; it is told of it with the card, then of each piece
of output, then of the end, all in `_meta`. What has been appended cannot be taken back.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any, Final

PIECE_CHARS: Final = 128 * 1024
"""Characters of one piece, so that no line gets too long for a client."""

MOST_CHARS: Final = 10 * 1024 * 1024
"""Characters that are streamed into one terminal; a final output, which must fit a frame of the host, is no longer."""


class TerminalCard:
    """The terminal of one card. Its id is the card's."""

    def __init__(self, terminal_id: str, cwd: str) -> None:
        self.terminal_id = terminal_id
        self._cwd = cwd
        self._waiting: list[str] = []
        self._shown: list[str] = []
        self._length = 0

    def info(self) -> dict[str, Any]:
        """The `_meta` of the card's `tool_call`."""
        return {"terminal_info": {"terminal_id": self.terminal_id, "cwd": self._cwd}}

    @property
    def waiting(self) -> int:
        """How many characters wait."""
        return sum(map(len, self._waiting))

    def append(self, text: str) -> None:
        """The command has printed more."""
        if self._length + len(text) <= MOST_CHARS:
            self._length += len(text)
            self._waiting.append(text)

    def complete(self, output: str) -> bool:
        """The output is this, all in all: what has not been appended yet is. False if it does not continue what has
        been; then nothing is."""
        known = "".join([*self._shown, *self._waiting])
        if not output.startswith(known):
            return False
        self.append(output[len(known) :])
        return True

    def pieces(self) -> Iterator[dict[str, Any]]:
        """The `_meta` of one update for each piece that waits; none waits afterwards."""
        text = self._gather()
        for at in range(0, len(text), PIECE_CHARS):
            yield {"terminal_output": {"terminal_id": self.terminal_id, "data": text[at : at + PIECE_CHARS]}}

    def exit(self, facts: Any) -> dict[str, Any]:
        """The `_meta` of the card's end; `facts` are what is known of the result (`rawOutput`)."""
        known = facts if isinstance(facts, dict) else {}
        codes = (known.get("exitCode"), known.get("exit_code"))
        code = next((value for value in codes if type(value) is int and value >= 0), None)
        number = known.get("exitSignal")
        name = _signal_name(number) if type(number) is int else None
        return {"terminal_exit": {"terminal_id": self.terminal_id, "exit_code": code, "signal": name}}

    def _gather(self) -> str:
        """What waits, which counts as shown from now on."""
        text = "".join(self._waiting)
        self._waiting.clear()
        if text:
            self._shown.append(text)
        return text


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
