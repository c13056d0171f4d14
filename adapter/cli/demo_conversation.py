"""What the demo says to the adapter, what it expects, and what it shows of it."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Final

import msgspec

from adapter.bridge.stored_output.contract import KEY as OUTPUT_KEY
from adapter.bridge.stored_output.contract import METHOD as READ_OUTPUT
from adapter.cli.demo_client import DemoClient, Handle, Meta, Option, Part, Question, Unexpected, Update, expect
from adapter.cli.demo_screen import Screen
from adapter.hosts.simulated.outputs import new_output, stored_bytes
from adapter.msp.process import HostProcess

OUTPUT_BYTES: Final = 300_000
PIECES: Final = ("This takes a while… ", "done ✓")
"""What the simulated host says in a slow turn, with a pause in between."""

_LINE: Final = 60
"""Characters shown of a line on a card."""


class _Agent(msgspec.Struct):
    name: str
    version: str


class _Initialized(msgspec.Struct, rename="camel"):
    protocol_version: int
    agent_info: _Agent
    auth_methods: list[dict[str, object]]
    meta: Meta = msgspec.field(name="_meta", default=Meta())


class _NewSession(msgspec.Struct, rename="camel"):
    session_id: str


class _Answered(msgspec.Struct, rename="camel"):
    stop_reason: str


class _Nothing(msgspec.Struct):
    pass


class _Page(msgspec.Struct, rename="camel"):
    content: str
    encoding: str
    byte_len: int
    eof: bool


class Conversation:
    """What is said, shown and checked; also what sees the adapter's updates (`adapter.cli.demo_client.Editor`)."""

    def __init__(self, process: HostProcess, screen: Screen, project: Path, step_seconds: float) -> None:
        self._client = DemoClient(process, self, step_seconds)
        self._screen = screen
        self._project = project
        self._session_id = ""
        self._handle: Handle | None = None
        self._begin()

    async def play(self) -> str:
        """The first half, with an adapter of its own; the id of the session it was in.

        Raises:
            Unexpected: a step was not as it should be.
        """
        await self._meet()
        self._screen.line("→ session/new", "a conversation about a project", "cyan")
        params = {"cwd": str(self._project), "mcpServers": []}
        self._session_id = (await self._client.ask("session/new", params, _NewSession)).session_id
        expect(bool(self._session_id), "a session id", self._session_id)
        self._screen.line("← session", self._session_id, "green")

        await self._prompt("Hello, Muse")
        self._check("You said: Hello, Muse — noted ✓")

        await self._prompt("slow 0.5 (an answer that comes in pieces)")
        self._check("".join(PIECES))
        expect(len(self._pieces) > 1, "the text in pieces, as it is said", self._pieces)

        await self._prompt(f"shell {OUTPUT_BYTES} (a command with much output)")
        self._check(f"The command wrote {OUTPUT_BYTES} bytes ✓", "execute")
        notice = f"of {OUTPUT_BYTES} bytes"
        expect(notice in self._card_text, f"a card that says {notice!r}", self._card_text[-100:])
        await self._read_all()

        await self._prompt("approve (a change that needs your consent)")
        self._check("It is done ✓", "edit")
        expect(self._questions == 1, "to be asked once for permission", self._questions)

        await self._prompt("slow 30 (an answer that is stopped)", stop="cancelled")
        expect(self._pieces == [PIECES[0]], "the text up to the cancel", self._pieces)
        return self._session_id

    async def play_again(self, session_id: str) -> None:
        """The second half, with another adapter and other hosts: what was stored is still there.

        Raises:
            Unexpected: a step was not as it should be.
        """
        await self._meet()
        self._session_id = session_id
        self._screen.line("→ session/load", session_id, "cyan")
        params = {"sessionId": session_id, "cwd": str(self._project), "mcpServers": []}
        await self._client.ask("session/load", params, _Nothing)
        self._screen.line("← loaded", "the conversation so far, as it was", "green")
        await self._read_all()

    # -- the steps

    async def _meet(self) -> None:
        self._screen.line("→ initialize", "which protocol, what can you do?", "cyan")
        hello = {
            "protocolVersion": 1,
            "clientInfo": {"name": "muse-adapter demo", "version": "1"},
            "clientCapabilities": {"_meta": {OUTPUT_KEY: 1}},
        }
        agent = await self._client.ask("initialize", hello, _Initialized)
        expect(agent.protocol_version == 1, "protocol version 1", agent.protocol_version)
        expect(agent.agent_info.name == "muse-adapter", "to meet muse-adapter", agent.agent_info.name)
        expect(bool(agent.auth_methods), "a way to log in", agent.auth_methods)
        expect(agent.meta.output is not None, "stored output to be offered", agent.meta)
        self._screen.line("← protocol 1", f"{agent.agent_info.name} {agent.agent_info.version}, stored output", "green")

    async def _read_all(self) -> None:
        """Read the whole output that the card has only the ends of, and compare it byte for byte."""
        handle = self._handle
        if handle is None:
            raise Unexpected("Expected a card that says how to read the stored output, but none did.")
        self._screen.line(f"→ {READ_OUTPUT}", "all of it, page by page", "cyan")
        params = {"sessionId": handle.session_id, "itemId": handle.item_id, "outputRef": handle.output_ref}
        data, pages, eof = b"", 0, False
        while not eof:
            page = await self._client.ask(READ_OUTPUT, {**params, "offsetBytes": len(data)}, _Page)
            piece = page.content.encode() if page.encoding == "utf8" else base64.b64decode(page.content)
            expect(len(piece) == page.byte_len, f"{page.byte_len} bytes", len(piece))
            data, pages, eof = data + piece, pages + 1, page.eof
            expect(eof or bool(piece), "a page with something in it", page)
        written = stored_bytes(new_output(handle.item_id, "lines", OUTPUT_BYTES), 0, OUTPUT_BYTES)
        expect(data == written, f"the {len(written)} bytes the command wrote", f"{len(data)} bytes, not the same")
        self._screen.line(f"← {pages} pages", f"{len(data)} bytes, the same as the command wrote", "green")

    async def _prompt(self, text: str, stop: str = "end_turn") -> None:
        """Ask, and take what comes until the turn is over; a turn that is to be cancelled is, at its first word."""
        self._begin()
        self._cancels = stop == "cancelled"
        self._screen.line()
        self._screen.line("→ session/prompt", text, "cyan")
        params = {"sessionId": self._session_id, "prompt": [{"type": "text", "text": text}]}
        answered = await self._client.ask("session/prompt", params, _Answered)
        expect(answered.stop_reason == stop, f"the stop reason {stop!r}", answered.stop_reason)
        self._screen.line("← stop reason", answered.stop_reason, "green")

    def _begin(self) -> None:
        self._cancels = False
        self._pieces: list[str] = []
        self._card: dict[str, str] = {}
        self._card_text = ""
        self._questions = 0

    def _check(self, text: str, kind: str | None = None) -> None:
        """What has been said in the turn, and the card in it, if there is to be one."""
        said = "".join(self._pieces)
        expect(said == text, f"the text {text!r}", said)
        if kind is not None:
            expect(self._card.get("kind") == kind, f"a tool card of kind {kind!r}", self._card)
            expect(self._card.get("status") == "completed", "the tool card to end as 'completed'", self._card)

    # -- what the adapter says

    async def see(self, update: Update) -> None:
        """One update."""
        if update.session_update == "agent_message_chunk":
            expect(not isinstance(update.content, list | None), "text in a message", update)
            assert not isinstance(update.content, list | None)
            self._pieces.append(update.content.text)
            self._screen.text(update.content.text)
            if self._cancels and len(self._pieces) == 1:
                self._screen.line("→ session/cancel", "stop it", "cyan")
                await self._client.tell("session/cancel", {"sessionId": self._session_id})
        elif update.session_update == "user_message_chunk" and isinstance(update.content, Part):
            self._screen.line("  you", update.content.text)
        elif update.session_update in ("tool_call", "tool_call_update"):
            self._handle = update.meta.output or self._handle
            self._see_card(update)

    def _see_card(self, update: Update) -> None:
        members = {"title": update.title, "kind": update.kind, "status": update.status}
        before = dict(self._card)
        self._card |= {name: value for name, value in members.items() if value is not None}
        self._card_text = update.card_text() or self._card_text
        if self._card.get("status") == before.get("status"):
            return
        title = self._in_project(self._card.get("title", ""))
        self._screen.line(f"  tool card: {self._card.get('status')}", f"{title} ({self._card.get('kind')})", "magenta")
        if update.status == "completed":
            for line in _shortened(self._in_project(self._card_text)):
                self._screen.line(f"  | {line}", style="dim")

    def decide(self, question: Question) -> Option:
        """The demo's answer to a question: allow it, this once."""
        self._questions += 1
        self._screen.line("← session/request_permission", self._in_project(question.tool_call.title or ""), "yellow")
        chosen = next((option for option in question.options if option.kind == "allow_once"), None)
        for option in question.options:
            mark = "(x)" if option is chosen else "( )"
            self._screen.line(f"  {mark} {option.kind}", self._in_project(option.name))
        if chosen is None:
            raise Unexpected(f"Expected an option of kind 'allow_once', but came: {question.options}")
        self._screen.line("→ selected", chosen.name, "cyan")
        return chosen

    def _in_project(self, text: str) -> str:
        return text.replace(f"{self._project}{os.sep}", "")


def _shortened(text: str) -> list[str]:
    lines = [line if len(line) <= _LINE else f"{line[:_LINE]}…" for line in text.splitlines() if line]
    return lines if len(lines) <= 4 else [*lines[:2], "…", lines[-1]]
