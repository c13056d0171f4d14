"""The adapter with shorter waits, for tests of what comes after them.

Run as a program it is `muse-adapter` in which constants of some modules have other values, from the first import on:
what is derived from them, and what takes them for a default, follows.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import CodeType, ModuleType
from typing import Final

_END: Final = "--"


def hurried(**seconds: float) -> list[str]:
    """The command of such an adapter. Constants are named with their modules below `adapter`:
    `hurried(msp__session__LEAVE_SECONDS=0.5)`."""
    return [sys.executable, "-P", __file__, *(f"{name}={value}" for name, value in seconds.items()), _END]


def with_more(command: Sequence[str], **seconds: float) -> list[str]:
    """Such a command with more constants, or other values of them."""
    return [*command[:-1], *(f"{name}={value}" for name, value in seconds.items()), _END]


class Hurry:
    """Finds the modules that have such constants."""

    def __init__(self, words: Sequence[str]) -> None:
        self._constants: dict[str, dict[str, float]] = {}
        for word in words:
            path, _, value = word.partition("=")
            module, _, name = f"adapter__{path}".replace("__", ".").rpartition(".")
            self._constants.setdefault(module, {})[name] = float(value)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(fullname, path, target) if fullname in self._constants else None
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin, self._constants[fullname])
        return spec


class _Loader(SourceFileLoader):
    def __init__(self, fullname: str, path: str, constants: dict[str, float]) -> None:
        super().__init__(fullname, path)
        self._wanted = constants

    def get_code(self, fullname: str) -> CodeType:
        tree = ast.parse(self.get_data(self.path))
        left = dict(self._wanted)
        for node in tree.body:
            if isinstance(node, ast.AnnAssign | ast.Assign):
                name = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
                if isinstance(name, ast.Name) and name.id in left:
                    node.value = ast.copy_location(ast.Constant(left.pop(name.id)), node)
        if left:
            raise AttributeError(f"{fullname} has no constants {sorted(left)}")
        return compile(tree, self.path, "exec", dont_inherit=True)


if __name__ == "__main__":
    end = sys.argv.index(_END)
    sys.meta_path.insert(0, Hurry(sys.argv[1:end]))
    sys.argv[1 : end + 1] = []
    from adapter.cli.entry import main

    main()
