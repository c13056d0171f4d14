"""Every point of the checklist for agents has a test or a reason, and the document says which."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.checklist import POINTS, REASONS, document, shown, shown_in
from tests.write_docs import CONFORMANCE


def test_the_points_are_counted_through() -> None:
    assert list(POINTS) == list(range(1, 111))


def test_markers_name_points_that_there_are() -> None:
    assert {number: tests for number, tests in shown().items() if number not in POINTS} == {}


def test_every_point_has_a_test_or_a_reason() -> None:
    assert sorted(set(POINTS) - set(shown()) - set(REASONS)) == []


def test_reasons_belong_to_points_and_are_sentences() -> None:
    assert set(REASONS) <= set(POINTS)
    assert all(len(reason.split()) > 3 for reason in REASONS.values())


def test_the_document_is_what_the_markers_say() -> None:
    assert CONFORMANCE.read_text("utf-8") == document(), "run `make docs`"


def test_markers_are_found_on_functions_classes_and_methods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.checklist.TESTS", tmp_path)
    path = tmp_path / "test_x.py"
    path.write_text(
        "@pytest.mark.acp(1, 2)\ndef test_a(): ...\n"
        "@pytest.mark.acp(3)\nclass TestB:\n    @pytest.mark.acp(4)\n    def test_c(self): ...\n"
        "@pytest.mark.parametrize('x', [9])\nasync def test_d(x): ...\n"
    )
    where = f"{tmp_path.name}/test_x.py"
    assert list(shown_in(path)) == [
        (1, f"{where}::test_a"),
        (2, f"{where}::test_a"),
        (3, f"{where}::TestB::test_c"),
        (4, f"{where}::TestB::test_c"),
    ]
