"""Notes about a noisy peer are few."""

from __future__ import annotations

import logging

import pytest

from adapter.wire.notes import NOTES_PER_WINDOW, WINDOW_SECONDS, RateLimited


def test_a_flood_leaves_a_few_notes_and_a_count(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr("adapter.wire.notes.time.monotonic", lambda: now)
    limited = RateLimited(logging.getLogger("adapter.wire"))
    for number in range(NOTES_PER_WINDOW + 990):
        limited.warning("odd line %d", number)
    assert len(caplog.records) == NOTES_PER_WINDOW
    now += WINDOW_SECONDS + 1
    limited.warning("odd line again")
    assert [record.getMessage() for record in caplog.records[NOTES_PER_WINDOW:]] == [
        "990 more notes of the last minute were left out",
        "odd line again",
    ]


def test_a_failure_brings_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    limited = RateLimited(logging.getLogger("adapter.wire"))
    for _ in range(NOTES_PER_WINDOW + 1):
        limited.failure(KeyError("colour"), "%s failed", "session/new")
    assert len(caplog.records) == NOTES_PER_WINDOW
    assert caplog.records[0].getMessage() == "session/new failed"
    assert "KeyError: 'colour'" in caplog.text
