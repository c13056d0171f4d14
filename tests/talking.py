"""A conversation whose host answers each command when the test says so."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio

from adapter.acp.content import Text
from adapter.bridge.conversation import Conversation
from adapter.bridge.hosts.execution_hosts import ExecutionHosts
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.msp.handshake import Handshake
from adapter.msp.host import Host
from adapter.wire.background import Background
from adapter.wire.envelope import Request
from adapter.wire.peer import Call, Peer
from tests.consenting import NoOther
from tests.unit.test_bridge_conversation import Answering
from tests.wired import PATIENCE, outcome, until

Json = dict[str, Any]

CANCELLED = {"stopReason": "cancelled"}
END_TURN = {"stopReason": "end_turn"}


class Watched(Text, frozen=True, weakref=True):
    """A text of which it can be told whether anybody has it."""


class Slow(Answering):
    """Answers a command when `answer` says so; turns are called `t1`, `t2` and so on in the order they come."""

    def __init__(self) -> None:
        super().__init__()
        self.handshake: Any = Handshake.read({})
        self.waiting: list[tuple[str, Json, anyio.Event, list[Any]]] = []

    async def command(self, method: str, params: Json, **more: Any) -> Json:
        self.commands.append((method, {**params, "commandId": more.get("command_id")}))
        answered, answers = anyio.Event(), list[Any]()
        self.waiting.append((method, params, answered, answers))
        await answered.wait()
        if isinstance(answers[0], Exception):
            raise answers[0]
        ack: Json = answers[0]
        return ack

    def answer(self, method: str, answer: Json | Exception | None = None, at: int = 0) -> None:
        """Answer the oldest open command of this name, or the one `at` that place."""
        found = [waiting for waiting in self.waiting if waiting[0] == method][at]
        self.waiting.remove(found)
        found[3].append(answer if answer is not None else {})
        found[2].set()

    def sent(self, method: str) -> list[Json]:
        return [params for name, params in self.commands if name == method]


class Talk:
    """A conversation with such a host. `log` has what the client is told and answered, in order."""

    def __init__(self, background: Background) -> None:
        self.host = Slow()
        self.log: list[Any] = []
        self._background = background
        style = CardStyle("ses-1", "/srv/demo/orchard")
        host, hosts = cast(Host, self.host), cast(ExecutionHosts, NoOther())
        self.conversation = Conversation(style, host, hosts, cast(Peer, self), background, {})
        self.conversation.listen()

    def notify(self, method: str, params: Json) -> None:
        """Cards and facts do not matter here."""

    def notify_mergeable(self, frame: Any) -> None:
        self.log.append(frame.text)

    def prompt(self, name: str) -> Call:
        """Send one."""
        call = Call(Request(1, "session/prompt", {}))
        work = self.conversation.admit((Text(name),), None, call)

        async def answer() -> None:
            self.log.append((name, await outcome(lambda: work)))

        self._background.start(answer)
        return call

    async def starts(self, many: int) -> None:
        await until(lambda: len(self.host.sent("turn/start")) == many)

    async def answers(self, many: int) -> dict[str, Any]:
        await until(lambda: len([entry for entry in self.log if isinstance(entry, tuple)]) == many)
        return dict(entry for entry in self.log if isinstance(entry, tuple))

    def ack(self, turn_id: str, disposition: str = "started") -> None:
        self.host.answer("turn/start", {"turnId": turn_id, "disposition": disposition})

    def event(self, method: str, **params: Any) -> None:
        self.host.tell(method, {"sessionId": "ses-1", **params})

    def message(self, turn_id: str | None, text: str) -> None:
        item = {"itemId": f"i-{text}", "kind": "agentMessage", "turnId": turn_id, "revision": 1, "text": text}
        self.event("item/completed", item={**item, "status": "completed"})

    def end(self, turn_id: str, terminal: str = "completed") -> None:
        self.event("turn/completed", turnId=turn_id, terminal=terminal)


@asynccontextmanager
async def talking() -> AsyncIterator[Talk]:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            yield Talk(Background(tasks, logging.getLogger("tests")))
            tasks.cancel_scope.cancel()


async def settled() -> None:
    """Everything that can run has run."""
    await anyio.wait_all_tasks_blocked()


async def two_of_them(talk: Talk) -> None:
    """The turn `t1` of the prompt `one` runs, `t2` of the prompt `two` waits at the host."""
    talk.prompt("one")
    await talk.starts(1)
    talk.ack("t1")
    talk.event("turn/started", turnId="t1")
    talk.prompt("two")
    await talk.starts(2)
    talk.ack("t2", "queued")
    await settled()
