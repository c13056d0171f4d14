"""The page of figures is what the commands have written, and each command is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import reliability
from tests.documents import ROOT, doc
from tests.reliability import FIGURES, MEASURED, ORDER, Figures, kept, page


def test_the_page_is_made_of_the_figures() -> None:
    assert doc("reliability.md") == page(), "write it with `python -m tests.reliability`"


def test_each_file_of_figures_has_its_place() -> None:
    # Those of speed are on a page of their own.
    assert {path.stem for path in FIGURES.glob("*.json")} <= {*ORDER, "performance"}


@pytest.mark.parametrize("name", ORDER)
def test_a_part_names_a_command_that_exists(name: str) -> None:
    figures = kept(name)
    if figures is None:
        # The page does not pass over it.
        assert re.search(rf"^Not measured yet: .*`make {name}`", doc("reliability.md"), re.MULTILINE)
        return
    target = re.match(r"make ([a-z]+)", figures.command)
    assert target is not None, figures.command
    assert re.search(rf"^{target[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert all(len(row) == len(figures.columns) for row in figures.rows)


@pytest.mark.parametrize("name", sorted({*ORDER} - {"frames"}))
def test_the_page_says_how_each_command_is_repeated(name: str) -> None:
    assert re.search(rf"^\| `make {name}` \|", page(), re.MULTILINE)


def test_a_row_that_is_measured_alone_has_a_date_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reliability, "FIGURES", tmp_path)
    monkeypatch.setattr(reliability, "PAGE", tmp_path / "page.md")
    monday = Figures(
        title="T", command="make load", told="", columns=["load", "peak"], rows=[["a", "1"], ["b", "2"], ["gone", "3"]],
        when="2026-01-05", where="here",
    )  # fmt: skip
    monday.keep("load")
    tuesday = Figures(
        title="T", command="make load", told="", columns=["load", "peak"], rows=[["b", "4"]],
        when="2026-01-06", where="there",
    )  # fmt: skip
    for _ in range(2):
        tuesday.keep("load", among=["b", "a", "new"])
        figures = kept("load")
        assert figures is not None and figures.columns == ["load", "peak", MEASURED]
        assert figures.rows == [["b", "4", "2026-01-06, there"], ["a", "1", "2026-01-05, here"]]
        assert figures.part().endswith("\n`make load`.\n")
    other = Figures(
        title="T", command="make load", told="", columns=["load", "seconds"], rows=[["new", "5"]],
        when="2026-01-07", where="there",
    )  # fmt: skip
    other.keep("load", among=["b", "a", "new"])
    figures = kept("load")
    assert figures is not None and figures.rows == [["new", "5", "2026-01-07, there"]]
