"""A session that is closed, or whose prompt is taken back, while it is on its way to a host: what a host was asked to
load it loads, and somebody has to know."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from adapter.bridge.hosts.launch_profile import USUAL
from adapter.msp.errors import HostClosed, MspError
from tests.lodging import Json, Lodging, at, lodged
from tests.wired import outcome, until

pytestmark = pytest.mark.anyio

IN_USE = MspError(-32021, "sessionInUse", "held")


class Slow(Lodging):
    """Takes the loading of a session in, and answers when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = anyio.Event()

    async def command(self, method: str, params: Json, **more: Any) -> Json:
        answer = await super().command(method, params, **more)
        if method == "session/resume":
            await self.answers.wait()
        return answer


async def test_l9_a_session_that_is_closed_while_a_host_loads_it_is_there_and_not_heard() -> None:
    here, following = Lodging(), Slow()
    async with lodged(here, usual=following) as there:
        there.tell("approval/requested", approvalId="a1", currentRequirementId={}, **at("v1"))
        here.die()
        await until(lambda: following.methods() == ["session/resume"])
        there.attachment.end()
        arrived = anyio.Event()

        async def wait() -> None:
            await there.attachment.arrived()
            arrived.set()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            assert not arrived.is_set() and there.host is here
            following.answers.set()
        assert there.host is following, "who lets go of the session asks this one"
        await anyio.wait_all_tasks_blocked()
        assert following.methods() == ["session/resume"] and not following.sinks


async def test_l9_a_load_that_nobody_waits_for_any_more_is_taken_in() -> None:
    here, following = Lodging(), Slow()
    async with lodged(here, usual=following) as there:
        here.die()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(there.attachment.reach)
            await until(lambda: following.methods() == ["session/resume"])
            tasks.cancel_scope.cancel()
        assert not there.attachment.is_idle
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(there.attachment.reach)
            await anyio.wait_all_tasks_blocked()
            following.answers.set()
        assert following.methods().count("session/resume") == 1
        assert there.host is following and "ses-1" in following.sinks and there.attachment.is_idle


async def test_l9_a_command_under_way_does_not_load_a_session_that_has_been_closed() -> None:
    here, following = Lodging(), Lodging()
    async with lodged(here, usual=following) as there:
        here.die()
        there.attachment.end()
        assert isinstance(await outcome(lambda: there.session.set_model({})), HostClosed)
        assert not following.sent and not there.house.asked


async def test_l9_a_session_that_is_closed_while_its_host_starts_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    here, following = Lodging(), Lodging()
    async with lodged(here, usual=following) as there:
        here.die()
        starts = there.house.host

        async def host(*asked: Any) -> Lodging:
            there.attachment.end()
            return await starts(*asked)

        monkeypatch.setattr(there.house, "host", host)
        assert isinstance(await outcome(lambda: there.session.set_model({})), HostClosed)
        assert there.house.asked == [USUAL] and not following.sent


async def test_l9_a_command_is_not_sent_to_the_host_that_loaded_a_closed_session() -> None:
    here, following = Lodging(), Slow()
    async with lodged(here, usual=following) as there:
        here.die()
        errors = []

        async def choose() -> None:
            errors.append(await outcome(lambda: there.session.set_model({})))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(choose)
            await until(lambda: following.methods() == ["session/resume"])
            there.attachment.end()
            following.answers.set()
        assert isinstance(errors[0], HostClosed) and following.methods() == ["session/resume"]


async def test_l11_a_closed_session_is_not_waited_for_while_another_program_has_it() -> None:
    here, following = Lodging(), Lodging()
    following.refusals["session/resume"] = [IN_USE] * 1000
    async with lodged(here, usual=following) as there:
        there.tell("approval/requested", approvalId="a1", currentRequirementId={}, **at("v1"))
        here.die()
        await until(lambda: bool(following.sent))
        there.attachment.end()
        await there.attachment.arrived()
        assert following.methods().count("session/resume") <= 2


async def test_a_session_is_watched_once_and_by_nobody_when_it_has_given_way() -> None:
    here = Lodging()
    async with lodged(here) as there:
        await anyio.wait_all_tasks_blocked()
        before = len(anyio.get_running_tasks())
        there.attachment.listen()
        await anyio.wait_all_tasks_blocked()
        assert len(anyio.get_running_tasks()) == before
        there.attachment.give_way()
        await anyio.wait_all_tasks_blocked()
        assert len(anyio.get_running_tasks()) == before - 1
        assert "ses-1" in here.sinks, "which is another one's"
