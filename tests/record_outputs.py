"""Make the recordings about stored output: `python -m tests.record_outputs [DIRECTORY]`.

The adapter itself speaks to the simulated host, with a listener in between, so what is recorded is what it really says:
a turn whose output is cut, the same session after a restart, and reads with the host that only reads. The folder is
`/`, because a session can be loaded in its own folder only and a recording is played on any machine.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio

from adapter.bridge.hosts.host_choice import HostChoice
from adapter.bridge.stored_output.negotiation import Negotiation
from adapter.bridge.stored_output.read_host import ReadHost
from adapter.bridge.stored_output.reader import OutputReader
from adapter.hosts.simulated.outputs import new_output, stored_bytes
from adapter.wire.envelope import Request, RpcError
from adapter.wire.peer import Call
from tests.adapter_process import running_adapter
from tests.listening_host import heard, place_listener
from tests.output_hosts import background
from tests.record_fixtures import (
    ANSWER_SECONDS,
    FIXTURES,
    Entry,
    handshake,
    host_command,
    manifest,
    normalized,
    prompt_turn,
    running,
    write,
)

Json = dict[str, Any]

WORKSPACE: Final = "/"
READ_VERSION: Final = "1.2.1"
"""The version whose stored outputs are read."""
CUT_BYTES: Final = 300_000
READ_BYTES: Final = 20_000
PAGE_BYTES: Final = 8_192

_HOME: Final = "/home/someone/.muse"
_CLIENT = re.compile(r'("clientInfo":\{[^}]*"version"):"[^"]*"')


@dataclass(frozen=True)
class Refusal:
    """A read that is refused: what is special about the request, the session or the host."""

    description: str
    version: str = READ_VERSION
    changes: Json = field(default_factory=dict)
    workspace: str = WORKSPACE
    prompt: str = f"shell {READ_BYTES}"
    fault: Json | None = None
    """What goes wrong at `item/readOutput`, on purpose."""


REFUSALS: Final = {
    "hostVersionUnverified": Refusal("The handshake says another version than is verified.", version="1.1.1"),
    "sessionNotStored": Refusal("The host has no such session.", changes={"sessionId": "no-such-session"}),
    "workspaceMismatch": Refusal("The stored session belongs to another folder.", workspace="/elsewhere"),
    "outputNotFound": Refusal("The item's newest revision has no such reference.", changes={"outputRef": "out-other"}),
    "outputUnavailable": Refusal("The output is missing.", prompt=f"shell {READ_BYTES} missing"),
    "offsetOutOfRange": Refusal("The offset lies beyond the end.", changes={"offsetBytes": READ_BYTES + 1}),
    "offsetInsideCharacter": Refusal("The offset is inside a character.", changes={"offsetBytes": 13}),
    "pieceTooLarge": Refusal(
        "The host says that the piece does not fit a frame (a fault on purpose).",
        fault={"do": "error", "kind": "outputResultTooLarge", "message": "the answer does not fit a frame"},
    ),
    "hostError": Refusal(
        "The host fails for a reason of its own (a fault on purpose).",
        fault={"do": "error", "kind": "internal", "message": "the store is locked"},
    ),
    "inconsistentPage": Refusal(
        "The page is longer than it says (a fault on purpose).", fault={"do": "result", "set": {"byteLen": 1}}
    ),
}

SCENARIOS: Final = {
    "truncated-output": "A turn whose shell output is cut; the item names the stored output.",
    "load-after-restart": "Another host, another adapter: the session of `truncated-output` is loaded and shown.",
    "read-three-pages": "The host that only reads serves an output in three pages.",
    **{f"read-refused-{reason}": refusal.description for reason, refusal in REFUSALS.items()},
}
RECORDINGS: Final = (
    *((version, scenario) for version in ("1.1.1", "1.2.1") for scenario in ("truncated-output", "load-after-restart")),
    (READ_VERSION, "read-three-pages"),
    *((refusal.version, f"read-refused-{reason}") for reason, refusal in REFUSALS.items()),
)


class OneSession:
    """The adapter's sessions, of which the one that is read is open."""

    def __init__(self, workspace: str) -> None:
        self._workspace = workspace

    def workspace_for_reading(self, session_id: str) -> str:
        return self._workspace


class Studio:
    """One home directory of a simulated host, and what the adapter says to hosts that live in it."""

    def __init__(self, directory: Path, version: str) -> None:
        self.version = version
        self.home = directory / "home"
        self._directory = directory

    def listener(self) -> tuple[Path, str]:
        """A new listener: where it writes, and what to run."""
        place = self._directory / f"take-{len(list(self._directory.glob('take-*'))) + 1}"
        return place, place_listener(place, host_command(self.version, home=self.home))

    def conversation(self, prompt: str | None, load: str | None = None) -> tuple[list[Entry], str]:
        """The adapter with one session, new or loaded; gives what its host heard and said, and the session."""
        place, muse = self.listener()
        with running_adapter(self._directory, muse=muse) as adapter:
            adapter.initialize(clientCapabilities={"_meta": {"muse/output": 1}})
            where = {"cwd": WORKSPACE, "mcpServers": []}
            if load is None:
                session_id: str = adapter.call("session/new", where)["sessionId"]
            else:
                adapter.call("session/load", {**where, "sessionId": load})
                session_id = load
            if prompt is not None:
                adapter.prompt(session_id, prompt)
            assert adapter.finish() == 0
        (entries,) = heard(place)
        return entries, session_id

    def stored_output(self, prompt: str) -> Json:
        """Run a tool on a host that nobody listens to; gives what names its output."""
        with running(READ_VERSION, self.home) as host:
            handshake(host)
            prompt_turn(host, Path(WORKSPACE), prompt)
            host.leave()
        frames = [json.loads(entry["raw"]).get("params", {}) for entry in host.entries]
        (told,) = [params for params in frames if "outputRef" in params.get("item", {})]
        item = told["item"]
        return {"sessionId": told["sessionId"], "itemId": item["itemId"], "outputRef": item["outputRef"]["id"]}

    def reads(self, workspace: str, fault: Json | None, *asked: Json) -> list[Entry]:
        """What the host that reads heard and said."""
        place, muse = self.listener()
        faults = [{"at": "item/readOutput", "times": None, **fault}] if fault else []
        anyio.run(_read_all, muse, workspace, {"MUSE_SIMULATED_FAULTS": json.dumps(faults)}, asked)
        (entries,) = heard(place)
        return entries


async def _read_all(muse: str, workspace: str, environ: dict[str, str], asked: Sequence[Json]) -> None:
    async with reader_of(muse, workspace, environ) as output:
        for params in asked:
            await answer_of(output, params)


async def answer_of(output: OutputReader, params: Json) -> Json | RpcError:
    """What a client is answered."""
    try:
        return await output.begin(Call(Request(1, "_muse/readOutput", params)))
    except RpcError as error:
        return error


@asynccontextmanager
async def reader_of(muse: str, workspace: str, environ: dict[str, str]) -> AsyncIterator[OutputReader]:
    """A reader that may read, with one open session, whatever its id."""
    environ = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), **environ}
    async with background() as tasks:
        host = ReadHost(HostChoice(environ, Path.home(), muse), "1", tasks)
        output = OutputReader(host, ANSWER_SECONDS, OneSession(workspace), tasks)
        output.negotiation = Negotiation(asked=True, offered=True, host_version="1.2.1")
        yield output
        await output.close()


def record(version: str, scenario: str) -> list[Entry]:
    """The transcript of one scenario, normalized."""
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name).resolve()
        studio = Studio(directory, version)
        entries = _take(studio, scenario)
        same = normalized(entries, {str(studio.home): _HOME})
        return [{**entry, "raw": _CLIENT.sub(r'\1:"1"', entry["raw"])} for entry in same]


def _take(studio: Studio, scenario: str) -> list[Entry]:
    if scenario in ("truncated-output", "load-after-restart"):
        entries, session_id = studio.conversation(f"shell {CUT_BYTES}")
        return entries if scenario == "truncated-output" else studio.conversation(None, session_id)[0]
    if scenario == "read-three-pages":
        return studio.reads(WORKSPACE, None, *three_pages(studio.stored_output(f"shell {READ_BYTES}")))
    refusal = REFUSALS[scenario.removeprefix("read-refused-")]
    params = first_page(studio.stored_output(refusal.prompt)) | refusal.changes
    return studio.reads(refusal.workspace, refusal.fault, params)


def first_page(names: Json) -> Json:
    """The params that read the first page of the output that `names` names."""
    return names | {"lengthBytes": PAGE_BYTES}


def three_pages(names: Json) -> list[Json]:
    """The params that read all of `READ_BYTES` of the simulated host's text, whose characters are not cut."""
    whole = stored_bytes(new_output("", "lines", READ_BYTES), 0, READ_BYTES)
    asked, offset = [], 0
    while offset < len(whole):
        asked.append(first_page(names) | {"offsetBytes": offset})
        offset += len(whole[offset : offset + PAGE_BYTES].decode(errors="ignore").encode())
    assert len(asked) == 3
    return asked


def main(target: Path) -> None:
    """Record every scenario with every version that has it."""
    for version, scenario in RECORDINGS:
        entries = record(version, scenario)
        write(target / version / scenario, entries, manifest(version, scenario, SCENARIOS[scenario], entries))
        print(f"{version} {scenario}: {len(entries)} frames")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FIXTURES)
