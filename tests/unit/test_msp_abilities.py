"""What a host can do is learnt by asking it, and no odd answer breaks anything; real processes, on both event loops."""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from adapter.hosts.simulated.profiles import PROFILES
from adapter.msp import abilities as module
from adapter.msp.abilities import ASKED, NOBODY, Abilities, abilities_of, questions
from adapter.msp.errors import HostGone
from adapter.msp.host_command import HostCommand
from adapter.wire.envelope import RpcError
from adapter.wire.peer import BadAnswer
from tests.oracles.msp_types import check_client_frame
from tests.probed_hosts import Probed
from tests.running_host import START, failure, running
from tests.scripted_hosts import Json, place

SOME = ("session/fork", "session/leave", "skill/list")


def test_each_question_is_as_the_types_say() -> None:
    for number, (method, params) in enumerate(questions()):
        check_client_frame({"jsonrpc": "2.0", "id": number, "method": method, "params": params})


def test_the_questions_name_one_session_that_nobody_has_and_every_command_its_own_id() -> None:
    asked = questions()
    sessions = {params["sessionId"] for _, params in asked if "sessionId" in params}
    commands = [params["commandId"] for _, params in asked if "commandId" in params]
    assert sessions == {NOBODY} and set(NOBODY) == {"0", "-"}
    assert len(commands) == len(set(commands)) == len(ASKED) - 1
    assert asked[-1] == ("session/list", {"limit": 1, "filter": {"sessionId": {"anyOf": [*sessions]}}})
    assert {method for method, _ in asked} == ASKED | {"session/list"}


@pytest.mark.parametrize(
    ("answer", "there"),
    [
        ({}, True),
        (RpcError(-32020, "no such session", {"kind": "sessionNotFound"}), True),
        (RpcError(-32602, "bad", None), True),
        (RpcError(-1, "odd", {"kind": "tired"}), True),
        (RpcError(-32601, "no such method", None), False),
        (RpcError(-32601, "hidden", {"kind": "experimentalRequired"}), False),
        (RpcError(-32010, "not granted", {"kind": "capabilityRequired"}), False),
        (RpcError(-32603, "not recorded", {"kind": "internal", "reason": "offScript"}), False),
        (BadAnswer("it is no response"), False),
    ],
    ids=lambda value: getattr(value, "message", str(value)),
)
def test_any_answer_but_that_it_is_missing_shows_a_method(answer: Json | Exception, there: bool) -> None:
    assert ("session/fork" in abilities_of({"session/fork": answer}).methods) is there


def test_an_echoed_filter_shows_filters_and_folders() -> None:
    assert abilities_of({"session/list": {"sessions": [], "appliedFilter": {}}}) == Abilities(frozenset(), True, True)
    assert abilities_of({"session/list": {"sessions": []}}) == Abilities()
    assert abilities_of({"session/list": RpcError(-32603, "no", None)}) == Abilities()


def files_in(directory: Path) -> list[Path]:
    return [path for path in directory.rglob("*") if path.is_file()]


# -- a host


@pytest.mark.anyio
async def test_a_host_is_asked_in_front_of_everything_else(tmp_path: Path) -> None:
    placed = place(tmp_path, Probed, has=SOME, filters=True)
    async with running(placed, probes=True) as host:
        await host.ready()
        await host.command("session/start", START)
        assert await host.abilities() == Abilities(frozenset(SOME), True, True)
        assert host.has_told_abilities and not host.unanswered
    methods = [frame["method"] for frame in placed.received()]
    assert methods == ["initialize", "initialized", *(method for method, _ in questions()), "session/start"]


@pytest.mark.anyio
async def test_a_host_that_is_not_asked_can_do_nothing(tmp_path: Path) -> None:
    placed = place(tmp_path, Probed, has=SOME)
    async with running(placed) as host:
        assert await host.abilities() == Abilities() and not host.has_told_abilities
    assert [frame["method"] for frame in placed.received()] == ["initialize", "initialized"]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "settings",
    [
        {"silent": ["session/leave"]},
        {"garbage": ["session/leave"]},
        {"odd": ["session/leave", "methodNotFound", -32000]},
    ],
    ids=lambda settings: next(iter(settings)),
)
async def test_what_is_not_known_counts_as_lacking_and_costs_nothing_else(
    tmp_path: Path, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.3)
    placed = place(tmp_path, Probed, **{"has": SOME, **settings})
    async with running(placed, probes=True) as host:
        assert (await host.abilities()).methods == frozenset(SOME) - {"session/leave"}
        # No answer is not the answer that it is missing.
        assert host.unanswered == frozenset(settings.get("silent", ()))
        assert (await host.command("session/start", START))["session"]


@pytest.mark.anyio
async def test_a_host_that_never_answers_is_waited_for_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.3)
    placed = place(tmp_path, Probed, silent=[*ASKED, "session/list"])
    async with running(placed, probes=True) as host:
        assert await host.abilities() == Abilities()
        before = anyio.current_time()
        for _ in range(100):
            assert await host.abilities() == Abilities()
        assert anyio.current_time() - before < 10, "each wait would take its own time"
        assert not host.has_told_abilities and host.unanswered == ASKED | {"session/list"}


@pytest.mark.anyio
async def test_a_host_that_dies_of_it_is_gone_and_nothing_hangs(tmp_path: Path) -> None:
    placed = place(tmp_path, Probed, has=SOME, dies_at="session/leave")
    async with running(placed, probes=True) as host:
        await host.wait_gone()
        assert isinstance(await failure(host.abilities), HostGone)
        assert "session/leave" in host.unanswered
        assert isinstance(await failure(partial(host.command, "session/start", START)), HostGone)


@pytest.mark.anyio
@pytest.mark.parametrize("version", PROFILES)
async def test_simulated_hosts_show_what_their_version_has_and_nothing_happens(tmp_path: Path, version: str) -> None:
    argv = [sys.executable, "-m", "adapter.hosts.simulated", "--profile", version, "--data-dir", str(tmp_path)]
    environ = {**os.environ, "HOME": str(tmp_path)}
    async with running(HostCommand([*argv, "serve"], environ), probes=True) as host:
        told = await host.abilities()
        profile = PROFILES[version]
        assert told.methods == profile.methods & ASKED
        newer = version in ("1.4.2", "1.4.13")
        assert (told.workspace_roots, told.list_filter) == (newer, newer)
        assert (await host.query("session/list", {}))["sessions"] == []
    assert not files_in(tmp_path)
