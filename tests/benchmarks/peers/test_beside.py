"""Rows of peers beside ours, from what they would have taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.peers import beside
from tests.benchmarks.peers.beside import Measurable
from tests.benchmarks.peers.running import NotMeasured


def taking(seconds: float) -> Callable[..., float]:
    return lambda *_: seconds


def refusing(*_: Any) -> float:
    raise NotMeasured("there is no stand-in")


OURS = Measurable("ours", "1", taking(0.1), taking(0.5))


def test_a_peer_is_told_beside_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "INSTALLED_IN", tmp_path / "peers")
    row = beside._beside(Measurable("other", "2", taking(0.3), taking(2.5)), OURS, tmp_path, 3)
    assert (row.start, row.start_ratio, row.stream, row.stream_ratio) == pytest.approx((0.3, 3.0, 2.5, 5.0))
    assert row.row() == "| other | 2 | 300 | 3.00 | 2,000 | 5.00 |  |"


def test_one_that_does_only_part_of_it_has_that_and_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "INSTALLED_IN", tmp_path / "peers")
    row = beside._beside(Measurable("other", "2", taking(0.3), refusing), OURS, tmp_path, 1)
    assert row.row() == "| other | 2 | 300 | 3.00 | - | - | there is no stand-in |"
    none = beside._beside(Measurable("other", "2", refusing, refusing), OURS, tmp_path, 1)
    assert none.reason == "there is no stand-in" and none.start is none.stream_ratio is None
