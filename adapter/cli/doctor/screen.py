"""The report for people: tables with colours on a terminal, plain text elsewhere."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from adapter.acp.text import one_line
from adapter.cli.doctor.conclusion import conclusion, is_read
from adapter.cli.doctor.finding import MAX_SENTENCE
from adapter.cli.doctor.offers import offers_part
from adapter.cli.doctor.report import Check, Report, Status
from adapter.cli.doctor.style import NARROW, PLAIN, Look, look_of

MOST_COLUMNS: Final = 120
"""Longer lines are hard to read."""

PLAIN_COLUMNS: Final = 100

_STYLES: Final[dict[Status, str]] = {"pass": "green", "warn": "yellow", "fail": "bold red", "skipped": "dim"}
_SYMBOLS: Final[dict[Status, str]] = {"pass": "✓", "warn": "!", "fail": "✗", "skipped": "–"}


def shown(report: Report) -> bytes:
    """The report as it is written to stdout."""
    console = Console(highlight=False)
    console.width = min(console.width, MOST_COLUMNS)
    return _text(report, console, look_of(console)).encode(console.encoding, "replace")


def plain(report: Report, columns: int = PLAIN_COLUMNS) -> str:
    """The report as text without any decoration."""
    console = Console(file=io.StringIO(), width=columns, highlight=False, force_terminal=False, color_system=None)
    return _text(report, console, PLAIN)


def _text(report: Report, console: Console, look: Look) -> str:
    with console.capture() as captured:
        _print(console, report.legible(), look)
    # Tables fill their lines with blanks, which a narrower window would break.
    return "".join(f"{_BLANKS_AT_END.sub(_without_blanks, line)}\n" for line in captured.get().splitlines())


_BLANKS_AT_END: Final = re.compile(r"(?:\x1b\[[\d;]*m|[ ])+$")
"""At the end of a line, also before what ends their colour."""


def _without_blanks(end: re.Match[str]) -> str:
    return end[0].replace(" ", "")


def _print(console: Console, report: Report, look: Look) -> None:
    reads = [check for check in report.checks if is_read(check)]
    checks = [check for check in report.checks if check not in reads]
    parts: list[RenderableType] = [_head(report), Text(), _checks(checks, look, console.width)]
    if reads:
        parts += [Text(), look.title("A read, step by step"), Text(), _checks(reads, look, console.width)]
    if report.negotiation:
        parts += [Text(), look.title("What clients are offered"), Text()]
        parts.append(offers_part(report.negotiation, look, console.width))
    ending = Text(conclusion(report), style="bold" if report.ok else "bold red")
    console.print(Group(*parts, Text(), ending))


def _head(report: Report) -> Text:
    version = report.host.build or report.host.version
    muse = f"Muse {version}" if version else "a Muse of no known version" if report.host.source else "no Muse"
    where = report.host.path or report.host.source
    found = f" ({one_line(where, MAX_SENTENCE)})" if where else ""
    return Text.assemble((f"muse-adapter {report.adapter['version']}", "bold"), f" and {muse}{found}")


def _checks(checks: Sequence[Check], look: Look, columns: int) -> RenderableType:
    if columns < NARROW:
        return Group(*(_block(check, look) for check in checks))
    table = look.table()
    table.add_column("status", no_wrap=True)
    table.add_column("check", no_wrap=True)
    # A path that does not fit goes on in the next line: what is cut off cannot be looked at.
    table.add_column("what was found, and what to do", ratio=1, overflow="fold")
    for check in checks:
        table.add_row(_status(check.status, look), _name(check), Group(*_told(check, look)))
    return table


def _block(check: Check, look: Look) -> RenderableType:
    head = Text.assemble(_status(check.status, look), " ", _name(check))
    return Group(head, *(Padding(line, (0, 0, 0, 2)) for line in _told(check, look)))


def _name(check: Check) -> Text:
    """Its id; the checks of a read have a name as well."""
    return Text.assemble(check.id, (f" {check.details['name']}" if "name" in check.details else "", "dim"))


def _status(status: Status, look: Look) -> Text:
    return Text(look.with_symbol(_SYMBOLS[status], status), style=_STYLES[status])


def _told(check: Check, look: Look) -> Iterable[RenderableType]:
    yield Text(check.summary, style="dim" if check.status == "skipped" else "")
    if check.status in ("warn", "fail"):
        yield Text(str(check.details.get("why", "")), style="dim italic")
    if check.fix and check.status != "pass":
        yield look.advice(check.fix)
