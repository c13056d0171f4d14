"""`muse-adapter doctor` as a process, and the shape of what it writes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import orjson

from tests.output_command import Done, ended, start
from tests.scripted_hosts import Json

SCHEMA: Json = {
    "type": "object",
    "additionalProperties": False,
    "required": ["schema", "ok", "adapter", "host", "checks", "negotiation"],
    "properties": {
        "schema": {"const": 1},
        "ok": {"type": "boolean"},
        "adapter": {
            "type": "object",
            "required": ["version", "python", "platform"],
            "properties": {"version": {"type": "string"}},
        },
        "host": {
            "type": "object",
            "additionalProperties": False,
            "required": ["path", "version", "build", "source"],
            "properties": {name: {"type": ["string", "null"]} for name in ("path", "version", "build", "source")},
        },
        "checks": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["id", "status", "summary", "details", "fix"],
                "properties": {
                    "id": {"type": "string"},
                    "status": {"enum": ["pass", "warn", "fail", "skipped"]},
                    "summary": {"type": "string", "minLength": 1},
                    "details": {"type": "object", "required": ["why"]},
                    "fix": {"type": ["string", "null"], "minLength": 1},
                },
            },
        },
        "negotiation": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["client", "offered", "withheld"],
                "properties": {
                    "client": {"type": "string"},
                    "offered": {"type": "array", "items": {"type": "string"}},
                    "withheld": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "additionalProperties": False,
                            "required": ["feature", "reason"],
                            "properties": {"feature": {"type": "string"}, "reason": {"type": "string", "minLength": 1}},
                        },
                    },
                },
            },
        },
    },
}
"""The document's shape, as the issue and `docs/doctor.md` have it."""


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
