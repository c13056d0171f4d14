"""A hundred thousand damaged lines to one adapter: each is answered as it should be, and memory stays where it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.fuzz.from_client import Client
from tests.fuzz.templates import of_client

LINES: Final = 100_000
GROWTH: Final = 16
"""MiB; far less than the lines that follow are together."""

LASTING: Final = frozenset({"session/new", "session/prompt", "initialize", "authenticate", "session/list"})
"""Methods that a host is asked about, or that leave something behind."""


def short_lived(session_id: str, cwd: Path) -> list[Any]:
    """Sound messages that leave nothing behind; what is done with the others is tested elsewhere."""
    found = [frame for frame in of_client("ses-nobody", cwd) if frame.get("method") not in LASTING]
    nobody = {"sessionId": "ses-nobody"}
    for method in ("session/close", "session/set_mode", "session/prompt"):
        params = nobody | {"modeId": "m", "prompt": [{"type": "text", "text": "温室🌳 go"}]}
        found.append({"jsonrpc": "2.0", "id": 0, "method": method, "params": params})
    return found


@pytest.mark.acp(15, 107)
def test_a_b_d_a_hundred_thousand_damaged_lines(tmp_path: Path) -> None:
    client = Client(4711, tmp_path, sound=short_lived)
    try:
        report = client.run(LINES)
    finally:
        client.driven.kill()
    assert report.problems == []
    assert report.frames == LINES and report.answers > LINES // 2
    assert report.questions > LINES // 10_000
    assert 0 < report.settled_mib <= report.peak_mib < report.settled_mib + GROWTH
