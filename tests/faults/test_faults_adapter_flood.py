"""A hundred thousand damaged lines to one adapter: each is answered as it should be, and memory stays where it is."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from tests.adapter_process import running_adapter
from tests.faults.test_faults_adapter_frames import peak_memory
from tests.faults.test_faults_adapter_mutated import Nothing, _key, answered_as, mutated, templates
from tests.scripted_hosts import ScriptedHost, place

LINES: Final = 100_000
BATCH: Final = 500
SETTLED: Final = 30
"""Batches after which everything that is remembered has its full size."""

GROWTH: Final = 16 * 1024 * 1024
"""Far less than the lines that follow are together."""

LASTING: Final = frozenset({"session/new", "session/prompt", "initialize", "authenticate", "session/list"})
"""Methods that a host is asked about, or that leave something behind."""


def short_lived(cwd: Path) -> list[Any]:
    """Sound messages that leave nothing behind; what is done with the others is tested elsewhere."""
    found = [frame for frame in templates("ses-nobody", cwd) if frame.get("method") not in LASTING]
    nobody = {"sessionId": "ses-nobody"}
    for method in ("session/close", "session/set_mode", "session/prompt"):
        params = nobody | {"modeId": "m", "prompt": [{"type": "text", "text": "温室🌳 go"}]}
        found.append({"jsonrpc": "2.0", "id": 0, "method": method, "params": params})
    return found


@pytest.mark.acp(15, 107)
def test_a_b_d_a_hundred_thousand_damaged_lines(tmp_path: Path) -> None:
    chance = random.Random(4711)
    sound = short_lived(tmp_path)
    with running_adapter(tmp_path, muse=place(tmp_path / "host", ScriptedHost).muse) as adapter:
        adapter._next_id = 1_000_000
        adapter.initialize()
        before = len(adapter.frames)
        owed: Counter[str] = Counter()
        settled = 0
        for batch in range(LINES // BATCH):
            lines = [mutated(chance, chance.choice(sound), batch * BATCH + number) for number in range(BATCH)]
            adapter.write(b"".join(lines))
            for line in b"".join(lines).split(b"\n"):
                owed[_key(answered_as(line))] += 1
            probe = adapter.begin("orchard/probe", {})
            adapter.response(probe)
            owed[_key(probe)] += 1
            if batch == SETTLED:
                settled = peak_memory(adapter)
        assert peak_memory(adapter) - settled < GROWTH
        adapter.close_input()
        assert adapter.wait_exit() == 0
        assert b"Traceback" not in adapter.stderr, adapter.stderr.decode()
    del owed[_key(Nothing)]
    given = Counter(_key(frame["id"]) for frame in adapter.frames[before:] if "method" not in frame)
    assert given == owed
    assert sum(given.values()) > LINES // 2
