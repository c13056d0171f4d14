"""The table of broken rules is about the code as it is, and about tests that there are."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tests.rules_broken.__main__ import Copy, figures, noticed
from tests.rules_broken.row import RULES, Broken
from tests.rules_broken.table import BROKEN

ROOT = Path(__file__).resolve().parents[2]

each = pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: f"{broken.rule} {broken.told}")


def test_every_rule_is_broken_in_several_ways() -> None:
    assert list(RULES) == list(range(1, 15))
    ways = Counter(broken.rule for broken in BROKEN)
    assert min(ways[rule] for rule in RULES) >= 2
    assert len({broken.told for broken in BROKEN}) == len(BROKEN)


@each
def test_what_is_replaced_is_there_once_and_the_rest_still_runs(broken: Broken) -> None:
    sound = (ROOT / broken.file).read_text("utf-8")
    assert sound.count(broken.text) == 1
    compile(sound.replace(broken.text, broken.instead), broken.file, "exec")


@each
def test_the_test_that_notices_is_there(broken: Broken) -> None:
    path, _, name = broken.test.partition("::")
    tree = ast.parse((ROOT / "tests" / path).read_text("utf-8"))
    functions = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    assert name in functions


def test_what_is_broken_is_noticed_only_if_a_test_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = Copy.__new__(Copy)
    monkeypatch.setattr(Copy, "failed", lambda self: ["test_it"])
    copy.root, copy._changes = tmp_path, 0
    (tmp_path / "code.py").write_text("answer = 42\n")
    row = Broken(1, "it answers wrong", "code.py", "42", "41", "test_code.py::test_it")
    seen = []

    def run(self: Copy, tests: list[str], seconds: float, *how: str) -> int | None:
        seen.append((tests, (tmp_path / "code.py").read_text()))
        return codes.pop()

    monkeypatch.setattr(Copy, "run", run)
    # No test was run, they passed, they hung, the command line was wrong.
    codes: list[int | None] = [4, None, 0, 5, 1]
    assert [noticed(copy, row) for _ in range(5)] == ["test_it", None, None, None, None]
    assert seen == [(["test_code.py::test_it"], "answer = 41\n")] * 5
    assert (tmp_path / "code.py").read_text() == "answer = 42\n"
    assert figures([(row, "test_it")]).rows == [[f"1: {RULES[1]}", "it answers wrong", "`test_it`"]]
