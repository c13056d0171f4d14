"""A client with some sessions and one adapter at a time, which it ends and starts again, and whose hosts it kills."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.adapter_process import COMMAND
from tests.benchmarks.client import memory
from tests.family import Family
from tests.oracles.seen import read_seen, wrong_answers, wrong_consents
from tests.processes import open_descriptors
from tests.soak import tapped_host
from tests.soak.connection import CANARY, Connection, Lost
from tests.soak.findings import Findings
from tests.soak.user import User

Json = dict[str, Any]

MARK: Final = "MUSE_SOAK_MARK"
"""The variable that everything started by one adapter has, with a value of its own."""

GONE_SECONDS: Final = 5.0
"""How long after the end of an adapter something of it may still run."""

EXIT_SECONDS: Final = 15.0
DEATHS_A_LIFE: Final = 4
"""Hosts that may be killed in ten minutes of one adapter: one less than it starts again by itself."""

LOOK_SECONDS: Final = 0.1
TREE_SECONDS: Final = 1.0
"""How often is looked which processes there are: what is seen once is known by its number ever after."""

PATIENCE: Final = 20.0
"""How long a host may wait for an answer; users decide within a second, and nothing stands still for three."""

SAMPLE_SECONDS: Final = 3.0
NOTICED_SECONDS: Final = 3.0
"""How long before a request a host may have died of which the request is told."""

KEPT: Final = (".cache", ".local")
"""What adapter and host keep in a home from one run to the next."""

CAPABILITIES: Final[Json] = {
    "_meta": {"muse/output": 1},
    "elicitation": {"form": {}},
}

ENDS: Final = ("close", "close", "terminate", "interrupt", "kill", "kill")
"""How the client ends an adapter, drawn from these."""

SIGNALS: Final = {"terminate": signal.SIGTERM, "interrupt": signal.SIGINT, "kill": signal.SIGKILL}

FAULTS: Final[tuple[Sequence[Json], ...]] = (
    (),
    ({"at": "turn/start", "after": 30, "do": "exit", "code": 9},),
    ({"at": "turn/start", "after": 40, "do": "closeStdout"},),
    ({"at": "item/readOutput", "after": 3, "do": "die", "flag": "--disable-shell"},),
    ({"at": "turn/start", "after": 10, "times": 2, "do": "error", "kind": "overloaded"},),
    ({"at": "turn/start", "after": 8, "times": 5, "do": "delayAck", "seconds": 0.3},),
    ({"at": "item/delta", "after": 50, "times": 3, "do": "garbage"},),
    ({"at": "turn/start", "after": 5, "times": 2, "do": "stderr", "bytes": 1_048_576},),
    ({"at": "item/readOutput", "after": 2, "do": "slow", "seconds": 0.5},),
)
"""What the hosts of one adapter do by themselves, one of these at a time."""


class Plan(msgspec.Struct, frozen=True):
    """How one lane goes. Times are in seconds; `life` is how long an adapter runs, at least and at most, and `kill` the
    pause between two hosts that are killed. `faults`: whether hosts end by themselves too."""

    name: str
    version: str
    sessions: int
    life: tuple[float, float]
    kill: tuple[float, float]
    faults: bool


class Lane:
    """Runs in a thread of its own, and has one for each user."""

    def __init__(self, plan: Plan, seed: int, home: Path, findings: Findings, ends: float) -> None:
        self.plan = plan
        self.name, self.version = plan.name, plan.version
        self.findings = findings
        self.home = home
        self.is_over = False
        """Whether the users shall come to an end."""
        self._chance = random.Random(f"{seed} {plan.name}")
        self._ends = ends
        home.mkdir(parents=True)
        self._log = home / "seen"
        self._tmp = home / "tmp"
        self._tmp.mkdir()
        self._muse = tapped_host.place(home, plan.version, self._log)
        self._changed = threading.Condition()
        self._connection: Connection | None = None
        self._deaths: list[float] = []
        self._kills: list[float] = []
        self._pauses: list[tuple[float, float]] = []
        self._lives = 0
        self.users = [
            User(self, f"u{number}", random.Random(f"{seed} {plan.name} {number}"), home / f"u{number}")
            for number in range(plan.sessions)
        ]
        self._threads = [threading.Thread(target=user.live, daemon=True) for user in self.users]

    # -- for the users

    def connection(self) -> Connection | None:
        """The adapter there is; waits for the next one, None if there is none any more."""
        with self._changed:
            self._changed.wait_for(lambda: self._connection is not None or self.is_over)
            return None if self.is_over else self._connection

    def goes_on(self, connection: Connection) -> bool:
        """Whether there is something to do with this adapter."""
        return not self.is_over and self._connection is connection

    def has_died(self, since: float, until: float) -> bool:
        """Whether a host died in this time, or shortly before."""
        deadline = time.monotonic() + 1.0
        while True:
            if any(since - NOTICED_SECONDS <= at <= until + 0.5 for at in (*self._deaths, *self._kills)):
                return True
            if time.monotonic() >= deadline:
                return False
            time.sleep(LOOK_SECONDS)

    def disturbed(self, since: float, until: float) -> bool:
        """Whether something happened in this time for which the adapter is not to blame."""
        died = any(since - NOTICED_SECONDS <= at <= until for at in (*self._deaths, *self._kills))
        return died or any(began < until and since < ended for began, ended in list(self._pauses))

    # -- running

    def run(self) -> None:
        """All lives of the adapter, one after the other."""
        try:
            for thread in self._threads:
                thread.start()
            while not self.is_over:
                self._live()
        except Exception as error:
            self._problem("the client's own fault", f"{type(error).__name__}: {error}")
            raise
        finally:
            with self._changed:
                self.is_over = True
                self._changed.notify_all()

    def _live(self) -> None:
        self._lives += 1
        mark = f"{os.getpid()}-{self.name}-{self._lives}"
        began = time.monotonic()
        connection = self._start(mark)
        family = Family(MARK, mark, connection.process.pid)
        try:
            hello = {"protocolVersion": 1, "clientCapabilities": CAPABILITIES}
            call = connection.call("initialize", hello)
        except Lost:
            family.end()
            return self._problem("start", f"the adapter ended: {connection.stderr[-1000:]!r}")
        self._took("start to initialize", began, call.ended)
        connection.offers = call.result["agentCapabilities"]["sessionCapabilities"]
        with self._changed:
            self._connection = connection
            self._changed.notify_all()
        until = min(self._ends, time.monotonic() + self._chance.uniform(*self.plan.life))
        self._disturb(connection, family, until)
        last = time.monotonic() >= self._ends
        if last:
            self._come_to_an_end()
        family.look()
        self._end(connection, family, "close" if last else self._chance.choice(ENDS))
        return None

    def _start(self, mark: str) -> Connection:
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
        faults = self._chance.choice(FAULTS) if self.plan.faults else ()
        environ |= {"HOME": str(self.home), MARK: mark, "MUSE_SIMULATED_FAULTS": json.dumps(faults)}
        environ |= {"TMPDIR": str(self._tmp), "ORCHARD_API_KEY": CANARY}
        command = [*COMMAND, "--muse", str(self._muse)]
        return Connection(mark, command, environ, self.home, lambda text: self._problem("connection", text))

    def _disturb(self, connection: Connection, family: Family, until: float) -> None:
        """Kill hosts, pause reading, and take measures, until the time has come."""
        kill_at = time.monotonic() + self._chance.uniform(*self.plan.kill)
        pause_at = time.monotonic() + self._chance.uniform(5.0, 40.0)
        sample_at, tree_at, known, born = 0.0, 0.0, set[int](), time.monotonic()
        while (now := time.monotonic()) < until and connection.process.poll() is None:
            hosts = _hosts(connection.process.pid)
            gone = known - set(hosts)
            known = set(hosts)
            for _ in gone:
                self._deaths.append(now)
                self.findings.count("hosts that died")
            recent = sum(at > max(born, now - 600) for at in self._deaths)
            if now >= kill_at and hosts and recent < DEATHS_A_LIFE:
                self._kill_host(hosts)
                kill_at = now + self._chance.uniform(*self.plan.kill)
            if now >= pause_at:
                # Beside this: hosts that die meanwhile have to be noticed.
                threading.Thread(target=self._pause, args=(connection, hosts), daemon=True).start()
                pause_at = time.monotonic() + self._chance.uniform(5.0, 40.0)
            if now >= tree_at:
                family.look()
                tree_at = now + TREE_SECONDS
            if now >= sample_at:
                self._sample(connection)
                sample_at = now + SAMPLE_SECONDS
            time.sleep(LOOK_SECONDS)

    def _kill_host(self, hosts: list[int]) -> None:
        number = signal.SIGTERM if self._chance.random() < 0.2 else signal.SIGKILL
        self._kills.append(time.monotonic())
        try:
            os.kill(self._chance.choice(hosts), number)
        except ProcessLookupError:
            return
        self.findings.count("hosts killed")

    def _pause(self, connection: Connection, hosts: list[int]) -> None:
        """Do not read for a while, or let a host stand still."""
        began, stands = time.monotonic(), self._chance.random() < 0.3 and bool(hosts)
        self._pauses.append((began, began + 60.0))
        pid = self._chance.choice(hosts) if stands else 0
        self._stand(connection, pid, still=True)
        time.sleep(self._chance.uniform(0.2, 2.5))
        self._stand(connection, pid, still=False)
        self._pauses[-1] = (began, time.monotonic() + 0.5)
        self.findings.count("hosts that stood still" if stands else "pauses of reading")

    @staticmethod
    def _stand(connection: Connection, pid: int, *, still: bool) -> None:
        if pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP if still else signal.SIGCONT)
        elif still:
            connection.reads.clear()
        else:
            connection.reads.set()

    def _sample(self, connection: Connection) -> None:
        pid = connection.process.pid
        try:
            row = (time.monotonic(), memory(pid), open_descriptors(pid))
        except (OSError, LookupError):
            return
        self.findings.memory[connection.name].append(row)

    def _come_to_an_end(self) -> None:
        """Let the users have their last look."""
        with self._changed:
            self.is_over = True
        for thread in self._threads:
            thread.join(120.0)
            if thread.is_alive():
                self._problem("no end", "a user does not come to an end")

    def _end(self, connection: Connection, family: Family, how: str) -> None:
        """End the adapter; nothing of it may be left soon, and what was said must hold to the rules."""
        with self._changed:
            self._connection = None
        self.findings.count(f"adapters ended: {how}")
        began = time.monotonic()
        if how == "close":
            connection.close_input()
        else:
            connection.stops = began
            connection.process.send_signal(SIGNALS[how])
        code = connection.wait_exit(EXIT_SECONDS)
        if code is None:
            self._problem("no exit", f"{how}; the log ends with {connection.stderr[-2000:]!r}")
            connection.process.kill()
            code = connection.wait_exit(EXIT_SECONDS)
        elif how != "kill":
            self.findings.took(f"end after {how}", time.monotonic() - began)
        if code != (-signal.SIGKILL if how == "kill" else 0):
            self._problem("exit code", f"{code} after {how}; the log ends with {connection.stderr[-2000:]!r}")
        if b"Traceback" in connection.stderr:
            self._problem("traceback", connection.stderr[-5000:].decode(errors="replace"))
        self._check_orphans(family)
        self._check_files()
        self._check_frames(connection, how)

    def _check_orphans(self, family: Family) -> None:
        deadline = time.monotonic() + GONE_SECONDS
        while (left := family.look()) and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
        if left:
            self._problem("orphan", f"{left} run {GONE_SECONDS:g} s after their adapter")
            family.end()

    def _check_files(self) -> None:
        """Nothing that an adapter needed for itself is left."""
        own = {"muse", self._log.name, self._tmp.name, *(user.home.name for user in self.users), *KEPT}
        left = [path for path in (*self.home.iterdir(), *self._tmp.iterdir()) if path.name not in own]
        if left:
            self._problem("file", f"left behind: {left}")
        for path in left:
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)

    def _check_frames(self, connection: Connection, how: str) -> None:
        """Judge what was exchanged since the last time, and forget it."""
        logs = list(self._log.glob("*.ndjson"))
        seen = [*connection.seen, *read_seen(*logs)]
        for problem in wrong_consents(seen):
            self._problem("consent", problem)
        # Hosts have ended, some in the middle of something, and a client that was left has nobody to answer.
        ended = {path.stem for path in logs} | ({connection.name} if how != "close" else set())
        for problem in wrong_answers(seen, ended=ended, patience=PATIENCE):
            self._problem("answer", problem)
        self.findings.count("frames judged", len(seen))
        for path in logs:
            path.unlink()

    def _took(self, operation: str, began: float, ended: float) -> None:
        self.findings.took(operation, ended - began)

    def _problem(self, kind: str, text: str) -> None:
        self.findings.problem(kind, f"{self.name}: {text}")


def _hosts(pid: int) -> list[int]:
    """The hosts that an adapter runs."""
    found = []
    children: list[int] = []
    try:
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += [int(word) for word in (task / "children").read_text().split()]
    except OSError:
        return []
    for child in children:
        try:
            words = Path(f"/proc/{child}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"serve" in words and b"--help" not in words:
            found.append(child)
    return found
