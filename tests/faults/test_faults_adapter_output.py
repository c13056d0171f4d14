"""Faults of group C: nothing but frames on stdout, whatever is printed on either side; stderr is read all the time."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import pytest

from tests.adapter_process import running_adapter
from tests.faults.hosts_of_bytes import Chatters, Interjects
from tests.faults.with_host import opened, serves_on
from tests.scripted_hosts import ScriptedHost, place

LOUD_IMPORT: Final = """
import sys, warnings

class Loud:
    def find_spec(self, name, path=None, target=None):
        if name in ("anyio", "adapter.bridge.agent"):
            print("importing", name)
            warnings.warn(f"{name} is old")

sys.meta_path.insert(0, Loud())
"""
"""A `sitecustomize` that prints whenever one of the adapter's imports is looked for."""

NOISE: Final = '\x1b[2J\x1b[32mMuse\x1b[0m\n"ready"\n[]\n42\n\n\r\nLoading profile\n\x00\n{\n'


@pytest.mark.acp(1)
def test_c1_notes_go_to_stderr(tmp_path: Path) -> None:
    """A host newer than any known is worth a warning, and debug logging says a lot."""
    with opened(tmp_path, ScriptedHost, "--log-level", "debug", version="99.0.0", fingerprint="sha256:0") as case:
        case.prompt()
        case.wait_for_note(b"host version 99.0.0 is newer than any this adapter knows")
        case.adapter.send({"jsonrpc": "2.0", "id": "nobody's", "result": {}})
        case.wait_for_note(b"DEBUG adapter.acp")


@pytest.mark.acp(1)
@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])
def test_c2_first_run_and_loud_imports(tmp_path: Path, unbuffered: str) -> None:
    loud, home = tmp_path / "loud", tmp_path / "home"
    loud.mkdir()
    home.mkdir()
    (loud / "sitecustomize.py").write_text(LOUD_IMPORT)
    paths = [str(loud), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {"PYTHONPATH": os.pathsep.join(paths), "PYTHONUNBUFFERED": unbuffered}
    host = place(tmp_path / "host", ScriptedHost)
    for _run in range(2):
        with running_adapter(home, muse=host.muse, env=env) as adapter:
            adapter.initialize()
            serves_on(adapter, tmp_path)
            assert b"importing anyio" in adapter.stderr
            assert b"importing adapter.bridge.agent" in adapter.stderr
            assert b"anyio is old" in adapter.stderr


@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
def test_c3_noise_of_the_host_is_skipped(tmp_path: Path, first: bool) -> None:
    with opened(tmp_path, Interjects, raw=100 * NOISE, first=first) as case:
        assert case.prompt() == {"stopReason": "end_turn"}
        assert case.text() == "before after"
        case.wait_for_note(b"must be a JSON object")
    assert case.adapter.stderr.count(b"\n") <= 12


def test_c4_stderr_of_the_host_is_read_all_the_time(tmp_path: Path) -> None:
    with opened(tmp_path, Chatters, size=4_000_000) as case:
        assert case.prompt() == {"stopReason": "end_turn"}
        assert len(case.adapter.stderr) < 64 * 1024
