"""What a host is asked: sent again or not, answered late, never, or with what cannot be used."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio.lowlevel import checkpoint

from adapter.msp import budgets
from adapter.msp.errors import HostClosed, MalformedResult, MspError, RequestTimeout
from tests.hosts_that_answer import Answers
from tests.running_host import START, failure, running
from tests.scripted_hosts import Json, ScriptedHost, place
from tests.wired import PATIENCE, outcome, until

pytestmark = pytest.mark.anyio

# -- the retry contract (`msp.md §6`)


@pytest.mark.parametrize("kind", ["overloaded", "backpressured"])
async def test_a_command_is_sent_again_under_the_same_id(tmp_path: Path, kind: str) -> None:
    placed = place(tmp_path, Answers, at="session/start", error=kind, times=budgets.ATTEMPTS - 1)
    async with running(placed) as host:
        await host.ready()
        await host.command("session/start", START)
    sent = [frame["params"]["commandId"] for frame in placed.received("session/start")]
    assert len(sent) == budgets.ATTEMPTS and len(set(sent)) == 1


async def test_a_command_is_not_sent_for_ever(tmp_path: Path) -> None:
    placed = place(tmp_path, Answers, at="session/start", error="overloaded", times=100)
    async with running(placed) as host:
        await host.ready()
        error = await failure(partial(host.command, "session/start", START))
        assert isinstance(error, MspError) and error.kind == "overloaded"
    assert len(placed.received("session/start")) == budgets.ATTEMPTS


async def test_a_command_that_nobody_wants_any_more_is_given_up_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(budgets, "retry_delay", lambda kind, attempt: 10 * PATIENCE)
    placed = place(tmp_path, Answers, at="session/start", error="overloaded", times=100)
    async with running(placed) as host:
        await host.ready()
        with anyio.fail_after(PATIENCE):
            error = await failure(partial(host.command, "session/start", START, wanted=lambda: False))
        assert isinstance(error, MspError) and error.kind == "overloaded"
    assert len(placed.received("session/start")) == 1


async def test_another_refusal_is_final_and_a_given_id_is_used(tmp_path: Path) -> None:
    placed = place(tmp_path, Answers, at="session/start", error="sessionBusy", times=100)
    async with running(placed) as host:
        await host.ready()
        error = await failure(partial(host.command, "session/start", START, command_id="id-1"))
        assert isinstance(error, MspError) and error.kind == "sessionBusy"
    assert [frame["params"]["commandId"] for frame in placed.received("session/start")] == ["id-1"]


async def test_a_query_has_no_command_id_and_is_not_repeated(tmp_path: Path) -> None:
    placed = place(tmp_path, Answers, at="session/list", error="overloaded", times=1)
    async with running(placed) as host:
        await host.ready()
        assert isinstance(await failure(partial(host.query, "session/list", {})), MspError)
    [asked] = placed.received("session/list")
    assert "commandId" not in asked["params"]


@pytest.mark.parametrize("ack", ["somebody-else's", 17, None], ids=repr)
async def test_an_ack_for_another_command_is_none(tmp_path: Path, ack: Any) -> None:
    async with running(place(tmp_path, Answers, at="session/start", result={"commandId": ack})) as host:
        await host.ready()
        error = await failure(partial(host.command, "session/start", START))
        assert isinstance(error, MalformedResult) and error.method == "session/start"


async def test_an_ack_may_leave_the_command_id_out(tmp_path: Path) -> None:
    async with running(place(tmp_path, Answers, at="session/start", result={"status": "accepted"})) as host:
        await host.ready()
        assert await host.command("session/start", START) == {"status": "accepted"}


# -- answers that do not come, or cannot be used


async def test_a_late_answer_costs_its_request_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed = place(tmp_path, Answers, at="session/list", silent=True)
    async with running(placed) as host:
        await host.ready()
        monkeypatch.setattr(budgets, "QUERY_TIMEOUT", 0.1)
        error = await failure(partial(host.query, "session/list", {}))
        assert isinstance(error, RequestTimeout)
        assert (error.method, error.seconds) == ("session/list", 0.1)
        # The host answers the silenced request now, before this one.
        assert "session" in await host.command("session/start", START)


async def test_a_question_has_the_time_it_was_given(tmp_path: Path) -> None:
    placed = place(tmp_path, Answers, at="session/list", silent=True, forgets=True, times=2)
    async with running(placed) as host:
        await host.ready()
        error = await failure(partial(host.query, "session/list", {}, seconds=0.1))
        assert isinstance(error, RequestTimeout) and error.seconds == 0.1
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(partial(host.query, "session/list", {}, seconds=77))
            await until(lambda: 77 in host._patience._left.values())
            tasks.cancel_scope.cancel()


class Busy(ScriptedHost):
    """Takes a second for a page, and reads nothing meanwhile."""

    def on_view_page(self, request: Json) -> None:
        time.sleep(1.0)
        self.answer(request)


class Hangs(ScriptedHost):
    """Reads and says nothing any more once it is to start a session."""

    def on_session_start(self, request: Json) -> None:
        time.sleep(PATIENCE)


async def test_a_host_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(place(tmp_path, Hangs)) as host:
        await host.ready()
        monkeypatch.setattr(budgets, "OPEN_TIMEOUT", 0.3)
        monkeypatch.setattr(budgets, "QUERY_TIMEOUT", 0.3)
        assert isinstance(await failure(partial(host.command, "session/start", START)), RequestTimeout)
        with anyio.fail_after(PATIENCE):
            await host.wait_gone()
        error = await failure(partial(host.query, "session/list", {}))
        assert isinstance(error, HostClosed)
        assert str(error) == "the Muse host said nothing any more and was ended"


async def test_a_host_that_only_ignores_a_command_is_let_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    placed = place(tmp_path, Answers, at="session/start", silent=True, forgets=True)
    async with running(placed) as host:
        await host.ready()
        monkeypatch.setattr(budgets, "OPEN_TIMEOUT", 0.3)
        assert isinstance(await failure(partial(host.command, "session/start", START)), RequestTimeout)
        await until(lambda: len(placed.received("session/list")) == 1)
        await anyio.sleep(0.5)
        assert host.gone is None


async def test_a_host_is_not_silent_while_this_process_stands_still(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(place(tmp_path, Answers)) as host:
        await host.ready()
        monkeypatch.setattr(budgets, "OPEN_TIMEOUT", 0.3)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(outcome, partial(host.command, "session/start", START))
            while not host._asking:
                await checkpoint()
            for _ in range(5):
                await checkpoint()
            time.sleep(1)  # noqa: ASYNC251 - as a process that was stopped
        assert "session" in await host.command("session/start", START)


async def test_a_host_that_is_asked_for_something_long_is_not_ended_for_one_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed = place(tmp_path, Busy)
    async with running(placed) as host:
        await host.ready()
        monkeypatch.setattr(budgets, "COMMAND_TIMEOUT", 0.3)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.query, "view/page", {})
            await until(lambda: len(placed.received("view/page")) == 1)
            assert isinstance(await failure(partial(host.command, "session/rename", {})), RequestTimeout)
        assert host.gone is None


@pytest.mark.parametrize("result", [17, "x", []], ids=repr)
async def test_a_result_that_is_no_object(tmp_path: Path, result: Any) -> None:
    async with running(place(tmp_path, Answers, at="session/list", result=result)) as host:
        await host.ready()
        error = await failure(partial(host.query, "session/list", {}))
        assert isinstance(error, MalformedResult) and error.method == "session/list"
        assert "session" in await host.command("session/start", START)


async def test_an_answer_that_is_too_long_fails_its_request_alone(tmp_path: Path) -> None:
    placed = place(tmp_path, Answers, at="session/list", result={"text": "x" * 200_000})
    async with running(placed, frame_cap=64 * 1024) as host:
        await host.ready()
        assert isinstance(await failure(partial(host.query, "session/list", {})), MalformedResult)
        assert "session" in await host.command("session/start", START)


async def test_a_question_that_is_too_long_is_not_sent(tmp_path: Path) -> None:
    placed = place(tmp_path, ScriptedHost)
    async with running(placed, frame_cap=64 * 1024) as host:
        await host.ready()
        error = await failure(partial(host.command, "session/start", {"workspaceRoot": "x" * 200_000}))
        assert isinstance(error, MspError) and error.kind == "inputTooLarge"
        assert "session" in await host.command("session/start", START)
    assert len(placed.received("session/start")) == 1
