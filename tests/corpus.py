"""The official MSP transcripts, where a copy of them lies beside the repository; they are not part of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "msp-corpus"

needs_corpus = pytest.mark.skipif(not CORPUS.is_dir(), reason="the official MSP transcripts are not here")


class Frame(NamedTuple):
    """One line of a transcript: who sent it, the exact text, and what it says."""

    sender: str
    raw: str
    message: dict[str, Any]


def scenarios() -> list[str]:
    """Names of all transcripts, sorted; empty where the corpus is absent."""
    return sorted(path.parent.name for path in CORPUS.glob("*/transcript.ndjson"))


def frames(scenario: str) -> list[Frame]:
    lines = (CORPUS / scenario / "transcript.ndjson").read_bytes().splitlines()
    parsed = [orjson.loads(line) for line in lines if line.strip()]
    return [Frame(line["dir"], line["raw"], orjson.loads(line["raw"].strip())) for line in parsed]


def answers(scenario: str, method: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The requests of `method` the client made, as (params, response message)."""
    transcript = frames(scenario)
    asked = {
        f.message["id"]: f.message for f in transcript if f.sender == "client" and f.message.get("method") == method
    }
    return [
        (asked[frame.message["id"]].get("params", {}), frame.message)
        for frame in transcript
        if frame.sender == "server" and "method" not in frame.message and frame.message.get("id") in asked
    ]
