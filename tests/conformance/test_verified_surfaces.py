"""A release is verified together with recordings that prove it."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from host_probe.surfaces import VERIFIED_SURFACES, VerifiedSurface

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("entry", VERIFIED_SURFACES, ids=lambda entry: entry.release)
def test_the_evidence_holds_a_recorded_read(entry: VerifiedSurface) -> None:
    recorded = [
        orjson.loads(orjson.loads(line)["raw"]).get("method")
        for transcript in (ROOT / entry.evidence).glob("*/transcript.ndjson")
        for line in transcript.read_bytes().splitlines()
    ]
    assert recorded.count("item/readOutput") >= 1
