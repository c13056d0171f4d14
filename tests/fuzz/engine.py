"""One target under atheris, in an environment that has it: `python -m tests.fuzz.engine NAME` and what libFuzzer takes.

Only what the adapter needs at run time is imported here.
"""

from __future__ import annotations

import logging
import random
import sys

import atheris

from tests.fuzz.mutation import mutated_lines
from tests.fuzz.targets import target

PLAIN = 0.25
"""How often the bytes are damaged by libFuzzer, which knows nothing of lines."""


def mutate(data: bytes, max_size: int, seed: int) -> bytes:
    """What is tried next, made from what was tried."""
    chance = random.Random(seed)
    if chance.random() < PLAIN:
        plain: bytes = atheris.Mutate(data, max_size)
        return plain
    return mutated_lines(chance, data)[:max_size]


def main(name: str, arguments: list[str]) -> None:
    """Fuzz until libFuzzer ends the process."""
    # What is logged of so much nonsense is of no use, and slow.
    logging.disable(logging.CRITICAL)
    with atheris.instrument_imports(include=["adapter", "host_probe"]):
        one = target(name)
    atheris.Setup([name, *arguments], one, custom_mutator=mutate)
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
