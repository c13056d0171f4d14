"""The official Python ACP client drives the adapter on the simulated host, in every version that can be simulated.

The client is `agent-client-protocol`'s own connection on its own way to spawn an agent. It calls back with typed
models, in tasks; every frame is looked at beside that, as it went over the pipes.
"""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import DEVNULL
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, cast

import acp
import pytest
from acp import schema
from acp.client import ClientSideConnection
from acp.connection import StreamDirection, StreamEvent

from tests.interop.transcript import Transcript

CONVERSATION_SECONDS: Final = 60.0
"""How long a conversation may take; only a hang takes that long."""

RESOURCE_NOT_FOUND: Final = -32002

pytestmark = pytest.mark.anyio

each_version = pytest.mark.parametrize("version", ["1.0.1", "1.1.1", "1.2.1", "1.3.0", "1.4.13"])


@pytest.fixture
def anyio_backend() -> str:
    """The client knows only asyncio."""
    return "asyncio"


class Editor:
    """What an editor shows and answers; it offers no files and no terminals. `choose` picks the option of a permission
    request, None cancels it."""

    def __init__(self) -> None:
        self.shown: dict[str, list[Any]] = {}
        self.asked: list[schema.ToolCallUpdate] = []
        self.choose: Callable[[list[schema.PermissionOption]], schema.PermissionOption | None] = lambda options: None
        self.said: Transcript = Transcript()
        self.problems: list[str] = []
        self.arrived = asyncio.Event()

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        self.shown.setdefault(session_id, []).append(update)
        self.arrived.set()

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **kwargs: Any
    ) -> schema.RequestPermissionResponse:
        self.asked.append(tool_call)
        option = self.choose(options)
        if option is None:
            return schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        outcome = schema.AllowedOutcome(outcome="selected", option_id=option.option_id)
        return schema.RequestPermissionResponse(outcome=outcome)

    def overhear(self, event: StreamEvent) -> None:
        """Take in a frame; the connection would only log what is raised here."""
        try:
            self.said.add(event.message, "agent" if event.direction is StreamDirection.INCOMING else "client")
        except AssertionError as error:
            self.problems.append(f"{error}: {event.message}")

    def of_type(self, session_id: str, kind: type[Any]) -> list[Any]:
        """The updates a session was shown that the client understood as this model."""
        return [update for update in self.shown.get(session_id, []) if isinstance(update, kind)]

    def text(self, session_id: str) -> str:
        return "".join(update.content.text for update in self.of_type(session_id, schema.AgentMessageChunk))


class Conversation:
    """The client's connection to a running adapter."""

    def __init__(self, agent: ClientSideConnection, editor: Editor, initialized: schema.InitializeResponse) -> None:
        self.agent = agent
        self.editor = editor
        self.initialized = initialized

    async def new_session(self, cwd: Path) -> str:
        session: schema.NewSessionResponse = await self.agent.new_session(str(cwd))
        return session.session_id

    async def prompt(self, session_id: str, text: str) -> str:
        """The stop reason of a turn."""
        answer: schema.PromptResponse = await self.agent.prompt(session_id, [acp.text_block(text)])
        return answer.stop_reason

    async def wait_for_text(self, session_id: str) -> None:
        """Wait until the session has said anything."""
        while not self.editor.text(session_id):
            self.editor.arrived.clear()
            await self.editor.arrived.wait()


@asynccontextmanager
async def conversation(
    home: Path,
    version: str = "1.2.1",
    capabilities: schema.ClientCapabilities | None = None,
    command: Sequence[str] = (),
) -> AsyncIterator[Conversation]:
    """An initialized adapter, or what `command` starts in its place. When it ends well, every frame was as the schema
    says, nothing was left without an answer, and it exited with 0."""
    editor = Editor()
    command = command or (sys.executable, "-m", "adapter.cli.entry", "--muse", f"simulated:{version}")
    async with asyncio.timeout(CONVERSATION_SECONDS):
        async with acp.spawn_agent_process(
            cast(acp.Client, editor),
            *command,
            env={"HOME": str(home)},
            cwd=home,
            transport_kwargs={"stderr": DEVNULL},
            observers=[editor.overhear],
        ) as (agent, process):
            client = schema.Implementation(name="tests", version="1")
            answer = await agent.initialize(acp.PROTOCOL_VERSION, capabilities, client)
            assert answer.protocol_version == 1
            assert answer.agent_info is not None
            assert answer.agent_info.name == "muse-adapter"
            yield Conversation(agent, editor, answer)
        assert process.returncode == 0
    assert editor.problems == []
    assert editor.said.open_requests() == []


def pick(kind: str) -> Callable[[list[schema.PermissionOption]], schema.PermissionOption | None]:
    """The first option of a kind."""
    return lambda options: next(option for option in options if option.kind == kind)


@each_version
async def test_text_streams_and_the_turn_ends(tmp_path: Path, version: str) -> None:
    async with conversation(tmp_path, version) as talk:
        session_id = await talk.new_session(tmp_path)
        assert await talk.prompt(session_id, "hello") == "end_turn"
        assert talk.editor.text(session_id) == "You said: hello — noted ✓"
        assert await talk.prompt(session_id, "stream 500 64") == "end_turn"
        chunks = talk.editor.of_type(session_id, schema.AgentMessageChunk)
        streamed = [chunk for chunk in chunks if chunk.message_id == chunks[-1].message_id]
        assert len("".join(chunk.content.text for chunk in streamed).encode()) == 500 * 64
        assert chunks[0].message_id != chunks[-1].message_id


@each_version
async def test_a_tool_is_a_card_that_completes(tmp_path: Path, version: str) -> None:
    async with conversation(tmp_path, version) as talk:
        session_id = await talk.new_session(tmp_path)
        assert await talk.prompt(session_id, "shell 300") == "end_turn"
        [card] = talk.editor.of_type(session_id, schema.ToolCallStart)
        assert (card.kind, card.status) == ("execute", "in_progress")
        progress = talk.editor.of_type(session_id, schema.ToolCallProgress)
        assert {update.tool_call_id for update in progress} == {card.tool_call_id}
        assert progress[-1].status == "completed"
        # What it shows may have been whole before it ended.
        shown = [update.content for update in progress if update.content]
        assert "東京" in shown[-1][0].content.text
        assert talk.editor.text(session_id) == "The command wrote 300 bytes ✓"


@each_version
@pytest.mark.parametrize(
    ("kind", "status", "answer"),
    [
        pytest.param("allow_once", "completed", "It is done ✓", id="allowed"),
        pytest.param("reject_once", "failed", "Then I leave it — as you wish.", id="refused"),
    ],
)
async def test_a_permission_is_asked_and_obeyed(
    tmp_path: Path, version: str, kind: str, status: str, answer: str
) -> None:
    async with conversation(tmp_path, version) as talk:
        talk.editor.choose = pick(kind)
        session_id = await talk.new_session(tmp_path)
        assert await talk.prompt(session_id, "approve") == "end_turn"
        [card] = talk.editor.of_type(session_id, schema.ToolCallStart)
        assert [asked.tool_call_id for asked in talk.editor.asked] == [card.tool_call_id]
        assert talk.editor.of_type(session_id, schema.ToolCallProgress)[-1].status == status
        assert talk.editor.text(session_id) == answer


@each_version
async def test_each_stage_of_a_command_is_asked_for(tmp_path: Path, version: str) -> None:
    async with conversation(tmp_path, version) as talk:
        talk.editor.choose = pick("allow_once")
        session_id = await talk.new_session(tmp_path)
        assert await talk.prompt(session_id, "approve3") == "end_turn"
        assert len(talk.editor.asked) == 2
        assert talk.editor.of_type(session_id, schema.ToolCallProgress)[-1].status == "completed"


@each_version
async def test_a_cancel_ends_the_turn_and_not_the_session(tmp_path: Path, version: str) -> None:
    async with conversation(tmp_path, version) as talk:
        session_id = await talk.new_session(tmp_path)
        turn = asyncio.create_task(talk.prompt(session_id, "slow 60"))
        await talk.wait_for_text(session_id)
        await talk.agent.cancel(session_id)
        assert await turn == "cancelled"
        assert await talk.prompt(session_id, "and now?") == "end_turn"
        assert talk.editor.text(session_id).endswith("You said: and now? — noted ✓")


@each_version
async def test_sessions_run_beside_each_other(tmp_path: Path, version: str) -> None:
    async with conversation(tmp_path, version) as talk:
        talk.editor.choose = pick("allow_once")
        slow, quick = await asyncio.gather(talk.new_session(tmp_path), talk.new_session(tmp_path))
        assert slow != quick
        turn = asyncio.create_task(talk.prompt(slow, "slow 60"))
        await talk.wait_for_text(slow)
        assert await talk.prompt(quick, "approve") == "end_turn"
        assert not turn.done()
        assert talk.editor.text(quick) == "It is done ✓"
        await talk.agent.cancel(slow)
        assert await turn == "cancelled"
        assert talk.editor.text(slow) == "This takes a while… "


async def test_a_permission_that_is_cancelled_ends_the_turn(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        session_id = await talk.new_session(tmp_path)
        assert await talk.prompt(session_id, "approve") == "cancelled"
        assert len(talk.editor.asked) == 1
        assert talk.editor.of_type(session_id, schema.ToolCallProgress)[-1].status == "failed"


async def test_an_unknown_session_is_an_error_and_no_more(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        with pytest.raises(acp.RequestError) as refused:
            await talk.prompt("unknown", "hello")
        assert refused.value.code == RESOURCE_NOT_FOUND
        session_id = await talk.new_session(tmp_path)
        assert await talk.prompt(session_id, "hello") == "end_turn"


async def test_a_failed_turn_is_an_error_that_says_why(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        session_id = await talk.new_session(tmp_path)
        with pytest.raises(acp.RequestError) as failed:
            await talk.prompt(session_id, "fail")
        assert failed.value.data is not None
        assert failed.value.data["details"] == "simulated failure of kind modelError"
        assert talk.editor.text(session_id) == "Let me see… hm —"
