"""Which host is this, and what has been verified about it.

Finds the executable, asks it for its version (bounded, and remembered on disk), and holds the table of what is
verified on which version. It speaks no protocol and imports nothing of the adapter.
"""

from host_probe.abilities import Abilities
from host_probe.cache import VersionCache, default_directory
from host_probe.flags import serve_flags
from host_probe.identity import BinaryIdentity, identify
from host_probe.locate import Attempt, Found, NotFound, every_muse, find_muse, home_directory
from host_probe.probe import (
    VERSION_TIMEOUT,
    Probe,
    VersionAsked,
    ask_version,
    cached_version,
    hear_version,
    probe_version,
)
from host_probe.surfaces import (
    Unverified,
    Verified,
    VerifiedSurface,
    is_newer_than_known,
    known_fingerprint,
    releases_verified_for_reading,
    verified_for_reading,
)
from host_probe.version import HostVersion, parse_server_version, parse_version

__all__ = [
    "VERSION_TIMEOUT",
    "Abilities",
    "Attempt",
    "BinaryIdentity",
    "Found",
    "HostVersion",
    "NotFound",
    "Probe",
    "Unverified",
    "Verified",
    "VerifiedSurface",
    "VersionAsked",
    "VersionCache",
    "ask_version",
    "cached_version",
    "default_directory",
    "every_muse",
    "find_muse",
    "hear_version",
    "home_directory",
    "identify",
    "is_newer_than_known",
    "known_fingerprint",
    "parse_server_version",
    "parse_version",
    "probe_version",
    "releases_verified_for_reading",
    "serve_flags",
    "verified_for_reading",
]
