"""The demo's terminal."""

from __future__ import annotations

import io
import sys
from typing import Final

from rich.console import Console
from rich.text import Text

_WIDTH: Final = 30
"""Columns of the left half of a line; the longest method's name and an arrow."""


class Screen:
    """The terminal: colours where there is one, plain text elsewhere."""

    def __init__(self) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")
        self._console = Console(highlight=False, soft_wrap=True)
        self._in_text = False

    def line(self, left: str = "", right: str = "", style: str = "") -> None:
        """One line: what happened, and more about it."""
        self.end_text()
        padded = left.ljust(_WIDTH) if right else left
        self._console.print(Text.assemble((padded, style), right))

    def text(self, piece: str) -> None:
        """A piece of an answer, at once."""
        self._console.print(Text(piece if self._in_text else f"  {piece}"), end="")
        self._in_text = True

    def end_text(self) -> None:
        """The next thing begins a line."""
        if self._in_text:
            self._console.print()
        self._in_text = False
