"""The processes of one adapter, without asking it and without its own mark."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from tests.processes import table


class Family:
    """What a trial has started, found by the environment that all of it inherits, below what is found,
    and in the groups that this leads."""

    def __init__(self, variable: str, tag: str, adapter: int) -> None:
        self._tag = f"{variable}={tag}".encode()
        self._adapter = adapter
        self._known: set[int] = set()

    def look(self) -> set[int]:
        """Those that run, without the adapter."""
        rows = {row.pid: row for row in table() if row.runs}
        found = {pid for pid in rows if pid in self._known or self._has_tag(pid)}
        more = found | {self._adapter}
        while more:
            more = {
                pid
                for pid, row in rows.items()
                if pid not in found and (row.parent in found | {self._adapter} or row.group in found)
            }
            found |= more
        found.discard(self._adapter)
        self._known = set(found)
        return found

    def at_work(self) -> bool:
        """Whether a host runs, and something that it has started."""
        children = {row.parent for row in table() if row.runs}
        return any(pid in children and _is_host(pid) for pid in self._known)

    def end(self) -> None:
        """Leave nothing of it to others."""
        for _ in range(100):
            left = self.look()
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if not left:
                break
            time.sleep(0.05)

    def _has_tag(self, pid: int) -> bool:
        try:
            return self._tag in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return False


def _is_host(pid: int) -> bool:
    try:
        return b"serve" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
