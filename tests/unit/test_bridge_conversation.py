"""A conversation answers each of its prompts once, whatever goes wrong on the way."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest

from adapter.acp.content import Text
from adapter.bridge.conversation import Conversation
from adapter.bridge.hosts.execution_hosts import ExecutionHosts
from adapter.bridge.projection import Projection
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.msp.errors import HostClosed, HostGone, MspError
from adapter.msp.handshake import Handshake
from adapter.msp.host import Host
from adapter.wire.background import Background
from adapter.wire.envelope import Request, RpcError
from adapter.wire.peer import Call, Peer
from tests.consenting import NoOther
from tests.wired import PATIENCE, outcome, until

pytestmark = pytest.mark.anyio

Json = dict[str, Any]


class Answering:
    """What a conversation needs of a host: admits turns `t1`, `t2` and so on, unless `refusal` is set."""

    def __init__(self) -> None:
        self.gone: HostGone | None = None
        self.handshake = Handshake("m", "1", "", frozenset(), True, None)
        self.wedged: dict[str, set[str]] = {}
        self.refusal: Exception | None = None
        self.commands: list[tuple[str, Json]] = []
        self._gone = anyio.Event()

    def listen(self, session_id: str, sink: Any) -> None:
        self.tell = sink

    async def command(self, method: str, params: Json, **more: Any) -> Json:
        self.commands.append((method, params))
        if self.refusal is not None:
            raise self.refusal
        return {"turnId": f"t{len(self.turns)}"}

    @property
    def turns(self) -> list[Json]:
        return [params for method, params in self.commands if method == "turn/start"]

    async def wait_if_ending(self) -> None:
        """Its end is known as soon as it is noticed."""

    async def wait_gone(self) -> None:
        await self._gone.wait()

    def scrub(self, text: str) -> str:
        return text

    def die(self) -> None:
        self.gone = HostClosed("it died")
        self._gone.set()


class Talking:
    """A conversation with such a host; the answers to its prompts, in order of arrival."""

    def __init__(self, background: Background) -> None:
        self.host = Answering()
        self.answers: list[Any] = []
        self._background = background
        style = CardStyle("ses-1", "/srv/demo/orchard")
        host, hosts = cast(Host, self.host), cast(ExecutionHosts, NoOther())
        self.conversation = Conversation(style, host, hosts, cast(Peer, self), background, {})
        self.conversation.listen()

    def notify(self, method: str, params: Json) -> None:
        """What the client is told does not matter here."""

    async def prompt(self) -> None:
        """Send one, and wait until the host has it."""
        before = len(self.host.turns)
        call = Call(Request(1, "session/prompt", {}))
        work = self.conversation.admit((Text("go"),), None, call)

        async def answer() -> None:
            self.answers.append(await outcome(lambda: work))

        self._background.start(answer)
        await until(lambda: len(self.host.turns) > before)

    async def answer(self, number: int = 1) -> Any:
        await until(lambda: len(self.answers) >= number)
        return self.answers[number - 1]

    def complete(self, turn_id: str, terminal: str = "completed") -> None:
        self.host.tell("turn/completed", {"sessionId": "ses-1", "turnId": turn_id, "terminal": terminal})


@asynccontextmanager
async def talking() -> AsyncIterator[Talking]:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            yield Talking(Background(tasks, logging.getLogger("tests")))
            tasks.cancel_scope.cancel()


async def test_a_prompt_is_answered_when_its_turn_ends() -> None:
    async with talking() as talk:
        await talk.prompt()
        await until(lambda: bool(talk.conversation._prompts._runs[0].turn_ids))
        talk.complete("t1")
        assert await talk.answer() == {"stopReason": "end_turn"}


async def test_a_turn_may_end_before_it_is_acknowledged() -> None:
    async with talking() as talk:
        talk.complete("t1")
        await talk.prompt()
        assert await talk.answer() == {"stopReason": "end_turn"}


async def test_i5_what_is_told_of_a_closed_session_is_not_asked() -> None:
    """It may have been read back meanwhile."""
    async with talking() as talk:
        stage = {"approvalId": "a1", "sourceIndex": 0}
        asked = {"sessionId": "ses-1", "approvalId": "a1", "turnId": "t1", "currentRequirementId": stage}
        talk.host.tell("approval/requested", asked)
        asking = [talk.conversation._dialogs.is_asking]
        talk.conversation.retire()
        await anyio.wait_all_tasks_blocked()
        talk.host.tell("approval/requested", {**asked, "approvalId": "a2"})
        talk.host.tell("userInput/requested", {"sessionId": "ses-1", "userInputId": "u1", "questions": []})
        asking += [talk.conversation._dialogs.is_asking, talk.conversation._questions.is_asking]
        assert asking == [True, False, False]


@pytest.mark.parametrize("end", ["turn", "death"])
async def test_what_cannot_be_shown_does_not_keep_the_answer(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **more: Any) -> None:
        raise TypeError("a card that cannot be built")

    async with talking() as talk:
        await talk.prompt()
        await until(lambda: bool(talk.conversation._prompts._runs[0].turn_ids))
        monkeypatch.setattr(Projection, "close_turn", fail)
        if end == "turn":
            talk.complete("t1")
            assert await talk.answer() == {"stopReason": "end_turn"}
        else:
            talk.host.die()
            assert isinstance(await talk.answer(), RpcError)


@pytest.mark.parametrize(
    ("refusal", "reason"),
    [
        (MspError(0, "sessionBusy", "busy"), "sessionBusy"),
        (HostClosed("it died"), "hostDied"),
        (TypeError("it cannot be written"), "internal"),
    ],
    ids=["refused", "died", "unexpected"],
)
async def test_a_prompt_that_is_not_admitted_is_answered(refusal: Exception, reason: str) -> None:
    async with talking() as talk:
        talk.host.refusal = refusal
        await talk.prompt()
        answer = await talk.answer()
        assert isinstance(answer, RpcError) and answer.data is not None and answer.data["reason"] == reason


async def test_g6_a_stopped_turn_is_replaced_also_after_a_refused_prompt() -> None:
    async with talking() as talk:
        await talk.prompt()
        talk.conversation.cancel(0.01)
        assert await talk.answer() == {"stopReason": "cancelled"}
        talk.host.refusal = MspError(0, "overloaded", "later")
        await talk.prompt()
        assert isinstance(await talk.answer(2), RpcError)
        talk.host.refusal = None
        await talk.prompt()
        await until(lambda: bool(talk.conversation._prompts._runs[0].turn_ids))
        talk.complete("t3")
        assert await talk.answer(3) == {"stopReason": "end_turn"}
        await talk.prompt()
        assert ["ifBusy" in params for params in talk.host.turns] == [False, True, True, False]
