"""What the machine can do wrong while a host works on something: columns of the matrix.

The host stands still at the moment, the driver does it, and the host goes on, unless it is killed with that. What was
taken away together with a host is put back when the request of the phase has been answered.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from tests.faults.matrix import tampering_host
from tests.faults.matrix.cell import OK, Cell
from tests.faults.matrix.fault import OR, Fault, Undo, in_key_phases
from tests.faults.matrix.phases import PHASES, Phase
from tests.processes import open_descriptors

PAUSE_SECONDS: Final = 0.3
NOT_FOUND: Final = "-32603 museNotFound"
NOT_STARTED: Final = "-32603 hostStartFailed"


def _muse(cell: Cell) -> Path:
    return cell.folder / "muse"


# -- the program


def _is_removed(cell: Cell) -> None:
    _muse(cell).unlink()


def _cannot_be_run(cell: Cell) -> None:
    _muse(cell).chmod(0o644)


def _is_a_folder(cell: Cell) -> None:
    _muse(cell).unlink()
    _muse(cell).mkdir()


def _is_a_text(cell: Cell) -> None:
    _muse(cell).unlink()
    _muse(cell).write_text("Muse has moved.\n")
    _muse(cell).chmod(0o755)


def _is_another(cell: Cell) -> None:
    """Replaced as an update does it."""
    new = _muse(cell).with_name("muse-new")
    new.write_text("#!/bin/sh\necho 'Muse Code 9.9.9'\n")
    new.chmod(0o755)
    new.replace(_muse(cell))


# -- the machine


def _host_is_paused(cell: Cell) -> None:
    hosts = cell.adapter.hosts()
    for pid in hosts:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(PAUSE_SECONDS)
    for pid in hosts:
        os.kill(pid, signal.SIGCONT)


def _adapter_is_paused(cell: Cell) -> None:
    cell.adapter.process.send_signal(signal.SIGSTOP)
    time.sleep(PAUSE_SECONDS)
    cell.adapter.process.send_signal(signal.SIGCONT)


def _opens_nothing(cell: Cell) -> Undo:
    """The adapter can open nothing more."""
    pid = cell.adapter.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (open_descriptors(pid), before[1]))
    return lambda: _allow(pid, before)


def _allow(pid: int, limits: tuple[int, int]) -> None:
    resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)


def _disk_is_full(cell: Cell) -> None:
    """The adapter can write no file any more; hosts that it starts can (`tampering_host.main`)."""
    pid = cell.adapter.process.pid
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]))


CACHE: Final = ".cache/muse-adapter/versions.json"
DAMAGED: Final = b'{"version":1,"entries":[{"path":7,"size":"big"},null,{"version":"' + b"9" * 5000 + b"\xff\xfe"


def _damage_cache(home: Path) -> None:
    """It is no JSON, and cut."""
    (home / CACHE).parent.mkdir(parents=True)
    (home / CACHE).write_bytes(DAMAGED)


def _cache_is_a_folder(home: Path) -> None:
    (home / CACHE / "more").mkdir(parents=True)


def _cache_cannot_be_made(home: Path) -> None:
    """A file stands where the folder of it should be."""
    (home / ".cache").write_text("no folder")


def _damages_cache(cell: Cell) -> None:
    path = cell.folder.parent / CACHE
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(DAMAGED)


def _folder_goes(cell: Cell) -> None:
    """The folder of the sessions; another one is there for new ones."""
    gone = cell.workspace
    cell.workspace = cell.folder.parent / "other"
    cell.workspace.mkdir()
    shutil.rmtree(gone)


# -- both at once: the host dies, and there is no other


def _dies(cell: Cell) -> None:
    """The host that stands still is killed."""
    os.kill(tampering_host.struck_host(cell.folder), signal.SIGKILL)


def _vanishes(cell: Cell) -> Undo:
    muse, away = _muse(cell), _muse(cell).with_name("away")
    muse.rename(away)
    _dies(cell)

    def put_back() -> None:
        away.rename(muse)

    return put_back


def _dies_without_descriptors(cell: Cell) -> Undo:
    undo = _opens_nothing(cell)
    _dies(cell)
    return undo


def _after_greeting(phase: Phase) -> str | None:
    if phase.early:
        return "whether the first host is waited for, or the next is asked, is not settled"
    return "another host serves already" if phase.restricted or phase.name.startswith("move-") else None


def _keeps_its_folder(phase: Phase) -> str | None:
    if phase.early:
        return "there is no session"
    opens = phase.name.startswith(("load", "resume", "fork"))
    return "the next prompt tells the host of a folder that is not there, which it refuses" if opens else None


def _where_retried(outcome: str) -> Mapping[str, str]:
    """Where another host would be asked."""
    again = [phase for phase in PHASES if (phase.retried and phase.needed) or phase.name.startswith("set-")]
    return {phase.name: outcome for phase in again}


def _harmless(name: str, told: str, strike: Callable[[Cell], Undo | None], **more: Any) -> Fault:
    return Fault(name, told, "harmless", "waits", strike=strike, **more)


def _gone(name: str, told: str, strike: Callable[[Cell], Undo | None], outcome: str) -> Fault:
    expects = _where_retried(outcome)
    return Fault(name, told, "gone", "waits", {}, "none", True, strike, expects=expects, sense=_after_greeting)


NOT_YET_ASKED: Final = dict.fromkeys(("start", "handshake"), f"{OK}{OR}{NOT_FOUND}{OR}{NOT_STARTED}")
"""Where the program may be gone before it has been asked what it can do."""

SYSTEM_FAULTS: Final = (
    _harmless("muse-removed", "the program of the host is removed", _is_removed, expects=NOT_YET_ASKED),
    _harmless(
        "muse-not-executable", "it may not be run any more", _cannot_be_run, expects=NOT_YET_ASKED, sense=in_key_phases
    ),
    _harmless("muse-folder", "a folder takes its place", _is_a_folder, expects=NOT_YET_ASKED, sense=in_key_phases),
    _harmless("muse-text", "a text takes its place", _is_a_text, expects=NOT_YET_ASKED, sense=in_key_phases),
    _harmless("muse-replaced", "another version takes its place", _is_another, expects=NOT_YET_ASKED),
    _harmless("host-paused", "the hosts are stopped and go on (SIGSTOP, SIGCONT)", _host_is_paused),
    _harmless("adapter-paused", "the adapter is stopped and goes on", _adapter_is_paused),
    _harmless("no-descriptors", "the adapter can open nothing until it has answered", _opens_nothing),
    _harmless("folder-gone", "the folder of the session is removed", _folder_goes, sense=_keeps_its_folder),
    _harmless("disk-full", "the adapter can write no file any more", _disk_is_full),
    _harmless("cache-damaged", "what it keeps of programs is damaged", _damages_cache),
    *(
        Fault(name, told, "harmless", "goes-on", sense=in_key_phases, prepare=prepare)
        for name, told, prepare in (
            ("cache-was-damaged", "it is damaged when the adapter starts", _damage_cache),
            ("cache-folder", "a folder stands there then", _cache_is_a_folder),
            ("cache-no-place", "or a file where its folder should be", _cache_cannot_be_made),
        )
    ),
    _gone("muse-vanishes", "the host is killed when its program has vanished", _vanishes, NOT_FOUND),
    _gone("dies-without-descriptors", "it is when nothing can be opened", _dies_without_descriptors, NOT_STARTED),
)
