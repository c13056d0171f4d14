"""`muse-adapter doctor` as a process, and the shape of what it writes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
import orjson

from tests.output_command import Done, ended, start
from tests.scripted_hosts import Json


class CheckShape(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    status: Literal["pass", "warn", "fail", "skipped"]
    summary: Annotated[str, msgspec.Meta(min_length=1)]
    details: dict[str, Any]
    fix: Annotated[str, msgspec.Meta(min_length=1)] | None


class WithheldShape(msgspec.Struct, forbid_unknown_fields=True):
    feature: str
    reason: Annotated[str, msgspec.Meta(min_length=1)]


class OfferShape(msgspec.Struct, forbid_unknown_fields=True):
    client: str
    offered: list[str]
    withheld: list[WithheldShape]


class HostShape(msgspec.Struct, forbid_unknown_fields=True):
    path: str | None
    version: str | None
    build: str | None
    source: str | None


class AdapterShape(msgspec.Struct, forbid_unknown_fields=True):
    version: str
    python: str
    platform: str


class Shape(msgspec.Struct, forbid_unknown_fields=True):
    """The document, as `docs/doctor.md` has it: every member is there and no other."""

    schema: Literal[1]
    ok: bool
    adapter: AdapterShape
    host: HostShape
    checks: list[CheckShape]
    negotiation: list[OfferShape]


def assert_shape(found: Json) -> None:
    """The document has the shape that is documented."""
    shape = msgspec.convert(found, Shape)
    assert all(check.details["why"] for check in shape.checks)


def environ(home: Path, **more: str) -> dict[str, str]:
    """Ours, without what would matter to Muse."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_", "META_"))}
    return {**kept, "HOME": str(home), "TERM": "xterm", **more}


def begin(home: Path, *arguments: str, muse: str | None = "simulated", **more: str) -> subprocess.Popen[bytes]:
    choice = ["--muse", muse] if muse is not None else []
    return start(*choice, "doctor", *arguments, environ=environ(home, **more))


def doctor(home: Path, *arguments: str, muse: str | None = "simulated", **more: str) -> Done:
    return ended(begin(home, *arguments, muse=muse, **more))


def document(home: Path, *arguments: str, muse: str | None = "simulated", **more: str) -> Json:
    """The report of a run that must go well, as far as its exit code and stdout say."""
    done = doctor(home, "--json", *arguments, muse=muse, **more)
    found: Json = orjson.loads(done.stdout)
    assert done.code == (0 if found["ok"] else 1), done
    assert b"Traceback" not in done.stdout and "Traceback" not in done.stderr
    return found


def checks(found: Json) -> dict[str, Json]:
    return {check["id"]: check for check in found["checks"]}
