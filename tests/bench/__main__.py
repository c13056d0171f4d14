"""`make bench`: what the adapter costs, as ratios of two things measured in the same run.

Medians of `RUNS`; the two sides of a ratio take turns, so that a noisy machine is noisy for both. Exits 1 if a bound
is missed.
"""

from __future__ import annotations

import compileall
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from tests.bench import streaming_host

RUNS: Final = 7
DELTAS: Final = 100_000
IDLE_SECONDS: Final = 3.0

BASELINE_IMPORTS: Final = "import anyio, anyio._backends._asyncio, orjson"
ADAPTER: Final = [str(Path(sys.executable).parent / "muse-adapter")]
REPOSITORY: Final = Path(__file__).resolve().parents[2]

Json = dict[str, Any]


class Client:
    """The least client there can be: it writes requests and reads lines."""

    def __init__(self, home: Path, args: list[str]) -> None:
        environ = {"PATH": os.environ["PATH"], "HOME": str(home)}
        self.process = subprocess.Popen(
            [*ADAPTER, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
        )
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def ask(self, request_id: int, method: str, params: Json) -> None:
        self.stdin.write(orjson.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}) + b"\n")
        self.stdin.flush()

    def answer(self, request_id: int, method: str, params: Json) -> Json:
        """The answer to a request; what comes before it is dropped."""
        self.ask(request_id, method, params)
        while True:
            frame: Json = orjson.loads(self.stdout.readline())
            if frame.get("id") == request_id:
                return frame

    def open_session(self, home: Path) -> str:
        self.answer(1, "initialize", {"protocolVersion": 1})
        session_id: str = self.answer(2, "session/new", {"cwd": str(home), "mcpServers": []})["result"]["sessionId"]
        return session_id


@contextmanager
def client(home: Path, *args: str) -> Iterator[Client]:
    """A client with its adapter, which is gone afterwards."""
    running = Client(home, list(args))
    try:
        yield running
    finally:
        running.stdin.close()
        try:
            running.process.wait(15)
        except subprocess.TimeoutExpired:
            running.process.kill()
            running.process.wait()
        running.stdout.close()


def seconds(action: Callable[[], object]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


# -- start-up


def start_up(home: Path) -> tuple[float, float]:
    """Seconds: the imports nobody can do without, and spawn to `initialize` answered."""

    def imports() -> None:
        subprocess.run([sys.executable, "-c", BASELINE_IMPORTS], check=True)

    def initialize() -> float:
        began = time.perf_counter()
        with client(home, "--muse", "simulated") as running:
            running.answer(1, "initialize", {"protocolVersion": 1})
            return time.perf_counter() - began

    initialize()
    pairs = [(seconds(imports), initialize()) for _ in range(RUNS)]
    return statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)


# -- streaming

BARE_LOOP: Final = """
import sys, orjson
out = sys.stdout.buffer
for line in sys.stdin.buffer:
    out.write(orjson.dumps(orjson.loads(line)) + b"\\n")
out.flush()
"""


def bare_stream(deltas: Path) -> float:
    """Seconds for a blocking loop to parse, encode and write every line of `deltas`."""
    with deltas.open("rb") as source:
        feeder = subprocess.Popen(["cat"], stdin=source, stdout=subprocess.PIPE)
        loop = subprocess.Popen([sys.executable, "-c", BARE_LOOP], stdin=feeder.stdout, stdout=subprocess.PIPE)
    assert feeder.stdout is not None and loop.stdout is not None
    feeder.stdout.close()
    fd = loop.stdout.fileno()
    os.read(fd, 1)
    took = seconds(lambda: drain(fd))
    feeder.wait()
    loop.wait()
    loop.stdout.close()
    return took


def drain(fd: int) -> None:
    while os.read(fd, 1 << 20):
        pass


def adapter_stream(home: Path, host: Path) -> float:
    """Seconds from the first piece of a streamed answer at the client to the answer of the prompt."""
    with client(home, "--muse", str(host)) as running:
        session_id = running.open_session(home)
        running.ask(3, "session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": "go"}]})
        fd = running.stdout.fileno()
        tail = os.read(fd, 1)

        def until_answered() -> None:
            nonlocal tail
            while b'"stopReason"' not in tail:
                tail = tail[-64:] + os.read(fd, 1 << 20)

        return seconds(until_answered)


def streaming(home: Path, items: int) -> tuple[float, float]:
    """Deltas a second: a bare loop, and the whole adapter. With more than one item no two neighbours can be merged."""
    deltas = home / f"deltas-{items}.ndjson"
    deltas.write_bytes(streaming_host.deltas(DELTAS, items))
    host = home / f"muse-{items}"
    host.write_text(f"#!{sys.executable}\n{streaming_host.script(REPOSITORY, DELTAS, items)}")
    host.chmod(0o755)
    pairs = [(bare_stream(deltas), adapter_stream(home, host)) for _ in range(RUNS)]
    return DELTAS / statistics.median(pair[0] for pair in pairs), DELTAS / statistics.median(pair[1] for pair in pairs)


# -- idle


def idle(home: Path) -> tuple[int, float]:
    """Wake-ups of an idle adapter with one host in `IDLE_SECONDS`, and its peak memory in MiB."""
    with client(home, "--muse", "simulated") as running:
        session_id = running.open_session(home)
        running.answer(3, "session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": "hello"}]})
        time.sleep(1.0)
        before = wake_ups(running.process.pid)
        time.sleep(IDLE_SECONDS)
        return wake_ups(running.process.pid) - before, peak_memory(running.process.pid)


def wake_ups(pid: int) -> int:
    """How often any thread of the process has gone to sleep so far."""
    return sum(status(task, "voluntary_ctxt_switches") for task in Path(f"/proc/{pid}/task").iterdir())


def peak_memory(pid: int) -> float:
    return status(Path(f"/proc/{pid}"), "VmHWM") / 1024


def status(entry: Path, name: str) -> int:
    for line in (entry / "status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise LookupError(name)


# -- the report


def report(what: str, value: float, bound: str, holds: bool, details: str) -> bool:
    print(f"{'ok    ' if holds else 'MISSED'}  {what:46} {value:8.2f}  (bound: {bound})  {details}", flush=True)
    return holds


def main() -> int:
    """Measure everything; 1 if a bound is missed."""
    # Bytecode, as an installation has it, whatever the environment says about writing it.
    for package in ("adapter", "host_probe"):
        compileall.compile_dir(REPOSITORY / package, quiet=1)
    results = []
    with tempfile.TemporaryDirectory() as directory:
        home = Path(directory)
        imports, initialize = start_up(home)
        results.append(
            report(
                "initialize answered / bare imports",
                initialize / imports,
                "at most 1.6",
                initialize <= 1.6 * imports,
                f"{initialize * 1000:.0f} ms / {imports * 1000:.0f} ms",
            )
        )
        for items, what in ((1, "one message"), (2, "two messages in turn, nothing to merge")):
            bare, through = streaming(home, items)
            results.append(
                report(
                    f"deltas through the adapter / bare loop, {items}",
                    through / bare,
                    "at least 0.35",
                    through >= 0.35 * bare,
                    f"{through / 1000:.0f} k/s / {bare / 1000:.0f} k/s, {what}",
                )
            )
        woken, memory = idle(home)
        results.append(report(f"wake-ups in {IDLE_SECONDS:g} idle seconds", woken, "0", woken == 0, ""))
        results.append(report("peak memory, MiB", memory, "below 60", memory < 60, ""))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
