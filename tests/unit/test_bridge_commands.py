"""Which slash commands there are is learnt once for several news, told when it changes, and never out of date."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from adapter.acp.content import Text
from adapter.bridge.slash_commands import commands
from adapter.bridge.slash_commands.builtin_commands import Builtins
from adapter.bridge.slash_commands.commands import Commands
from adapter.bridge.turns.prompts import Prompts
from adapter.msp.abilities import Abilities
from adapter.msp.changes import TurnEnded
from adapter.msp.errors import HostClosed, MspError
from adapter.msp.session import Session
from adapter.msp.turns import TurnOutcome
from adapter.wire.background import Background
from adapter.wire.peer import Peer
from tests.wired import PATIENCE, until

pytestmark = pytest.mark.anyio


class Listing:
    """A host that has `skills`, or fails; it answers when `may_answer` is set."""

    def __init__(self, *skills: str, methods: tuple[str, ...] = ()) -> None:
        self.skills: list[str] | Exception = list(skills)
        self.may_answer = anyio.Event()
        self.asked = 0
        self.methods = frozenset(methods)

    async def query(self, method: str, params: Any) -> dict[str, Any]:
        self.asked += 1
        await self.may_answer.wait()
        if isinstance(self.skills, Exception):
            raise self.skills
        return {"skills": [{"selector": name, "description": name} for name in self.skills]}

    async def abilities(self) -> Abilities:
        return Abilities(self.methods)


class Shown:
    """The commands of a session on such a host, and the lists that the client was told."""

    def __init__(self, background: Background, host: Listing) -> None:
        self.lists: list[list[str]] = []
        self.session = SimpleNamespace(session_id="ses-1", host=host)
        self.builtins = SimpleNamespace(withdrawn=set())
        self.commands = Commands(
            cast(Session, self.session),
            "/w",
            cast(Peer, self),
            background,
            cast(Prompts, None),
            cast(Builtins, self.builtins),
        )

    def notify(self, method: str, params: dict[str, Any]) -> None:
        self.lists.append([command["name"] for command in params["update"]["availableCommands"]])

    async def finds(self, words: str) -> bool:
        return await self.commands.find((Text(words),)) is not None


@asynccontextmanager
async def showing(host: Listing) -> AsyncIterator[Shown]:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            yield Shown(Background(tasks, logging.getLogger("tests")), host)
            tasks.cancel_scope.cancel()


ALWAYS = ["status", "output"]


async def test_a_burst_of_news_is_one_question() -> None:
    host = Listing("review")
    async with showing(host) as shown:
        shown.commands.begin()
        await until(lambda: host.asked == 1)
        for _ in range(10):
            shown.commands.skills_changed()
        host.may_answer.set()
        await shown.commands.show()
        assert host.asked == 2
        assert shown.lists == [[*ALWAYS, "review"]]
        shown.commands.skills_changed()
        await until(lambda: host.asked == 3)
        await anyio.wait_all_tasks_blocked()
        assert len(shown.lists) == 1, "nothing has changed"


async def test_nothing_is_told_before_it_is_asked_for_or_after_the_end() -> None:
    host = Listing("review")
    host.may_answer.set()
    async with showing(host) as shown:
        shown.commands.begin()
        await anyio.wait_all_tasks_blocked()
        assert not shown.lists
        await shown.commands.show()
        shown.commands.end()
        host.skills = ["other"]
        shown.commands.skills_changed()
        await anyio.wait_all_tasks_blocked()
        assert shown.lists == [[*ALWAYS, "review"]]


@pytest.mark.parametrize("error", [MspError(-32603, "internal", "no"), HostClosed("it died")], ids=type)
async def test_skills_that_cannot_be_read_again_are_forgotten(error: Exception) -> None:
    host = Listing("review")
    host.may_answer.set()
    async with showing(host) as shown:
        shown.commands.begin()
        await shown.commands.show()
        assert await shown.finds("/review x")
        host.skills = error
        shown.commands.skills_changed()
        await until(lambda: len(shown.lists) == 2)
        assert shown.lists[1] == ALWAYS and not await shown.finds("/review x")


async def test_another_host_is_asked_what_it_has() -> None:
    host, other = Listing("review"), Listing("explain", methods=("session/rename",))
    host.may_answer.set()
    other.may_answer.set()
    async with showing(host) as shown:
        shown.commands.begin()
        await shown.commands.show()
        shown.session.host = other
        assert not await shown.finds("hello")
        assert other.asked == 0
        assert await shown.finds("/explain") and not await shown.finds("/review")
        assert shown.lists[-1] == ["rename", *ALWAYS, "explain"]


async def test_a_builtin_goes_before_a_skill_of_its_name_which_has_another_way() -> None:
    host = Listing("status", "skill", "review")
    host.may_answer.set()
    async with showing(host) as shown:
        shown.commands.begin()
        await shown.commands.show()
        assert shown.lists == [[*ALWAYS, "skill", "review"]]
        assert await shown.finds("/skill status x")


async def test_what_was_withdrawn_comes_back_after_a_turn() -> None:
    host = Listing(methods=("session/compact",))
    host.may_answer.set()
    async with showing(host) as shown:
        shown.commands.begin()
        await shown.commands.show()
        shown.builtins.withdrawn.add("compact")
        assert await shown.finds("/compact"), "still no text for the model"
        shown.commands.turn_ended(TurnEnded("t1", TurnOutcome("failed")))
        assert await shown.finds("/compact"), "still no text for the model"
        shown.commands.turn_ended(TurnEnded("t2", TurnOutcome("completed")))
        assert await shown.finds("/compact")


async def test_a_host_that_never_tells_its_skills_holds_no_command_up(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Listing("review", methods=("goal/set",))
    async with showing(host) as shown:
        monkeypatch.setattr(commands, "FIND_SECONDS", PATIENCE * 2)
        assert await shown.finds("/status"), "it needs nothing of the host"
        shown.commands.begin()
        await until(lambda: host.asked == 1)
        assert await shown.finds("/goal"), "what it needs is known"
        monkeypatch.setattr(commands, "FIND_SECONDS", 0.05)
        assert not await shown.finds("/review")
        monkeypatch.setattr(commands, "FIND_SECONDS", PATIENCE * 2)
        assert not await shown.finds("/review this"), "nor is it waited for once more"
        host.may_answer.set()
        await until(lambda: shown.commands._learning is None)
        assert await shown.finds("/review")
        host.may_answer = anyio.Event()
        shown.commands.skills_changed()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(until, lambda: host.asked == 2)
            host.skills = ["check"]
            host.may_answer.set()
            assert await shown.finds("/check"), "what is asked anew is waited for anew"
