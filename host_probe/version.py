"""What a host says its version is: a line that `muse --version` prints, or the handshake's `serverInfo.version`.

Only a release that stands alone is a version: `1.2.1x`, `1.2.1-beta` and `1.2.1.4` are none, `11.2.1` is not `1.2.1`.
"""

import re
from collections.abc import Iterator
from enum import IntEnum

import msgspec

# Enough for any version line; what does not fit is of no use to the reader of a report either.
RAW_CHARACTERS = 200

_RELEASE = r"(?P<release>[0-9]+\.[0-9]+\.[0-9]+)"
_SUFFIX = r"(?P<suffix>-R[0-9]+(?:\.[0-9]+)*)"
_WHOLE = re.compile(f"{_RELEASE}{_SUFFIX}?")
_PARENTHESISED = re.compile(rf"\(\s*v?{_RELEASE}{_SUFFIX}\s*\)")
_STANDING_ALONE = re.compile(
    rf"""(?<![^\s(\["'/@=:]) v? {_RELEASE}{_SUFFIX}? (?= [)\]"',;:.!?]* (?:\s|$) )""",
    re.VERBOSE,
)

# Terminal decoration: CSI sequences (colours), OSC sequences (titles, links) and the short ones.
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")


class HostVersion(msgspec.Struct, frozen=True):
    """A host's version; `release` and `build` are None where they could not be told.

    `release` is `1.2.1`, `build` the full id, `1.2.1-R2847.1`. `raw` is the line they were read from, or the first line
    that says anything, without terminal decoration; of one with more than `RAW_CHARACTERS` characters only how long it
    is: what is cut off somewhere could be a part of a secret that nobody recognises any more.
    """

    release: str | None = None
    build: str | None = None
    raw: str = ""


class _Weight(IntEnum):
    """How much a line's version counts. A banner names other programs' versions, or a newer one, but hardly a build."""

    BARE = 0
    BARE_NAMING_MUSE = 1
    PARENTHESISED = 2
    PARENTHESISED_NAMING_MUSE = 3


def parse_version(stdout: bytes | str, stderr: bytes | str) -> HostVersion:
    """Read the version from what `muse --version` printed; stderr counts only if stdout has none (msp.md §5).

    A build id in parentheses comes before a bare release or build id, a line that names Muse before one that does not.
    If the lines that count most disagree, the version is unknown: two answers are no answer. Never raises.
    """
    printed = [list(_useful_lines(text)) for text in (stdout, stderr)]
    for lines in printed:
        weighed = [found for line in lines if (found := _version_in(line))]
        if weighed:
            most = max(weight for weight, _ in weighed)
            best = [version for weight, version in weighed if weight == most]
            agreed = len({(version.release, version.build) for version in best}) == 1
            return best[0] if agreed else HostVersion(raw=best[0].raw)
    return HostVersion(raw=_first([*printed[0], *printed[1]]))


def parse_server_version(text: str) -> HostVersion:
    """Read a handshake's `serverInfo.version`: the whole text must be a release or a build id. Never raises."""
    raw = _first(_useful_lines(text))
    whole = _WHOLE.fullmatch(text)
    return _version(whole, raw) if whole else HostVersion(raw=raw)


def _version_in(line: str) -> tuple[_Weight, HostVersion] | None:
    names_muse = "muse" in line.lower()
    if match := _PARENTHESISED.search(line):
        weight = _Weight.PARENTHESISED_NAMING_MUSE if names_muse else _Weight.PARENTHESISED
    elif match := _STANDING_ALONE.search(line):
        weight = _Weight.BARE_NAMING_MUSE if names_muse else _Weight.BARE
    else:
        return None
    return weight, _version(match, _raw(line))


def _version(match: re.Match[str], raw: str) -> HostVersion:
    release, suffix = match["release"], match["suffix"]
    return HostVersion(release=release, build=release + suffix if suffix else None, raw=raw)


def _first(lines: Iterator[str] | list[str]) -> str:
    return _raw(next(iter(lines), ""))


def _raw(line: str) -> str:
    return line if len(line) <= RAW_CHARACTERS else f"({len(line)} characters in one line)"


def _useful_lines(text: bytes | str) -> Iterator[str]:
    if isinstance(text, bytes):
        text = text.decode("utf-8", errors="replace")
    # A control character becomes a space: dropping it would join `1` and `1.2.1` to `11.2.1`.
    plain = _CONTROLS.sub(" ", _ESCAPES.sub("", text))
    return (line for line in map(str.strip, plain.splitlines()) if line)
