"""The project's own recordings: true to the wire types, playable, honest about where they come from, repeatable."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import orjson
import pytest

from adapter.hosts.recorded import Mismatch, Player, load_script
from adapter.hosts.recorded.script import Line
from adapter.hosts.simulated.profiles import PROFILES
from tests.oracles.msp_types import Direction, check_transcript
from tests.record_fixtures import FIXTURES, PROMPT, SCENARIOS, VERSIONS, record

RECORDINGS = [(version, scenario) for version in VERSIONS for scenario in SCENARIOS]
recording = pytest.mark.parametrize(("version", "scenario"), RECORDINGS, ids="/".join)


def lines(version: str, scenario: str) -> tuple[Line, ...]:
    return load_script(FIXTURES / version / scenario).lines


def dialogue(version: str, scenario: str) -> list[tuple[Direction, Any]]:
    return [(line.direction, line.frame) for line in lines(version, scenario)]


def test_there_is_one_of_each_for_every_simulated_version() -> None:
    assert set(VERSIONS) == set(PROFILES)
    found = {path.parent.relative_to(FIXTURES).parts for path in FIXTURES.glob("*/*/transcript.ndjson")}
    assert found >= set(RECORDINGS)


@recording
def test_every_frame_has_its_official_type(version: str, scenario: str) -> None:
    check_transcript(dialogue(version, scenario), profile=version, closed=True)


@recording
def test_the_manifest_tells_the_truth(version: str, scenario: str) -> None:
    about = orjson.loads((FIXTURES / version / scenario / "manifest.json").read_bytes())
    hello = next(frame for direction, frame in dialogue(version, scenario) if direction == "server")
    assert about["provenance"] == "simulated"
    assert "no real host was recorded" in about["provenanceNote"]
    assert about["schema"] == hello["result"]["schema"]
    assert about["schema"]["fingerprint"] == PROFILES[version].fingerprint
    assert about["versionOutput"] == f"Muse Code {version} ({PROFILES[version].build})"
    assert about["serverConfig"]["frameLimitBytes"] == 10 * 1024 * 1024


@recording
def test_the_player_plays_it_for_another_client(version: str, scenario: str) -> None:
    player = Player(load_script(FIXTURES / version / scenario))
    played: list[dict[str, Any]] = []
    for direction, frame in dialogue(version, scenario):
        if direction == "client":
            answer = player.feed(as_another_client(frame))
            assert not isinstance(answer, Mismatch), str(answer)
            played += map(orjson.loads, answer)
    assert player.unfinished() is None
    recorded = [frame for direction, frame in dialogue(version, scenario) if direction == "server"]
    assert [frame.get("method") for frame in played] == [frame.get("method") for frame in recorded]
    if scenario == "prompt-turn":
        start = next(frame for frame in played if frame.get("id") == "r2")
        assert start["result"]["session"]["workspaceRoot"] == "/elsewhere"
        ack = next(frame for frame in played if frame.get("id") == "r3")
        assert ack["result"]["commandId"] == "mine-3"


def as_another_client(frame: dict[str, Any]) -> dict[str, Any]:
    if "id" not in frame:
        return frame
    params = (
        frame["params"] | {"commandId": f"mine-{frame['id']}"} if "commandId" in frame["params"] else frame["params"]
    )
    if frame["method"] == "initialize":
        params = {"clientInfo": {"name": "another", "version": "2"}, "capabilities": {"userInputDialogs": False}}
    if frame["method"] == "session/start":
        params |= {"workspaceRoot": "/elsewhere"}
    return frame | {"id": f"r{frame['id']}", "params": params}


@pytest.mark.parametrize("version", VERSIONS)
def test_a_turn_says_something_and_runs_a_tool(version: str) -> None:
    frames = [frame for _, frame in dialogue(version, "prompt-turn")]
    (turn,) = [frame for frame in frames if frame.get("method") == "turn/start"]
    assert turn["params"]["input"] == [{"type": "text", "text": PROMPT}]
    kinds = {frame["params"]["item"]["kind"] for frame in frames if frame.get("method") == "item/completed"}
    assert {"userMessage", "agentMessage", "toolCall"} <= kinds
    assert any(frame.get("method") == "item/delta" for frame in frames)
    (end,) = [frame for frame in frames if frame.get("method") == "turn/completed"]
    assert end["params"]["terminal"] == "completed"


@recording
def test_recording_again_gives_the_same_dialogue(version: str, scenario: str) -> None:
    again = [(entry["dir"], orjson.loads(entry["raw"])) for entry in record(version, scenario)]
    assert again == dialogue(version, scenario)


@recording
def test_nothing_of_the_machine_is_in_it(version: str, scenario: str) -> None:
    for name in ("transcript.ndjson", "manifest.json"):
        text = (FIXTURES / version / scenario / name).read_text("utf-8")
        for directory in (tempfile.gettempdir(), str(Path.home()), str(Path(__file__).resolve().parents[2])):
            assert f"{directory}/" not in text
