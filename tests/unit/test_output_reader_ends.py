"""Reads against real processes: their time, their line, and every way they end early (check 13)."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import anyio
import pytest

from adapter.bridge.stored_output import contract, host_reads
from tests.output_hosts import PATIENCE, SESSION, release, stored
from tests.output_reading import content, not_found, page_of, reading, refused, until
from tests.processes import assert_gone, running

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="the stand-ins are scripts"),
]


# -- time


@pytest.mark.parametrize("method", ["session/read", "view/page", "item/readOutput"])
async def test_20_seconds_cover_everything_after_the_start(
    tmp_path: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert contract.READ_SECONDS == 20.0
    monkeypatch.setattr(host_reads, "READ_SECONDS", 0.3)
    async with reading(tmp_path, silent=[method]) as it:
        assert refused(await it.ask()) == (-32603, {"reason": "readTimeout", "retryable": True, "budgetSeconds": 20})
        assert it.counts()[method] == 1


async def test_many_slow_pages_together_are_too_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reads, "READ_SECONDS", 0.4)
    async with reading(tmp_path, pages=[[]] * 30, seconds={"view/page": 0.1}) as it:
        assert refused(await it.ask())[1]["reason"] == "readTimeout"
        assert 1 <= it.counts()["view/page"] < 20


async def test_the_start_does_not_count_as_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reads, "READ_SECONDS", 2.0)
    async with reading(tmp_path, seconds={"initialize": 2.5}) as it:
        page_of(await it.ask())


async def test_a_warm_host_costs_nothing_of_the_start_up_budget(tmp_path: Path) -> None:
    async with reading(tmp_path, seconds={"item/readOutput": 0.6}) as it:
        page_of(await it.ask())
        it.output._startup_timeout = 0.3
        page_of(await it.ask())


async def test_a_read_that_took_too_long_does_not_spoil_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reading(tmp_path, held=["item/readOutput"]) as it:
        with monkeypatch.context() as patched:
            patched.setattr(host_reads, "READ_SECONDS", 0.3)
            assert refused(await it.ask())[1]["reason"] == "readTimeout"
        release(it.placed)
        assert content(page_of(await it.ask(lengthBytes=9))) == stored(9).decode(errors="ignore").encode()


async def test_a_host_that_did_not_answer_in_time_is_asked_nothing_more_and_the_next_read_gets_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reading(tmp_path, held=["item/readOutput"]) as it:
        with monkeypatch.context() as patched:
            patched.setattr(host_reads, "READ_SECONDS", 0.3)
            assert refused(await it.ask())[1]["reason"] == "readTimeout"
        async with anyio.create_task_group() as tasks:
            # The same program, so it holds this answer back too: but it is another process that does.
            next_read = it.start(tasks)
            await it.until_received("item/readOutput", 2)
            first, second = it.placed.pids("serve.pids")
            assert_gone([first], PATIENCE)
            assert running([second])
            release(it.placed)
            page_of(await next_read.wait())


async def test_reads_that_share_a_host_with_one_that_takes_too_long_keep_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reading(tmp_path, held=["item/readOutput"]) as it, anyio.create_task_group() as tasks:
        patient = it.start(tasks, offsetBytes=1)
        await it.until_received("item/readOutput")
        with monkeypatch.context() as patched:
            patched.setattr(host_reads, "READ_SECONDS", 0.3)
            assert refused(await it.ask())[1]["reason"] == "readTimeout"
        release(it.placed)
        page_of(await patient.wait())
        await until(lambda: not it.output._host._leaving and not it.output._host._set_aside)
        assert_gone(it.placed.pids("serve.pids"), PATIENCE)


# -- several at once


async def test_identical_requests_in_flight_are_one_call_of_the_host(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["item/readOutput"]) as it, anyio.create_task_group() as tasks:
        same = [it.start(tasks, _meta={"n": number}) for number in range(5)]
        await it.until_received("item/readOutput")
        same.append(it.start(tasks))
        other = it.start(tasks, offsetBytes=10)
        await it.until_received("item/readOutput", 2)
        release(it.placed)
        pages = [page_of(await read.wait()) for read in same]
        assert all(page == pages[0] for page in pages)
        assert page_of(await other.wait())["offsetBytes"] == 10
        assert it.counts()["item/readOutput"] == it.counts()["session/read"] == 2


async def test_a_request_after_the_answer_is_a_new_call(tmp_path: Path) -> None:
    async with reading(tmp_path) as it:
        assert page_of(await it.ask()) == page_of(await it.ask())
        assert it.counts()["item/readOutput"] == 2


async def test_identical_requests_share_a_refusal_too(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["session/read"], pages=[[]]) as it, anyio.create_task_group() as tasks:
        both = [it.start(tasks), it.start(tasks)]
        await it.until_received("session/read")
        release(it.placed)
        assert [refused(await read.wait()) for read in both] == [not_found(1, 0, True)] * 2
        assert it.counts()["view/page"] == 1


async def test_four_run_at_once_and_the_rest_follow_in_order(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["item/readOutput"], binary=True) as it, anyio.create_task_group() as tasks:
        reads = [it.start(tasks, offsetBytes=number) for number in range(12)]
        await it.until_received("item/readOutput", 4)
        await anyio.sleep(0.2)
        assert it.counts()["item/readOutput"] == it.counts()["session/read"] == 4
        release(it.placed)
        assert [page_of(await read.wait())["offsetBytes"] for read in reads] == list(range(12))
        order = [frame["params"]["offsetBytes"] for frame in it.placed.received("item/readOutput")]
        assert sorted(order[:4]) == [0, 1, 2, 3]
        assert all(abs(place - offset) < 4 for place, offset in enumerate(order)), order


async def test_a_read_in_line_starts_when_one_before_it_is_cancelled(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["item/readOutput"]) as it, anyio.create_task_group() as tasks:
        running = [it.start(tasks, lengthBytes=number + 9) for number in range(4)]
        await it.until_received("item/readOutput", 4)
        given_up = it.start(tasks, lengthBytes=100)
        waiting = it.start(tasks, lengthBytes=200)
        given_up.call.cancel()
        await given_up.wait()
        running[0].call.cancel()
        await it.until_received("item/readOutput", 5)
        release(it.placed)
        assert page_of(await waiting.wait())["byteLen"] <= 200
        lengths = [frame["params"]["lengthBytes"] for frame in it.placed.received("item/readOutput")]
        assert sorted(lengths) == [9, 10, 11, 12, 200]


# -- ending early, in each phase

PHASES = {"starting": "initialize", "checking": "session/read", "scanning": "view/page", "reading": "item/readOutput"}

in_each_phase = pytest.mark.parametrize("method", list(PHASES.values()), ids=list(PHASES))


@in_each_phase
@pytest.mark.parametrize("why", ["sessionClosed", "adapterStopping"])
async def test_a_read_ends_at_once(tmp_path: Path, method: str, why: str) -> None:
    async with reading(tmp_path, held=[method]) as it, anyio.create_task_group() as tasks:
        reads = [it.start(tasks), it.start(tasks), it.start(tasks, offsetBytes=1)]
        await it.until_received(method)
        if why == "sessionClosed":
            it.output.end_session(SESSION)
        else:
            it.output.stop()
        assert [refused(await read.wait()) for read in reads] == [(-32800, {"reason": why})] * 3
        assert not it.placed.received("item/readOutput") or method == "item/readOutput"


@in_each_phase
async def test_a_client_takes_its_request_back(tmp_path: Path, method: str) -> None:
    async with reading(tmp_path, held=[method]) as it, anyio.create_task_group() as tasks:
        first, second = it.start(tasks), it.start(tasks)
        await it.until_received(method)
        first.call.cancel()
        assert await first.wait() is None
        assert not second.over.is_set(), "another one still wants it"
        second.call.cancel()
        assert await second.wait() is None
        await until(lambda: it.output._running == 0)
        release(it.placed)
        assert content(page_of(await it.ask(lengthBytes=1))) == stored(1)


async def test_what_is_taken_back_by_one_is_read_for_the_other(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["item/readOutput"]) as it, anyio.create_task_group() as tasks:
        first, second = it.start(tasks), it.start(tasks)
        await it.until_received("item/readOutput")
        first.call.cancel()
        await first.wait()
        release(it.placed)
        page_of(await second.wait())
        assert it.counts()["item/readOutput"] == 1


async def test_a_request_taken_back_before_its_work_begins_is_never_started(tmp_path: Path) -> None:
    async with reading(tmp_path) as it:
        call = it.call()
        call.scope.cancel()
        assert await it.run(call) is None
        await until(lambda: not it.output._open)
        assert it.counts()["item/readOutput"] == 0


async def test_closing_one_session_leaves_the_reads_of_another(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["session/read"]) as it, anyio.create_task_group() as tasks:
        first, second = it.start(tasks), it.start(tasks, sessionId="ses-second")
        await it.until_received("session/read", 2)
        it.output.end_session("ses-second")
        assert refused(await second.wait()) == (-32800, {"reason": "sessionClosed"})
        release(it.placed)
        page_of(await first.wait())


async def test_reads_in_line_end_too(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["item/readOutput"]) as it, anyio.create_task_group() as tasks:
        reads = [it.start(tasks, offsetBytes=number) for number in range(6)]
        await it.until_received("item/readOutput", 4)
        it.output.end_session(SESSION)
        assert {refused(await read.wait())[1]["reason"] for read in reads} == {"sessionClosed"}
        release(it.placed)
        page_of(await it.ask())
        assert it.counts()["item/readOutput"] == 5


async def test_after_the_stop_nothing_begins(tmp_path: Path) -> None:
    async with reading(tmp_path) as it:
        it.output.stop()
        assert refused(await it.ask()) == (-32800, {"reason": "adapterStopping"})
        assert it.placed.pids() == []


# -- the host dies


@pytest.mark.parametrize("method", ["session/read", "view/page", "item/readOutput"])
async def test_a_host_that_dies_fails_its_reads_and_the_next_read_has_another(tmp_path: Path, method: str) -> None:
    async with reading(tmp_path, held=[method]) as it, anyio.create_task_group() as tasks:
        reads = [it.start(tasks), it.start(tasks, lengthBytes=1)]
        await it.until_received(method, 2)
        os.kill(it.placed.pids("serve.pids")[0], signal.SIGKILL)
        assert [refused(await read.wait()) for read in reads] == [
            (-32603, {"reason": "hostDied", "retryable": True})
        ] * 2
        assert len(it.placed.pids("serve.pids")) == 1, "a read is not tried again"
        release(it.placed)
        page_of(await it.ask())
        assert len(it.placed.pids("serve.pids")) == 2


@pytest.mark.parametrize("method", ["session/read", "view/page", "item/readOutput"])
async def test_a_host_that_ends_itself_over_a_question_is_dead_too(tmp_path: Path, method: str) -> None:
    async with reading(tmp_path, deaths=[method]) as it:
        assert refused(await it.ask()) == (-32603, {"reason": "hostDied", "retryable": True})
        assert it.counts()[method] == 1


async def test_a_host_that_dies_while_it_starts_did_not_start(tmp_path: Path) -> None:
    async with reading(tmp_path, held=["initialize"]) as it, anyio.create_task_group() as tasks:
        read = it.start(tasks)
        await it.until_received("initialize")
        os.kill(it.placed.pids("serve.pids")[0], signal.SIGKILL)
        assert refused(await read.wait()) == (-32603, {"reason": "hostStartFailed", "retryable": True, "exitCode": -9})
        release(it.placed)
        page_of(await it.ask())


async def test_a_host_that_died_while_nobody_read_is_not_noticed_by_the_next_read(tmp_path: Path) -> None:
    async with reading(tmp_path) as it:
        page_of(await it.ask())
        os.kill(it.placed.pids("serve.pids")[0], signal.SIGKILL)
        host = it.output._host._host
        assert host is not None
        with anyio.fail_after(PATIENCE):
            await host.wait_gone()
        page_of(await it.ask())


async def test_what_goes_wrong_inside_the_adapter_is_answered_and_does_not_take_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with reading(tmp_path) as it:
        with monkeypatch.context() as patched:
            patched.setattr(host_reads, "page_problem", lambda page, request: 1 / 0)
            for _ in range(6):
                assert refused(await it.ask()) == (-32603, {"reason": "internal"})
        page_of(await it.ask())
