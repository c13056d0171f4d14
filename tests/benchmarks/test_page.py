"""The page has what was measured, and says when a bound is missed; so do its pictures and README."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest

from tests.benchmarks import page
from tests.benchmarks.measuring import Curve, Figure, percentile, ratio
from tests.benchmarks.peers.row import PeerRow

SPEED = Figure(what="streaming, 200,000 deltas / the limit", value=0.5, bound=0.5, at_least=True, told="1 and 2")
DELAY = Figure(what="delay", value=0.3, unit="ms", bound=0.3, margin=0.2)
CURVE = Curve("sessions", "delta", [1, 100], [1e-5, 1e-5], [5e-6, 5e-6])
GROWTH = Figure(what="CPU for a delta, 100 sessions open / 1", value=1.0, bound=1.5, curve=CURVE)
PARTS = {"streaming": [SPEED], "pacing": [DELAY], "growth": [GROWTH]}
PEERS = [
    PeerRow(name="one", version="1.0", start=0.25, start_ratio=2.5, stream=0.5, stream_ratio=10.0, deltas=5000),
    PeerRow(name="other", version="2.0", reason="npm | said\nno"),
]
README = "# a\n\n## Speed\n\nold\n\n## The rest\n\nkept\n"
MEASURED = page.Measured(PARTS, "2026-12-01", "here", peers=PEERS)


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    for name, file in {"KEPT": "kept.json", "PAGE": "page.md", "README": "README.md"}.items():
        monkeypatch.setattr(page, name, tmp_path / file)
    (tmp_path / "README.md").write_text(README, "utf-8")
    return tmp_path


def test_the_page_has_what_was_measured(folder: Path) -> None:
    assert page.kept() is None
    page.keep(PARTS, {"streaming": [SPEED]}, PEERS)
    written = (folder / "page.md").read_text("utf-8")
    measured = page.kept()
    assert measured is not None and page.page(measured) == written and measured.short == {"streaming": [SPEED]}
    assert "## Streaming" in written
    assert "| streaming, 200,000 deltas / the limit | 0.50 | at least 0.5 | 10% | 1 and 2 |" in written
    assert "| delay | 0.30 ms | at most 0.3 ms | 20% |  |" in written
    (picture,) = re.findall(r"!\[.+\]\((.+\.svg)\)", written)
    assert (folder / picture).read_text("utf-8") == page.pictures(measured)[picture]
    assert (folder / "README.md").read_text("utf-8") == page.with_speed(README, measured)


def test_the_page_has_the_peers_and_why_one_was_not_measured() -> None:
    written = page.page(MEASURED)
    assert "a streamed answer of 5,000 pieces" in written
    assert "| one | 1.0 | 250 | 2.50 | 10,000 | 10.00 |  |" in written
    assert "| other | 2.0 | - | - | - | - | npm \\| said no |" in written


def test_a_bound_that_is_missed_stands_out() -> None:
    missed = msgspec.structs.replace(SPEED, value=0.1)
    written = page.page(msgspec.structs.replace(MEASURED, parts={"streaming": [missed]}))
    assert "| **0.10**, missed | at least 0.5 |" in written


def test_without_figures_it_says_how_to_get_them() -> None:
    assert page.pictures(None) == {}
    for text in (page.page(None), page.speed(None)):
        assert "run `make bench`" in text


def test_readme_has_a_handful_of_them_and_keeps_the_rest() -> None:
    text = page.with_speed(README, MEASURED)
    assert text.startswith("# a\n\n## Speed\n\nRatios") and text.endswith("2026-12-01, here.\n\n## The rest\n\nkept\n")
    assert "| a streamed answer of 200,000 pieces, rate beside a bare loop | 0.50 | at least 0.5 |" in text
    assert page.with_speed(text, None) != text == page.with_speed(text, MEASURED)


def test_what_readme_is_to_have_has_been_measured_by_that_name() -> None:
    measured = page.kept()
    if measured is None:
        pytest.skip("nothing has been measured yet")
    for part, beginning in page.SHOWN:
        found = [figure.what for figure in measured.parts[part] if figure.what.startswith(beginning)]
        assert len(found) == 1, (part, beginning)


def test_the_page_and_its_pictures_are_those_of_the_last_whole_run() -> None:
    measured = page.kept()
    assert page.PAGE.read_text("utf-8") == page.page(measured), "run `make docs`"
    drawn = {path.name: path.read_text("utf-8") for path in (page.PAGE.parent / page.PICTURES).glob("*.svg")}
    assert drawn == {Path(name).name: text for name, text in page.pictures(measured).items()}


@pytest.mark.parametrize(
    ("figure", "value", "holds"),
    [(SPEED, 0.46, True), (SPEED, 0.44, False), (SPEED, 9.0, True), (DELAY, 0.35, True), (DELAY, 0.37, False)],
)
def test_a_bound_may_be_missed_by_noise_and_no_more(figure: Figure, value: float, holds: bool) -> None:
    assert msgspec.structs.replace(figure, value=value).holds is holds


def test_ratios_are_of_what_was_measured_side_by_side() -> None:
    assert ratio([2.0, 30.0, 8.0], [1.0, 10.0, 2.0]) == 3.0
    assert percentile(range(1000), 99) == 990
