"""Redacted, every transcript there is still has the official types, and plays for the client that was recorded."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from adapter.hosts.recorded import Line, Manifest, Mismatch, Player, Script, load_script
from adapter.hosts.recorder.recording import VARIABLES
from adapter.hosts.recorder.redact import Redactor
from tests import corpus
from tests.oracles.msp_types import CORPUS, check_transcript
from tests.record_fixtures import FIXTURES

PROBE = "futureOptionalField"
"""A member that no type has, by which one transcript asks what the host thinks of it. Its name is replaced."""

OURS = sorted(path.parent for path in FIXTURES.glob("*/*/transcript.ndjson"))


def redacted(script: Script) -> Script:
    """The script as it would be had it been recorded with `--redact`."""
    redactor = Redactor()
    lines = []
    for line in script.lines:
        if line.frame is None:
            lines.append(Line(line.number, line.direction, redactor.line(line.raw), None))
            continue
        frame = redactor.frame(line.frame, of_client=line.direction == "client")
        lines.append(Line(line.number, line.direction, orjson.dumps(frame).decode(), frame))
    return Script(tuple(lines), Manifest(variables=frozenset(VARIABLES["msp"]) | redactor.variables))


def check(script: Script, profile: str) -> None:
    stand_in = redacted(script)
    pairs = zip(script.lines, stand_in.lines, strict=True)
    lines = [recorded if PROBE in recorded.raw else line for recorded, line in pairs]
    check_transcript([(line.direction, line.frame) for line in lines if line.frame is not None], profile=profile)
    player = Player(stand_in)
    for line in script.lines:
        if line.direction == "client":
            assert line.frame is not None
            answer = player.feed(line.frame)
            assert not isinstance(answer, Mismatch), str(answer)
    assert player.unfinished() is None


@corpus.needs_corpus
@pytest.mark.parametrize("scenario", corpus.scenarios())
def test_official_transcripts(scenario: str) -> None:
    check(load_script(corpus.CORPUS / scenario), CORPUS)


@pytest.mark.parametrize("directory", OURS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_our_recordings(directory: Path) -> None:
    check(load_script(directory), directory.parent.name)
