"""Scripts about the session itself, and what the input parts of a prompt become (`msp.md §12.1, §13.3, §18, §20`)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapter.hosts.simulated.profiles import PROFILES
from tests.sim_driver import Json, Refused, SimHost, items_of, params_of, sim_host

PIXEL = b"\x89PNG\r\n\x1a\n not really"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SimHost]:
    """A newest host that has shaken hands."""
    with sim_host(tmp_path) as running:
        running.handshake()
        yield running


def answer(frames: list[Json]) -> str:
    text: str = items_of(frames, "agentMessage")[-1]["text"]
    return text


def say(host: SimHost, session: str, *parts: Json) -> str:
    return answer(host.turn(session, "", input=list(parts)))


def image(data: bytes) -> Json:
    return {"type": "image", "mediaType": "image/png", "base64Data": base64.b64encode(data).decode()}


def test_every_part_of_a_prompt_is_seen(host: SimHost) -> None:
    skill = {"type": "skill", "selector": "review", "arguments": "src — alles"}
    said = say(host, host.start(), {"type": "text", "text": "seen Grüße"}, image(PIXEL), skill)
    assert said.split("\n") == [
        "text 10 chars",
        f"image image/png {len(PIXEL)} bytes sha256:{hashlib.sha256(PIXEL).hexdigest()[:16]}",
        "skill review src — alles",
    ]


def test_a_skill_that_comes_first_runs(host: SimHost) -> None:
    session = host.start()
    skill: Json = {"type": "skill", "selector": "review"}
    assert say(host, session, skill) == "The skill review ran with: (no arguments)"
    assert say(host, session, {**skill, "arguments": "a b"}) == "The skill review ran with: a b"


@pytest.mark.parametrize("data", ["", "!!", "QQ", "Q=Q="])
def test_an_image_without_readable_bytes_is_refused(host: SimHost, data: str) -> None:
    session = host.start()
    with pytest.raises(Refused) as caught:
        host.prompt(session, "", input=[{"type": "image", "mediaType": "image/png", "base64Data": data}])
    assert caught.value.code == -32602


def test_a_session_remembers_its_first_prompt_also_in_another_host(host: SimHost, tmp_path: Path) -> None:
    session = host.start()
    host.turn(session, "my name is Ōe")
    assert answer(host.turn(session, "recall")) == "You first said: my name is Ōe"
    host.close()
    with sim_host(tmp_path) as second:
        second.handshake()
        second.command("session/resume", {"sessionId": session})
        assert answer(second.turn(session, "recall")) == "You first said: my name is Ōe"


def test_a_skill_more_is_announced_listed_and_runs(host: SimHost) -> None:
    session, other = host.start(), host.start()
    deploy: Json = {"type": "skill", "selector": "deploy", "arguments": "here"}
    with pytest.raises(Refused):
        say(host, session, deploy)
    assert params_of(host.turn(session, "skills"), "skill/changed") == [{"sessionId": session}]

    def selectors(session: str) -> list[str]:
        return [row["selector"] for row in host.ask("skill/list", {"sessionId": session})["skills"]]

    assert selectors(session) == [*selectors(other), "deploy"]
    assert say(host, session, deploy) == "The skill deploy ran with: here"
    assert not params_of(host.turn(session, "skills"), "skill/changed"), "nothing changed the second time"


@pytest.mark.parametrize("version", PROFILES)
@pytest.mark.parametrize(
    ("prompt", "kind"), [("hook", "hookRun"), ("websearch", "webSearch"), ("damage", "damagedRange")]
)
def test_newer_kinds_of_items_are_shown_by_the_newest_version_only(
    tmp_path: Path, version: str, prompt: str, kind: str
) -> None:
    with sim_host(tmp_path, version) as host:
        host.handshake()
        frames = host.turn(host.start(), prompt)
        assert len(items_of(frames, kind)) == (version == "1.4.13")
        assert frames[-1]["params"]["terminal"] == "completed"
        assert answer(frames)


def test_a_hook_that_blocks_says_why(host: SimHost) -> None:
    (run,) = items_of(host.turn(host.start(), "hook blocked"), "hookRun")
    assert (run["runStatus"], run["reason"]) == ("blocked", "the style is naïve ✗")


def test_another_model_answers(host: SimHost) -> None:
    frames = host.turn(host.start(), "model-mismatch muse-small-1")
    assert [params["modelId"] for params in params_of(frames, "session/tokenUsage")] == ["muse-small-1"]


@pytest.mark.parametrize(
    ("prompt", "context"),
    [
        ("usage 500 1000", {"usedTokens": 500, "windowTokens": 1000, "pressure": "normal"}),
        ("usage 900 1000", {"usedTokens": 900, "windowTokens": 1000, "pressure": "warning"}),
        ("usage 1000 1000", {"usedTokens": 1000, "windowTokens": 1000, "pressure": "blocked"}),
        (f"usage {'9' * 30}", {"usedTokens": 1000, "pressure": "normal"}),
        ("usage 77", {"usedTokens": 77, "pressure": "normal"}),
    ],
)
def test_the_context_is_as_full_as_it_is_told(host: SimHost, prompt: str, context: Json) -> None:
    frames = host.turn(host.start(), prompt)
    (told,) = params_of(frames, "session/contextUsage")
    assert {key: told[key] for key in told if key in ("usedTokens", "windowTokens", "pressure")} == context
    assert params_of(frames, "session/tokenUsage")[0]["cumulative"]["cost"]["partial"] is False


def test_costs_add_up_and_older_versions_tell_none(host: SimHost, tmp_path: Path) -> None:
    session = host.start()
    costs = [
        params_of(host.turn(session, "hello"), "session/tokenUsage")[0]["cumulative"]["cost"]["usd"] for _ in range(3)
    ]
    assert costs == sorted(set(costs))
    with sim_host(tmp_path / "older", "1.3.0") as older:
        older.handshake()
        (usage,) = params_of(older.turn(older.start(), "hello"), "session/tokenUsage")
        assert set(usage["cumulative"]) == {"promptTokens", "outputTokens", "totalTokens"}


@pytest.mark.parametrize("version", ["1.2.1", "1.4.2", "1.4.13"])
def test_the_host_names_a_session(tmp_path: Path, version: str) -> None:
    with sim_host(tmp_path, version) as host:
        host.handshake()
        session = host.start()
        (named,) = params_of(host.turn(session, "title Grüße aus 東京"), "session/nameChanged")
        assert named["name"] == "Grüße aus 東京"
        assert named.get("nameOrigin") == ("automatic" if version == "1.4.13" else None)
        row = host.ask("session/list")["sessions"][0]
        assert row["name"] == "Grüße aus 東京"
