"""The figures of `docs/reliability.md`: each long command keeps what it measured, and the page is made of that.

`Figures.keep` is called at the end of a run (`make faults`, `make fuzz`, `make soak` and the like); it writes
`tests/figures/NAME.json` and the page anew. A figure is on the page only if a command has put it there.
"""

from __future__ import annotations

import os
import platform
import sys
from datetime import date
from pathlib import Path
from typing import Final

import msgspec

ROOT: Final = Path(__file__).resolve().parents[1]
FIGURES: Final = ROOT / "tests" / "figures"
PAGE: Final = ROOT / "docs" / "reliability.md"

ORDER: Final = ("faults", "orphans", "load", "fuzz", "frames", "model", "soak", "versions", "rules", "cases")
"""The parts of the page, by the names of their files."""

_HEAD: Final = """\
# Reliability

What was done to the adapter, and what came of it. Each part names the command that does it again and writes it here;
nothing on this page is written by hand. Times are those of one shared machine and say how long a thing took there,
not how long it takes elsewhere. The bounds behind the figures are listed in [Security](security.md#bounds).
"""


class Figures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one command measured. Texts are Markdown."""

    title: str
    command: str
    """As a user types it."""
    told: str
    """What was done, in a paragraph."""
    columns: list[str]
    rows: list[list[str]]
    after: str = ""
    """What stands below the table: what the figures do not say."""
    when: str = ""
    where: str = ""

    def keep(self, name: str, *, merge: bool = False) -> None:
        """Write it to the page. With `merge`, rows of an earlier run stay whose first cell this one does not have."""
        rows = self.rows
        if merge and (earlier := kept(name)) is not None:
            ours = {row[0]: row for row in rows}
            old = {row[0]: row for row in earlier.rows}
            rows = [ours.get(cell, old.get(cell, [])) for cell in dict.fromkeys([*old, *ours])]
        figures = msgspec.structs.replace(
            self, rows=rows, when=self.when or date.today().isoformat(), where=self.where or here()
        )
        FIGURES.mkdir(exist_ok=True)
        text = msgspec.json.format(msgspec.json.encode(figures), indent=1)
        (FIGURES / f"{name}.json").write_bytes(text + b"\n")
        PAGE.write_text(page(), "utf-8")

    def part(self) -> str:
        """Its part of the page."""
        lines = [f"## {self.title}", "", self.told, "", "| " + " | ".join(self.columns) + " |"]
        lines.append("|" + "---|" * len(self.columns))
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        if self.after:
            lines += ["", self.after]
        return "\n".join([*lines, "", f"`{self.command}`, {self.when}, {self.where}.", ""])


def here() -> str:
    """The machine, as far as it explains a figure."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{python}, {platform.system()}, {os.cpu_count()} cores"


def kept(name: str) -> Figures | None:
    """What was measured last, None if nothing was."""
    path = FIGURES / f"{name}.json"
    return msgspec.json.decode(path.read_bytes(), type=Figures) if path.exists() else None


def page() -> str:
    """The page as it has to be."""
    parts = [figures.part() for name in ORDER if (figures := kept(name)) is not None]
    return "\n".join([_HEAD, *parts])


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    sys.exit(0)
