"""The official transcripts pass the type oracle, with the listed tolerances and with no more than they need."""

from __future__ import annotations

from typing import Any

import pytest

from tests import corpus
from tests.oracles.msp_types import CORPUS, NEWEST, OLDER_HOST_GAPS, Direction, check_transcript

pytestmark = corpus.needs_corpus


def dialogue(scenario: str) -> list[tuple[Direction, Any]]:
    return [("client" if frame.sender == "client" else "server", frame.message) for frame in corpus.frames(scenario)]


@pytest.mark.parametrize("scenario", corpus.scenarios())
def test_an_official_transcript_passes(scenario: str) -> None:
    check_transcript(dialogue(scenario), profile=CORPUS)


@pytest.mark.parametrize("scenario", ["tolerance-unknown-item-kind", "tolerance-unknown-state-method"])
def test_things_only_a_newer_host_sends_are_refused_when_the_vocabulary_is_closed(scenario: str) -> None:
    with pytest.raises(AssertionError):
        check_transcript(dialogue(scenario), profile=CORPUS, closed=True)


def test_every_tolerance_is_needed() -> None:
    refused = {}
    for scenario in corpus.scenarios():
        try:
            check_transcript(dialogue(scenario), profile=NEWEST)
        except AssertionError as problem:
            refused[scenario] = str(problem)
    for type_name, member in OLDER_HOST_GAPS[CORPUS]:
        assert any(f"{member!r} of {type_name}" in problem for problem in refused.values())
    assert all(any(m in p for _, m in OLDER_HOST_GAPS[CORPUS]) for p in refused.values()), refused
