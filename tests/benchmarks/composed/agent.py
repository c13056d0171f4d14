"""The ACP agent: sessions, prompts and permissions of an editor, by way of one Muse host."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
)
from acp.interfaces import Client
from acp.schema import (
    AgentCapabilities,
    AllowedOutcome,
    EmbeddedResourceContentBlock,
    Implementation,
    PermissionOption,
    PermissionOptionKind,
    ResourceContentBlock,
    StopReason,
    TextContentBlock,
)
from muse_code import (
    ApprovalDecisionInput,
    MuseClient,
    MuseClientOptions,
    ResumeSessionOptions,
    SendUserTurnOptions,
    Session,
    StartSessionOptions,
    Turn,
    TurnOutcome,
    read_session_durability,
)
from muse_code.connection import Connection, spawn_msp_connection
from muse_code_msp import ApprovalChoice, ApprovalRequestParams

from tests.benchmarks.composed.display import Display
from tests.benchmarks.composed.history import past_items

log = logging.getLogger(__name__)

STOP_REASONS: dict[str, StopReason] = {"completed": "end_turn", "cancelled": "cancelled", "failed": "refusal"}

OPTION_KINDS: dict[str, PermissionOptionKind] = {
    "approved": "allow_once",
    "approvedForSession": "allow_always",
    "approvedPolicyAmendment": "allow_always",
    "denied": "reject_once",
    "abort": "reject_once",
    "deniedPolicyAmendment": "reject_always",
}


@dataclass
class Muse:
    """A running host: the client of it, and the connection for what the client has no verb for."""

    client: MuseClient[str]
    connection: Connection


@dataclass
class Conversation:
    """One open session: its two sides, and the turn that runs."""

    session: Session[str]
    display: Display
    turn: Turn | None = None
    cancelled: bool = False


class MuseAgent:
    """Answers an editor; what a session needs of Muse starts with the first one."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._starting = asyncio.Lock()
        self._muse: Muse | None = None
        self._conversations: dict[str, Conversation] = {}
        self._conn: Client

    def on_connect(self, conn: Client) -> None:
        """Remember the editor."""
        self._conn = conn

    async def close(self) -> None:
        """End the host, if there is one."""
        if self._muse is not None:
            await self._muse.client.close()

    async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:
        """Say hello."""
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_capabilities=AgentCapabilities(load_session=True),
            agent_info=Implementation(name="composed", title="Muse Code", version="0.1.0"),
        )

    async def new_session(self, cwd: str, **kwargs: Any) -> NewSessionResponse:
        """Start a session in a folder."""
        muse = await self._host()
        session = await muse.client.start_session(StartSessionOptions(workspace_root=cwd))
        self._open(session)
        session.on_approval(lambda request: self._decide(session.session_id, request))
        session.on_approval_error(lambda failure: log.warning("%s", failure))
        return NewSessionResponse(session_id=session.session_id)

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> LoadSessionResponse:
        """Resume a session and show what happened in it."""
        muse = await self._host()
        session = await muse.client.resume_session(
            ResumeSessionOptions(
                session_id=session_id,
                on_approval=lambda request: self._decide(session_id, request),
                on_approval_error=lambda failure: log.warning("%s", failure),
            )
        )
        display = self._open(session).display
        for item in await past_items(muse.connection, session):
            await display.show_past(item)
        return LoadSessionResponse()

    async def prompt(
        self,
        session_id: str,
        prompt: Sequence[TextContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock],
        **kwargs: Any,
    ) -> PromptResponse:
        """Run a turn, and answer when it has ended."""
        conversation = self._conversation(session_id)
        conversation.cancelled = False
        text = "\n".join(_text(block) for block in prompt)
        turn = await conversation.session.send_user_turn(
            SendUserTurnOptions(input=[{"type": "text", "text": text}], composer_input=text)
        )
        conversation.turn = turn
        try:
            if conversation.cancelled:
                await self._interrupt(session_id, turn)
            outcome = await conversation.display.follow(turn)
        finally:
            conversation.turn = None
        return PromptResponse(stop_reason=await self._stop_reason(conversation, outcome))

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        """Interrupt the turn that runs."""
        conversation = self._conversation(session_id)
        conversation.cancelled = True
        if conversation.turn is not None:
            await self._interrupt(session_id, conversation.turn)

    # -- Muse

    async def _host(self) -> Muse:
        """The host, started when it is needed for the first time."""
        async with self._starting:
            if self._muse is None:
                self._muse = await start_host(self._command)
            return self._muse

    async def _interrupt(self, session_id: str, turn: Turn) -> None:
        muse = await self._host()
        await muse.connection.command("turn/interrupt", {"sessionId": session_id, "turnId": turn.turn_id})

    async def _decide(self, session_id: str, request: ApprovalRequestParams) -> ApprovalDecisionInput:
        """Ask the editor for permission."""
        tool_call = await self._conversation(session_id).display.tool_call(request)
        answer = await self._conn.request_permission(
            session_id=session_id,
            tool_call=tool_call,
            options=[
                PermissionOption(option_id=choice["choiceId"], name=choice["label"], kind=kind)
                for choice in request["availableChoices"]
                if (kind := OPTION_KINDS.get(choice["decision"])) is not None
            ],
        )
        if isinstance(answer.outcome, AllowedOutcome):
            return ApprovalDecisionInput(answer.outcome.option_id)
        return ApprovalDecisionInput(_refusal(request["availableChoices"]))

    # -- sessions

    def _open(self, session: Session[str]) -> Conversation:
        conversation = Conversation(session, Display(self._conn, session))
        self._conversations[session.session_id] = conversation
        return conversation

    def _conversation(self, session_id: str) -> Conversation:
        try:
            return self._conversations[session_id]
        except KeyError:
            raise RequestError.invalid_params({"sessionId": session_id}) from None

    async def _stop_reason(self, conversation: Conversation, outcome: TurnOutcome) -> StopReason:
        if outcome.kind == "unqueued":
            return "cancelled"
        if outcome.kind != "completed":
            raise RequestError.internal_error({"details": "the host died during the turn"})
        error = outcome.params.get("error")
        if error is not None:
            await conversation.display.say(error["message"])
        return STOP_REASONS.get(outcome.params["terminal"], "end_turn")


async def start_host(command: Sequence[str]) -> Muse:
    """Start a host and shake hands with it.

    This is what `MuseClient.spawn` does, in two steps: a client has no verb to interrupt a turn or to page through the
    past, and gives nobody its connection.
    """
    handshake = await spawn_msp_connection(command[0], args=(*command[1:], "serve"), on_stderr=_pass_on)
    host = await handshake.initialize({"clientInfo": {"name": "composed_adapter", "version": "0.1.0"}})
    durability = read_session_durability(host.initialize_result)
    client: MuseClient[str] = MuseClient(host.connection, MuseClientOptions(durability=durability, host=host))
    return Muse(client, host.connection)


def _pass_on(words: str) -> None:
    """Whatever the host has to say goes where the editor looks for it."""
    sys.stderr.write(words)


def _text(block: TextContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock) -> str:
    """A part of a prompt as text; the agent has not offered to take any that cannot be."""
    if isinstance(block, TextContentBlock):
        return block.text
    return block.uri if isinstance(block, ResourceContentBlock) else block.resource.uri


def _refusal(choices: Sequence[ApprovalChoice]) -> str:
    """The choice that stands for an answer that was not given."""
    for decision in ("abort", "denied"):
        for choice in choices:
            if choice["decision"] == decision:
                return choice["choiceId"]
    raise LookupError("no choice refuses")
