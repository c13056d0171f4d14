"""What `muse-adapter doctor` found, and the document it makes of it (`docs/doctor.md`)."""

from __future__ import annotations

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
        members = {"schema": SCHEMA, "ok": self.ok, **msgspec.to_builtins(self)}
        return msgspec.json.format(msgspec.json.encode(members), indent=2) + b"\n"
