"""What the README and the changelog say about commands and settings is so."""

from __future__ import annotations

import re

from adapter.cli.options import COMMANDS
from tests.benchmarks import page as performance
from tests.documents import DOCS, README, ROOT, rows, section
from tests.write_docs import readme, with_tables

TEXT = README.read_text("utf-8")

SHORT = 200
"""Lines a newcomer reads before he knows what this is; what those read who work on it comes after them."""


def test_the_sections_come_in_the_order_of_a_newcomers_questions() -> None:
    titles = re.findall(r"^## (.*)$", TEXT, re.MULTILINE)

    assert titles[:5] == ["Two commands", "Three ways in", "Install", "In Zed", "Commands"]
    assert titles[-1] == "Licence"
    assert TEXT[: TEXT.index("## Development")].count("\n") < SHORT


def test_the_commands_are_the_real_ones_in_their_words() -> None:
    assert with_tables(TEXT, readme()) == TEXT, "run `make docs`"
    assert [cells[0].strip("`") for cells in rows(section(TEXT, "Commands"))] == list(COMMANDS)


def test_the_figures_are_those_of_the_last_whole_run() -> None:
    assert performance.with_speed(TEXT, performance.kept()) == TEXT, "run `make docs`"


def test_each_way_in_is_shown_by_its_command() -> None:
    ways = section(TEXT, "Three ways in")

    for command in ("doctor", "inspect", "record", "output"):
        assert command in COMMANDS
        assert re.search(rf"\b{command}\b", ways), command


def test_targets_of_make_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")

    for path in (README, *DOCS):
        for target in set(re.findall(r"`make ([\w-]+)`|^\$ make ([\w-]+)", path.read_text("utf-8"), re.MULTILINE)):
            assert re.search(rf"^{''.join(target)}:", makefile, re.MULTILINE), target


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text("utf-8")

    assert changelog.index("## [Unreleased]") < changelog.index("### Added")


def test_every_target_of_make_that_somebody_runs_is_told() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = set(re.findall(r"^([a-z]+):", makefile, re.MULTILINE)) - {"compiled", "clean", "lock"}

    listed = re.findall(r"`make (\w+)`", "\n".join(cells[0] for cells in rows(section(TEXT, "Development"))))
    assert sorted([*listed, "demo"]) == sorted(targets)
