"""The kind beyond the cases of groups A, B and D: lines that were damaged at random, thousands of them, to one adapter.
Those of a client may not end it, go unanswered or be answered twice; those of a host may not end it or hold a prompt.

`python -m tests.fuzz.frames` does the same with a million.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.fuzz.from_client import Client
from tests.fuzz.from_host import Editor
from tests.oracles.acp_schema import check_agent_frame
from tests.scripted_hosts import Json

LINES: Final = 2000


def as_the_schema_says(frame: Json) -> None:
    """What answers what is not known here, so of answers only errors are looked at."""
    if "result" not in frame:
        check_agent_frame(frame)


@pytest.mark.acp(15, 107)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_b_d_damaged_lines_are_each_answered_as_they_should_be(tmp_path: Path, seed: int) -> None:
    client = Client(seed, tmp_path, look=as_the_schema_says)
    try:
        report = client.run(LINES)
    finally:
        client.driven.kill()
    assert report.problems == []
    assert report.answers > LINES // 2 and report.frames == LINES and report.questions > 0


@pytest.mark.parametrize("seed", [1, 2])
def test_a_b_d_damaged_lines_of_a_host_hold_nothing_up(tmp_path: Path, seed: int) -> None:
    editor = Editor(seed, tmp_path, look=as_the_schema_says)
    try:
        report = editor.run(LINES)
    finally:
        editor.driven.kill()
    assert report.problems == []
    assert report.answers > LINES // 50 and report.frames == LINES
