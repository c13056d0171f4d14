"""The sessions of one connection, without a host."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest
from anyio import from_thread, to_thread

from adapter.bridge import sessions as sessions_module
from adapter.bridge.conversation import Conversation
from adapter.bridge.sessions import Sessions
from adapter.wire.background import Background
from tests.wired import PATIENCE

pytestmark = pytest.mark.anyio


class Talk:
    """What `Sessions` needs of a conversation; it is loaded when `loaded` is set, and let go of when `may_go` is."""

    def __init__(self, session_id: str = "ses-1") -> None:
        self.session_id = session_id
        self.loaded, self.may_go = anyio.Event(), anyio.Event()
        self.is_busy = False
        self.leaving: list[str] = []

    def listen(self) -> None: ...

    def give_way(self) -> None: ...

    async def close(self) -> None: ...

    async def arrived(self) -> None:
        await self.loaded.wait()

    async def leave(self) -> None:
        self.leaving.append(self.session_id)
        await self.may_go.wait()

    @property
    def it(self) -> Conversation:
        return cast(Conversation, self)


@asynccontextmanager
async def some_sessions() -> AsyncIterator[Sessions]:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            yield Sessions(Background(tasks, logging.getLogger("tests")), lambda session_id: None)
            tasks.cancel_scope.cancel()


async def test_a_session_is_left_where_it_is_on_its_way_to_and_opened_after_that() -> None:
    async with some_sessions() as sessions:
        talk = Talk()
        sessions.let_go(talk.it)
        waited = []

        async def wait() -> None:
            await sessions.left("ses-1")
            waited.append("ses-1")

        with sessions.opening("ses-1"):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(wait)
                await anyio.wait_all_tasks_blocked()
                assert talk.leaving == []
                talk.loaded.set()
                await anyio.wait_all_tasks_blocked()
                assert talk.leaving == ["ses-1"] and waited == []
                talk.may_go.set()
        assert waited == ["ses-1"]


async def test_a_session_that_arrives_too_late_is_not_left_by_who_closed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions_module, "LEFT_SECONDS", 0.01)
    async with some_sessions() as sessions:
        talk = Talk()
        left = sessions.let_go(talk.it)
        await sessions.left("ses-1")
        talk.loaded.set()
        await left.wait()
        assert talk.leaving == [], "it would be done to what has been opened since"


class Looking(int):
    """A moment; while it is compared, on a thread, a session is closed on the loop."""

    sessions: Any = None

    def __ge__(self, other: int) -> bool:
        sessions, self.sessions = self.sessions, None
        if sessions is not None:
            from_thread.run(sessions.close, "ses-1")
        return super().__ge__(other)


async def test_the_list_can_be_made_while_a_session_is_closed() -> None:
    async with some_sessions() as sessions:
        talk = Talk()
        talk.loaded.set()
        talk.may_go.set()
        sessions.add(talk.it)
        moment = Looking(sessions.moment)
        moment.sessions = sessions
        assert await to_thread.run_sync(sessions.was_open, "ses-1", moment)
        assert moment.sessions is None and not sessions.was_open("ses-1", sessions.moment)
