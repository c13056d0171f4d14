"""What an adapter leaves behind: processes, files, tasks, and secrets where none belong."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Final

from tests.adapter_process import AdapterProcess, Json
from tests.family import Family
from tests.processes import wait_until

GONE_SECONDS: Final = 5.0
"""How long what should be gone may take."""

TASK_SECONDS: Final = 8.0
"""How long a task may go on for which there is no reason any more; more than a host is waited for that is greeted."""

VARIABLE: Final = "MATRIX_CELL"
"""By this, and not by the mark of the adapter, what belongs to a cell is found."""

CANARY: Final = "canary-7f3a9c51e2"
"""Stands in the environment of every adapter here, and below the first line of each `hello`."""

OURS: Final = ("run", "work", "other")
"""The folders that the driver has made."""

KEPT: Final = (".local/share/muse-simulated/", ".cache/muse-adapter/versions.json")
"""What may be there afterwards: what the host keeps, and what is remembered of programs (`docs/configuration.md`)."""

_ONCE: Final = (
    "adapter.cli.serve._serve",
    "adapter.cli.serve._stop_on_signal",
    "adapter.cli.serve._stop_when_unread",
    "adapter.wire.peer.Peer._write",
)
_A_HOST: Final = (
    "adapter.msp.asking.Asking._look_whether_it_hangs",
    "adapter.msp.host.Host._drain_stderr",
    "adapter.msp.host.Host._serve",
    "adapter.msp.host.Host._watch_exit",
    "adapter.msp.losses.Losses.run",
    "adapter.wire.peer.Peer._write",
)
_ASKING: Final = "adapter.msp.host.Host._shake_hands"
_IN_THE_BACKGROUND: Final = "adapter.wire.background.Background.start.<locals>.run"


def environment(tag: str) -> dict[str, str]:
    """What marks everything that an adapter starts, and a secret."""
    return {VARIABLE: tag, "ORCHARD_API_KEY": CANARY}


class Left:
    """Of one adapter, from its start on. `file` is where it tells its tasks (`watched`)."""

    def __init__(self, adapter: AdapterProcess, tag: str, home: Path, file: Path) -> None:
        self._adapter = adapter
        self._home = home
        self._file = file
        self._family = Family(VARIABLE, tag, adapter.process.pid)
        self._before = set(self._names())

    def look(self) -> None:
        """Remember what runs now: what clears its environment and leaves its parent is found by that alone."""
        self._family.look()

    def end(self) -> None:
        """Leave nothing of it to other cells."""
        self._family.end()

    def check_processes(self) -> None:
        """Once the adapter has ended."""
        wait_until(
            lambda: not self._family.look(),
            GONE_SECONDS,
            lambda: f"processes of the adapter are left: {[_shown(pid) for pid in self._family.look()]}",
        )

    def check_tasks(self, hosts: int, sessions: int, *, heard_out: bool) -> None:
        """While it serves so many hosts and knows so many sessions, and nobody waits for anything. `heard_out`: each
        host has answered what it was asked first; one that has not is listened to as long as it lives."""
        usual = Counter(_ONCE)
        for name in _A_HOST:
            usual[name] += hosts
        usual[_ASKING] = 0 if heard_out else hosts
        usual[_IN_THE_BACKGROUND] = 1 + hosts + 2 * sessions
        wait_until(
            lambda: not self._tasks() - usual, TASK_SECONDS, lambda: f"tasks have not ended: {self._tasks() - usual}"
        )

    def _tasks(self) -> Counter[str]:
        self._file.unlink(missing_ok=True)
        os.kill(self._adapter.process.pid, signal.SIGUSR1)
        wait_until(self._file.exists, GONE_SECONDS, lambda: "it does not tell its tasks")
        return Counter(self._file.read_text().split("\n"))

    def files(self) -> list[str]:
        """Files that nobody needs any more."""
        return [name for name in self._names() if name not in self._before and not name.startswith(KEPT)]

    def _names(self) -> list[str]:
        found = [path.relative_to(self._home) for path in self._home.rglob("*") if not path.is_dir()]
        return [path.as_posix() for path in found if path.parts[0] not in OURS]

    def secrets(self) -> list[str]:
        """Where a secret stands that does not belong there."""
        found = ["stderr"] if CANARY.encode() in self._adapter.stderr else []
        errors = [frame["error"] for frame in self._adapter.frames if "error" in frame]
        found += [f"an error: {error}" for error in errors if CANARY in str(error)]
        cache = self._home / KEPT[1]
        if cache.is_file() and CANARY.encode() in cache.read_bytes():
            found.append(KEPT[1])
        return found


def tag() -> str:
    """By which the processes of one adapter are told."""
    return f"matrix-{os.getpid()}-{time.monotonic_ns()}"


def sessions_in(frames: list[Json]) -> int:
    """How many sessions the client was told of."""
    found = {(frame.get("params") or {}).get("sessionId") for frame in list(frames) if "method" in frame}
    return len(found | {(frame.get("result") or {}).get("sessionId") for frame in list(frames)} - {None})


def _shown(pid: int) -> str:
    try:
        return f"{pid} {Path(f'/proc/{pid}/cmdline').read_text(errors='replace')[:120]!r}"
    except OSError:
        return str(pid)
