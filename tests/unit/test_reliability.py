"""The page of figures is what the commands have written, and each command is there."""

from __future__ import annotations

import re

import pytest

from tests.documents import ROOT, doc
from tests.reliability import FIGURES, ORDER, kept, page


def test_the_page_is_made_of_the_figures() -> None:
    assert doc("reliability.md") == page(), "write it with `python -m tests.reliability`"


def test_each_file_of_figures_has_its_place() -> None:
    assert {path.stem for path in FIGURES.glob("*.json")} <= set(ORDER)


@pytest.mark.parametrize("name", ORDER)
def test_a_part_names_a_command_that_exists(name: str) -> None:
    figures = kept(name)
    if figures is None:
        pytest.skip("nothing has been measured yet")
    target = re.match(r"make ([a-z]+)", figures.command)
    assert target is not None, figures.command
    assert re.search(rf"^{target[1]}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert all(len(row) == len(figures.columns) for row in figures.rows)
