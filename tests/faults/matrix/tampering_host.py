"""A `muse` that is the simulated host with one fault at one moment, and that writes down every frame on its wire.

The host runs in this process; between it and the adapter stand two threads that see each line. What shall happen is in
`plan.json`; it happens once in all hosts of a run, from when the driver has put the file `armed` there.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import orjson

Json = dict[str, Any]

ROOT: Final = Path(__file__).parents[3]
READ_BYTES: Final = 256 * 1024
LONGEST_STANDSTILL: Final = 30.0

PLAN: Final = "plan.json"
ARMED: Final = "armed"
STRUCK: Final = "struck"
HAPPENED: Final = "happened"
"""There when the fault has taken place: at once, or when what it needs has come (`tampering.DEFERRED`)."""

GO: Final = "go"
"""Put there by the driver when a host that waits for it may go on."""
SEEN: Final = "seen"
"""The folder with a file of frames for each host."""


class Plan(msgspec.Struct, frozen=True):
    """What goes wrong, and when."""

    profile: str
    fault: str
    """A name in `tampering.ACTIONS`."""
    at: Literal["spawn", "request", "answer", "event", "end"]
    """`request`: it has arrived; `answer`: it is about to be answered; `event`: a notification or a request of the host
    is about to be sent; `end`: stdin has ended."""
    method: str = ""
    after: int = 0
    """How often it passes first."""
    restricted: bool | None = None
    """Whether the host was started without its tools for writing and running; None for any."""
    args: dict[str, Any] = {}


def place(directory: Path, plan: Plan) -> str:
    """Write the executable for a run, and give what to say as `--muse`."""
    (directory / SEEN).mkdir(parents=True)
    (directory / PLAN).write_bytes(msgspec.json.encode(plan))
    script = directory / "muse"
    script.write_text(
        f"#!{sys.executable} -P\n"
        "import sys\n"
        f"sys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.faults.matrix.tampering_host import main\n"
        f"main({str(directory)!r})\n"
    )
    script.chmod(0o755)
    return str(script)


def arm(directory: Path) -> None:
    """From now on the fault strikes at its moment."""
    (directory / ARMED).touch()


def has_struck(directory: Path) -> bool:
    return (directory / STRUCK).exists()


def has_happened(directory: Path) -> bool:
    return (directory / HAPPENED).exists()


def struck_host(directory: Path) -> int:
    """The process in which the fault has struck."""
    return int((directory / STRUCK).read_text())


def release(directory: Path) -> None:
    """Let a host go on that waits for the driver."""
    (directory / GO).touch()


class Wire:
    """What stands between one host and the adapter. `strike` is the fault: it gets a line and gives what shall go on
    in its place; whatever else it does, it does here."""

    def __init__(self, directory: Path, plan: Plan, restricted: bool, output: int) -> None:
        self.plan = plan
        self.output = output
        self.silent = False
        """Whether nothing is written any more."""
        self.deaf = threading.Event()
        """Set when nothing is read any more."""
        self._directory = directory
        self._of_this_kind = plan.restricted in (None, restricted)
        self._session = "ses-nobody"
        self._passed = 0
        self._has_struck = False
        self._methods: dict[str, str] = {}
        self._writing = threading.RLock()
        self._next: Callable[[bytes], bytes | None] | None = None
        self.cursor_before: str | None = None
        """The cursor of the event before the one at hand."""
        self._seen = (directory / SEEN / f"{os.getpid()}.ndjson").open("ab")
        self._wakes, self._wake = os.pipe()

    # -- looking

    def note(self, from_adapter: bool, frame: Any) -> None:
        """Write a frame down, in the form of `tests.oracles.seen.Seen`."""
        seen = {
            "at": time.monotonic_ns(),
            "side": "host",
            "connection": str(os.getpid()),
            "from_adapter": from_adapter,
            "frame": frame,
        }
        self._seen.write(orjson.dumps(seen) + b"\n")
        self._seen.flush()

    def is_time(self, at: str, method: str = "") -> bool:
        """Whether the fault strikes now."""
        plan = self.plan
        if not self._of_this_kind or self._has_struck or (plan.at, plan.method) != (at, method):
            return False
        if not (self._directory / ARMED).exists():
            return False
        self._passed += 1
        if self._passed <= plan.after:
            return False
        self._has_struck = True
        ours = self._directory / f"{STRUCK}-{os.getpid()}"
        ours.write_text(str(os.getpid()))
        try:
            # Whole from the moment in which it is there.
            os.link(ours, self._directory / STRUCK)
        except FileExistsError:
            return False
        from tests.faults.matrix.tampering import DEFERRED

        if plan.fault not in DEFERRED:
            self.happened()
        return True

    def happened(self) -> None:
        """The fault takes place."""
        (self._directory / HAPPENED).touch()

    # -- both ways

    def read(self, strike: Callable[[Wire, bytes], bytes], sink: int) -> None:
        """What the adapter says, to the host; until the end of either."""
        held = b""
        while not self.deaf.is_set():
            select.select([0, self._wakes], [], [])
            if self.deaf.is_set():
                break
            data = os.read(0, READ_BYTES)
            if not data:
                self._end(strike)
                os.close(sink)
                return
            *lines, held = (held + data).split(b"\n")
            for line in lines:
                self._take(strike, line + b"\n", sink)
                if self.deaf.is_set():
                    break

    def _take(self, strike: Callable[[Wire, bytes], bytes], line: bytes, sink: int) -> None:
        frame = orjson.loads(line)
        self.note(True, frame)
        self._session = (frame.get("params") or {}).get("sessionId", self._session)
        if "method" in frame:
            self._methods[repr(frame.get("id"))] = frame["method"]
            if self.is_time("request", frame["method"]):
                line = strike(self, line)
        _write(sink, line)

    def _end(self, strike: Callable[[Wire, bytes], bytes]) -> None:
        if self.is_time("end"):
            self.write(strike(self, b""))

    def pass_on(self, strike: Callable[[Wire, bytes], bytes], source: int) -> None:
        """What the host says, to the adapter; until the host closes its end."""
        held = b""
        while data := os.read(source, READ_BYTES):
            *lines, held = (held + data).split(b"\n")
            gathered: list[bytes] = []
            for line in lines:
                out = self._put(strike, line + b"\n", gathered)
                gathered.append(out)
            self.write(b"".join(gathered))

    def _put(self, strike: Callable[[Wire, bytes], bytes], line: bytes, before: list[bytes]) -> bytes:
        frame = orjson.loads(line)
        at = "event" if "method" in frame else "answer"
        method = frame["method"] if at == "event" else self._methods.pop(repr(frame["id"]), "")
        if self.is_time(at, method):
            self.write(b"".join(before))
            before.clear()
            line = strike(self, line)
        elif self._next is not None:
            changed = self._next(line)
            if changed is not None:
                line, self._next = changed, None
                self.happened()
        if not self.silent:
            self._note_lines(line)
        cursor = frame.get("params", {}).get("viewCursor")
        if isinstance(cursor, str):
            self.cursor_before = cursor
        return line

    def _note_lines(self, lines: bytes) -> None:
        for line in lines.splitlines():
            with contextlib.suppress(ValueError):
                self.note(False, orjson.loads(line))

    # -- what a fault does

    def wait_for_driver(self) -> None:
        """Stand still until the driver has done its part."""
        deadline = time.monotonic() + LONGEST_STANDSTILL
        while not (self._directory / GO).exists() and time.monotonic() < deadline:
            time.sleep(0.005)

    def write(self, data: bytes) -> None:
        """Bytes as they are."""
        with self._writing:
            if data and not self.silent:
                with contextlib.suppress(OSError):
                    _write(self.output, data)

    def later(self, seconds: float, data: bytes) -> None:
        """The same after a while, whatever is said meanwhile."""

        def answer() -> None:
            self.answer(data)
            self.happened()

        timer = threading.Timer(seconds, answer)
        timer.daemon = True
        timer.start()

    def answer(self, line: bytes) -> None:
        """A frame of ours."""
        self._note_lines(line)
        self.write(line)

    def unless_taken(self, seconds: float, lines: list[bytes]) -> None:
        """Write what is still there after a while."""

        def put() -> None:
            if lines:
                self.answer(lines.pop())

        timer = threading.Timer(seconds, put)
        timer.daemon = True
        timer.start()

    def session_of(self, line: bytes) -> str:
        """The session that a line is about, or else the one that was spoken of last."""
        frame = orjson.loads(line) if line.strip() else {}
        return str((frame.get("params") or {}).get("sessionId", self._session))

    def with_next(self, change: Callable[[bytes], bytes | None]) -> None:
        """Change the host's next line; `change` gives None for one that is not meant."""
        self._next = change

    def close_output(self) -> None:
        """The adapter sees the end; the process lives."""
        with self._writing:
            self.silent = True
            os.close(self.output)

    def stop_reading(self, *, close: bool = False) -> None:
        """Read nothing any more; with `close`, also show that."""
        self.deaf.set()
        os.write(self._wake, b"!")
        if close:
            # Nobody else may hold the pipe open either.
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    def die(self, signum: int = signal.SIGKILL) -> None:
        os.kill(os.getpid(), signum)
        time.sleep(60)


def _write(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def main(directory: str) -> None:
    """The command line of `muse`. A full disk is the adapter's and not its own."""
    full = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (full, full))
    folder = Path(directory)
    plan = msgspec.json.decode((folder / PLAN).read_bytes(), type=Plan)
    argv = ["--profile", plan.profile, *sys.argv[1:]]
    if "serve" in argv and "--help" not in argv:
        sys.exit(_serve(folder, plan, argv))
    from adapter.hosts.simulated.__main__ import main as simulate

    sys.exit(simulate(argv))


def _serve(folder: Path, plan: Plan, argv: list[str]) -> int:
    from adapter.hosts.simulated.faults import read_faults
    from adapter.hosts.simulated.host import Host
    from adapter.hosts.simulated.loop import Loop
    from adapter.hosts.simulated.options import Shown, parse
    from adapter.hosts.simulated.output import Output, take_over_stdout
    from adapter.hosts.simulated.settings import read_settings
    from adapter.hosts.simulated.witness import Witness
    from tests.faults.matrix.tampering import ACTIONS

    options = parse(argv, "muse")
    assert not isinstance(options, Shown)
    wire = Wire(folder, plan, "--disable-write" in argv, take_over_stdout())
    strike = ACTIONS[plan.fault]
    if wire.is_time("spawn"):
        wire.write(strike(wire, b""))
    reads, feeds = os.pipe()
    hears, says = os.pipe()
    threading.Thread(target=wire.read, args=(strike, feeds), daemon=True).start()
    writing = threading.Thread(target=wire.pass_on, args=(strike, hears), daemon=True)
    writing.start()
    output, loop = Output(says, 1 << 30), Loop(reads)
    host = Host(options, read_settings(options.data_dir), read_faults(None, argv), Witness(argv), loop, output)
    loop.run(host.on_bytes, output.flush)
    os.close(says)
    writing.join()
    return 0
