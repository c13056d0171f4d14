"""Versions already asked for, on disk, so that a warm start needs no process.

One small JSON file, owned by the user and readable by nobody else. If anything is wrong with it (damaged, foreign, too
large), it is taken as empty and written anew. Two processes that write at once may lose an entry, never the file.
"""

import logging
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from host_probe.identity import BinaryIdentity
from host_probe.version import HostVersion, parse_server_version

FILE_NAME = "versions.json"

# More binaries than anybody alternates between; the oldest entry goes first.
MAX_ENTRIES = 32
# 32 entries with ordinary paths take 10 KiB; anything much larger was not written here.
MAX_BYTES = 256 * 1024

log = logging.getLogger("host_probe")


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    identity: BinaryIdentity
    version: HostVersion


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    entries: list[_Entry]
    format: Literal[1] = 1


def default_directory(environ: Mapping[str, str], home: Path, *, windows: bool = os.name == "nt") -> Path:
    """`$XDG_CACHE_HOME/muse-adapter` or `~/.cache/muse-adapter`; on Windows under `%LOCALAPPDATA%`.

    An `XDG_CACHE_HOME` that is not absolute is ignored, as its specification wants.
    """
    if windows:
        base = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        configured = Path(environ.get("XDG_CACHE_HOME", ""))
        base = configured if configured.is_absolute() else home / ".cache"
    return base / "muse-adapter"


class VersionCache:
    """Versions by binary identity, kept in `directory`, which is made on the first write.

    A file that cannot be read or written is only logged. An empty answer costs one `muse --version`.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file = directory / FILE_NAME

    def get(self, identity: BinaryIdentity) -> HostVersion | None:
        """The version remembered for exactly this binary and these arguments."""
        return next((entry.version for entry in self._entries() if entry.identity == identity), None)

    def put(self, identity: BinaryIdentity, version: HostVersion) -> None:
        """Remember a version, in place of what the same command said before. An unknown version is not remembered."""
        if version.release is None:
            return
        kept = [entry for entry in self._entries() if not entry.identity.same_command(identity)]
        entries = [*kept, _Entry(identity, version)][-MAX_ENTRIES:]
        try:
            self._replace(entries)
        except (OSError, ValueError) as error:  # ValueError: a path that is not Unicode
            log.warning("the host's version is not remembered: %s: %s", self._file, error)

    def _entries(self) -> list[_Entry]:
        try:
            entries = msgspec.json.decode(self._read(), type=_Document).entries
        except FileNotFoundError:
            return []
        except (OSError, ValueError, RecursionError) as error:
            log.info("remembered versions are ignored: %s: %s", self._file, error)
            return []
        return [entry for entry in entries if _is_consistent(entry.version)]

    def _read(self) -> bytes:
        status = self._file.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("not a regular file")
        if hasattr(os, "getuid") and status.st_uid != os.getuid():
            raise ValueError("owned by another user")
        if status.st_size > MAX_BYTES:
            raise ValueError(f"larger than {MAX_BYTES} bytes")
        return self._file.read_bytes()

    def _replace(self, entries: list[_Entry]) -> None:
        data = msgspec.json.encode(_Document(entries))
        while len(data) > MAX_BYTES:
            entries = entries[1:]
            data = msgspec.json.encode(_Document(entries))
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary = self._directory / f".{FILE_NAME}.{os.urandom(6).hex()}"
        try:
            with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(data)
            temporary.replace(self._file)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            raise


def _is_consistent(version: HostVersion) -> bool:
    spelled = version.build or version.release or ""
    parsed = parse_server_version(spelled)
    return parsed.release is not None and (parsed.release, parsed.build) == (version.release, version.build)
