"""Ids this client mints."""

from __future__ import annotations

import time
import uuid

import pytest

from adapter.msp.ids import uuid7


def test_is_a_version_7_uuid_of_now() -> None:
    before = time.time_ns() // 1_000_000
    minted = uuid.UUID(uuid7())
    assert minted.version == 7
    assert minted.variant == uuid.RFC_4122
    # Earlier ids of this process may have borrowed a few milliseconds.
    assert before <= minted.int >> 80 <= time.time_ns() // 1_000_000 + 1000


def test_is_written_in_canonical_form() -> None:
    minted = uuid7()
    assert minted == str(uuid.UUID(minted))


def test_ids_only_grow_within_one_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    frozen = time.time_ns()
    monkeypatch.setattr("adapter.msp.ids.time.time_ns", lambda: frozen)
    minted = [uuid7() for _ in range(10_000)]  # more than the 4096 of one millisecond
    assert minted == sorted(set(minted))


def test_ids_only_grow_when_the_clock_steps_back(monkeypatch: pytest.MonkeyPatch) -> None:
    first, now = uuid7(), time.time_ns()
    monkeypatch.setattr("adapter.msp.ids.time.time_ns", lambda: now - 3_600_000_000_000)
    assert first < uuid7() < uuid7()
