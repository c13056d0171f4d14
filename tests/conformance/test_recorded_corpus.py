"""The player plays every official transcript: byte for byte for the recorded client, and for one with other ids."""

from __future__ import annotations

import itertools
from typing import Any

import orjson
import pytest

from adapter.hosts.recorded import Mismatch, Player, Script, load_script
from tests import corpus
from tests.oracles.msp_types import CORPUS, Direction, check_transcript

pytestmark = corpus.needs_corpus

OTHER_CLIENT = {"name": "somebody_else", "version": "9", "title": "Somebody Else"}


def loaded(scenario: str) -> Script:
    return load_script(corpus.CORPUS / scenario)


def fed(player: Player, frame: dict[str, Any]) -> list[bytes]:
    answer = player.feed(frame)
    assert not isinstance(answer, Mismatch), str(answer)
    return answer


@pytest.mark.parametrize("scenario", corpus.scenarios())
def test_the_recorded_client_gets_the_recorded_bytes(scenario: str) -> None:
    player = Player(loaded(scenario))
    played = player.opening()
    for frame in corpus.frames(scenario):
        if frame.sender == "client":
            played += fed(player, frame.message)
    assert played == [frame.raw.encode() for frame in corpus.frames(scenario) if frame.sender == "server"]
    assert player.unfinished() is None


class OtherClient:
    """Says what the recorded client said with ids of its own, and knows what the host must say to that."""

    def __init__(self, scenario: str) -> None:
        self._numbers = itertools.count(70)
        self._ids: dict[Any, Any] = {}
        # A string never becomes a part of another: every id is a whole JSON string in these transcripts.
        self._commands: dict[str, str] = {}
        for sender, _, frame in corpus.frames(scenario):
            command = frame.get("params", {}).get("commandId")
            if sender == "client" and command and command not in self._commands:
                self._commands[command] = f"0199aaaa-0000-7000-8000-{len(self._commands):012d}"

    def says(self, raw: str) -> dict[str, Any]:
        frame = self._with_other_commands(raw)
        if "method" in frame and "id" in frame:
            number = next(self._numbers)
            self._ids[frame["id"]] = f"r{number}" if isinstance(frame["id"], int) else number
            frame["id"] = self._ids[frame["id"]]
            frame["trace"] = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}
        if frame.get("method") == "initialize":
            frame["params"]["clientInfo"] = OTHER_CLIENT
        return dict(reversed(frame.items()))

    def hears(self, raw: str) -> dict[str, Any]:
        frame = self._with_other_commands(raw)
        if "method" not in frame:
            frame["id"] = self._ids[frame["id"]]
        return frame

    def _with_other_commands(self, raw: str) -> dict[str, Any]:
        for recorded, other in self._commands.items():
            raw = raw.replace(f'"{recorded}"', f'"{other}"')
        frame: dict[str, Any] = orjson.loads(raw)
        return frame


@pytest.mark.parametrize("scenario", corpus.scenarios())
def test_a_client_with_other_ids_gets_its_own_ids_back(scenario: str) -> None:
    client, player = OtherClient(scenario), Player(loaded(scenario))
    dialogue: list[tuple[Direction, Any]] = []
    for sender, raw, _ in corpus.frames(scenario):
        if sender == "client":
            frame = client.says(raw)
            dialogue += [("client", frame), *(("server", orjson.loads(line)) for line in fed(player, frame))]
    played = [frame for direction, frame in dialogue if direction == "server"]
    assert played == [client.hears(raw) for sender, raw, _ in corpus.frames(scenario) if sender == "server"]
    assert player.unfinished() is None
    check_transcript(dialogue, profile=CORPUS)


@pytest.mark.parametrize("scenario", corpus.scenarios())
def test_a_client_that_leaves_early_leaves_the_script_unfinished(scenario: str) -> None:
    player = Player(loaded(scenario))
    frames = [frame.message for frame in corpus.frames(scenario) if frame.sender == "client"]
    for frame in frames[:-1]:
        fed(player, frame)
    assert player.unfinished() is not None
