"""Which tests use what only POSIX has, themselves or by what they call: read from their text, since here all of it is
there."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import mypy

ROOT: Final = Path(__file__).resolve().parents[1]

_STUBS: Final = Path(mypy.__file__).with_name("typeshed") / "stdlib"
"""What the standard library has on which system, as mypy knows it."""

_STUB_OF: Final = {"os": "os/__init__.pyi", "signal": "signal.pyi", "time": "time.pyi", "socket": "socket.pyi"}

_MODULES: Final = frozenset({"fcntl", "grp", "pty", "pwd", "resource", "syslog", "termios", "tty"})

_SCRIPT: Final = re.compile(r"#! ?/")
"""How a file begins that only POSIX runs as a program."""

_SKIPPED_BY: Final = re.compile(r"sys\.platform|os\.name|hasattr\((os|signal), ")


_GUARDED: Final = "guarded"
"""What is called skips the test that calls it."""


class Use(NamedTuple):
    """One function of a test module, and what of POSIX it comes to."""

    test: str
    what: str


def posix_names(module: str) -> frozenset[str]:
    """The names of a module of the standard library that Windows lacks."""
    tree = ast.parse((_STUBS / _STUB_OF[module]).read_text("utf-8"))
    everywhere, elsewhere = set[str](), set[str]()
    _sort(tree.body, everywhere, elsewhere, on_windows=True)
    return frozenset(elsewhere - everywhere)


def _sort(body: list[ast.stmt], everywhere: set[str], elsewhere: set[str], *, on_windows: bool) -> None:
    for statement in body:
        if isinstance(statement, ast.If):
            written = ast.unparse(statement.test)
            then = on_windows and not re.search(r"platform (!= 'win32'|== '(linux|darwin)')", written)
            otherwise = on_windows and "platform == 'win32'" not in written
            _sort(statement.body, everywhere, elsewhere, on_windows=then)
            _sort(statement.orelse, everywhere, elsewhere, on_windows=otherwise)
        else:
            (everywhere if on_windows else elsewhere).update(_defined(statement))


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield statement.name
    elif isinstance(statement, ast.ImportFrom | ast.Import):
        yield from (alias.asname or alias.name for alias in statement.names)
    elif isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        yield from (target.id for target in targets if isinstance(target, ast.Name))


class Finder:
    """Finds what test modules come to; each module is read once."""

    def __init__(self) -> None:
        self._names = {module: posix_names(module) for module in _STUB_OF}
        self._modules: dict[Path, dict[str, ast.stmt]] = {}
        self._found: dict[tuple[Path, str], str | None] = {}

    def unskipped(self, path: Path) -> list[Use]:
        """The tests of a module that would run on Windows, and cannot."""
        defined = self._defined_in(path)
        if "pytestmark" in defined and _SKIPPED_BY.search(ast.unparse(defined["pytestmark"])):
            return []
        return [
            Use(test.name, what)
            for test, skipped in _tests(list(defined.values()))
            if not skipped and (what := self._use(path, test)) not in (None, _GUARDED)
        ]

    def _defined_in(self, path: Path) -> dict[str, ast.stmt]:
        if path not in self._modules:
            tree = ast.parse(path.read_text("utf-8"))
            self._modules[path] = {name: statement for statement in tree.body for name in _defined(statement)}
        return self._modules[path]

    def _use(self, path: Path, part: ast.AST) -> str | None:
        """What only POSIX has that a part of a module comes to, None if there is nothing."""
        found = list(self._uses(path, part))
        return _GUARDED if _GUARDED in found else next(iter(found), None)

    def _uses(self, path: Path, part: ast.AST) -> Iterator[str]:
        for node in ast.walk(part):
            if isinstance(node, ast.If) and _SKIPPED_BY.search(ast.unparse(node.test)) and _skips(node):
                yield _GUARDED
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                owner = node.value.id
                if owner in _MODULES or node.attr in self._names.get(owner, ()):
                    yield f"{owner}.{node.attr}"
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _SCRIPT.search(node.value):
                yield "a script"
            # What it calls, and the fixtures it takes.
            name = node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else None
            if name is not None and (what := self._use_of(path, name)) is not None:
                yield what

    def _use_of(self, path: Path, name: str) -> str | None:
        if (path, name) not in self._found:
            self._found[path, name] = None
            statement = self._defined_in(path).get(name)
            if isinstance(statement, ast.ImportFrom) and (statement.module or "").startswith("tests."):
                written = next(one.name for one in statement.names if name in (one.asname, one.name))
                source = ROOT.joinpath(*(statement.module or "").split(".")).with_suffix(".py")
                self._found[path, name] = self._use_of(source, written) if source.is_file() else None
            elif isinstance(statement, ast.ImportFrom) and statement.module in _STUB_OF:
                self._found[path, name] = name if name in self._names[statement.module] else None
            elif statement is not None:
                self._found[path, name] = self._use(path, statement)
        return self._found[path, name]


def _skips(node: ast.If) -> bool:
    return any(ast.unparse(part).startswith("pytest.skip(") for part in node.body)


def _tests(body: list[ast.stmt]) -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, bool]]:
    """The tests, also those in classes, and whether they are skipped on some system."""
    for statement in body:
        if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        skipped = any(_SKIPPED_BY.search(ast.unparse(mark)) for mark in statement.decorator_list)
        if not isinstance(statement, ast.ClassDef):
            if statement.name.startswith("test_"):
                yield statement, skipped
        elif statement.name.startswith("Test"):
            yield from ((test, skipped or inner) for test, inner in _tests(statement.body))
