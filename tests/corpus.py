"""The official MSP transcripts, where a checkout has them beside it. They are test data, no part of this project."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import orjson
import pytest

Direction = Literal["client", "server"]

CORPUS = Path(__file__).resolve().parents[2] / "shared" / "msp-corpus"

needs_corpus = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="the official MSP transcripts are not beside this checkout"
)


def scenarios() -> list[str]:
    """The names of the transcripts, none where the corpus is absent."""
    return sorted(path.parent.name for path in CORPUS.glob("*/transcript.ndjson"))


def lines(scenario: str) -> list[tuple[Direction, str]]:
    """Direction and raw frame text, in the order of the wire."""
    text = (CORPUS / scenario / "transcript.ndjson").read_text("utf-8")
    return [(line["dir"], line["raw"]) for line in map(orjson.loads, text.split("\n")[:-1])]


def frames(scenario: str) -> list[tuple[Direction, Any]]:
    """Direction and decoded frame, in the order of the wire."""
    return [(direction, orjson.loads(raw)) for direction, raw in lines(scenario)]
