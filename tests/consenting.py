"""A conversation between a host and a client that are both played by the test: what was asked, clicked and decided, in
order."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import anyio.lowlevel

from adapter.acp.capabilities import ClientCapabilities
from adapter.acp.content import Block, Text
from adapter.bridge.conversation import Conversation
from adapter.bridge.hosts.execution_hosts import ExecutionHosts
from adapter.bridge.hosts.login import Login
from adapter.bridge.terms import Terms
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.msp.abilities import Abilities
from adapter.msp.errors import HostClosed, HostGone, MspError
from adapter.msp.handshake import Handshake
from adapter.msp.host import Host
from adapter.wire.background import Background
from adapter.wire.envelope import Request
from adapter.wire.peer import Call, Peer
from tests.wired import PATIENCE, outcome, until

Json = dict[str, Any]

SESSION = "ses-1"

ALLOW: Json = {"choiceId": "yes", "label": "Allow once", "decision": "approved", "scope": "once"}
ALWAYS: Json = {"choiceId": "always", "label": "Allow", "decision": "approvedForSession", "scope": "session"}
DENY: Json = {"choiceId": "no", "label": "Reject", "decision": "denied", "scope": "once", "acceptsFeedback": True}
CHOICES = [ALLOW, ALWAYS, DENY]


class Shown:
    """A request of the adapter as the client has it on screen."""

    def __init__(self, method: str, params: Json) -> None:
        self.method = method
        self.params = params
        self.withdrawn = False
        self._answered = anyio.Event()
        self._answer: Any = None

    @property
    def is_open(self) -> bool:
        """Whether it waits for an answer."""
        return not self.withdrawn and not self._answered.is_set()

    def answer(self, answer: Json | Exception) -> None:
        """What the client says, be it a result or what a request can raise."""
        self._answer = answer
        self._answered.set()

    async def wait(self) -> Json:
        try:
            await self._answered.wait()
        except anyio.get_cancelled_exc_class():
            self.withdrawn = not self._answered.is_set()
            raise
        if isinstance(self._answer, Exception):
            raise self._answer
        return cast(Json, self._answer)


class PlayedHost:
    """Takes commands as the test wants it: `refusals` by method are raised one after the other, `acks` by method are
    the answers."""

    is_closing = False

    def __init__(self) -> None:
        self.gone: HostGone | None = None
        self.handshake = Handshake.read({})
        self.wedged: dict[str, set[str]] = {}
        self.commands: list[tuple[str, Json]] = []
        self.notes: list[tuple[str, Json]] = []
        self.refusals: dict[str, list[Exception]] = {}
        self.acks: dict[str, Json] = {}
        self.pending: Json = {"approvals": [], "userInputs": []}
        self.turns = 0
        self.decide: Callable[[Json], Json] | None = None
        """Takes a decision in place of `acks`."""
        self.list_pending: Callable[[], Json] | None = None
        """Tells what is open in place of `pending`."""
        self._sinks: dict[str, Any] = {}
        self._gone = anyio.Event()

    def listen(self, session_id: str, sink: Any) -> None:
        self._sinks[session_id] = sink

    def unlisten(self, session_id: str) -> None:
        self._sinks.pop(session_id, None)

    def listens(self, session_id: str) -> bool:
        return session_id in self._sinks

    def tell(self, method: str, params: Json, session_id: str = SESSION) -> None:
        """An event or a request of a session."""
        self._sinks[session_id](method, {"sessionId": session_id, **params})

    def sent(self, method: str) -> list[Json]:
        """The params of the commands of one method so far."""
        return [params for sent, params in self.commands if sent == method]

    async def command(self, method: str, params: Json, **more: Any) -> Json:
        self.commands.append((method, params))
        await anyio.lowlevel.checkpoint()
        if self.refusals.get(method):
            raise self.refusals[method].pop(0)
        if method == "turn/start":
            self.turns += 1
            return {"turnId": f"t{self.turns}"}
        if method == "approval/decide" and self.decide is not None:
            return self.decide(params)
        return self.acks.get(method, {})

    async def query(self, method: str, params: Json, **more: Any) -> Json:
        await anyio.lowlevel.checkpoint()
        if method == "approval/listPending":
            return self.pending if self.list_pending is None else self.list_pending()
        raise MspError(-32601, "methodNotFound", method)

    def notify(self, method: str, params: Json | None = None) -> None:
        self.notes.append((method, params or {}))

    async def abilities(self) -> Abilities:
        return Abilities()

    async def wait_if_ending(self) -> None:
        """Its end is known as soon as it is noticed."""

    async def wait_gone(self) -> None:
        await self._gone.wait()

    def scrub(self, text: str) -> str:
        return text

    def die(self) -> None:
        self.gone = HostClosed("it died")
        self._gone.set()


class NoOther:
    """Hosts of which there is never another one."""

    login = Login({}, lambda: None)

    def join(self, host: Any, session: Any) -> None:
        """Nobody asks who is there."""

    def leave(self, host: Any, session: Any) -> None:
        """Nobody asks who is there."""

    def is_outdated(self, host: Any) -> bool:
        return False

    async def host(self, *asked: Any) -> Any:
        raise HostClosed("there is no other")


class Consenting:
    """The conversation, its host, and its client: `shown` are the client's dialogs and forms, `updates` what it was
    told, `answers` the answers to its prompts."""

    def __init__(self, background: Background, client: ClientCapabilities) -> None:
        self.host = PlayedHost()
        self.background = background
        self.shown: list[Shown] = []
        self.updates: list[Json] = []
        self.answers: list[Any] = []
        style = CardStyle(SESSION, "/srv/demo/orchard")
        host, hosts = cast(Host, self.host), cast(ExecutionHosts, NoOther())
        terms = Terms(client=client)
        self.conversation = Conversation(style, host, hosts, cast(Peer, self), background, {}, terms)
        self.conversation.listen()

    # -- what the adapter does to the client (`adapter.wire.peer.Peer`)

    async def request(self, method: str, params: Json) -> Json:
        shown = Shown(method, params)
        self.shown.append(shown)
        return await shown.wait()

    def notify(self, method: str, params: Json) -> None:
        self.updates.append(params["update"])

    def notify_mergeable(self, frame: Any) -> None:
        self.updates.append(frame.params()["update"])

    # -- what the client does

    async def prompt(self, *texts: str) -> str:
        """Send one, wait until the host has it, and give the id of its turn."""
        before = self.host.turns
        self.send(*[Text(text) for text in texts or ("go",)])
        await until(lambda: self.host.turns > before)
        turn_id = f"t{self.host.turns}"
        await settled()
        self.host.tell("turn/started", {"turnId": turn_id})
        return turn_id

    def send(self, *blocks: Block) -> None:
        """Send a prompt, and wait for nothing."""
        work = self.conversation.admit(blocks, None, Call(Request(1, "session/prompt", {})))

        async def answer() -> None:
            self.answers.append(await outcome(lambda: work))

        self.background.start(answer)

    async def dialog(self, number: int = 1) -> Shown:
        """What the client was asked, counted from 1."""
        await until(lambda: len(self.shown) >= number)
        return self.shown[number - 1]

    async def answer(self, number: int = 1) -> Any:
        """The answer to a prompt, counted from 1."""
        await until(lambda: len(self.answers) >= number)
        return self.answers[number - 1]

    def text(self) -> str:
        """The messages so far."""
        return "".join(
            update["content"]["text"] for update in self.updates if update["sessionUpdate"] == "agent_message_chunk"
        )

    # -- what the host does

    def approval(self, turn_id: str, approval_id: str = "a", **changes: Any) -> Json:
        """The params of an approval about a shell command."""
        return {
            "approvalId": approval_id,
            "turnId": turn_id,
            "itemId": f"item-of-{approval_id}",
            "toolName": "bash",
            "rawArgs": '{"command":"make"}',
            "subject": {"kind": "shell", "command": "make"},
            "currentRequirementId": {"approvalId": approval_id, "sourceIndex": 0},
            "availableChoices": CHOICES,
            **changes,
        }

    def complete(self, turn_id: str, terminal: str = "completed") -> None:
        """The end of a turn."""
        self.host.tell("turn/completed", {"turnId": turn_id, "terminal": terminal})


def selected(option_id: str, **meta: Any) -> Json:
    """The answer that selects an option."""
    answer: Json = {"outcome": {"outcome": "selected", "optionId": option_id}}
    return answer | ({"_meta": meta} if meta else {})


async def settled() -> None:
    """Let everything that can go on do so."""
    for _ in range(20):
        await anyio.lowlevel.checkpoint()
        await anyio.lowlevel.checkpoint()


@asynccontextmanager
async def consenting(**client: Any) -> AsyncIterator[Consenting]:
    """A conversation with an empty session; `client` is what the client can do."""
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            background = Background(tasks, logging.getLogger("tests"))
            yield Consenting(background, ClientCapabilities(**client))
            tasks.cancel_scope.cancel()


def decided(talk: Consenting) -> list[tuple[str, int, str]]:
    """Approval, stage and choice of the decisions so far."""
    sent = talk.host.sent("approval/decide")
    return [(each["approvalId"], each["requirementId"]["sourceIndex"], each["choiceId"]) for each in sent]


def stage(index: int, approval_id: str = "a") -> Json:
    return {"currentRequirementId": {"approvalId": approval_id, "sourceIndex": index}}


def updated(params: Json, kind: str = "stageResolved") -> Json:
    names = ("approvalId", "subject", "currentRequirementId", "availableChoices")
    return {"change": {"kind": kind}, **{name: params[name] for name in names}}
