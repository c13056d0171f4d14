"""What is fuzzed: each module has `one(data)`, a pure function that raises where a promise is broken."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Final

TARGETS: Final = (
    *("framing", "envelope", "acp", "msp", "fold", "consent", "output", "results"),
    *("versions", "cache", "recordings", "recorder", "secrets", "words"),
)


def target(name: str) -> Callable[[bytes], None]:
    """The function of a target."""
    one: Callable[[bytes], None] = import_module(f"{__name__}.{name}").one
    return one
