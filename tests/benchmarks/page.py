"""`docs/performance.md`: made of what a whole run of `make bench` measured, and of `notes.md` beside this file, which
says in words where the time goes. A figure is on the page only if that command has put it there."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Final

import msgspec

from tests.benchmarks.measuring import Figure
from tests.reliability import FIGURES, ROOT, here

KEPT: Final = FIGURES / "performance.json"
PAGE: Final = ROOT / "docs" / "performance.md"
NOTES: Final = Path(__file__).with_name("notes.md")

HEAD: Final = """\
# Performance

What the adapter costs, as ratios of medians of two things that were measured in turn, in one run on one machine; times
and rates stand beside them and say how long it took there, not how long it takes elsewhere. `make bench` measures all
of it again, writes this page, and fails if a bound is missed by more than its margin for noise.

The limit is a bare blocking loop in Python that reads a line, decodes and encodes it with orjson, and writes it. An
adapter composed of the official SDKs is in `tests/benchmarks/composed`.
"""


class Measured(msgspec.Struct, frozen=True):
    """A whole run, by part."""

    parts: dict[str, list[Figure]]
    when: str
    where: str


def keep(parts: dict[str, list[Figure]]) -> None:
    """Write what a whole run has measured, and the page anew."""
    measured = Measured(parts, date.today().isoformat(), here())
    KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=1) + b"\n")
    PAGE.write_text(page(measured), "utf-8")


def kept() -> Measured | None:
    """What was measured last, None if nothing was."""
    return msgspec.json.decode(KEPT.read_bytes(), type=Measured) if KEPT.exists() else None


def page(measured: Measured) -> str:
    """The page as it has to be."""
    lines = [HEAD]
    for name, figures in measured.parts.items():
        lines += [f"## {name.capitalize().replace('-', ' ')}", "", "| what | measured | bound | margin | made of |"]
        lines += ["|---|---|---|---|---|", *(_row(figure) for figure in figures), ""]
    lines += [f"`make bench`, {measured.when}, {measured.where}.", ""]
    if NOTES.exists():
        lines.append(NOTES.read_text("utf-8"))
    return "\n".join(lines)


def _row(figure: Figure) -> str:
    return f"| {figure.what} | {figure.value:.2f} | {figure.limit} | {figure.margin:.0%} | {figure.told} |"
