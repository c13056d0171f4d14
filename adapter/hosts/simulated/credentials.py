"""A login, for hosts that are to need one (`msp.md §10.2, §12.3, §23.1`): `META_API_KEY` in the environment, or the
file that `muse login` writes. Nobody is asked whether they are any good."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

import orjson

from adapter.hosts.simulated import ids
from adapter.hosts.simulated.settings import Settings
from adapter.wire.envelope import RpcError

NEEDED: Final = "MUSE_SIMULATED_LOGIN"
FAILS: Final = "MUSE_SIMULATED_LOGIN_FAILS"
API_KEY: Final = "META_API_KEY"


class Credentials:
    """Whether one host may call a model."""

    def __init__(self, settings: Settings, data_dir: Path) -> None:
        self._needed = settings.login or os.environ.get(NEEDED) == "required"
        self._once = settings.login_read_once
        self._at_session = settings.login_at == "session"
        self._path = credentials_path(data_dir)
        self._key = bool(os.environ.get(API_KEY))
        self._stored = self._path.is_file()

    def allow_turn(self) -> bool:
        """Whether a turn that starts now has what it needs."""
        if not self._once:
            self._stored = self._path.is_file()
        return not self._needed or self._key or self._stored

    def check_session(self) -> None:
        """Refuse to open a session, on hosts that look at that point.

        Raises:
            RpcError: there is no login.
        """
        if self._at_session and not self.allow_turn():
            raise RpcError(-32603, "not logged in; run muse login", {"kind": "authRequired", "retryable": False})

    def expire(self) -> None:
        """From now on nothing that was there counts; a new login does."""
        self._needed, self._key, self._stored = True, False, False
        self._path.unlink(missing_ok=True)


def credentials_path(data_dir: Path) -> Path:
    """Where a login is kept."""
    return data_dir / "credentials.json"


def log_in(data_dir: Path) -> int:
    """`muse login`; gives the exit code. On a terminal it waits for a key, as one waits for a browser."""
    if sys.stdin.isatty():
        print("muse: simulated login, nothing is sent anywhere; press Enter ", end="", file=sys.stderr, flush=True)
        sys.stdin.readline()
    if os.environ.get(FAILS):
        print("muse: the login was refused (simulated)", file=sys.stderr)
        return 1
    path = credentials_path(data_dir)
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f"{path.name}.{os.getpid()}")
    fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(fd, "wb") as file:
        file.write(orjson.dumps({"simulated": True, "since": ids.timestamp()}))
    scratch.replace(path)
    print("muse: logged in (simulated)", file=sys.stderr)
    return 0


def log_out(data_dir: Path) -> int:
    """`muse logout`; gives the exit code, which is 0 also if nobody was logged in."""
    credentials_path(data_dir).unlink(missing_ok=True)
    print("muse: logged out (simulated)", file=sys.stderr)
    return 0
