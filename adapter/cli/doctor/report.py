"""What `muse-adapter doctor` found, and the document it makes of it (`docs/doctor.md`)."""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec

SCHEMA: Final = 1
"""The version of the document's shape. Members may be added to it; it rises when one changes or goes."""

Status = Literal["pass", "warn", "fail", "skipped"]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at.

    `summary` is a sentence that says what was found. `details` has `why`, a sentence that says why it matters, and the
    facts for programs. `fix` is a sentence that says what to do, None if there is nothing to do.
    """

    id: str
    status: Status
    summary: str
    details: dict[str, Any]
    fix: str | None = None


class Withheld(msgspec.Struct, frozen=True):
    """A feature that a client is not offered, and a sentence that says why."""

    feature: str
    reason: str


class Offer(msgspec.Struct, frozen=True):
    """What one kind of client would be offered."""

    client: str
    offered: tuple[str, ...]
    withheld: tuple[Withheld, ...]


class HostFacts(msgspec.Struct, frozen=True):
    """Which Muse was found; None where it cannot be told. `source` is where it was found or that it is a stand-in."""

    path: str | None = None
    version: str | None = None
    build: str | None = None
    source: str | None = None


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """All of it."""

    adapter: dict[str, Any]
    host: HostFacts
    checks: tuple[Check, ...]
    negotiation: tuple[Offer, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return all(check.status != "fail" for check in self.checks)

    def document(self) -> bytes:
        """The report as one JSON document with a line's end behind it."""
        return document({"schema": SCHEMA, "ok": self.ok, **msgspec.to_builtins(self)})

    def legible(self) -> Report:
        """The report as it can be written (`legible`)."""
        return msgspec.convert(legible(msgspec.to_builtins(self)), Report)


def document(value: Any) -> bytes:
    """A value as JSON for people and programs, with a line's end behind it."""
    return msgspec.json.format(msgspec.json.encode(legible(value)), indent=2) + b"\n"


def legible(value: Any) -> Any:
    """The value with a replacement character for every byte of a path, a name or an argument that is no UTF-8: Python
    holds that as half a character, which nothing can write."""
    if isinstance(value, str):
        return _HALVES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {legible(name): legible(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [legible(one) for one in value]
    return value


_HALVES: Final = re.compile("[\ud800-\udfff]")
