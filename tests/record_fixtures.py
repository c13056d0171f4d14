"""Make the recordings under `fixtures/hosts/`: `python -m tests.record_fixtures [DIRECTORY]`.

No real host can be had, so the simulated host is driven, and every manifest says so. What differs from one run to the
next is made the same: ids by the order in which they appear, times, durations and directories.
"""

from __future__ import annotations

import json
import re
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from adapter.msp.abilities import NOBODY
from adapter.wire.framing import MSP_FRAME_CAP, FrameDecoder, Line, Oversize

VERSIONS: Final = ("1.0.1", "1.1.1", "1.2.1", "1.3.0", "1.4.2", "1.4.13")
FIXTURES: Final = Path(__file__).resolve().parents[1] / "fixtures" / "hosts"

ANSWER_SECONDS: Final = 20.0
"""How long the host may take for the next frame, its exit included."""

PROMPT: Final = "shell 300"
"""Makes the simulated host say something, run a tool and finish."""

SCENARIOS: Final = {
    "handshake": "The handshake alone; then the client leaves.",
    "prompt-turn": "A new session and one turn in it, with a tool call.",
}
NORMALIZED: Final = ("ids", "times", "emittedAtMs", "durations", "directories", "platform")
VARIABLES: Final = ("params.capabilities", "params.workspaceRoot")

_HOME: Final = "/home/someone/.muse"
_WORKSPACE: Final = "/home/someone/project"
_UUID = re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")
_SAME: Final = (
    (re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"), "2026-01-02T03:04:05.678Z"),
    (re.compile(r'("\w+AtMs"):\d+'), r"\1:1767323045678"),
    (re.compile(r'("(?:durationMs|timeToFirstTokenMs)"):\d+'), r"\1:1000"),
    (re.compile(r'("platformOs"):"\w+"'), r'\1:"linux"'),
    (re.compile(r'("platformFamily"):"\w+"'), r'\1:"unix"'),
    (re.compile(r"\(\w+; \w+\)"), "(linux; x86_64)"),
)
"""What differs from run to run or from machine to machine, and what stands for it."""

Entry = dict[str, str]


class Recorder:
    """One host process, and everything that was said to it and by it in order."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process, self._stdin, self._stdout = process, process.stdin, process.stdout
        self._decoder = FrameDecoder(MSP_FRAME_CAP)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self._unread: list[Line | Oversize] = []
        self.entries: list[Entry] = []

    def say(self, method: str, params: dict[str, Any] | None = None, *, request_id: int | None = None) -> None:
        """Send a request, or a notification if it has no id."""
        frame: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if request_id is not None:
            frame["id"] = request_id
        if params is not None:
            frame["params"] = params
        raw = orjson.dumps(frame)
        self.entries.append({"dir": "client", "raw": raw.decode()})
        self._stdin.write(raw + b"\n")
        self._stdin.flush()

    def ask(self, request_id: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Send a request and hear everything up to its result."""
        self.say(method, params, request_id=request_id)
        while True:
            frame = self.hear()
            if frame.get("id") == request_id and "method" not in frame:
                result: dict[str, Any] = frame["result"]
                return result

    def hear(self) -> dict[str, Any]:
        """The host's next frame."""
        line = self._next_line()
        assert line is not None and not isinstance(line, Oversize), "the host ended or wrote an oversized line"
        self.entries.append({"dir": "server", "raw": line.decode()})
        frame: dict[str, Any] = orjson.loads(line)
        return frame

    def leave(self) -> None:
        """Close the host's stdin, and hear the rest until it has ended."""
        self._stdin.close()
        while (line := self._next_line()) is not None:
            assert not isinstance(line, Oversize)
            self.entries.append({"dir": "server", "raw": line.decode()})
        code = self._process.wait(ANSWER_SECONDS)
        assert code == 0, f"the host ended with {code}"

    def _next_line(self) -> Line | Oversize | None:
        deadline = time.monotonic() + ANSWER_SECONDS
        while not self._unread:
            assert self._selector.select(max(0.0, deadline - time.monotonic())), "the host is silent"
            data = self._stdout.read1()  # type: ignore[attr-defined]
            if not data:
                return None
            self._unread = self._decoder.feed(data)
        return self._unread.pop(0)


def host_command(version: str, *words: str, home: str | Path = _HOME) -> list[str]:
    """The simulated host of a version, as if it were `muse`."""
    stand_in = [sys.executable, "-m", "adapter.hosts.simulated", "--profile", version, "--data-dir", str(home)]
    return [*stand_in, *words]


@contextmanager
def running(version: str, home: Path) -> Iterator[Recorder]:
    """A host that is gone afterwards, whatever happens."""
    command = host_command(version, "serve", home=home)
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:
        try:
            yield Recorder(process)
        finally:
            process.kill()


def handshake(host: Recorder) -> None:
    """`initialize` and `initialized`."""
    host.ask(1, "initialize", {"clientInfo": {"name": "recorder", "version": "1"}, "capabilities": {}})
    host.say("initialized")


def prompt_turn(host: Recorder, workspace: Path, prompt: str = PROMPT) -> None:
    """A session and a turn, up to the turn's end."""
    start = {"commandId": "0198f000-0000-7000-8000-0000000000c1", "workspaceRoot": str(workspace)}
    session_id = host.ask(2, "session/start", start)["session"]["sessionId"]
    turn = {
        "commandId": "0198f000-0000-7000-8000-0000000000c2",
        "sessionId": session_id,
        "input": [{"type": "text", "text": prompt}],
    }
    turn_id = host.ask(3, "turn/start", turn)["turnId"]
    while True:
        frame = host.hear()
        if frame.get("method") == "turn/completed" and frame["params"]["turnId"] == turn_id:
            return


def record(version: str, scenario: str) -> list[Entry]:
    """The transcript of one scenario, normalized."""
    with tempfile.TemporaryDirectory() as directory:
        home, workspace = Path(directory).resolve() / "home", Path(directory).resolve() / "project"
        workspace.mkdir()
        with running(version, home) as host:
            handshake(host)
            if scenario == "prompt-turn":
                prompt_turn(host, workspace)
            host.leave()
    return normalized(host.entries, {str(home): _HOME, str(workspace): _WORKSPACE})


def normalized(entries: list[Entry], directories: dict[str, str]) -> list[Entry]:
    """The same dialogue without what differs from run to run."""
    ids: dict[str, str] = {NOBODY: NOBODY}

    def renamed(found: re.Match[str]) -> str:
        return ids.setdefault(found[0], f"0198f000-0000-7000-8000-{len(ids):012d}")

    same = []
    for entry in entries:
        raw = entry["raw"]
        for directory, stands_for in directories.items():
            raw = raw.replace(directory, stands_for)
        raw = _UUID.sub(renamed, raw)
        for pattern, stands_for in _SAME:
            raw = pattern.sub(stands_for, raw)
        same.append({"dir": entry["dir"], "raw": raw})
    return same


def manifest(version: str, scenario: str, description: str, entries: list[Entry]) -> dict[str, Any]:
    """What is true about a recording."""
    shown = subprocess.run(host_command(version, "--version"), capture_output=True, timeout=ANSWER_SECONDS, check=True)
    hello = next(orjson.loads(entry["raw"]) for entry in entries if entry["dir"] == "server")
    return {
        "scenario": scenario,
        "description": description,
        "provenance": "simulated",
        "provenanceNote": f"Made by this project's simulated host of version {version}; no real host was recorded.",
        "versionOutput": shown.stdout.decode().strip(),
        "schema": hello["result"]["schema"],
        "serverConfig": {"frameLimitBytes": MSP_FRAME_CAP},
        "normalized": list(NORMALIZED),
        "variables": list(VARIABLES),
    }


def write(directory: Path, entries: list[Entry], about: dict[str, Any]) -> None:
    """A recording in its directory."""
    directory.mkdir(parents=True, exist_ok=True)
    lines = b"".join(orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE) for entry in entries)
    (directory / "transcript.ndjson").write_bytes(lines)
    (directory / "manifest.json").write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", "utf-8")


def main(target: Path) -> None:
    """Record every scenario with every version."""
    for version in VERSIONS:
        for scenario in SCENARIOS:
            entries = record(version, scenario)
            write(target / version / scenario, entries, manifest(version, scenario, SCENARIOS[scenario], entries))
            print(f"{version} {scenario}: {len(entries)} frames")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FIXTURES)
