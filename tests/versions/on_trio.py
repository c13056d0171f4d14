"""Have every process of an environment run on trio where it would run on asyncio, without knowing of it.

A copy stands in the environment's site-packages, with a `.pth` file that imports it whenever its Python starts.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType


class _Finder:
    """Finds anyio, once."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "anyio":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(name, spec.origin)
        return spec


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        module.run.__kwdefaults__["backend"] = "trio"


sys.meta_path.insert(0, _Finder)
