"""A check in the making: the worst counts, nothing breaks the report, every check is bounded."""

from __future__ import annotations

import anyio
import pytest

from adapter.cli.doctor.finding import WHY, Finding, examine, skipped


def test_the_worst_of_what_was_found_is_the_status_and_everything_is_told() -> None:
    finding = Finding("handshake")
    finding.good("Fine.")
    finding.skip("Not known.")
    assert finding.check().status == "pass"
    finding.warn("Slow.", "Wait.")
    assert finding.check().status == "warn"
    finding.fail("Broken.", "Mend it.")
    finding.fail("Broken again.", "Mend it.")

    check = finding.check()

    assert (check.status, check.summary) == ("fail", "Fine. Not known. Slow. Broken. Broken again.")
    assert check.fix == "Wait. Mend it.", "the same advice once"
    assert check.details["why"] == WHY["handshake"]


def test_only_what_cannot_be_told_is_skipped() -> None:
    finding = Finding("login")
    finding.skip("Not known.")
    assert (finding.check().status, finding.check().fix) == ("skipped", None)


def test_words_of_others_cannot_move_the_cursor() -> None:
    finding = Finding("version")
    finding.good("said \x1b[2J\x07 this\r\nand\u202e that")
    assert finding.check().summary == "said [2J this and that"


@pytest.mark.anyio
async def test_a_check_that_breaks_is_a_failed_check() -> None:
    async def look(finding: Finding) -> None:
        finding.good("So far.")
        raise RuntimeError("no such luck as canary-0815")

    check = await examine("terminal", 5, look)

    assert check.status == "fail"
    assert f"(RuntimeError in {__name__}, line " in check.summary
    assert "canary-0815" not in check.summary, "its words may be anybody's"
    assert check.fix is not None


@pytest.mark.anyio
async def test_a_check_that_takes_too_long_is_given_up() -> None:
    async def look(finding: Finding) -> None:
        await anyio.sleep_forever()

    check = await examine("terminal", 0.01, look)

    assert (check.status, check.summary) == ("skipped", "It took more than 0.01 s and was given up.")


def test_a_check_that_rests_on_another_names_it() -> None:
    check = skipped("login", "handshake")
    assert (check.status, check.details["because"]) == ("skipped", "handshake")
    assert "handshake" in check.summary
