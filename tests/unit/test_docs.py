"""The documents in `docs/`: what they list is what the code has."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from adapter import __version__
from adapter.acp import errors
from adapter.bridge import host_errors, outcomes
from adapter.hosts.simulated import faults, profiles, scripts
from adapter.wire.envelope import RpcError
from tests.documents import ROOT, doc, rows, section
from tests.write_docs import ERRORS, SIMULATED_HOST, simulated_host, with_host_errors, with_tables

# -- dependencies.md


def test_every_dependency_has_a_reason_and_no_other_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    groups = project["project"]["optional-dependencies"]
    needed = {
        "At run time": project["project"]["dependencies"],
        "For development": groups.pop("dev") + project["build-system"]["requires"],
        "For packages": groups.pop("dist"),
        "For the site": groups.pop("docs"),
        "For fuzzing": groups.pop("fuzz"),
    }
    text = doc("dependencies.md")

    assert not groups
    for title, requirements in needed.items():
        assert _first_words(section(text, title)) == {_package(line) for line in requirements}


@pytest.mark.parametrize("group", ["dev", "dist", "docs", "fuzz"])
def test_a_lock_has_what_its_group_asks_for(group: str) -> None:
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"][group]
    lines = (ROOT / f"requirements-{group}.lock").read_text("utf-8").splitlines()

    assert {_package(line).lower() for line in asked} <= {line.partition("==")[0].lower() for line in lines}
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", line) for line in lines)


def _package(requirement: str) -> str:
    return re.split(r"[<>=\[ ]", requirement)[0]


def _first_words(text: str) -> set[str]:
    return {cells[0].strip("`") for cells in rows(text)}


# -- simulated-host.md


def test_the_tables_are_those_of_the_code() -> None:
    text = SIMULATED_HOST.read_text("utf-8")

    assert text == with_tables(text, simulated_host()), "run `make docs`"


def test_every_script_has_a_word_in_the_table() -> None:
    words = {
        cells[0].split("`")[1].split()[0]
        for cells in rows(section(doc("simulated-host.md"), "What a prompt does"))
        if "`" in cells[0]
    }

    assert words == set(scripts._SCRIPTS)


def test_every_fault_is_in_the_table() -> None:
    listed = {cells[0].strip("`") for cells in rows(section(doc("simulated-host.md"), "Faults on purpose"))}

    assert listed == set(faults.ACTIONS)


def test_every_fault_shown_is_one_that_can_be_given() -> None:
    shown = re.findall(r"`(\{\"(?:at|do)\"[^`]*)`", doc("simulated-host.md"))

    assert len(shown) > 5
    for text in shown:
        fault = msgspec.json.decode(text, type=faults.Fault)
        assert fault.do in faults.ACTIONS


def test_the_default_version_is_named() -> None:
    assert f"without one it is {profiles.DEFAULT}" in doc("simulated-host.md")


# -- errors.md


ARGUMENTS = {
    "error_of": (0, 2),
    "Meaning": (0, 2),
    "_unavailable": (None, 0),
    "Reject": (1, 3),
    "HostStartError": (None, 0),
    "SessionUnreachable": (None, 0),
    "ended_early": (None, 0),
    "session_refused": (None, 0),
}
"""What becomes an error of a client: where the code and the reason stand among its arguments."""

FACTORIES: dict[str, Callable[..., RpcError]] = {
    name: function
    for name, function in inspect.getmembers(errors, inspect.isfunction)
    if function.__module__ == errors.__name__ and function is not errors.error_of
}

Raised = tuple[int | None, str]
"""A code, if it can be told, and a reason."""


def served_modules() -> list[str]:
    """The adapter's modules that are loaded when it serves."""
    code = (
        "import sys, adapter.cli.serve;"
        "print(*(name for name in sys.modules if name.split('.')[0] == 'adapter'), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    return done.stdout.split()


def raised() -> set[Raised]:
    """Everything the serving code can put into an error, as far as it stands there in words."""
    found: set[Raised] = set()
    for name in served_modules():
        module = importlib.import_module(name)
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Call):
                found |= set(_raised_by_call(node, vars(module)))
            elif isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)
                found |= {(None, _text(value)) for key, value in pairs if key is not None and _text(key) == "reason"}
    # A sentence is a reason that is given to a host.
    return {(code, reason) for code, reason in found if reason and " " not in reason}


def _raised_by_call(node: ast.Call, names: dict[str, Any]) -> Iterator[Raised]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in ARGUMENTS:
        code_at, reason_at = ARGUMENTS[name]
        reason = _text(node.args[reason_at])
        code = eval(ast.unparse(node.args[code_at]), names) if reason and code_at is not None else None
        yield code, reason
    elif name in FACTORIES and FACTORIES[name] in (names.get(name), getattr(names.get("errors"), name, None)):
        parameters = list(inspect.signature(FACTORIES[name]).parameters)
        given = node.args[parameters.index("reason") :] if "reason" in parameters else []
        code, usual = example(name)
        yield code, _text(given[0]) if given else usual


def _text(node: ast.expr) -> str:
    """A literal; empty where the word is worked out, since then it comes from somewhere else that is read as well."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def example(name: str) -> tuple[int, str]:
    """Code and reason of what a factory makes if no reason is given."""
    parameters = inspect.signature(FACTORIES[name]).parameters.values()
    needed = [one for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    error = FACTORIES[name](*("x" for _ in needed))
    assert error.data is not None
    return error.code, error.data["reason"]


def listed_errors() -> set[tuple[int, str]]:
    """Codes and reasons, as the document has them."""
    return {(int(cells[0]), cells[1].strip("`")) for cells in rows(doc("errors.md")) if re.fullmatch(r"-\d+", cells[0])}


def test_every_error_a_client_can_see_is_listed_and_no_other() -> None:
    listed, seen = listed_errors(), raised()

    assert {reason for _, reason in seen} == {reason for _, reason in listed}
    assert {(code, reason) for code, reason in seen if code is not None} <= listed


def test_what_the_failures_of_a_host_become_is_that_of_the_code() -> None:
    text = ERRORS.read_text("utf-8")

    assert text == with_host_errors(text), "run `make docs`"
    for table in (host_errors.REFUSALS, host_errors.TURNS, host_errors.DELETIONS, host_errors.ENDS):
        assert {(one.code, one.reason) for one in table.values()} <= listed_errors()


def test_listed_stop_reasons_are_those_of_the_code() -> None:
    listed = rows(section(doc("errors.md"), "Ends of a turn that are no errors"))

    assert {cells[0].strip("`"): cells[1].strip("`") for cells in listed} == outcomes._LIMITS


# -- architecture.md


def test_the_layout_has_every_folder_of_the_code() -> None:
    listed: set[str] = set()
    above = ""
    for line in section(doc("architecture.md"), "Layout").split("```")[1].splitlines()[1:]:
        name = line.split()[0]
        above = above if line.startswith("  ") else name
        listed.add(name if above == name else f"{above}/{name}")
    folders = {
        str(path.parent.relative_to(ROOT))
        for package in ("adapter", "host_probe")
        for path in (ROOT / package).rglob("__init__.py")
    }

    assert folders - {"adapter"} <= listed
    assert all((ROOT / name).is_dir() for name in listed)


# -- install.md


def test_the_wheel_that_is_installed_is_the_one_that_is_made() -> None:
    assert re.findall(r"muse_adapter-([\w.]+)-py3-none-any\.whl", doc("install.md")) == [__version__]
