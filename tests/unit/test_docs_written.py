"""`docs/security.md` and `docs/install.md` name every file that is written, and how to be rid of it."""

from __future__ import annotations

import ast
import re

from tests.documents import ROOT, doc, rows, section

WRITTEN = section(doc("security.md"), "What is written, and where")

WRITERS = {
    "host_probe/cache.py": "versions.json",
    "adapter/cli/output_target.py": "muse-adapter output -o",
    "adapter/hosts/recorder/folder.py": "muse-adapter record",
    "adapter/cli/inspect/page.py": "muse-adapter inspect --html",
    "adapter/cli/doctor/support.py": "muse-adapter doctor --support",
    "adapter/cli/demo.py": "the folder of the demo",
    "adapter/hosts/simulated/store.py": "sessions and the login of the simulated host",
    "adapter/hosts/simulated/journal.py": "sessions and the login of the simulated host",
    "adapter/hosts/simulated/credentials.py": "sessions and the login of the simulated host",
    "adapter/hosts/simulated/files.py": "what you have the simulated host write",
    "adapter/hosts/simulated/witness.py": "MUSE_SIMULATED_WITNESS",
}
"""The modules that make files, with words of the row that says where."""

MAKES = {
    "write_text",
    "write_bytes",
    "mkstemp",
    "mkdtemp",
    "TemporaryDirectory",
    "NamedTemporaryFile",
    "O_CREAT",
}


def makes_files(source: str) -> bool:
    nodes = list(ast.walk(ast.parse(source)))
    named = {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    opened = [node.args for node in nodes if isinstance(node, ast.Call) and _name(node.func) == "open"]
    modes = [arg.value for args in opened for arg in args if isinstance(arg, ast.Constant)]
    return bool(named & MAKES) or any(isinstance(mode, str) and set(mode) & set("wax+") for mode in modes)


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def test_whatever_makes_files_is_told() -> None:
    modules = [path for package in ("adapter", "host_probe") for path in (ROOT / package).rglob("*.py")]
    making = {path.relative_to(ROOT).as_posix() for path in modules if makes_files(path.read_text("utf-8"))}

    assert making == set(WRITERS)
    told = " ".join(WRITTEN.split())
    assert [words for words in WRITERS.values() if words not in told] == []


def test_what_makes_files_is_seen() -> None:
    assert (
        makes_files("Path(x).write_text('a')")
        and makes_files("open(x, 'wb')")
        and makes_files("os.open(x, os.O_CREAT)")
    )
    assert not makes_files("Path(x).open('rb'); open(x); os.open(os.devnull, os.O_RDWR)")


def test_whoever_uninstalls_is_told_of_all_of_it() -> None:
    completion = section(doc("command-line.md"), "Completion")
    paths = re.findall(r"`(~/[\w./-]+)`", " ".join(cell for cells in rows(completion) for cell in cells[1:]))
    left = section(doc("install.md"), "Uninstall")

    assert len(paths) > 4
    assert [path for path in paths if f"`{path}`" not in left] == []
    for folder in ("muse-adapter", "muse-simulated"):
        assert f"/{folder}`" in left
