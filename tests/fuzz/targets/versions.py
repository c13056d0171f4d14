"""What hosts say of their version (`msp.md §5`): nothing raises, a version is told only if it stands alone in what was
printed, and what is kept of the line is short and cannot act on a terminal."""

from __future__ import annotations

import re

from host_probe.surfaces import verified_for_reading
from host_probe.version import RAW_CHARACTERS, HostVersion, parse_server_version, parse_version

_RELEASE = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


def one(data: bytes) -> None:
    """Stdout, and behind a NUL and an LF stderr."""
    stdout, _, stderr = data.partition(b"\0\n")
    printed = parse_version(stdout, stderr)
    _check(printed, (stdout + b"\n" + stderr).decode("utf-8", "replace"))
    text = data.decode("utf-8", "replace")
    told = parse_server_version(text)
    _check(told, text)
    assert told.release is None or text in (told.release, told.build), "the whole text is the version"
    if printed.release is not None:
        spelled = printed.build or printed.release
        again = parse_server_version(spelled)
        assert (again.release, again.build) == (printed.release, printed.build), "it can be told again"


def _check(version: HostVersion, text: str) -> None:
    assert len(version.raw) <= RAW_CHARACTERS and not _CONTROL.search(version.raw)
    assert version.release is not None or version.build is None
    if version.release is not None:
        assert _RELEASE.fullmatch(version.release)
        assert version.build is None or version.build.startswith(f"{version.release}-R")
        plain = re.sub(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])", "", text)
        assert (version.build or version.release) in plain, "it was printed"
    verified_for_reading(version)
