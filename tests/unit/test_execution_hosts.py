"""The hosts that run turns: one of each kind, replaced when they have died or no longer count, asked once; real
processes, on both event loops."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest

from adapter.bridge.hosts import restarts
from adapter.bridge.hosts.execution_hosts import ExecutionHosts
from adapter.bridge.hosts.host_choice import HostChoice
from adapter.bridge.hosts.launch_profile import RESTRICTED, USUAL
from adapter.hosts.simulated.profiles import PROFILES
from adapter.msp.abilities import ASKED, Abilities
from adapter.msp.errors import HostClosed, HostGone, HostStartError, MspError
from adapter.msp.host import Host
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.room import Room
from host_probe import VersionCache, identify
from tests.probed_hosts import Flagged
from tests.processes import assert_gone
from tests.scripted_hosts import Placed, place
from tests.wired import PATIENCE, outcome, until

pytestmark = pytest.mark.anyio

START: Params = {"workspaceRoot": "/srv/demo/orchard"}


class Lodger:
    """A session on a host."""

    def __init__(self, *, idle: bool) -> None:
        self.is_idle = idle


UNTHROTTLED = Room(lambda: True, anyio.sleep_forever)
"""The client reads everything at once."""


@asynccontextmanager
async def hosts_of(
    muse: Placed | str, cache: VersionCache | None = None, **options: Any
) -> AsyncIterator[ExecutionHosts]:
    """Hosts that are all gone afterwards."""
    choice = HostChoice(
        {"PATH": os.environ["PATH"], "HOME": "/nowhere"},
        Path("/nowhere"),
        muse.muse if isinstance(muse, Placed) else muse,
        **{"startup_timeout": PATIENCE, **options},
    )
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            hosts = ExecutionHosts(choice, "1", Background(tasks, logging.getLogger("tests")), UNTHROTTLED, cache)
            yield hosts
            await hosts.close()
            assert isinstance(await outcome(hosts.host), HostClosed), "there is none after the end"
    if isinstance(muse, Placed):
        assert_gone(muse.pids())


async def start(host: Host) -> Params:
    return await host.command("session/start", START, command_id="0198f000-0000-7000-8000-000000000001")


def kill(placed: Placed) -> None:
    os.kill(placed.pids("serve.pids")[-1], signal.SIGKILL)


# -- kinds


async def test_each_kind_has_one_host(tmp_path: Path) -> None:
    placed = place(tmp_path, Flagged)
    async with hosts_of(placed) as hosts:
        hosts.begin()
        usual, restricted = await hosts.host(), await hosts.host(RESTRICTED)
        assert usual is await hosts.host(USUAL) and restricted is await hosts.host(RESTRICTED)
        assert list(usual.launch.argv[1:]) == ["serve"]
        assert list(restricted.launch.argv[1:]) == ["serve", "--disable-write", "--disable-shell"]
    assert len(placed.pids("serve.pids")) == 2 and len(placed.pids("help.pids")) == 1


async def test_a_version_without_the_flags_cannot_be_restricted(tmp_path: Path) -> None:
    placed = place(tmp_path, Flagged, flags=["--disable-write"])
    async with hosts_of(placed) as hosts:
        assert not await hosts.offers(RESTRICTED) and await hosts.offers(USUAL)
        error = await outcome(lambda: hosts.host(RESTRICTED))
        assert isinstance(error, HostStartError) and error.reason == "modeUnavailable"
        assert "--disable-shell" in error.details
    assert not placed.pids("serve.pids")


async def test_flags_are_asked_once_and_remembered(tmp_path: Path) -> None:
    placed, cache = place(tmp_path / "host", Flagged), VersionCache(tmp_path / "cache")
    for _ in range(2):
        async with hosts_of(placed, cache) as hosts:
            assert await hosts.offers(RESTRICTED) and await hosts.offers(RESTRICTED)
    assert len(placed.pids("help.pids")) == 1


async def test_a_host_that_does_not_tell_its_flags_is_not_asked_again_and_again(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Flagged, flags=[])
    async with hosts_of(placed, VersionCache(tmp_path / "cache")) as hosts:
        assert [await hosts.offers(RESTRICTED) for _ in range(3)] == [False] * 3
    assert len(placed.pids("help.pids")) == 1


# -- abilities


async def test_what_a_host_can_do_is_known_before_the_next_one_is_started(tmp_path: Path) -> None:
    placed, cache = place(tmp_path / "host", Flagged, has=["session/fork"], filters=True), VersionCache(tmp_path / "c")
    able = Abilities(frozenset({"session/fork"}), True, True)
    identity = identify([placed.muse], {})
    assert identity is not None
    async with hosts_of(placed, cache) as hosts:
        assert await hosts.known_abilities(PATIENCE) == able
        await until(lambda: cache.abilities(identity) is not None)
    async with hosts_of(placed, cache) as hosts:
        assert await hosts.known_abilities(0) == able
    assert len(placed.pids("serve.pids")) == 1


async def test_a_host_of_which_that_is_known_is_not_asked(tmp_path: Path) -> None:
    placed, cache = place(tmp_path / "host", Flagged, has=["session/fork"]), VersionCache(tmp_path / "c")
    identity = identify([placed.muse], {})
    assert identity is not None
    able = Abilities(frozenset({"session/fork"}))
    cache.put_abilities(identity, able)
    async with hosts_of(placed, cache) as hosts:
        host = await hosts.host()
        assert await host.abilities() == able
        await start(host)
        assert [frame["method"] for frame in placed.received()] == ["initialize", "initialized", "session/start"]
    assert cache.abilities(identity) == able


async def test_half_of_the_answers_is_not_remembered(tmp_path: Path) -> None:
    placed, cache = place(tmp_path / "host", Flagged, silent=["session/fork"]), VersionCache(tmp_path / "c")
    identity = identify([placed.muse], {})
    assert identity is not None
    async with hosts_of(placed, cache) as hosts:
        assert await hosts.known_abilities(0.05) == Abilities()
        await (await hosts.host()).abilities()
        await anyio.sleep(0.05)
    assert cache.abilities(identity) is None


@pytest.mark.parametrize("version", PROFILES)
async def test_of_a_simulated_host_it_is_known_without_a_process(version: str) -> None:
    async with hosts_of(f"simulated:{version}") as hosts:
        known = await hosts.known_abilities(0)
        assert known.methods == PROFILES[version].methods & ASKED
        assert known.workspace_roots is known.list_filter is (version in ("1.4.2", "1.4.13"))
        assert not hosts._slots


@pytest.mark.parametrize("muse", ["/srv/demo/none/muse", "simulated:9.9.9"])
async def test_without_muse_nothing_is_known_and_nothing_fails(muse: str) -> None:
    async with hosts_of(muse) as hosts:
        hosts.begin()
        assert await hosts.known_abilities(PATIENCE) == Abilities()


# -- the end of a host


async def test_a_request_that_the_host_dies_of_is_made_once_more(tmp_path: Path) -> None:
    placed = place(tmp_path, Flagged, deaths=1)
    async with hosts_of(placed) as hosts:
        assert (await hosts.attempt(start))["session"]
    assert len({frame["params"]["commandId"] for frame in placed.received("session/start")}) == 1
    assert len(placed.received("session/start")) == 2


@pytest.mark.parametrize("settings", [{"deaths": 2}, {"deaths": 1, "durable": False}], ids=["again", "ephemeral"])
async def test_not_a_second_time_and_not_where_nothing_is_stored(tmp_path: Path, settings: dict[str, Any]) -> None:
    placed = place(tmp_path, Flagged, **settings)
    async with hosts_of(placed) as hosts:
        assert isinstance(await outcome(lambda: hosts.attempt(start)), HostClosed)
        assert (await hosts.attempt(start))["session"]
    assert len(placed.received("session/start")) == settings["deaths"] + 1


async def test_a_refusal_is_no_death(tmp_path: Path) -> None:
    placed = place(tmp_path, Flagged, odd=["session/start", "sessionBusy", -32603])
    async with hosts_of(placed) as hosts:
        assert isinstance(await outcome(lambda: hosts.attempt(start)), MspError)
    assert len(placed.received("session/start")) == 1


async def test_restarts_are_bounded_and_a_later_time_allows_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restarts, "DELAYS", (0.0, 0.01))
    placed = place(tmp_path, Flagged)
    async with hosts_of(placed) as hosts:
        for _ in range(2):
            await hosts.host()
            kill(placed)
            await until(lambda: (slot := hosts._slots[USUAL]).current is not None and slot.current.gone is not None)
        await hosts.host()
        kill(placed)
        await until(lambda: (slot := hosts._slots[USUAL]).current is not None and slot.current.gone is not None)
        for _ in range(3):
            error = await outcome(hosts.host)
            assert isinstance(error, HostStartError) and error.reason == "hostRestartLimit"
            assert "signal 9" in error.details
        assert len(placed.pids("serve.pids")) == 3
        monkeypatch.setattr(restarts, "WINDOW", 0.0)
        assert (await hosts.host()).gone is None


async def test_the_kinds_do_not_share_their_restarts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "DELAYS", (0.0,))
    placed = place(tmp_path, Flagged)
    async with hosts_of(placed) as hosts:
        for _ in range(2):
            host = await hosts.host()
            kill(placed)
            await host.wait_gone()
        assert isinstance(await outcome(hosts.host), HostStartError)
        assert (await hosts.host(RESTRICTED)).gone is None


# -- a login that no longer counts


async def test_hosts_are_renewed_when_nothing_runs_on_them(tmp_path: Path) -> None:
    placed = place(tmp_path, Flagged)
    async with hosts_of(placed) as hosts:
        first = await hosts.host()
        working, resting, asking = Lodger(idle=False), Lodger(idle=True), Lodger(idle=False)
        for lodger in (working, resting, asking):
            hosts.join(first, lodger)
        assert not hosts.is_outdated(first)
        hosts.renew()
        assert hosts.is_outdated(first)
        assert await hosts.host(asking=asking) is first, "somebody else is at work"
        hosts.leave(first, working)
        assert await hosts.host() is first, "and so is who asks, if nobody says that it is that one"
        second = await hosts.host(asking=asking)
        assert second is not first and first.gone is not None and not hosts.is_outdated(second)
        assert await hosts.host() is second
    assert len(placed.pids("serve.pids")) == 2


async def test_a_host_that_is_asked_something_is_not_renewed(tmp_path: Path) -> None:
    placed = place(tmp_path, Flagged, silent=["session/read"])
    async with hosts_of(placed) as hosts, anyio.create_task_group() as tasks:
        first = await hosts.host()
        tasks.start_soon(outcome, lambda: first.query("session/read", {"sessionId": "ses-1"}))
        await until(lambda: not first.is_quiet)
        hosts.renew()
        assert await hosts.host() is first
        tasks.cancel_scope.cancel()
        await until(lambda: first.is_quiet)
        assert await hosts.host() is not first


async def test_renewing_is_no_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restarts, "DELAYS", (0.0,))
    placed = place(tmp_path, Flagged)
    async with hosts_of(placed) as hosts:
        hosts.renew()
        for number in range(3):
            await hosts.host()
            assert len(placed.pids("serve.pids")) == number + 1
            hosts.renew()


async def test_who_waits_while_the_adapter_stops_is_told(tmp_path: Path) -> None:
    placed = place(tmp_path, Flagged, silent=["initialize"])
    async with hosts_of(placed) as hosts, anyio.create_task_group() as tasks:
        told: list[Any] = []

        async def wait() -> None:
            told.append(await outcome(hosts.host))

        tasks.start_soon(wait)
        await until(lambda: bool(placed.received("initialize")))
        await hosts.close()
        await until(lambda: bool(told))
        assert isinstance(told[0], HostGone)
