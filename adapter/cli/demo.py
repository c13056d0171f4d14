"""`muse-adapter demo`: a short conversation with the real adapter, in front of the simulated host, on the terminal.

The adapter runs as a child process, as an editor starts it. Every step is checked; the first that is not as it should
be ends the demo with exit code 1 and a sentence. All files are in a temporary directory, all waits are bounded.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

import anyio
import msgspec
from rich.console import Console
from rich.text import Text

from adapter.cli.demo_client import STEP_SECONDS, DemoClient, Option, Question, Unexpected, Update, expect
from adapter.msp.process import HostCommand, HostProcess

ADAPTER: Final = (sys.executable, "-P", "-m", "adapter.cli.entry", "--muse", "simulated:1.2.1")
"""`-P`: the directory the demo is started in may hold anything, also something called `adapter`."""

DEMO_SECONDS: Final = 45.0
"""Seconds the whole conversation may take."""

EXIT_SECONDS: Final = 12.0
"""Seconds the adapter may take to end after its input; it may have to kill a host meanwhile."""

EXIT_OK: Final = 0
EXIT_UNEXPECTED: Final = 1
EXIT_INTERRUPTED: Final = 130

OUTPUT_BYTES: Final = 200_000
PIECES: Final = ("This takes a while… ", "done ✓")
"""What the simulated host says in a slow turn, with a pause in between."""

_WIDTH: Final = 30
"""Columns of the left half of a line; the longest method's name and an arrow."""

_LINE: Final = 60
"""Characters shown of a line on a card."""


class Screen:
    """The terminal: colours where there is one, plain text elsewhere."""

    def __init__(self) -> None:
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(errors="replace")
        self._console = Console(highlight=False, soft_wrap=True)
        self._in_text = False

    def line(self, left: str = "", right: str = "", style: str = "") -> None:
        """One line: what happened, and more about it."""
        self.end_text()
        padded = left.ljust(_WIDTH) if right else left
        self._console.print(Text.assemble((padded, style), right))

    def text(self, piece: str) -> None:
        """A piece of an answer, at once."""
        self._console.print(Text(piece if self._in_text else f"  {piece}"), end="")
        self._in_text = True

    def end_text(self) -> None:
        """The next thing begins a line."""
        if self._in_text:
            self._console.print()
        self._in_text = False


class _Agent(msgspec.Struct):
    name: str
    version: str


class _Initialized(msgspec.Struct, rename="camel"):
    protocol_version: int
    agent_info: _Agent
    auth_methods: list[dict[str, object]]


class _NewSession(msgspec.Struct, rename="camel"):
    session_id: str


class _Answered(msgspec.Struct, rename="camel"):
    stop_reason: str


class Conversation:
    """What is said, shown and checked; also what sees the adapter's updates (`adapter.cli.demo_client.Editor`)."""

    def __init__(self, process: HostProcess, screen: Screen, project: Path, step_seconds: float) -> None:
        self._client = DemoClient(process, self, step_seconds)
        self._screen = screen
        self._project = project
        self._session_id = ""
        self._begin()

    async def play(self) -> None:
        """The whole conversation.

        Raises:
            Unexpected: a step was not as it should be.
        """
        await self._meet()
        await self._prompt("Hello, Muse")
        self._check("You said: Hello, Muse — noted ✓")

        await self._prompt("slow 0.5 (an answer that comes in pieces)")
        self._check("".join(PIECES))
        expect(len(self._pieces) > 1, "the text in pieces, as it is said", self._pieces)

        await self._prompt(f"shell {OUTPUT_BYTES} (a command with much output)")
        self._check(f"The command wrote {OUTPUT_BYTES} bytes ✓", "execute")
        notice = f"of {OUTPUT_BYTES} bytes"
        expect(notice in self._card_text, f"a card that says {notice!r}", self._card_text[-100:])

        await self._prompt("approve (a change that needs your consent)")
        self._check("It is done ✓", "edit")
        expect(self._questions == 1, "to be asked once for permission", self._questions)

        await self._prompt("slow 30 (an answer that is stopped)", stop="cancelled")
        expect(self._pieces == [PIECES[0]], "the text up to the cancel", self._pieces)

    # -- the steps

    async def _meet(self) -> None:
        self._screen.line("→ initialize", "which protocol, what can you do?", "cyan")
        hello = {"protocolVersion": 1, "clientInfo": {"name": "muse-adapter demo", "version": "1"}}
        agent = await self._client.ask("initialize", hello, _Initialized)
        expect(agent.protocol_version == 1, "protocol version 1", agent.protocol_version)
        expect(agent.agent_info.name == "muse-adapter", "to meet muse-adapter", agent.agent_info.name)
        expect(bool(agent.auth_methods), "a way to log in", agent.auth_methods)
        self._screen.line("← protocol 1", f"{agent.agent_info.name} {agent.agent_info.version}", "green")

        self._screen.line("→ session/new", "a conversation about a project", "cyan")
        params = {"cwd": str(self._project), "mcpServers": []}
        self._session_id = (await self._client.ask("session/new", params, _NewSession)).session_id
        expect(bool(self._session_id), "a session id", self._session_id)
        self._screen.line("← session", self._session_id, "green")

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
        elif update.session_update in ("tool_call", "tool_call_update"):
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


def main(step_seconds: float = STEP_SECONDS) -> int:
    """Play the demo; the exit code tells whether all was as it should be."""
    screen = Screen()
    with tempfile.TemporaryDirectory(prefix="muse-adapter-demo-", ignore_cleanup_errors=True) as scratch:
        return anyio.run(_demo, screen, Path(scratch).resolve(), step_seconds)


async def _demo(screen: Screen, scratch: Path, step_seconds: float) -> int:
    screen.line("An editor talks to Muse through muse-adapter. The Muse host is simulated, no model is called.")
    screen.line()
    screen.line("    editor  --ACP--  muse-adapter  --MSP--  muse serve", style="bold")
    screen.line()
    project = scratch / "project"
    project.mkdir()
    own = {"XDG_CACHE_HOME": str(scratch / "cache"), "MUSE_SIMULATED_HOME": str(scratch / "sessions")}
    process = await HostProcess.spawn(HostCommand(ADAPTER, {**os.environ, **own}))
    began = time.monotonic()
    problem: str | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(process.drain_stderr)
        try:
            with anyio.move_on_after(DEMO_SECONDS) as conversation:
                tasks.start_soon(_stop_on_signal, conversation)
                await Conversation(process, screen, project, step_seconds).play()
        except Unexpected as unexpected:
            problem = str(unexpected)
        screen.line()
        await process.end(EXIT_SECONDS)
        tasks.cancel_scope.cancel()
    process.close_pipes()
    if conversation.cancelled_caught:
        interrupted = time.monotonic() - began < DEMO_SECONDS
        screen.line("interrupted" if interrupted else f"Expected the demo to end within {DEMO_SECONDS:g} s.")
        return EXIT_INTERRUPTED if interrupted else EXIT_UNEXPECTED
    if problem is None and process.exit_code != 0:
        problem = f"Expected the adapter to end with exit code 0, but came: {process.exit_code}"
    if problem is not None:
        return _failed(screen, problem, process.stderr_text())
    screen.line(f"All of it was as it should be ({time.monotonic() - began:.1f} s).", style="bold green")
    return EXIT_OK


def _failed(screen: Screen, problem: str, log: str) -> int:
    screen.line("The demo failed.", style="bold red")
    screen.line(problem)
    if log:
        screen.line("The adapter's log:")
        screen.line(log, style="dim")
    return EXIT_UNEXPECTED


async def _stop_on_signal(conversation: anyio.CancelScope) -> None:
    """Ctrl-C and its like end the conversation, not the tidying up."""
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            conversation.cancel()
