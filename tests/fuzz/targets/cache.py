"""The file of what is known of hosts: whatever is in it, nothing raises, only what is right is believed, and it is
written anew so that it can be read."""

from __future__ import annotations

from host_probe.cache import FILE_NAME, MAX_BYTES, VersionCache
from host_probe.identity import BinaryIdentity
from host_probe.version import HostVersion, parse_server_version
from tests.fuzz.memory import folder

KNOWN = BinaryIdentity(real_path="/opt/muse", size=1, mtime_ns=2, inode=3, arguments=())
"""One that the corpus knows."""

_FOLDER = folder("cache")


def one(data: bytes) -> None:
    """The bytes are the file."""
    cache = VersionCache(_FOLDER)
    file = _FOLDER / FILE_NAME
    file.write_bytes(data)
    problem = cache.problem()
    assert problem is None or (problem and len(problem) < 200)
    before = cache.get(KNOWN)
    assert problem is None or before is None, "what is damaged is not believed"
    if before is not None:
        told = parse_server_version(before.build or before.release or "")
        assert (before.release, before.build) == (told.release, told.build)
    cache.abilities(KNOWN)
    cache.flags(KNOWN)
    cache.is_outdated(KNOWN)
    version = HostVersion(release="9.8.7", build="9.8.7-R1", raw="9.8.7-R1")
    cache.put(KNOWN, version)
    cache.put_flags(KNOWN, frozenset({"--no-shell"}))
    assert cache.get(KNOWN) == version and cache.flags(KNOWN) == frozenset({"--no-shell"})
    assert cache.problem() is None and file.stat().st_size <= MAX_BYTES
