"""What fuzzing has found interesting, again on each change; and the same with a little damage, the same each time."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Final

import pytest

from tests.fuzz.mutation import mutated_lines
from tests.fuzz.runs import CORPUS
from tests.fuzz.targets import TARGETS, target

DAMAGED: Final = 120
"""Damaged inputs of each target."""

MOST_FILES: Final = 60
MOST_BYTES: Final = 300 * 1024


def inputs(name: str) -> list[Path]:
    """The corpus of a target."""
    return sorted((CORPUS / name).iterdir())


@pytest.mark.parametrize("name", TARGETS)
def test_every_input_keeps_what_its_target_promises(name: str) -> None:
    one = target(name)
    for path in inputs(name):
        one(path.read_bytes())


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs_keep_it_as_well(name: str) -> None:
    one, chance = target(name), random.Random(name)
    found = [path.read_bytes() for path in inputs(name)]
    for _ in range(DAMAGED):
        data = chance.choice(found)
        for _ in range(chance.randrange(1, 4)):
            data = mutated_lines(chance, data)
        one(data)


def test_the_corpus_is_small_and_is_that_of_the_targets() -> None:
    assert {path.name for path in CORPUS.iterdir()} == set(TARGETS)
    files = [path for name in TARGETS for path in inputs(name)]
    assert all(0 < len(inputs(name)) <= MOST_FILES for name in TARGETS)
    assert sum(path.stat().st_size for path in files) < MOST_BYTES
