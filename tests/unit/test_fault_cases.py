"""Every fault case has tests of its name, or a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests import fault_cases
from tests.fault_cases import CASES, GROUPS, REASONS, counted, figures, ids_in, passed, shown, shown_in

LAST = {"A": 4, "B": 6, "C": 4, "D": 7, "E": 7, "F": 8, "G": 9, "H": 7, "I": 10, "J": 8, "K": 5, "L": 12, "M": 5}
LAST |= {"N": 14, "O": 9, "P": 3, "Q": 4}


def test_the_cases_are_counted_through() -> None:
    whole = {f"{group}{number}" for group, last in LAST.items() for number in range(1, last + 1)}
    assert set(CASES) == whole and len(whole) == 122
    assert list(GROUPS) == list(LAST)
    assert {severity for severity, _ in CASES.values()} == {1, 2, 3}


def test_every_case_has_a_test_or_a_reason_and_not_both() -> None:
    tests = shown()
    assert [case for case in CASES if (case in tests) == (case in REASONS)] == []


def test_names_of_tests_name_cases_that_there_are() -> None:
    assert {case: tests for case, tests in shown().items() if case not in CASES} == {}


@pytest.mark.parametrize("case", REASONS)
def test_a_reason_is_told_in_sentences(case: str) -> None:
    assert case in CASES
    assert len(REASONS[case].split()) > 15


@pytest.mark.parametrize(
    ("name", "cases"),
    [
        ("test_a1_long_lines", ["A1"]),
        ("test_d5_d6_d7_odd_lines", ["D5", "D6", "D7"]),
        ("test_n10_host_never_becomes_ready", ["N10"]),
        ("test_utf8_text", []),
        ("test_a_host_of_1_4_2", []),
        ("a1_helper", []),
    ],
)
def test_a_name_tells_its_cases(name: str, cases: list[str]) -> None:
    assert ids_in(name) == cases


def test_tests_are_found_as_pytest_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault_cases, "TESTS", tmp_path)
    path = tmp_path / "test_x.py"
    path.write_text("def test_a1_b2_x(): ...\nclass TestIt:\n    async def test_c3_y(self): ...\ndef test_z(): ...\n")
    where = f"{tmp_path.name}/test_x.py"
    assert list(shown_in(path)) == [
        ("A1", f"{where}::test_a1_b2_x"),
        ("B2", f"{where}::test_a1_b2_x"),
        ("C3", f"{where}::TestIt::test_c3_y"),
    ]


def test_what_became_of_them_is_counted_by_group(tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    junit.write_text(
        '<testsuites><testsuite><testcase name="test_a1_x[1]"/><testcase name="test_a2_x"><failure/></testcase>'
        '<testcase name="test_a3_b1_x"><skipped/></testcase><testcase name="test_other"/></testsuite></testsuites>'
    )
    counts = counted(junit)
    assert counts["A"] == {"ran": 3, "passed": 1, "failed": 1, "skipped": 1}
    assert counts["B"] == {"ran": 1, "skipped": 1}
    assert [row[:4] for row in figures(counts).rows[:2]] == [
        [GROUPS["A"], "4", "3", "1"],
        [GROUPS["B"], "6", "1", "0"],
    ]


def test_a_case_whose_tests_were_skipped_is_not_shown(tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    junit.write_text(
        "<testsuites><testsuite>"
        '<testcase name="test_a1_long"/>'
        '<testcase name="test_a2_endless"><skipped/></testcase>'
        '<testcase name="test_b1_b2_bytes[1]"><skipped/></testcase>'
        '<testcase name="test_b1_b2_bytes[2]"/>'
        '<testcase name="test_c1_words"><failure/></testcase>'
        "</testsuite></testsuites>"
    )
    assert passed(junit) == {"A1", "B1", "B2"}
