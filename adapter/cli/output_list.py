"""What can be read of a session, as a table for people and as tab-separated values for programs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from adapter.acp.text import one_line
from adapter.bridge.stored_output.references import AVAILABLE, OutputRef, references_of
from adapter.cli.output_target import STDOUT

COLUMNS: Final = ("item", "tool", "output", "bytes", "availability", "media type")

_LONGEST: Final = 1024
"""Characters of a value: ids may be that long, and have to be whole to be of use."""

_WIDEST: Final = 8 * _LONGEST


class Row(msgspec.Struct, frozen=True):
    """One output of an item."""

    item_id: str
    tool: str
    reference: OutputRef

    def cells(self) -> Sequence[str]:
        """What stands in the columns; no cell holds a tab or an end of line."""
        reference = self.reference
        values = (self.item_id, self.tool, reference.id, str(reference.byte_len), reference.availability)
        return [one_line(value, _LONGEST) for value in (*values, reference.media_type or "")]


def rows(items: Iterable[dict[str, Any]]) -> list[Row]:
    """A row for each output and each patch of the items."""
    return [Row(item["itemId"], _tool(item), reference) for item in items for reference in references_of(item)]


def _tool(item: dict[str, Any]) -> str:
    """The tool of an item, or what kind of item it is."""
    return next((word for word in (item.get("tool"), item.get("kind")) if isinstance(word, str) and word), "")


def show(found: Sequence[Row]) -> None:
    """Print the rows: a table on a terminal, else a line of names and a line for each row."""
    if os.isatty(STDOUT):
        return _print_table(_table(found))
    lines = ["\t".join(cells) for cells in (COLUMNS, *(row.cells() for row in found))]
    return typer.echo("\n".join(lines).encode("utf-8", "replace"))


def _print_table(table: Table) -> None:
    """In its full width, also where the terminal has to break the lines: a broken id could not be copied."""
    console = Console(highlight=False)
    unbounded = console.options.update(max_width=_WIDEST)
    console.width = max(console.width, Measurement.get(console, unbounded, table).maximum)
    console.print(table)


def _table(found: Sequence[Row]) -> Table:
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in COLUMNS:
        table.add_column(name, justify="right" if name == "bytes" else "left", no_wrap=True)
    for row in found:
        cells = list(row.cells())
        cells[3] = f"{row.reference.byte_len:,}"
        style = "" if row.reference.availability == AVAILABLE else "dim"
        table.add_row(*(Text(cell) for cell in cells), style=style)
    return table
