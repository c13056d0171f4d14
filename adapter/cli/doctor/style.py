"""How things look: on a terminal with symbols, rules and colours, elsewhere in words alone."""

from __future__ import annotations

from typing import Final

import msgspec
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

NARROW: Final = 60
"""Columns below which tables are written as blocks."""


class Look(msgspec.Struct, frozen=True):
    """`symbols`: whether there may be others than letters."""

    rules: bool
    symbols: bool

    def table(self) -> Table:
        """An empty table."""
        return Table(
            box=box.SIMPLE_HEAD if self.rules else None,
            show_edge=False,
            pad_edge=False,
            header_style="bold" if self.rules else "",
            padding=(0, 2 if not self.rules else 1, 0, 0),
        )

    def title(self, words: str) -> Text:
        """The heading of a part."""
        return Text(words if self.rules else words.upper(), style="bold")

    def with_symbol(self, symbol: str, word: str) -> str:
        """A word that a symbol may stand before."""
        return f"{symbol} {word}" if self.symbols else word

    def instead(self, symbol: str, word: str) -> str:
        """A symbol, or a word in its place."""
        return symbol if self.symbols else word

    def advice(self, sentence: str) -> Text:
        """What to do."""
        return Text(f"{self.instead('→', 'To do:')} {sentence}", style="cyan")


PLAIN: Final = Look(rules=False, symbols=False)


def look_of(console: Console) -> Look:
    """What the console can show."""
    if not console.is_terminal or console.is_dumb_terminal:
        return PLAIN
    return Look(rules=True, symbols=console.encoding.lower().startswith("utf"))
