"""Bytes pass between a client and a command, and are recorded as they do.

Two threads read, record and write in turn: a reader that does not come along stops the writer on the other side, as a
pipe would, and nothing is held but the line that has not ended. The main thread waits for signals and for the end.

How it ends: the end of the client's input is passed on. A signal to stop is passed on too, and the command sees the end
of its input, has `CLOSE_GRACE` to end, then SIGTERM, `TERM_GRACE`, SIGKILL (`msp.md §23.3`). The recorder ends as the
command did: with its code, or by its signal. Other signals are the command's affair, and only passed on.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from queue import Empty, SimpleQueue
from types import FrameType
from typing import Final, Literal, NoReturn, TypeAlias

from adapter.hosts.recorder.child import KILL, Child, read_some, write_all
from adapter.hosts.recorder.questions import HostQuestions, muse_of
from adapter.hosts.recorder.recording import Recording
from adapter.hosts.recorder.redact import Redactor
from adapter.wire.ends import as_it_ended

CLOSE_GRACE: Final = 5.0
"""Seconds a command that was told to stop has to end by itself; as many as the adapter gives a host."""

TERM_GRACE: Final = 2.0
"""Seconds between SIGTERM and SIGKILL (`msp.md §25`)."""

REAP_GRACE: Final = 2.0
"""Seconds a killed command may take to be reaped: only the kernel can make it longer."""

QUIET: Final = 1.0
"""Seconds without output after which no more is expected of a command that has ended while somebody who is not of its
group still has its pipe."""

EXIT_NOT_EXECUTABLE: Final = 126
EXIT_NOT_FOUND: Final = 127
"""The command cannot be started; the codes that shells have for it."""

STOP_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)

_NOT_PASSED_ON: Final = frozenset(
    [
        "SIGABRT",
        "SIGBUS",
        "SIGCHLD",
        "SIGFPE",
        "SIGILL",
        "SIGKILL",
        "SIGPIPE",
        "SIGSEGV",
        "SIGSTOP",
        "SIGSYS",
        "SIGTRAP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGXCPU",
        "SIGXFSZ",
    ]
)
"""What cannot be caught, what a process does to itself, and what stops the one who gets it: the command then waits for
the recorder."""

PASSED_ON: Final = (
    STOP_SIGNALS
    if sys.platform == "win32"
    else tuple(signum for signum in signal.valid_signals() if getattr(signum, "name", "") not in _NOT_PASSED_ON)
)

Event: TypeAlias = tuple[Literal["signal", "ended", "drained"], int]


def record(out: Path, command: Sequence[str], *, redact: bool, source: int = 0, sink: int = 1) -> int:
    """Run `command` for the client on `source` and `sink`; its exit code, negative for a signal."""
    _open_stdio()
    noted = _noted_signals()
    try:
        child = Child(command)
    except OSError as error:
        say(f"{command[0]} cannot be started: {error.strerror or error}")
        return EXIT_NOT_FOUND if isinstance(error, FileNotFoundError) else EXIT_NOT_EXECUTABLE
    recording = Recording(out, Redactor() if redact else None, say)
    try:
        return Relay(child, recording, muse_of(command), noted, source, sink).run()
    finally:
        recording.close()


def leave(code: int) -> NoReturn:
    """End this process as the command has ended."""
    # Threads may still wait for a client that says nothing.
    os._exit(as_it_ended(code))


def say(text: str) -> None:
    """Tell the person; stderr may be closed."""
    with contextlib.suppress(OSError):
        os.write(2, f"muse-adapter record: {text}\n".encode("utf-8", "backslashreplace"))


def _open_stdio() -> None:
    """Open what is closed of stdin, stdout and stderr: no pipe of ours may have a number that others write to."""
    while (fd := os.open(os.devnull, os.O_RDWR)) <= 2:
        os.set_inheritable(fd, True)
    os.close(fd)


def _noted_signals() -> int:
    """From now on each signal that is passed on is a byte that can be read here, except those that this process was
    started to ignore, and with it the command.

    The byte is written when the signal comes. A handler in Python runs when the main thread next runs Python, which may
    wait by then for what never comes.
    """
    noted, note = os.pipe()
    if sys.platform != "win32":
        os.set_blocking(note, False)
        signal.set_wakeup_fd(note, warn_on_full_buffer=False)

    def handle(signum: int, _frame: FrameType | None) -> None:
        if sys.platform == "win32":
            # There, only a socket can be written to by itself.
            os.write(note, bytes([signum]))

    for signum in PASSED_ON:
        if signal.getsignal(signum) != signal.SIG_IGN:
            signal.signal(signum, handle)
    return noted


class Relay:
    """One command and its client. `muse` is the host in the command line, if it starts one."""

    def __init__(
        self,
        child: Child,
        recording: Recording,
        muse: Sequence[str] | None,
        noted: int,
        source: int,
        sink: int,
    ) -> None:
        self._child = child
        self._recording = recording
        self._muse = muse
        self._questions: HostQuestions | None = None
        self._source = source
        self._sink = sink
        self._noted = noted
        self._events: SimpleQueue[Event] = SimpleQueue()
        self._passed = 0
        self._writing = False
        self._drained = False
        self._told = False
        self._by_itself = False
        """Whether the command has ended, or said that it says no more, while it could have been told more."""
        self._leave_at: float | None = None
        """When this ends whatever is left to pass on: known once it was told to stop."""

    def run(self) -> int:
        """Pass on what comes until the command has ended and what it said has been passed on."""
        for work in (self._pass_input, self._pass_output, self._reap, self._hear_signals):
            threading.Thread(target=work, daemon=True).start()
        code = self._until_ended()
        if self._by_itself:
            self._recording.ended_by_itself(code)
        self._child.end_group()
        self._until_drained()
        if self._questions is not None:
            self._questions.end()
        return code

    # -- the main thread

    def _until_ended(self) -> int:
        rungs: list[tuple[float, int]] = []
        """When what is sent next, once the command was told to stop."""
        while True:
            try:
                what, value = self._events.get(timeout=max(0.0, rungs[0][0] - time.monotonic()) if rungs else None)
            except Empty:
                _, signum = rungs.pop(0)
                if not rungs:
                    return -KILL
                self._child.signal(signum)
                continue
            if what == "ended":
                return value
            if what == "signal":
                if value in STOP_SIGNALS and not rungs:
                    self._told = True
                    rungs = _ladder(time.monotonic())
                    self._leave_at = rungs[0][0]
                self._child.signal(value)
                if rungs:
                    self._child.end_input()

    def _until_drained(self) -> None:
        """Pass on what is left. A client that was told to stop us may not read, and is not waited for then."""
        passed = -1
        if self._leave_at is not None:
            self._leave_at = max(self._leave_at, time.monotonic() + QUIET)
        while not self._drained:
            left = QUIET if self._leave_at is None else min(QUIET, self._leave_at - time.monotonic())
            if left <= 0:
                return
            try:
                what, value = self._events.get(timeout=left)
            except Empty:
                if self._passed == passed and not self._writing:
                    say("the command has ended; what it left running can still write, and is not waited for")
                    return
                passed = self._passed
            else:
                if what == "signal" and value in STOP_SIGNALS:
                    return

    # -- the others

    def _reap(self) -> None:
        code = self._child.wait()
        self._notice_end()
        self._events.put(("ended", code))

    def _notice_end(self) -> None:
        if not self._told and not self._child.input_over:
            self._by_itself = True

    def _hear_signals(self) -> None:
        while signums := os.read(self._noted, 1):
            self._events.put(("signal", signums[0]))

    def _pass_input(self) -> None:
        # An input that cannot be read has ended.
        with contextlib.suppress(OSError):
            while data := read_some(self._source):
                self._recording.take("client", data)
                self._child.send(data)
        self._recording.end_of("client")
        self._child.end_input()
        _let_go(self._source)

    def _pass_output(self) -> None:
        with contextlib.suppress(OSError):
            while data := read_some(self._child.stdout):
                self._recording.take("server", data)
                self._ask_host()
                self._writing = True
                write_all(self._sink, data)
                self._writing = False
                self._passed += 1
        self._notice_end()
        self._recording.end_of("server")
        self._child.close_stdout()
        _let_go(self._sink)
        self._drained = True
        self._events.put(("drained", 0))

    def _ask_host(self) -> None:
        if self._muse is not None and self._questions is None and self._recording.of_muse_host:
            self._questions = HostQuestions(self._muse, self._recording.told_version, self._recording.told_flags)


def _ladder(now: float) -> list[tuple[float, int]]:
    """When which signal is sent to a command that was told to stop; at the end nothing more can be done."""
    term = now + CLOSE_GRACE
    kill = term + TERM_GRACE
    return [(term, signal.SIGTERM), (kill, KILL), (kill + REAP_GRACE, 0)]


def _let_go(fd: int) -> None:
    """Close a descriptor of the client's, so that it sees what happened on the other side; its number stays taken."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_RDWR)
        os.dup2(nowhere, fd)
        os.close(nowhere)
