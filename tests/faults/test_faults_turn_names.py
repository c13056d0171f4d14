"""Faults of group H about names: a turn that runs under another id than the one its prompt was acknowledged with."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.adapter_process import Json
from tests.faults.scripted_turns import Plays, Step, ack, delta, ended, item, pause
from tests.faults.with_host import opened

END_TURN: Final[Json] = {"stopReason": "end_turn"}
OPEN: Final = item("started", text="")
HEL: Final = [delta("hel"), delta("lo")]
LATER: Final = [delta(" you"), item("completed", text="hello you"), ended()]
OTHER: Final = ack("$T-other")


@pytest.mark.parametrize(
    "script",
    [
        [*HEL, pause(0.05), OTHER, pause(0.05), *LATER],
        [OPEN, *HEL, pause(0.05), OTHER, pause(0.05), *LATER],
        [OTHER, pause(0.05), OPEN, *HEL, *LATER],
        [*HEL, *LATER, pause(0.05), OTHER],
        [OPEN, *HEL, *LATER, pause(0.05), OTHER],
    ],
    ids=["no item", "half", "ack first", "no item, all before", "all before"],
)
def test_h7_a_turn_that_never_starts_and_has_another_name(tmp_path: Path, script: list[Step]) -> None:
    with opened(tmp_path, Plays, scripts=[script]) as case:
        for said in ("hello you", "hello youhello you"):
            assert case.prompt() == END_TURN
            assert case.text() == said


@pytest.mark.parametrize("turn_id", ["$O", "turn-nobody"], ids=["stale", "foreign"])
def test_h6_an_end_alone_names_nobodys_turn(tmp_path: Path, turn_id: str) -> None:
    odd = ended("failed", turn_id=turn_id)
    script = [odd, ack(), odd, pause(0.1), OPEN, *HEL, *LATER]
    with opened(tmp_path, Plays, scripts=[[OPEN, *HEL, *LATER], script]) as case:
        assert case.prompt() == END_TURN
        assert case.prompt() == END_TURN
        assert case.text() == "hello youhello you"
