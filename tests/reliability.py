"""The figures of `docs/reliability.md`: each long command keeps what it measured, and the page is made of that.

`Figures.keep` is called at the end of a run (`make faults`, `make fuzz`, `make soak` and the like); it writes
`tests/figures/NAME.json` and the page anew. A figure is on the page only if a command has put it there, and a part that
nobody has measured is named there as such.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Final

import msgspec

ROOT: Final = Path(__file__).resolve().parents[1]
FIGURES: Final = ROOT / "tests" / "figures"
PAGE: Final = ROOT / "docs" / "reliability.md"

ORDER: Final = ("faults", "orphans", "load", "fuzz", "frames", "model", "soak", "versions", "rules", "cases")
"""The parts of the page, by the names of their files."""

MEASURED: Final = "measured"
"""The column with date and machine of a row, where rows are measured one by one."""

_HEAD: Final = """\
# Reliability

What was done to the adapter, and what came of it. Each part names the command that does it again and writes it here;
nothing on this page is written by hand. Times are those of one shared machine and say how long a thing took there,
not how long it takes elsewhere. The bounds behind the figures are listed in [Security](security.md#bounds).
"""

_REPEATED: Final = (
    ("make faults", ".venv/bin/python -m tests.faults.matrix --only 'prompt:*'", "the command it prints for a cell"),
    ("make orphans", ".venv/bin/python -m tests.orphans --kills 8 --ends 1", "`--seed N`"),
    ("make load", ".venv/bin/python -m tests.load slow cards", "the name of the load"),
    ("make fuzz", 'FUZZ_SECONDS=60 FUZZ_TARGETS="framing frames" make fuzz', "`FUZZ_SEED=N`; inputs: `.fuzz/crashes`"),
    ("make model", ".venv/bin/python -m tests.model --batches 2", "`--seed N --batches 1`"),
    ("make soak", "SOAK_SECONDS=60 .venv/bin/python -m tests.soak", "`--seed N`: the same choices"),
    ("make versions", "make versions PYTHONS=python3.12 BACKENDS=trio", "the same"),
    ("make rules", ".venv/bin/python -m tests.rules_broken 5 6", "the same: these rules"),
    ("make cases", ".venv/bin/python -m pytest -k test_c3_ tests", "the same: that case"),
)
"""Each command, a short form of it, and how what has failed is done again."""


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

    def keep(self, name: str, *, among: Sequence[str] = ()) -> None:
        """Write it to the page. `among` are the first cells of all rows there can be, where each may be measured alone:
        then those of earlier runs stay, and each row has its own date and machine."""
        figures = msgspec.structs.replace(self, when=self.when or date.today().isoformat(), where=self.where or here())
        if among:
            figures = figures.beside(kept(name), among)
        FIGURES.mkdir(exist_ok=True)
        text = msgspec.json.format(msgspec.json.encode(figures), indent=1)
        (FIGURES / f"{name}.json").write_bytes(text + b"\n")
        PAGE.write_text(page(), "utf-8")

    def beside(self, earlier: Figures | None, among: Sequence[str]) -> Figures:
        """These figures, and of the earlier ones the rows that are not among them and that there still are; none if
        something else was measured then."""
        same = earlier is not None and [name for name in earlier.columns if name != MEASURED] == self.columns
        rows = {row[0]: row for figures in ([earlier] if earlier and same else []) + [self] for row in figures.dated()}
        ordered = [rows[cell] for cell in among if cell in rows]
        return msgspec.structs.replace(self, columns=[*self.columns, MEASURED], rows=ordered, when="", where="")

    def dated(self) -> list[list[str]]:
        """The rows, each with its date and machine."""
        if self.columns[-1] == MEASURED:
            return self.rows
        return [[*row, f"{self.when}, {self.where}"] for row in self.rows]

    def part(self) -> str:
        """Its part of the page."""
        lines = [f"## {self.title}", "", self.told, "", "| " + " | ".join(self.columns) + " |"]
        lines.append("|" + "---|" * len(self.columns))
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        if self.after:
            lines += ["", self.after]
        return "\n".join([*lines, "", ", ".join(filter(None, (f"`{self.command}`", self.when, self.where))) + ".", ""])


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
    return "\n".join([_HEAD, *_unmeasured(), _repeated(), *parts])


def _unmeasured() -> list[str]:
    """What the page says of commands that have not been run to their end."""
    missing = [f"`make {name}`" for name in ORDER if kept(name) is None]
    return [f"Not measured yet: {', '.join(missing)}.\n"] if missing else []


def _repeated() -> str:
    lines = [
        "## How to repeat",
        "",
        "Each command ends with exit code 1 if anything was not as it must be, prints what, and prints the seed of its "
        "choices. Only a whole run in which nothing was found writes to this page; a short form prints.",
        "",
        "| whole | short, or a part | what has failed, again |",
        "|---|---|---|",
        *(f"| `{whole}` | `{short}` | {again} |" for whole, short, again in _REPEATED),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    sys.exit(0)
