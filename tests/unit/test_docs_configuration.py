"""Options, environment, exit codes and bounds, as `docs/` tells them, are those of the code."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import adapter
import host_probe
from adapter.bridge.hosts.host_choice import NESTED_MARKERS
from adapter.cli.options import COMMANDS
from adapter.hosts.simulated import scripts
from host_probe import NotFound, find_muse
from host_probe.launch import PROBE_ENVIRONMENT
from tests.documents import doc, rows, section
from tests.write_docs import CONFIGURATION, configuration, with_tables

PAGE = CONFIGURATION.read_text("utf-8")

READ_BY_OTHERS = {"HOME", "NO_COLOR", "TERM", "COLUMNS"}
"""Read by Python and by rich, for us."""


def test_the_options_are_those_of_the_code() -> None:
    assert with_tables(PAGE, configuration()) == PAGE, "run `make docs`"


def test_places_are_looked_at_in_the_order_that_is_told(tmp_path: Path) -> None:
    found = find_muse(None, {"PATH": str(tmp_path)}, Path("~"), windows=False)
    if not isinstance(found, NotFound):
        pytest.skip("Muse is installed in one of its usual places")
    places = [attempt.place for attempt in found.attempts if attempt.source == "usual place"]

    told = re.findall(r"`([~/][\w/.]*bin)`", section(PAGE, "How it finds Muse"))
    assert [f"{place}/muse" for place in told] == places


# -- environment


def modules() -> Iterator[ModuleType]:
    for package in (adapter, host_probe):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                yield importlib.import_module(found.name)


def variables(tree: ast.AST, names: dict[str, object]) -> Iterator[str]:
    """The variables of the environment that code looks at, by a literal or a constant."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "get"
            and node.args
        ):
            source, key = node.func.value, node.args[0]
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            source, key = node.value, node.slice
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
            source, key = node.comparators[0], node.left
        else:
            continue
        if ast.unparse(source).rpartition(".")[2] == "environ":
            value = key.value if isinstance(key, ast.Constant) else names.get(ast.unparse(key))
            if isinstance(value, str):
                yield value


def test_every_variable_that_is_read_is_listed_and_no_other() -> None:
    read = {name for one in modules() for name in variables(ast.parse(inspect.getsource(one)), vars(one))}
    cells = [cells[0] for cells in rows(section(PAGE, "Environment"))]

    assert set(re.findall(r"`(\w+)`", " ".join(cells))) - NESTED_MARKERS == read | READ_BY_OTHERS


def test_every_way_to_read_a_variable_is_seen() -> None:
    code = """
environ.get('A', 1); os.environ['B']; 'C' in choice.environ; self.environ.get(D)
other.get('E'); x['F']; environ['G'] = 1
"""

    assert set(variables(ast.parse(code), {"D": "D_VALUE"})) == {"A", "B", "C", "D_VALUE"}


def test_what_is_set_for_a_question_is_told() -> None:
    for name, value in PROBE_ENVIRONMENT.items():
        assert f"`{name}={value}`" in section(PAGE, "Environment")


# -- exit codes


def test_every_command_has_exit_codes() -> None:
    assert {cells[0].strip("`") for cells in rows(section(PAGE, "Exit codes"))} == {*COMMANDS, "any"}


# -- troubleshooting.md


def test_prompts_for_the_simulated_host_are_words_it_knows() -> None:
    listed = rows(section(doc("troubleshooting.md"), "Is it the adapter or Muse?"))
    words = [prompt.split()[0] for cells in listed for prompt in re.findall(r"`(.*?)`", cells[0])]

    assert len(words) > 5
    assert set(words) - set(scripts._SCRIPTS) == {"hello"}


# -- security.md


def bounds() -> list[list[str]]:
    return rows(section(doc("security.md"), "Bounds"))


@pytest.mark.parametrize("cells", bounds(), ids=lambda cells: cells[2])
def test_a_bound_is_that_of_the_code(cells: list[str]) -> None:
    module, _, name = cells[2].strip("`").rpartition(".")

    assert float(cells[1].split()[0].replace(",", "")) == getattr(importlib.import_module(module), name)


def test_no_bound_is_told_twice() -> None:
    names = [cells[2] for cells in bounds()]

    assert len(names) == len(set(names)) > 30
