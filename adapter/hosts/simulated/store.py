"""The data directory: where sessions are, who holds them, and the rows of the session list.

```
sessions/<sessionId>/session.jsonl   the journal
sessions/<sessionId>/row.json        the session's row as it was last, for lists
sessions/<sessionId>/lease           the pid of the host that has it loaded
commands/<hash>.json                 outcomes of commands that belong to no loaded session
credentials.json                     the login, if there is one
```
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from adapter.hosts.simulated.journal import records
from adapter.hosts.simulated.view import Event, View


class Stored:
    """A session read from its journal."""

    def __init__(self, path: Path) -> None:
        self.facts: dict[str, Any] = {}
        self.view = View()
        self.outputs: dict[str, dict[str, Any]] = {}
        self.commands: dict[str, dict[str, Any]] = {}
        self.prompts: dict[str, dict[str, Any]] = {}
        self.roots: list[str] | None = None
        self.end: int | None = None
        for kind, value in records(path):
            self._take(kind, value)

    def _take(self, kind: str, value: Any) -> None:
        if kind == "event":
            self.view.add(Event(*value))
            self.end = None
        elif kind == "session":
            self.facts = value
        elif kind == "output":
            self.outputs[value["id"]] = value
        elif kind == "prompt":
            self.prompts[value["turnId"]] = value
            self.view.queued[value["turnId"]] = {"turnId": value["turnId"], "commandId": value["commandId"]}
        elif kind == "roots":
            self.roots = value
        elif kind in ("intake", "outcome"):
            self.commands.setdefault(value["commandId"], {}).update(value)
        elif kind == "withdrawn":
            self.commands.pop(value["commandId"], None)
        elif kind == "end":
            self.end = value


class Store:
    """The sessions under one directory; `root` None stores nothing."""

    def __init__(self, root: Path | None) -> None:
        self.root = root
        self._cached: tuple[Path, tuple[int, int], Stored] | None = None

    @property
    def durable(self) -> bool:
        """Whether anything outlives this process."""
        return self.root is not None

    def journal_path(self, session_id: str) -> Path | None:
        """Where the session's journal is or would be."""
        return None if self.root is None else self.root / "sessions" / session_id / "session.jsonl"

    def has(self, session_id: str) -> bool:
        """Whether there is such a session; an id that is no plain name is not one."""
        path = self.journal_path(session_id)
        return path is not None and is_plain(session_id) and path.is_file()

    def read(self, session_id: str) -> Stored:
        """The session as it is on disk now; unchanged files are read once.

        Raises:
            OSError: there is none, or nothing of it can be read.
        """
        path = self.journal_path(session_id)
        if path is None or not is_plain(session_id):
            raise FileNotFoundError(session_id)
        status = path.stat()
        mark = (status.st_size, status.st_mtime_ns)
        if self._cached is None or self._cached[0] != path or self._cached[1] != mark:
            self._cached = (path, mark, Stored(path))
        if not self._cached[2].facts:
            raise FileNotFoundError(session_id)
        return self._cached[2]

    def load(self, session_id: str) -> Stored:
        """The session, read afresh for a host that is going to change it."""
        self._cached = None
        stored = self.read(session_id)
        self._cached = None
        return stored

    def take_lease(self, session_id: str) -> bool:
        """Become the only host that may write the session; False if another live process is."""
        if self.root is None:
            return True
        path = self.root / "sessions" / session_id / "lease"
        path.parent.mkdir(parents=True, exist_ok=True)
        # Linked into place whole: nobody may ever see a lease without its pid.
        scratch = path.with_name(f"lease.{os.getpid()}")
        _write_private(scratch, str(os.getpid()).encode())
        try:
            for _ in range(2):
                with suppress(FileExistsError):
                    os.link(scratch, path)
                    return True
                if self.holder(session_id) is not None:
                    return False
                path.unlink(missing_ok=True)
            return False
        finally:
            scratch.unlink()

    def holder(self, session_id: str) -> int | None:
        """The pid of the live host that holds the session, this one included."""
        if self.root is None:
            return None
        try:
            pid = int((self.root / "sessions" / session_id / "lease").read_text())
        except (OSError, ValueError):
            return None
        return pid if _is_alive(pid) else None

    def release(self, session_id: str) -> None:
        """Give the lease back."""
        if self.root is not None:
            (self.root / "sessions" / session_id / "lease").unlink(missing_ok=True)

    def delete(self, session_id: str) -> None:
        """Remove everything that is kept of a session."""
        if self.root is not None and is_plain(session_id):
            shutil.rmtree(self.root / "sessions" / session_id, ignore_errors=True)

    def write_row(self, row: dict[str, Any]) -> None:
        """Keep a session's row."""
        if self.root is not None:
            _replace(self.root / "sessions" / row["sessionId"] / "row.json", orjson.dumps(row))

    def rows(self) -> list[dict[str, Any]]:
        """The rows of all sessions, in no order."""
        if self.root is None:
            return []
        found = []
        for path in (self.root / "sessions").glob("*/row.json"):
            with suppress(OSError, ValueError):
                found.append(orjson.loads(path.read_bytes()))
        return found

    def remember(self, command: dict[str, Any]) -> None:
        """Keep how a command ended that belongs to no loaded session."""
        if self.root is not None:
            _replace(self._command_path(command["commandId"]), orjson.dumps(command))

    def recall(self, command_id: str) -> dict[str, Any] | None:
        """How that command ended, if it is known."""
        if self.root is None:
            return None
        try:
            found = orjson.loads(self._command_path(command_id).read_bytes())
        except (OSError, ValueError):
            return None
        return found if type(found) is dict else None

    def _command_path(self, command_id: str) -> Path:
        assert self.root is not None
        return self.root / "commands" / f"{hashlib.sha256(command_id.encode()).hexdigest()[:40]}.json"


def is_plain(session_id: str) -> bool:
    """Whether the id can be a directory's name and nothing else."""
    return 0 < len(session_id) <= 128 and session_id.replace("-", "").replace("_", "").isalnum()


def _replace(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.{os.getpid()}")
    _write_private(scratch, data)
    scratch.replace(path)


def _write_private(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)


def _is_alive(pid: int) -> bool:
    if sys.platform == "win32":
        # There a signal 0 is not a question; a lease left behind by another process counts as given up.
        return pid == os.getpid()
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
