"""The whole adapter between a played client and played hosts, in one thread and on one virtual clock."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, cast
from unittest.mock import patch

import anyio

from adapter.acp.agent import AgentDispatcher
from adapter.bridge.agent import MuseAgent
from adapter.bridge.hosts.host_choice import HostChoice
from adapter.msp.host_command import HostCommand
from adapter.msp.process import HostProcess
from adapter.wire.background import Background
from adapter.wire.peer import CANCEL_METHOD, Peer, PeerOptions
from host_probe import Probe
from tests.model.checks import Checks, Prompt
from tests.model.host import PlayedHost
from tests.model.store import Json, Store
from tests.model.virtual_loop import VirtualLoop
from tests.model.wires import PlayedProcess, Wire
from tests.oracles.seen import Seen

ROOT: Final = "/"
CAP: Final = 10 * 1024 * 1024

CANARY: Final = "canary-c04e8d15aa"
"""Is in a variable like that of a key; nobody may ever be told."""

log = logging.getLogger("tests.model")


class Dialog:
    """Something the client was asked."""

    def __init__(self, frame: Json) -> None:
        self.id = frame["id"]
        self.method: str = frame["method"]
        self.params: Json = frame["params"]
        self.is_open = True


class Stage:
    """One run of the adapter."""

    def __init__(self) -> None:
        self.store = Store()
        self.checks = Checks(self.store)
        self.seen: list[Seen] = []
        self.hosts: list[PlayedHost] = []
        self.processes: dict[str, PlayedProcess] = {}
        self.dialogs: list[Dialog] = []
        self.requests: dict[Any, Callable[[Json], None]] = {}
        """What follows from the answer to an open request of the client."""
        self.loop = VirtualLoop()
        self.failures: list[str] = []
        self._clock = itertools.count()
        self._client = Wire("client", "client", self._note, self._from_adapter)
        self._client.sink.watch = self._watch
        self._patches: list[Any] = [
            patch.object(HostProcess, "spawn", self._spawn),
            patch("adapter.bridge.hosts.execution_hosts.probe_version", _no_probe),
            patch.object(anyio.to_thread, "run_sync", _at_once),
            patch.dict(os.environ, {"ORCHARD_API_KEY": CANARY}),
        ]
        for each in self._patches:
            each.start()
        self._handler = _Failures(self.failures)
        logging.getLogger("adapter").addHandler(self._handler)
        self._serving = self.loop.create_task(self._serve())

    # -- the adapter

    async def _serve(self) -> None:
        options = PeerOptions(
            name="client",
            inbound_cap=CAP,
            outbound_cap=CAP,
            logger=logging.getLogger("adapter.acp"),
            cancel_method=CANCEL_METHOD,
            endless_line=None,
        )
        choice = HostChoice(environ={}, home=Path("/nowhere"), muse="simulated:1.4.13")
        async with anyio.create_task_group() as tasks:
            agent = MuseAgent("0", choice, None, Background(tasks, logging.getLogger("adapter.acp")))
            peer = Peer(self._client.source, self._client.sink, AgentDispatcher(agent), options)
            agent.connect(peer)
            await peer.run(agent.client_gone)
            await agent.close()
            tasks.cancel_scope.cancel()

    def _spawn(self, command: HostCommand) -> HostProcess:
        host = PlayedHost(self.store, f"h{len(self.hosts) + 1}")
        host.wire = Wire("host", host.name, self._note, host.take)
        host.wire.sink.watch = self._watch
        process = self.processes[host.name] = PlayedProcess(command, host.wire)
        process.on_end = lambda: self._ended(host)
        self.hosts.append(host)
        return cast(HostProcess, process)

    def _ended(self, host: PlayedHost) -> None:
        if host.alive:
            host.die()

    # -- time

    def go(self, seconds: float = 0.0) -> None:
        """Let everything go on that can, and so much time pass."""
        self.loop.pass_time(seconds)

    def end(self) -> None:
        """The client goes: everything is answered, and nothing is left."""
        try:
            self._client.source.put(b"")
            self.go(60.0)
            assert self._serving.done(), "the adapter does not end when its client has gone"
            self._serving.result()
            left = [task for task in asyncio.all_tasks(self.loop) if not task.done()]
            assert not left, f"left behind: {left}"
        finally:
            self.close()

    def close(self) -> None:
        """Let go of everything, whatever state it is in."""
        for each in self._patches:
            each.stop()
        logging.getLogger("adapter").removeHandler(self._handler)
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.go()
        self.loop.close()

    def tasks(self) -> list[str]:
        """What has not ended."""
        return sorted(task.get_name() for task in asyncio.all_tasks(self.loop) if not task.done())

    # -- frames

    def _watch(self, data: bytes) -> None:
        if CANARY.encode() in data:
            self.failures.append(f"something of the environment is told: {data[:300]!r}")

    def _note(self, seen: Seen) -> None:
        seen = Seen(next(self._clock), seen.side, seen.connection, seen.from_adapter, seen.frame)
        self.seen.append(seen)
        self.checks.take(seen)

    def _from_adapter(self, frame: Json) -> None:
        if "method" not in frame:
            follow = self.requests.pop(frame.get("id"), None)
            if follow is not None:
                follow(frame)
        elif "id" in frame:
            self.dialogs.append(Dialog(frame))
        elif frame["method"] == CANCEL_METHOD:
            for dialog in self.dialogs:
                if dialog.id == frame["params"]["requestId"]:
                    dialog.is_open = False

    def story(self, last: int = 80) -> str:
        """The frames that passed last, a line each."""
        lines = []
        for seen in self.seen[-last:]:
            arrow = (
                ("<-" if seen.from_adapter else "->") if seen.side == "client" else "=>" if seen.from_adapter else "<="
            )
            lines.append(f"{seen.connection:6} {arrow} {json.dumps(seen.frame):.400}")
        return "\n".join(lines)

    # -- the client

    def begin(self, *, forms: bool) -> None:
        """The client is there; `forms`: it can show forms."""
        self.checks.forms = forms
        capabilities: Json = {"elicitation": {"form": {}}} if forms else {}
        self.ask(0, "initialize", {"protocolVersion": 1, "clientCapabilities": capabilities})
        self.go()

    def ask(self, request_id: Any, method: str, params: Json, follow: Callable[[Json], None] | None = None) -> None:
        """A request of the client."""
        self.requests[request_id] = follow or (lambda frame: None)
        self._client.send({"id": request_id, "method": method, "params": params})

    def tell(self, method: str, params: Json) -> None:
        """A notification of the client."""
        self._client.send({"method": method, "params": params})

    def prompt(self, request_id: Any, session: str) -> Prompt:
        """A prompt that can be told from all others."""
        prompt = Prompt(self.store.number(), session)
        self.checks.prompts[request_id] = prompt
        words = {"type": "text", "text": f"prompt-{prompt.number}\nplease"}
        self.ask(request_id, "session/prompt", {"sessionId": session, "prompt": [words]})
        return prompt

    def reply(self, dialog: Dialog, members: Json) -> None:
        """The client answers what it was asked."""
        dialog.is_open = False
        self._client.send({"id": dialog.id, **members})

    # -- hosts

    @property
    def host(self) -> PlayedHost | None:
        """The one that lives."""
        return next((host for host in reversed(self.hosts) if host.alive), None)

    def kill(self, host: PlayedHost, code: int) -> None:
        """A host dies by itself."""
        host.die()
        self.checks.may_fail()
        self.processes[host.name].die(code)


class _Failures(logging.Handler):
    """Exceptions that the adapter only logs are failures all the same, and so is what the log must not tell."""

    def __init__(self, failures: list[str]) -> None:
        super().__init__()
        self._failures = failures

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        if record.levelno >= logging.ERROR or CANARY in text:
            self._failures.append(text)


async def _no_probe(*arguments: Any, **options: Any) -> Probe:
    """Nobody asks for a version."""
    return Probe()


async def _at_once(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """A thread's work, done here, so that nothing has to be waited for."""
    await anyio.lowlevel.checkpoint()
    return function(*arguments)
