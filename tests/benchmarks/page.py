"""`docs/performance.md` with its pictures, and what README says of speed: made of what a whole run of `make bench`
measured, and of `notes.md` beside this file, which says in words where the time goes. A figure is on the page only if
that command has put it there."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Final

import msgspec

from tests.benchmarks.measuring import Curve, Figure
from tests.benchmarks.peers.row import PeerRow
from tests.benchmarks.plot import plot
from tests.reliability import FIGURES, ROOT, here

KEPT: Final = FIGURES / "performance.json"
PAGE: Final = ROOT / "docs" / "performance.md"
README: Final = ROOT / "README.md"
NOTES: Final = Path(__file__).with_name("notes.md")

PICTURES: Final = "performance"
"""The folder with the plots, beside the page."""

HEAD: Final = """\
# Performance

What the adapter costs, as ratios of medians of two things that were measured in turn, in one run on one machine; times
and rates stand beside them and say how long it took there, not how long it takes elsewhere. `make bench` measures all
of it again, writes this page, and fails if a bound is missed by more than its margin for noise. `make speed` measures a
short form of it and compares that with what a short form gave here.

The limit is a bare blocking loop in Python that reads a line, decodes and encodes it with orjson, and writes it. An
adapter composed of the official SDKs is in `tests/benchmarks/composed`.
"""

UNMEASURED: Final = "Nothing has been measured yet: run `make bench`."

TOLD: Final = {
    "growth": "The same work, with more and more sessions open on one connection, and behind a longer and longer\n"
    "history in one session: seconds of CPU of the adapter for a unit of it. A flat line is linear growth of the\n"
    "whole; a figure is the cost of a unit where there is most over that where there is least."
}
"""What has to be known to read a part."""

PLOTTED: Final = {
    "sessions": ("CPU for a unit of work, by sessions", "sessions open on one connection"),
    "history": ("CPU for a unit of work, by history", "items loaded before the work; for loading, items loaded"),
}
"""The plots, by their axis: title, and what stands below."""

PEERS: Final = """\
## Peers

Adapters of other agents, and one composed of the official SDKs: from the start of the process to the answer of
`initialize`, and how fast a streamed answer of {deltas:,} pieces is handed on. Each was measured in turn with ours, and
"times ours" is the median of the ratios of times: above 1 it took longer. No agent and no model is behind any of them:
pi-acp, zcode-acp and ours each stream from a stand-in. claude-agent-acp has an SDK between itself and its agent, and
codex-acp has its agent within itself, which asks a model, so these can be started and not made to stream.

| adapter | version | start, ms | times ours | pieces a second | times ours | not measured |
|---|---|---|---|---|---|---|"""

SPEED: Final = "Speed"
"""The section of README."""

SHOWN: Final = {
    ("start-up", "spawn to `initialize`"): "start to the answer of `initialize`, beside bare imports",
    ("start-up", "the same for"): "the same for an adapter composed of the official SDKs, beside ours",
    ("streaming", "streaming, 200,000"): "a streamed answer of 200,000 pieces, rate beside a bare loop",
    ("pacing", "added delay at 1,000 deltas a second, p50"): "what it adds to the delay of a piece, in the middle",
    ("loading", "session/load"): "loading a session of 20,000 items, rate beside a bare loop",
    ("reading", "64 MiB"): "reading stored output, rate beside a bare loop",
    ("idling", "resident memory"): "memory of an idle adapter",
    ("growth", "CPU for a delta, 100 sessions"): "work for a piece with 100 sessions open, beside that with one",
}
"""What README has: part, beginning of the figure, and the words for it."""


class Measured(msgspec.Struct, frozen=True):
    """A whole run, by part; and the short form of some, to be compared with."""

    parts: dict[str, list[Figure]]
    when: str
    where: str
    short: dict[str, list[Figure]] = {}
    peers: list[PeerRow] = []


def keep(parts: dict[str, list[Figure]], short: dict[str, list[Figure]], peers: list[PeerRow]) -> None:
    """Write what a whole run has measured, and whatever is made of it anew."""
    measured = Measured(parts, date.today().isoformat(), here(), short, peers)
    KEPT.write_bytes(msgspec.json.format(msgspec.json.encode(measured), indent=1) + b"\n")
    write(measured)
    README.write_text(with_speed(README.read_text("utf-8"), measured), "utf-8")


def kept() -> Measured | None:
    """What was measured last, None if nothing was."""
    return msgspec.json.decode(KEPT.read_bytes(), type=Measured) if KEPT.exists() else None


def write(measured: Measured | None) -> None:
    """Write the page and its pictures."""
    PAGE.write_text(page(measured), "utf-8")
    for name, picture in pictures(measured).items():
        path = PAGE.parent / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(picture, "utf-8")


# -- the page


def page(measured: Measured | None) -> str:
    """The page as it has to be."""
    if measured is None:
        return "\n".join([HEAD, UNMEASURED, ""])
    lines = [HEAD]
    for name, figures in measured.parts.items():
        lines += [f"## {name.capitalize().replace('-', ' ')}", ""]
        lines += [TOLD[name], ""] if name in TOLD else []
        lines += ["| what | measured | bound | margin | made of |", "|---|---|---|---|---|", *map(_row, figures), ""]
        lines += [f"![{_told(axis)}]({_picture(axis)})\n" for axis in _curves(figures)]
    if measured.peers:
        deltas = max(row.deltas for row in measured.peers)
        lines += [PEERS.format(deltas=deltas), *(row.row() for row in measured.peers), ""]
    lines += [f"`make bench`, {measured.when}, {measured.where}.", ""]
    if NOTES.exists():
        lines.append(NOTES.read_text("utf-8"))
    return "\n".join(lines)


def _row(figure: Figure) -> str:
    value = figure.measured if figure.holds else f"**{figure.measured}**, missed"
    return f"| {figure.what} | {value} | {figure.limit} | {figure.margin:.0%} | {figure.told} |"


# -- its pictures


def pictures(measured: Measured | None) -> dict[str, str]:
    """The plots, by where they stand beside the page."""
    figures = [figure for part in measured.parts.values() for figure in part] if measured is not None else []
    return {_picture(axis): plot(*PLOTTED[axis], curves) for axis, curves in _curves(figures).items()}


def _curves(figures: list[Figure]) -> dict[str, list[Curve]]:
    curves = [figure.curve for figure in figures if figure.curve is not None]
    return {axis: [curve for curve in curves if curve.axis == axis] for axis in dict.fromkeys(c.axis for c in curves)}


def _picture(axis: str) -> str:
    return f"{PICTURES}/growth-{axis}.svg"


def _told(axis: str) -> str:
    return f"{PLOTTED[axis][0]}: a line for each kind of work, and for a bare loop"


# -- what README says


def with_speed(text: str, measured: Measured | None) -> str:
    """README with the figures of the last whole run."""
    before, heading, rest = text.partition(f"\n## {SPEED}\n")
    _, following, after = rest.partition("\n## ")
    assert heading and following
    return "".join([before, heading, "\n", speed(measured), following, after])


def speed(measured: Measured | None) -> str:
    """What stands in that section."""
    if measured is None:
        return f"{UNMEASURED} It writes the figures here and to [docs/performance.md](docs/performance.md).\n"
    rows = [
        f"| {words} | {figure.measured} | {figure.limit} |"
        for (part, beginning), words in SHOWN.items()
        for figure in measured.parts.get(part, [])
        if figure.what.startswith(beginning)
    ]
    return "\n".join(
        [
            "Ratios of medians that were measured in turn on one machine; the rest, and what the words mean, is in",
            "[docs/performance.md](docs/performance.md). `make bench` measures it again.",
            "",
            "| what | measured | bound |",
            "|---|---|---|",
            *rows,
            "",
            f"{measured.when}, {measured.where}.",
            "",
        ]
    )
