"""What `docs/parity.md` says of us is shown by a test, or has a reason."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (TESTS.parent / "docs" / "parity.md").read_text("utf-8").splitlines()
    if line.startswith("| ")
]
HEADS = [row for row in ROWS if row[-1] == "here"]
FEATURES = [row for row in ROWS if row[-1] != "here"]
NAME = re.compile(r"`([\w/]+\.py)::(\w+)`")


@cache
def names_in(file: str) -> frozenset[str]:
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def test_every_table_has_our_column_last() -> None:
    assert len(HEADS) == 9
    assert len(FEATURES) > 140


@pytest.mark.parametrize("row", FEATURES, ids=lambda row: row[0])
def test_a_feature_is_shown_or_has_a_reason(row: list[str]) -> None:
    ours = row[-1]
    named = NAME.findall(ours)
    if ours.startswith("no: "):
        assert not named and len(ours) > 10
        return
    assert re.match(r"yes(, [^:]+)?: ", ours), ours
    assert named and ours.count("::") == len(named), ours
    for file, test in named:
        assert test in names_in(file), f"{file}::{test}"
