"""Loads so small that they take no time, and so far apart that what grows with them shows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest

from tests.load.__main__ import MORE_DESCRIPTORS
from tests.load.client import LoadClient
from tests.load.loads import LOADS, Taken, measure
from tests.processes import proc

SIZES: Final = {
    "slow": (1_000, 150_000),
    "cards": (100, 400),
    "hole": (150, 300),
    "sessions": (10, 60),
    "history": (2_500, 7_500),
    "deaf-client": (2, 6),
}
"""The smaller one fills what is bounded; the larger one is as much more as would show."""

GROWTH: Final = 1.25
"""MiB for each MiB; what is left to chance is less."""


@pytest.mark.parametrize("name", SIZES)
def test_p2_memory_does_not_grow_with(name: str, tmp_path: Path) -> None:
    proc()
    small, big = (_measured(name, size, tmp_path / str(size)) for size in SIZES[name])
    assert big.peak < GROWTH * small.peak, (small, big)
    before, after = big.descriptors
    assert after <= before + MORE_DESCRIPTORS


def _measured(name: str, size: int, home: Path) -> Taken:
    home.mkdir()
    return measure(LOADS[name], size, home)


ODD: Final = """
import json, os, sys
for line in sys.stdin:
    answer = json.dumps({"jsonrpc": "2.0", "id": json.loads(line)["id"], "result": {}})
    ODDLY
"""


@pytest.mark.parametrize(
    ("does", "found"),
    [
        ("print(answer, flush=True); print(answer, flush=True)", "the second one"),
        ("print(answer, flush=True); print(dict(os.environ), file=sys.stderr)", "environment is in the log"),
        ("print(answer, flush=True); print('Traceback (most recent call last):', file=sys.stderr)", "a traceback"),
    ],
)
def test_what_an_adapter_does_wrong_is_found(tmp_path: Path, does: str, found: str) -> None:
    client = LoadClient(tmp_path, "none", [sys.executable, "-c", ODD.replace("ODDLY", does)])
    client.call("session/list", {})
    with pytest.raises(AssertionError, match=found):
        client.finish()
