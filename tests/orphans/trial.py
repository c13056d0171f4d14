"""One adapter that is killed, or asked to end, at some moment of its life, and what is left of it."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import orjson

from tests.adapter_process import COMMAND, AdapterProcess
from tests.family import Family
from tests.hurried import hurried
from tests.orphans.household import Household
from tests.output_clients import OPT_IN, READ
from tests.output_hosts import ITEM, REF, SESSION
from tests.scripted_hosts import place

SURVIVAL_SECONDS: Final = 5.0
"""Nothing may live longer after its adapter was killed."""

LOOK_SECONDS: Final = 30.0
"""How long it is watched to the end, so that what takes too long can be told from what never ends."""

EXIT_SECONDS: Final = 15.0
"""What an orderly end may take: `DRAIN_SECONDS`, and each step of the ladder, which is shortened here."""

AGAIN_SECONDS: Final = 5.0
"""After this one that was interrupted while Python started is interrupted again."""

LEFT_SECONDS: Final = 1.0
"""How long the kernel may take to be done with what was killed in order."""

PHASES: Final = ("start", "handshake", "opening", "session", "prompt", "tools", "read", "close")
"""What the client has just done: started the adapter, seen its `initialize` answered, asked for a session, got it, sent
a prompt, seen its tools run, asked for stored output, and closed its end."""

AT_WORK: Final = ("prompt", "tools", "read", "close")
"""The phases in which hosts have started something; kills there are what a run is for."""

FEWEST: Final = {"handshake": 1, "opening": 1, "session": 2, "tools": 9, "read": 9}
"""Processes, guardian included, without which a trial has not been where it was to be: a turn runs seven. In the other
phases there may be none yet, or none any more."""

MOST_JITTER: Final = 0.25
"""Seconds after that at most."""

VARIABLE: Final = "ORPHANS_TRIAL"
"""By this, and not by the mark of the adapter, what belongs to a trial is found."""

CANARY: Final = "canary-4d1f0c73a9"
"""Is in a variable like that of a key; nobody may ever be told."""

ENDS: Final[dict[str, int | str]] = {
    "SIGTERM": signal.SIGTERM,
    "SIGINT": signal.SIGINT,
    "SIGHUP": signal.SIGHUP,
    "end of input": "eof",
    "closed output": "output",
}

SHORT_LADDER: Final = hurried(msp__budgets__CLOSE_GRACE=0.5, msp__process__TERM_GRACE=0.5)


class Trial(msgspec.Struct, frozen=True):
    """What was chosen. `how` is `kill` or one of `ENDS`."""

    number: int
    how: str
    phase: str
    jitter: float
    deaf: bool
    stubborn: bool
    bare: bool = False


class Outcome(msgspec.Struct):
    trial: Trial
    alive: int = 0
    """Processes of it at that moment."""
    at_work: bool = False
    """Whether a host, and something that it had started, was among them."""
    seconds: float = 0.0
    """How long the last of them lived on; at an orderly end, until the adapter was gone."""
    code: int | None = None
    problems: list[str] = []


def trials(seed: int, kills: int, ends: int) -> list[Trial]:
    """So many kills while hosts are at work and a third of that before, and so many ends of each kind, at moments of
    all phases."""
    chance = random.Random(seed)
    early = [phase for phase in PHASES if phase not in AT_WORK]
    moments = [("kill", AT_WORK[number % len(AT_WORK)]) for number in range(kills)]
    moments += [("kill", early[number % len(early)]) for number in range(max(len(early), kills // 3) if kills else 0)]
    moments += [(how, PHASES[number % len(PHASES)]) for how in ENDS for number in range(ends)]
    chosen = [
        Trial(number, how, phase, chance.uniform(0, MOST_JITTER), deaf=deaf, stubborn=stubborn, bare=bare)
        for number, (how, phase) in enumerate(moments)
        for deaf, stubborn in [chance.choice([(False, False), (True, False), (True, True)])]
        for bare in [chance.choice([False, False, True])]
    ]
    chance.shuffle(chosen)
    return chosen


def run(trial: Trial, wrap: Callable[[list[str]], list[str]] = list, watched_for: float = LOOK_SECONDS) -> Outcome:
    """One trial; whatever it leaves is ended in the end. `wrap` changes the command of the adapter."""
    home = Path(tempfile.mkdtemp(prefix="muse-adapter-orphans-"))
    tag = f"{os.getpid()}-{trial.number}-{time.monotonic_ns()}"
    outcome = Outcome(trial)
    try:
        kind = {"deaf": trial.deaf, "stubborn": trial.stubborn, "bare": trial.bare}
        host = place(home / "host", Household, **kind, workspace=str(home))
        environ = {"PATH": os.environ["PATH"], "HOME": str(home), VARIABLE: tag, "ORCHARD_API_KEY": CANARY}
        command = COMMAND if trial.how == "kill" else SHORT_LADDER
        adapter = Cut(["--muse", host.muse], environ, home, wrap(list(command)))
        try:
            family = Family(VARIABLE, tag, adapter.process.pid)
            try:
                _reach(adapter, trial.phase, home)
                time.sleep(trial.jitter)
            except (AssertionError, OSError) as error:
                outcome.problems.append(f"it never came to {trial.phase}: {error!r:.300}")
            if trial.phase != "close" and adapter.process.poll() is not None:
                outcome.problems.append(f"it had ended by itself, with {adapter.process.returncode}")
            if trial.how == "kill":
                _kill(adapter, family, outcome, watched_for)
            else:
                _end(adapter, family, outcome)
            if CANARY.encode() in adapter.stderr + b"".join(adapter.lines):
                outcome.problems.append("it has told what is in its environment")
        finally:
            adapter.kill()
            family.end()
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return outcome


def _reach(adapter: AdapterProcess, phase: str, home: Path) -> None:
    at = PHASES.index(phase)
    if at >= 1:
        adapter.initialize(**OPT_IN)
    if at >= 2:
        opening = adapter.begin("session/new", {"cwd": str(home), "mcpServers": []})
    if at >= 3:
        session_id = adapter.response(opening)["result"]["sessionId"]
    if at >= 4:
        adapter.begin_prompt(session_id, "go")
    if at >= 5:
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
    if at >= 6:
        adapter.begin(READ, {"sessionId": SESSION, "itemId": ITEM, "outputRef": REF, "lengthBytes": 10})
    if at >= 7:
        adapter.close_input()


class Cut(AdapterProcess):
    """An adapter that may be gone in the middle of a frame."""

    def _read_stdout(self) -> None:
        with contextlib.suppress(orjson.JSONDecodeError):
            super()._read_stdout()


def _count(family: Family, outcome: Outcome) -> None:
    """Look at what there is before it is ended."""
    outcome.alive = len(family.look())
    outcome.at_work = family.at_work()
    fewest = FEWEST.get(outcome.trial.phase, 0)
    if outcome.alive < fewest:
        outcome.problems.append(f"there were only {outcome.alive} processes, not {fewest}")


def _kill(adapter: AdapterProcess, family: Family, outcome: Outcome, watched_for: float) -> None:
    # Stopped first, so that what is counted is what there was.
    adapter.process.send_signal(signal.SIGSTOP)
    _count(family, outcome)
    adapter.process.kill()
    killed = time.monotonic()
    adapter.process.wait()
    while (left := family.look()) and time.monotonic() - killed < watched_for:
        time.sleep(0.05)
    outcome.seconds = time.monotonic() - killed
    outcome.code = adapter.process.returncode
    if left:
        outcome.problems.append(f"{len(left)} never ended: {_shown(left)}")
    elif outcome.seconds > SURVIVAL_SECONDS:
        outcome.problems.append(f"something lived on for {outcome.seconds:.1f} s")


def _end(adapter: AdapterProcess, family: Family, outcome: Outcome) -> None:
    process, how = adapter.process, ENDS[outcome.trial.how]
    _count(family, outcome)
    asked = time.monotonic()
    if isinstance(how, signal.Signals):
        process.send_signal(how)
    elif how == "eof":
        with contextlib.suppress(OSError, ValueError):
            adapter.close_input()
    else:
        _stop_reading(adapter)
    if outcome.trial.how == "SIGINT" and outcome.trial.phase == "start":
        # While it starts, Python may take an interrupt for an error of an import, and go on.
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(AGAIN_SECONDS)
        process.send_signal(signal.SIGINT)
    try:
        outcome.code = process.wait(EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        outcome.problems.append(f"it did not end within {EXIT_SECONDS:g} s; stderr: {adapter.stderr[-500:]!r}")
        return
    outcome.seconds = time.monotonic() - asked
    gone = time.monotonic()
    while (left := family.look()) and time.monotonic() - gone < LEFT_SECONDS:
        time.sleep(0.02)
    if left:
        outcome.problems.append(f"{len(left)} were left: {_shown(left)}")
    if (
        outcome.trial.phase == "start"
        and b"KeyboardInterrupt" in adapter.stderr
        and outcome.code in (1, -signal.SIGINT)
    ):
        # Python itself tells of it so before the adapter begins.
        return
    if outcome.code not in expected_codes(outcome.trial):
        outcome.problems.append(f"exit code {outcome.code}; stderr: {adapter.stderr[-500:]!r}")
    if b"Traceback" in adapter.stderr:
        outcome.problems.append(f"a traceback: {adapter.stderr[-2000:]!r}")


def expected_codes(trial: Trial) -> Sequence[int]:
    """`docs/configuration.md`. Before Python has read the first line of the adapter, a signal does what it does to
    everybody. Who has said all there was to say has not been cut off: with a prompt open that is never so, and where
    something may be open either way."""
    how = ENDS[trial.how]
    if how == "output":
        return (1,) if trial.phase in ("prompt", "tools", "read") else (0, 1)
    return (0, -how) if isinstance(how, signal.Signals) and trial.phase == "start" else (0,)


def _stop_reading(adapter: AdapterProcess) -> None:
    """The client closes the end from which it reads, and keeps its own open."""
    assert adapter.process.stdout is not None
    nothing = os.open(os.devnull, os.O_RDONLY)
    # Not closed, since a thread reads from it, which keeps it until it has something: one answer, and then the end.
    os.dup2(nothing, adapter.process.stdout.fileno())
    os.close(nothing)
    with contextlib.suppress(OSError, ValueError):
        adapter.begin("session/list", {})


def _shown(pids: set[int]) -> list[str]:
    shown = []
    for pid in sorted(pids):
        with contextlib.suppress(OSError):
            shown.append(f"{pid} " + Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")[:120])
    return shown
