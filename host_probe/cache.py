"""What hosts have already been asked for, on disk, so that a warm start needs no process.

One small JSON file, owned by the user and readable by nobody else. If anything is wrong with it (damaged, foreign, too
large), it is taken as empty and written anew. Two processes that write at once may lose an entry, never the file.
"""

import logging
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

import msgspec

from host_probe.abilities import Abilities
from host_probe.identity import BinaryIdentity
from host_probe.version import HostVersion, parse_server_version

FILE_NAME = "versions.json"

# More binaries than anybody alternates between; the oldest entry goes first.
MAX_ENTRIES = 32
# 32 entries with ordinary paths take 10 KiB; anything much larger was not written here.
MAX_BYTES = 256 * 1024

log = logging.getLogger("host_probe")


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of one binary; None where it has not been asked, or has not said."""

    identity: BinaryIdentity
    version: HostVersion | None = None
    abilities: Abilities | None = None
    flags: frozenset[str] | None = None


class _Document(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    entries: list[_Entry]
    format: Literal[2] = 2


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
    """Versions, abilities and flags by binary identity, kept in `directory`, which is made on the first write.

    A file that cannot be read or written is only logged. An empty answer costs one `muse --version`. One that does not
    learn gives what is there and leaves it as it is.
    """

    def __init__(self, directory: Path, *, learns: bool = True) -> None:
        self._directory = directory
        self._learns = learns
        self._file = directory / FILE_NAME
        self._failure_level = logging.WARNING

    @property
    def file(self) -> Path:
        """Where it is, if it is there at all."""
        return self._file

    def problem(self) -> str | None:
        """Why nothing that is remembered can be used, in words for after "it is not used:"; None if it can or if there
        is nothing yet."""
        try:
            self._decoded()
        except FileNotFoundError:
            return None
        except OSError as error:
            return f"it cannot be read ({error.strerror or error})"
        except (msgspec.DecodeError, RecursionError):
            return "it is damaged, or of another version of the adapter"
        except ValueError as error:
            return f"it is {error}"
        return None

    def get(self, identity: BinaryIdentity) -> HostVersion | None:
        """The version remembered for exactly this binary and these arguments."""
        return self._entry(identity).version

    def abilities(self, identity: BinaryIdentity) -> Abilities | None:
        """What exactly this binary showed to be able to do."""
        return self._entry(identity).abilities

    def flags(self, identity: BinaryIdentity) -> frozenset[str] | None:
        """The flags that `serve` of exactly this binary has."""
        return self._entry(identity).flags

    def is_outdated(self, identity: BinaryIdentity) -> bool:
        """Whether what is remembered of this command is about a binary that was there before."""
        others = [entry.identity for entry in self._entries() if entry.identity.same_command(identity)]
        return bool(others) and identity not in others

    def put(self, identity: BinaryIdentity, version: HostVersion) -> None:
        """Remember a version. An unknown version is not remembered."""
        if version.release is not None:
            self._learn(identity, version=version)

    def put_abilities(self, identity: BinaryIdentity, abilities: Abilities) -> None:
        """Remember what a binary can do."""
        self._learn(identity, abilities=abilities)

    def put_flags(self, identity: BinaryIdentity, flags: frozenset[str]) -> None:
        """Remember the flags that `serve` has. None at all is no answer and is not remembered."""
        if flags:
            self._learn(identity, flags=flags)

    def _entry(self, identity: BinaryIdentity) -> _Entry:
        return next((entry for entry in self._entries() if entry.identity == identity), _Entry(identity))

    def _learn(self, identity: BinaryIdentity, **news: Any) -> None:
        """Add to what is known of a binary, in place of what is known of an earlier one with the same command."""
        if not self._learns:
            return
        known = self._entry(identity)
        entry = msgspec.structs.replace(known, **news)
        if entry == known:
            return
        kept = [entry for entry in self._entries() if not entry.identity.same_command(identity)]
        try:
            self._replace([*kept, entry][-MAX_ENTRIES:])
        except (OSError, ValueError) as error:  # ValueError: a path that is not Unicode
            # Once: the next write fails for the same reason.
            log.log(self._failure_level, "what is known of the host is not remembered: %s: %s", self._file, error)
            self._failure_level = logging.DEBUG

    def _entries(self) -> list[_Entry]:
        try:
            entries = self._decoded()
        except FileNotFoundError:
            return []
        except (OSError, ValueError, RecursionError) as error:
            log.info("what is remembered of hosts is ignored: %s: %s", self._file, error)
            return []
        return [entry for entry in entries if entry.version is None or _is_consistent(entry.version)]

    def _decoded(self) -> list[_Entry]:
        return msgspec.json.decode(self._read(), type=_Document).entries

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
