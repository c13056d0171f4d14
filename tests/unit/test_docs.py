"""The documents in `docs/`: what they list is what the code has."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from adapter.acp import errors
from adapter.bridge import outcomes
from adapter.hosts.simulated import faults, profiles, scripts
from adapter.hosts.simulated.settings import Settings
from adapter.wire.envelope import RpcError

ROOT = Path(__file__).resolve().parents[2]
DOCS = sorted((ROOT / "docs").glob("*.md"))
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *DOCS]


def doc(name: str) -> str:
    return (ROOT / "docs" / name).read_text("utf-8")


def rows(text: str) -> list[list[str]]:
    """The cells of all rows of tables, without their heads."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("|---"):
            found.pop()
        elif line.startswith("|"):
            found.append([cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")])
    return found


def section(text: str, title: str) -> str:
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


# -- all documents


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", path.read_text("utf-8")):
        assert target.startswith("https://") or (path.parent / target).exists(), target


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_named_files_exist(path: Path) -> None:
    named = re.findall(r"(?<![\w/-])(?:adapter|host_probe|tests|docs|fixtures)/[\w/.-]*[\w]", path.read_text("utf-8"))
    for name in named:
        assert (ROOT / name).exists(), name


# -- dependencies.md


def test_every_dependency_has_a_reason_and_no_other_has() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    runtime = project["project"]["dependencies"]
    development = project["project"]["optional-dependencies"]["dev"] + project["build-system"]["requires"]
    text = doc("dependencies.md")

    assert _first_words(section(text, "At run time")) == {_package(line) for line in runtime}
    assert _first_words(section(text, "For development")) == {_package(line) for line in development}


def _package(requirement: str) -> str:
    return re.split(r"[<>=\[ ]", requirement)[0]


def _first_words(text: str) -> set[str]:
    return {cells[0].strip("`") for cells in rows(text)}


# -- simulated-host.md


@pytest.mark.parametrize("source", [scripts, faults], ids=["scripts", "faults"])
def test_the_tables_of_the_simulated_host_are_those_of_the_code(source: object) -> None:
    table = [line for line in (inspect.getdoc(source) or "").splitlines() if line.startswith("|")]

    assert len(table) > 10
    assert "\n".join(table) in doc("simulated-host.md")


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


def test_the_versions_are_those_that_can_be_simulated() -> None:
    listed = rows(section(doc("simulated-host.md"), "Versions"))

    assert listed == [
        [profile.version, f"`{profile.build}`", _quoted(profile.capabilities), _quoted(profile.parts)]
        for profile in profiles.PROFILES.values()
    ]
    assert f"without one it is {profiles.DEFAULT}" in doc("simulated-host.md")


def test_the_settings_are_those_that_are_read() -> None:
    listed = rows(section(doc("simulated-host.md"), "Settings"))
    fields = msgspec.structs.fields(Settings)

    assert [cells[0].strip("`") for cells in listed] == [field.encode_name for field in fields]
    assert [cells[1] for cells in listed] == [
        "all" if field.default is None else str(field.default) for field in fields
    ]


def _quoted(names: frozenset[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


# -- errors.md


REASON_AT = {"Reject": 3, "HostStartError": 0}
"""Where the reason stands among the arguments of what becomes an error of a client."""

FACTORIES: dict[str, Callable[..., RpcError]] = {
    name: function
    for name, function in inspect.getmembers(errors, inspect.isfunction)
    if function.__module__ == errors.__name__ and not {"code", "reason"} <= set(inspect.signature(function).parameters)
}


def served_modules() -> list[Path]:
    """The adapter's source files that are loaded when it serves."""
    code = (
        "import sys, adapter.cli.serve;"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.split('.')[0] == 'adapter' and m.__file__), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True)
    return [Path(line) for line in done.stdout.splitlines()]


def raised_reasons() -> Iterator[str]:
    """Every reason that the serving code can put into an error."""
    for path in served_modules():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                yield from _reason_of_call(node)
            elif isinstance(node, ast.Dict):
                pairs = zip(node.keys, node.values, strict=True)
                yield from (_text(value) for key, value in pairs if key is not None and _text(key) == "reason")


def _reason_of_call(node: ast.Call) -> Iterator[str]:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name in REASON_AT:
        yield _text(node.args[REASON_AT[name]])
    elif name in FACTORIES and isinstance(node.func, ast.Attribute):
        parameters = list(inspect.signature(FACTORIES[name]).parameters)
        at = parameters.index("reason") if "reason" in parameters else None
        yield _text(node.args[at]) if at is not None and len(node.args) > at else example(name)[1]


def _text(node: ast.expr) -> str:
    """A literal; empty where the reason is worked out, since then it comes from somewhere else that is read as well."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def example(name: str) -> tuple[int, str]:
    """Code and reason of what a factory makes."""
    function = FACTORIES[name]
    needed = [
        p for p in inspect.signature(function).parameters.values() if p.default is p.empty and p.kind != p.VAR_KEYWORD
    ]
    error = function(*("x" for _ in needed))
    assert error.data is not None
    return error.code, error.data["reason"]


def listed_errors() -> dict[str, int]:
    """Codes by reason, as the document has them."""
    found = {cells[1].strip("`"): int(cells[0]) for cells in rows(doc("errors.md")) if re.fullmatch(r"-\d+", cells[0])}
    assert len(found) > 20
    return found


def test_every_reason_a_client_can_see_is_listed_and_no_other() -> None:
    assert set(listed_errors()) == set(raised_reasons()) - {""}


def test_listed_codes_are_those_of_the_code() -> None:
    listed = listed_errors()

    for name in FACTORIES:
        code, reason = example(name)
        assert listed.get(reason, code) == code, reason
    for reason in ("museNotFound", "hostStartFailed", "hostStartTimeout", "hostTimeout"):
        assert listed[reason] == errors.host_unavailable("x", reason).code


def test_listed_stop_reasons_are_those_of_the_code() -> None:
    listed = rows(section(doc("errors.md"), "Ends of a turn that are no errors"))

    assert {cells[0].strip("`"): cells[1].strip("`") for cells in listed} == outcomes._LIMITS
