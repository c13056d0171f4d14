"""One running host: ready or not, questions and commands, events by session, gone or not; real processes, on both
event loops."""

from __future__ import annotations

import os
import signal
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest

from adapter.msp import event_routing
from adapter.msp.errors import HostClosed, HostGone, HostStartError
from adapter.msp.event_routing import EVENTS_LOST
from adapter.msp.host import Host
from adapter.msp.host_command import HostCommand
from tests.faults.hosts_that_end import ClosesStdin, ClosesStdout, Exits
from tests.hosts_that_answer import Answers
from tests.processes import assert_gone, open_descriptors
from tests.running_host import START, command, failure, running, without_listening
from tests.scripted_hosts import Json, ScriptedHost, place
from tests.wired import PATIENCE, outcome, until

pytestmark = pytest.mark.anyio


# -- becoming ready


async def test_the_handshake_is_read_and_confirmed(tmp_path: Path) -> None:
    placed = place(tmp_path, ScriptedHost, version="1.4.9")
    async with running(placed) as host:
        handshake = await host.ready()
        assert handshake.server_version == "1.4.9" and host.gone is None
        await host.command("session/start", START)
    methods = [frame["method"] for frame in placed.received()]
    assert methods == ["initialize", "initialized", "session/start"]


@pytest.mark.parametrize(
    ("settings", "reason", "words"),
    [
        ({"at": "initialize", "error": "invalidParams"}, "hostStartFailed", "refused the handshake"),
        ({"at": "initialize", "result": [1]}, "hostStartFailed", "answered the handshake with what cannot be read"),
        ({"at": "initialize", "silent": True}, "hostStartTimeout", "within 0.5 s"),
    ],
    ids=["refuses", "answers nonsense", "is silent"],
)
async def test_a_host_that_does_not_shake_hands(
    tmp_path: Path, settings: dict[str, Any], reason: str, words: str
) -> None:
    placed = place(tmp_path, Answers, **settings)
    async with running(placed, startup_timeout=0.5 if "silent" in settings else PATIENCE) as host:
        error = await failure(host.ready)
        assert isinstance(error, HostStartError)
        assert error.reason == reason and words in error.details and placed.muse in error.details
        assert await failure(partial(host.query, "session/list")) is error
        assert await failure(host.ready) is error


async def test_time_in_which_nobody_listens_is_not_that_of_the_handshake() -> None:
    answer = '{"jsonrpc":"2.0","id":1,"result":{"serverInfo":{"name":"muse","version":"1.2.1"}}}'
    script = f"echo starting; read -r line; sleep 0.2; echo '{answer}'; cat > /dev/null"
    slow = HostCommand(["/bin/sh", "-c", script], {"PATH": os.environ["PATH"]})
    async with running(slow, startup_timeout=0.5, throttle=without_listening(1)) as host:
        assert (await host.ready()).server_version == "1.2.1"


async def test_a_host_that_exits_before_it_is_ready(tmp_path: Path) -> None:
    async with running(place(tmp_path, Exits, code=7)) as host:
        error = await failure(host.ready)
        assert isinstance(error, HostStartError)
        assert (error.reason, error.exit_code) == ("hostStartFailed", 7)
        assert "exit 7" in error.details and "cannot open the store" in error.details


async def test_a_host_that_cannot_be_started(tmp_path: Path) -> None:
    async with running(command(str(tmp_path / "none"))) as host:
        error = await failure(host.ready)
        assert isinstance(error, HostStartError) and error.reason == "hostStartFailed"
        assert str(tmp_path / "none") in error.details


# -- events


@pytest.mark.parametrize("before", [True, False], ids=["before the answer", "after the answer"])
async def test_events_of_a_session_that_is_being_opened_are_kept_for_it(tmp_path: Path, before: bool) -> None:
    placed = place(tmp_path, Answers, at="session/start", events=20, events_first=before)
    seen: list[int] = []
    async with running(placed) as host:
        await host.ready()
        async with host.opening():
            await host.command("session/start", START)
            await host.query("marker")
            host.listen("ses-1", lambda method, params: seen.append(params["number"]))
            assert seen == list(range(20))
        await host.query("tell", {"sessionId": "ses-1", "number": 20})
        await until(lambda: seen == list(range(21)))
        host.unlisten("ses-1")
        await host.query("tell", {"sessionId": "ses-1", "number": 21})
        await host.query("marker")
        assert len(seen) == 21


async def test_events_are_kept_while_a_session_is_opened_only(tmp_path: Path) -> None:
    seen: list[str] = []
    async with running(place(tmp_path, Answers)) as host:
        await host.ready()
        await host.query("tell", {"sessionId": "early", "number": 0})
        await host.query("marker")
        async with host.opening():
            async with host.opening():
                await host.query("tell", {"sessionId": "a", "number": 0})
                await host.query("tell", {"sessionId": "b", "number": 0})
            await host.query("marker")
            for session_id in ("early", "b"):
                host.listen(session_id, lambda method, params: seen.append(params["sessionId"]))
        host.listen("a", lambda method, params: seen.append(params["sessionId"]))
        assert seen == ["b"]


async def test_kept_events_are_bounded_and_a_loss_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_routing, "MAX_HELD_EVENTS", 5)
    seen: list[str] = []
    async with running(place(tmp_path, Answers, at="session/start", events=20, events_first=True)) as host:
        await host.ready()
        async with host.opening():
            await host.command("session/start", START)
            host.listen("ses-1", lambda method, params: seen.append(method))
    assert seen == [EVENTS_LOST]


class NestsDeep(ScriptedHost):
    """Says something that is nested deeper than is read, and then answers."""

    def on_marker(self, request: Json) -> None:
        deep = '{"a":' * 300 + "1" + "}" * 300
        params = f'{{"sessionId":"ses-1","item":{deep}}}'
        self.write(f'{{"jsonrpc":"2.0","method":"item/completed","params":{params}}}\n'.encode())
        self.answer(request)


async def test_a2_an_event_that_is_nested_too_deep_is_told_to_be_lost(tmp_path: Path) -> None:
    seen: list[str] = []
    async with running(place(tmp_path, NestsDeep)) as host:
        await host.ready()
        host.listen("ses-1", lambda method, params: seen.append(method))
        await host.query("marker")
        assert seen == [EVENTS_LOST]


@pytest.mark.parametrize("session_id", [None, 17, [], {"a": 1}], ids=repr)
async def test_an_event_of_no_session_is_nobodys(tmp_path: Path, session_id: Any) -> None:
    async with running(place(tmp_path, Answers)) as host:
        await host.ready()
        async with host.opening():
            await host.query("tell", {"sessionId": session_id, "number": 1})
            await host.query("marker")
        assert host.gone is None


async def test_d4_questions_get_their_receipt_and_unknown_ones_an_error(tmp_path: Path) -> None:
    placed = place(tmp_path, Answers, asks=["approval/request", "userInput/request", "host/askColour"])
    seen: list[str] = []
    async with running(placed) as host:
        await host.ready()
        host.listen("ses-1", lambda method, params: seen.append(method))
        await host.query("ask")
        await until(lambda: len([frame for frame in placed.received() if "method" not in frame]) == 3)
    answers = {frame["id"]: frame for frame in placed.received() if "method" not in frame}
    assert answers["approval/request"]["result"] == answers["userInput/request"]["result"] == {}
    assert answers["host/askColour"]["error"]["code"] == -32601
    assert seen == ["approval/request", "userInput/request"]


# -- the end


@pytest.mark.parametrize("signum", [signal.SIGKILL, signal.SIGTERM], ids=lambda value: value.name)
async def test_e2_a_death_fails_everything_that_waits(tmp_path: Path, signum: signal.Signals) -> None:
    placed = place(tmp_path, Answers, at="session/list", silent=True, forgets=True, times=3)
    errors: list[Exception] = []
    async with running(placed) as host:
        await host.ready()

        async def ask() -> None:
            errors.append(await failure(partial(host.query, "session/list", {})))

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)
            await until(lambda: len(placed.received("session/list")) == 3)
            os.kill(placed.pids()[0], signum)
        await host.wait_gone()
        assert set(errors) == {host.gone}
        assert isinstance(host.gone, HostClosed) and f"signal {signum.value}" in host.gone.details
    assert host.exit_code == -signum


@pytest.mark.parametrize("host_type", [ClosesStdout, ClosesStdin])
async def test_e1_a_closed_pipe_is_a_death(tmp_path: Path, host_type: type[ScriptedHost]) -> None:
    async with running(place(tmp_path, host_type), close_grace=0.2) as host:
        await host.ready()
        error: Any = None
        while error is None:
            answer = await outcome(partial(host.command, "session/start", START))
            error = answer if isinstance(answer, Exception) else None
            if error is None:
                await outcome(partial(host.command, "turn/start", {"sessionId": "s", "input": []}))
        assert isinstance(error, HostClosed) and error is host.gone


async def test_closing_lets_the_host_end_by_itself(tmp_path: Path) -> None:
    placed = place(tmp_path, Answers, at="session/list", silent=True)
    async with running(placed) as host:
        await host.ready()
        errors: list[Exception] = []

        async def ask() -> None:
            errors.append(await failure(partial(host.query, "session/list", {})))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await until(lambda: bool(placed.received("session/list")))
            for _ in range(3):
                tasks.start_soon(host.close)
        assert isinstance(host.gone, HostClosed) and "was stopped" in host.gone.details
        assert errors == [host.gone] and host.exit_code == 0
        await host.close()


async def test_what_was_told_before_the_close_arrives(tmp_path: Path) -> None:
    placed = place(tmp_path, ScriptedHost)
    async with running(placed) as host:
        await host.ready()
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                params = {"workspaceRoot": "x" * 50_000, "number": number}
                tasks.start_soon(outcome, partial(host.command, "session/start", params))
            await anyio.sleep(0.01)
            await host.close()
    assert len(placed.received("session/start")) == 20


async def test_closing_a_host_that_is_not_ready(tmp_path: Path) -> None:
    placed = place(tmp_path, Answers, at="initialize", silent=True)
    async with running(placed) as host:
        await until(lambda: bool(placed.received("initialize")))
        await host.close()
        assert isinstance(await failure(host.ready), HostGone)


async def test_nothing_is_left_of_a_cancelled_host(tmp_path: Path) -> None:
    placed = place(tmp_path, ScriptedHost)
    host = Host(command(placed.muse), "1.2")
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.run)
            await host.ready()
            tasks.cancel_scope.cancel()
    assert_gone(placed.pids())
    assert isinstance(await failure(host.ready), HostGone)


async def test_hosts_that_came_and_went_leave_no_descriptor(tmp_path: Path) -> None:
    async with running(place(tmp_path / "first", ScriptedHost)) as host:
        await host.ready()
    before = open_descriptors()
    for number in range(3):
        async with running(place(tmp_path / str(number), ScriptedHost)) as host:
            await host.ready()
        async with running(place(tmp_path / f"bad-{number}", Exits)) as host:
            await failure(host.ready)
    assert open_descriptors() == before
