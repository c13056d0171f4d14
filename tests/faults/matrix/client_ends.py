"""How a client can go while a host works on something for it: columns of the matrix after which nothing follows.

The host stands still at the moment. What was asked is answered if anybody can still read it, the adapter ends with the
code that the documentation names, and nothing of it is left.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

from tests.adapter_process import Json
from tests.faults.matrix import tampering_host
from tests.faults.matrix.cell import Cell, running
from tests.faults.matrix.fault import Fault, anywhere, plan_of
from tests.faults.matrix.phases import Phase
from tests.faults.matrix.run import Passed, client_of

READ_SECONDS: Final = 10.0

END_SECONDS: Final = 30.0
"""How long the adapter may take to end when its host stands still: more than all steps of the end of a host."""

LAST: Final[Json] = {"jsonrpc": "2.0", "id": "last", "method": "session/sparkle", "params": {}}


class End(NamedTuple):
    """A column. `waits`: the host stands still until the adapter has ended."""

    name: str
    told: str
    go: Callable[[Cell], None]
    exit_code: int
    waits: bool = True
    sense: Callable[[Phase], str | None] = anywhere

    @property
    def fault(self) -> Fault:
        """As the host knows it."""
        return Fault(self.name, self.told, "harmless", "waits")


def run_end(phase: Phase, end: End) -> Passed:
    """Run a cell; raises if anything is not as it should be."""
    with running(plan_of(phase, end.fault)) as cell:
        cell.exit_codes = {end.exit_code}
        if phase.answered and end.go is _is_killed:
            # Who has nothing more to say notices only that stdin has ended.
            cell.exit_codes = {0}
        elif phase.answered and end.go is _closes_stdout:
            # That nobody reads may be noticed before there is something more to say.
            cell.exit_codes.add(0)
        if phase.early:
            cell.arm()
        cell.adapter.initialize(clientCapabilities=client_of(phase))
        phase.arrange(cell)
        cell.arm()
        with ThreadPoolExecutor(1) as client:
            acting = client.submit(phase.act, cell)
            try:
                cell.wait_for_strike()
                cell.left.look()
                # It stands still until the adapter has ended, and hears what comes meanwhile no more.
                cell.hosts_gone.add(str(tampering_host.struck_host(cell.folder)))
                end.go(cell)
                if not end.waits:
                    cell.release()
                cell.adapter.process.wait(END_SECONDS)
            finally:
                cell.release()
            # Whether it was answered, the frames show; it may have had more to say.
            with contextlib.suppress(AssertionError, OSError, ValueError):
                acting.result()
    return Passed()


def _reads_no_more(cell: Cell) -> None:
    """Close the end that it reads from, between two reads: while one is under way the pipe would stay open."""
    cell.client_is_gone = True
    stdout, before, closed = cell.adapter.process.stdout, cell.adapter.watch, threading.Event()
    assert stdout is not None

    def watch(from_adapter: bool, frame: Json) -> None:
        before(from_adapter, frame)
        if from_adapter and frame.get("id") == "last":
            with Path(os.devnull).open("rb") as nowhere:
                os.dup2(nowhere.fileno(), stdout.fileno())
            closed.set()

    cell.adapter.watch = watch
    cell.adapter.send(LAST)
    assert closed.wait(READ_SECONDS), "the adapter does not answer"


def _closes_stdout(cell: Cell) -> None:
    """A closed pipe is noticed at the next write."""
    _reads_no_more(cell)
    cell.adapter.send(LAST)


def _is_killed(cell: Cell) -> None:
    _reads_no_more(cell)
    cell.adapter.close_input()


def _leaves_half_a_frame(cell: Cell) -> None:
    cell.adapter.write(b'{"jsonrpc":"2.0","id":"half","method":"session/pro')
    cell.adapter.close_input()


def _ends_it(cell: Cell) -> None:
    cell.adapter.process.send_signal(signal.SIGTERM)


CLIENT_ENDS: Final = (
    End("client-leaves", "the client closes stdin", lambda cell: cell.adapter.close_input(), 0),
    End("client-leaves-half", "it closes stdin in the middle of a frame", _leaves_half_a_frame, 0),
    End("client-killed", "it is gone at once, with both pipes", _is_killed, 1),
    End("client-closes-stdout", "it reads no more, and writes on", _closes_stdout, 1, waits=False),
    End("client-ends-it", "it sends SIGTERM", _ends_it, 0),
)
