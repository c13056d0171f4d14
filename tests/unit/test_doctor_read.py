"""A read walked check by check: where it stops, what is said about it, and that nothing else is done."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapter.bridge.hosts.host_choice import HostChoice
from adapter.bridge.stored_output import contract, host_reads
from adapter.cli.doctor import read_walk
from adapter.cli.doctor.conclusion import conclusion
from adapter.cli.doctor.read_advice import FIXES, ODD_ANSWER, advice
from adapter.cli.doctor.read_walk import PIECE_BYTES, STEPS, walk
from adapter.cli.doctor.report import Check, HostFacts, Report
from tests.output_hosts import (
    ITEM,
    REF,
    SESSION,
    CrashingHost,
    DeafHost,
    OutputHost,
    calls,
    choice_of,
    methods,
    other_events,
    reference,
    revised,
    stored,
)
from tests.processes import assert_gone
from tests.scripted_hosts import Placed, ScriptedHost, place

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="the stand-ins are scripts"),
]

ALL_IT_ASKS = ["initialize", "initialized", "session/read", "view/page", "item/readOutput"]


def placed_in(tmp_path: Path, host: type[ScriptedHost] = OutputHost, **settings: Any) -> Placed:
    return place(tmp_path / "host", host, **{"workspace": str(tmp_path), **settings})


def closing(checks: Sequence[Check]) -> str:
    report = Report(adapter={}, host=HostFacts(), checks=tuple(checks), negotiation=())
    return conclusion(report)


async def walked(placed: Placed, session_id: str = SESSION, item_id: str = ITEM, seconds: float = 20.0) -> list[Check]:
    """The checks; whatever comes of them, only what a read needs was asked, and nothing is left or remembered."""
    checks = await walk(choice_of(placed, seconds), session_id, item_id)
    assert [check.id for check in checks] == [f"read.{number}" for number in range(1, 14)]
    assert [check.details["name"] for check in checks] == [step.name for step in STEPS]
    assert methods(placed) == ALL_IT_ASKS[: len(methods(placed))]
    served = [call for call in calls(placed) if call[:1] == ["serve"] and "--help" not in call]
    assert served in ([], [["serve", "--disable-write", "--disable-shell"]])
    assert not list(placed.directory.rglob("versions.json"))
    assert_gone(placed.pids())
    msgspec.json.encode(checks)
    return list(checks)


def stop(checks: list[Check]) -> Check:
    """The check at which it stopped; those before have passed, those behind were not reached."""
    at = next(index for index, check in enumerate(checks) if check.status == "fail")
    assert [check.status for check in checks] == ["pass"] * at + ["fail"] + ["skipped"] * (12 - at)
    for check in checks[at + 1 :]:
        assert check.summary == f"Not reached: the read stopped at check {at + 1}."
    return checks[at]


async def test_a_whole_read_passes_all_of_them(tmp_path: Path) -> None:
    placed = placed_in(tmp_path)
    checks = await walked(placed)
    assert {check.status for check in checks} == {"pass"}
    assert {check.fix for check in checks} == {None}
    assert methods(placed) == ALL_IT_ASKS
    assert [number for number, check in enumerate(checks, 1) if check.details["played"]] == [1, 4, 13]
    for number in (1, 4, 13):
        assert checks[number - 1].summary.startswith("Played")
    facts = {name: value for check in checks for name, value in check.details.items()}
    assert facts["serverVersion"] == facts["hostVersion"] == "1.2.1"
    assert (facts["workspace"], facts["outputRef"]) == (str(tmp_path), REF)
    assert (facts["pagesScanned"], facts["eventsScanned"], facts["availability"]) == (1, 1, "available")
    assert checks[9].details["byteLen"] == 300_000
    served = facts["servedBytes"]
    assert PIECE_BYTES - 4 < served <= facts["requestedBytes"] == PIECE_BYTES
    assert f"{300_000 - served:,} bytes are left; there is no digest" in checks[11].summary
    assert (facts["eof"], facts["digest"], facts["encoding"]) == (False, "none", "utf8")
    asked = placed.received("item/readOutput")[0]["params"]
    assert (asked["outputRef"], asked["offsetBytes"], asked["lengthBytes"]) == (REF, 0, PIECE_BYTES)


UNKNOWN_ITEM = {"pages": [other_events(30)]}
REFUSED = {"code": -32603, "message": "the store is on fire", "data": {"kind": "internalError"}}


def ambiguous(kind: str = "sessionAmbiguous") -> dict[str, Any]:
    return {"code": -32020, "message": "no", "data": {"kind": kind}}


def refuses(kind: str, code: int = -32603, **data: Any) -> dict[str, Any]:
    error = {"code": code, "message": kind, "data": {"kind": kind, **data}}
    return {"refusals": {"item/readOutput": error}}


ODD_LENGTHS: tuple[Any, ...] = (None, -1, 1.5, True, "7", [], 2**80)
NAMES = ("content", "encoding", "mediaType", "offsetBytes", "byteLen", "eof")

STOPS: list[tuple[int, str, int, dict[str, Any]]] = [
    (2, "outputNotAdvertised", -32601, {"shown": "1.3.0"}),
    (6, "hostVersionUnverified", -32603, {"version": "1.3.0"}),
    (7, "sessionNotStored", -32002, {"session_member": "ses-other"}),
    (7, "workspaceMismatch", -32002, {"workspace": None}),
    (7, "hostError", -32603, {"refusals": {"session/read": REFUSED}}),
    (7, "hostDied", -32603, {"deaths": ["session/read"]}),
    (8, "outputNotFound", -32002, UNKNOWN_ITEM),
    (8, "outputNotFound", -32002, {"pages": [[revised()]]}),
    (8, "inconsistentPage", -32603, {"pages": [{"result": {}}]}),
    (9, "outputUnavailable", -32002, {"pages": [[revised(outputRef=reference(availability="missing"))]]}),
    (11, "offsetInsideCharacter", -32602, refuses("invalidParams", -32602)),
    (11, "outputUnavailable", -32002, refuses("outputUnavailable", availability="accessFailed")),
    (11, "outputNotFound", -32002, refuses("notFound")),
    (11, "pieceTooLarge", -32603, refuses("outputResultTooLarge")),
    (11, "hostDied", -32603, {"deaths": ["item/readOutput"]}),
    (12, "inconsistentPage", -32603, {"page": {"offsetBytes": 7}}),
    *[(12, "inconsistentPage", -32603, {"page": {"byteLen": odd}}) for odd in ODD_LENGTHS],
    (12, "inconsistentPage", -32603, {"page": dict.fromkeys(NAMES)}),
    (7, "workspaceMismatch", -32002, {"workspace": ""}),
    (7, "workspaceMismatch", -32002, {"workspace": "srv/orchard"}),
    (7, "workspaceMismatch", -32002, {"workspace": "/srv/\0"}),
]


@pytest.mark.parametrize(("number", "reason", "code", "settings"), STOPS)
async def test_it_stops_where_a_read_stops(
    tmp_path: Path, number: int, reason: str, code: int, settings: dict[str, Any]
) -> None:
    placed = placed_in(tmp_path, **settings)
    stopped = stop(await walked(placed))
    assert stopped.id == f"read.{number}"
    data = stopped.details["error"]["data"]
    assert (stopped.details["error"]["code"], data["reason"]) == (code, reason)
    assert stopped.summary.endswith(f" ({reason}).")
    assert stopped.fix == advice(reason, data["details"], choice_of(placed), SESSION)


@pytest.mark.parametrize(
    ("settings", "says", "fix"),
    [
        ({"refusals": {"session/read": ambiguous()}}, "The host has more than one session by this id", ODD_ANSWER),
        ({"session_member": 7}, "The host's answer does not hold the session", ODD_ANSWER),
        (
            {"refusals": {"session/read": ambiguous("sessionNotFound")}},
            "The host has not stored",
            FIXES["sessionNotStored"],
        ),
    ],
    ids=["ambiguous", "malformed", "missing"],
)
async def test_a_session_that_is_not_read_is_called_missing_only_if_it_is(
    tmp_path: Path, settings: dict[str, Any], says: str, fix: str
) -> None:
    stopped = stop(await walked(placed_in(tmp_path, **settings)))
    assert (stopped.id, stopped.fix) == ("read.7", fix)
    assert stopped.summary.startswith(says) and stopped.summary.endswith("(sessionNotStored).")


async def test_advice_is_about_the_muse_that_was_chosen(tmp_path: Path) -> None:
    placed = place(tmp_path / "a b", OutputHost, workspace=str(tmp_path / "gone"))
    checks = await walked(placed)
    assert checks[6].fix == f"Bring the folder back, or read with `muse-adapter --muse '{placed.muse}' output`."
    not_found = advice("outputNotFound", "", choice_of(placed), "ses 1")
    assert not_found is not None and f"`muse-adapter --muse '{placed.muse}' output 'ses 1'`" in not_found
    assert advice("hostStartFailed", "", choice_of(placed), SESSION) == (
        f"Run `'{placed.muse}' serve` in a terminal to see what it says."
    )
    nowhere = HostChoice({}, tmp_path, str(tmp_path / "nowhere"))
    assert advice("hostDied", "", nowhere, SESSION) == (
        "Try again. If it happens again: run `muse serve` in a terminal to see what it says."
    )


@pytest.mark.parametrize(
    ("host", "reason", "seconds"), [(CrashingHost, "hostStartFailed", 20.0), (DeafHost, "hostStartTimeout", 0.5)]
)
async def test_a_host_that_does_not_become_ready_stops_it(
    tmp_path: Path, host: type[ScriptedHost], reason: str, seconds: float
) -> None:
    placed = placed_in(tmp_path, host)
    stopped = stop(await walked(placed, seconds=seconds))
    assert (stopped.id, stopped.details["error"]["data"]["reason"]) == ("read.5", reason)
    assert stopped.fix == advice(reason, "", choice_of(placed), SESSION)


async def test_somebody_who_waits_does_not_wait_for_the_whole_start_up_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_walk.START_SECONDS == 30.0
    monkeypatch.setattr(read_walk, "START_SECONDS", 0.5)
    stopped = stop(await walked(placed_in(tmp_path, DeafHost), seconds=120.0))
    assert stopped.details["error"]["data"]["budgetSeconds"] == 0.5


async def test_a_host_that_stops_answering_stops_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_reads, "READ_SECONDS", 0.3)
    stopped = stop(await walked(placed_in(tmp_path, silent=["view/page"])))
    assert (stopped.id, stopped.fix) == ("read.8", FIXES["readTimeout"])


@pytest.mark.parametrize(("session_id", "item_id"), [("", ITEM), (SESSION, "x" * 1025)])
async def test_ids_that_are_none_reach_no_host(tmp_path: Path, session_id: str, item_id: str) -> None:
    placed = placed_in(tmp_path)
    stopped = stop(await walked(placed, session_id, item_id))
    assert (stopped.id, stopped.fix) == ("read.3", advice("invalidParams", "", choice_of(placed), session_id))
    assert not methods(placed)


async def test_another_session_is_not_found(tmp_path: Path) -> None:
    assert stop(await walked(placed_in(tmp_path), session_id="ses-medlar")).id == "read.7"


async def test_without_muse_it_stops_where_the_version_is_needed(tmp_path: Path) -> None:
    checks = await walk(HostChoice({}, tmp_path, str(tmp_path / "nowhere")), SESSION, ITEM)
    stopped = stop(list(checks))
    assert stopped.id == "read.2"
    assert "Muse was not found" in stopped.summary
    assert stopped.fix == "See the checks `executable` and `version`."


def test_there_is_advice_for_every_stop_and_for_nothing_else() -> None:
    by_time_and_ids = {"hostStartFailed", "hostStartTimeout", "readTimeout", "invalidParams"}
    assert set(FIXES) == {reason for _, reason, _, _ in STOPS} | by_time_and_ids


async def test_what_was_looked_through_in_vain_is_counted(tmp_path: Path) -> None:
    pages = [other_events(3) for _ in range(4)]
    data = stop(await walked_on(placed_in(tmp_path, pages=pages))).details["error"]["data"]
    assert (data["pagesScanned"], data["eventsScanned"], data["historyExhausted"]) == (4, 12, True)


async def test_history_is_looked_through_as_far_as_a_read_does(tmp_path: Path) -> None:
    placed = placed_in(tmp_path, pages=[other_events(1)] * 30)
    data = stop(await walked_on(placed)).details["error"]["data"]
    assert (data["pagesScanned"], data["historyExhausted"]) == (contract.HISTORY_PAGES, False)
    assert len(placed.received("view/page")) == contract.HISTORY_PAGES


async def walked_on(placed: Placed) -> list[Check]:
    """A walk through several pages."""
    checks = list(await walk(choice_of(placed), SESSION, ITEM))
    assert set(methods(placed)) <= set(ALL_IT_ASKS)
    return checks


WHOLE_LINES = 280
"""Bytes of an output that ends where a character ends."""


def digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


@pytest.mark.parametrize(
    ("size", "told", "status", "word"),
    [
        (WHOLE_LINES, digest(stored(WHOLE_LINES)), "pass", "right"),
        (WHOLE_LINES, digest(b"pears"), "warn", "wrong"),
        (WHOLE_LINES, "crc32:0", "pass", "unknown"),
        (WHOLE_LINES, None, "pass", "none"),
        (0, digest(b""), "pass", "right"),
        (300_000, digest(b"pears"), "pass", "known"),
    ],
)
async def test_a_digest_is_compared_where_all_is_there(
    tmp_path: Path, size: int, told: str | None, status: str, word: str
) -> None:
    pages = [[revised(outputRef=reference(size=size, digest=told))]]
    check = (await walked(placed_in(tmp_path, size=size, pages=pages)))[11]
    assert (check.status, check.details["digest"], check.fix is None) == (status, word, status == "pass")


@pytest.mark.parametrize(
    ("size", "told", "page", "says"),
    [
        (5, 2, {}, "the output has 2 bytes, and this page has 5."),
        (2, 2, {"eof": False}, "the output has 2 bytes, and this page has 2, and more is to follow."),
        (5, 2, {"eof": False}, "the output has 2 bytes, and this page has 5, and more is to follow."),
    ],
)
async def test_a_page_with_more_than_there_should_be_is_not_called_whole(
    tmp_path: Path, size: int, told: int, page: dict[str, Any], says: str
) -> None:
    pages = [[revised(outputRef=reference(size=told))]]
    check = (await walked(placed_in(tmp_path, size=size, pages=pages, page=page, binary=True)))[11]
    assert check.status == "warn" and check.summary.endswith(says)


async def test_bytes_that_are_no_text_are_read_as_well(tmp_path: Path) -> None:
    check = (await walked(placed_in(tmp_path, binary=True)))[11]
    assert (check.status, check.details["encoding"], check.details["byteLen"]) == ("pass", "base64", PIECE_BYTES)


async def test_of_several_outputs_the_first_is_read(tmp_path: Path) -> None:
    pages = [[revised(outputRef=reference(), patchRef=reference("out-patch"))]]
    check = (await walked(placed_in(tmp_path, pages=pages)))[7]
    assert (check.details["outputRef"], check.details["outputs"]) == (REF, 2)
    assert "the first of its 2 outputs" in check.summary


RECORDED = "recorded:" + str(Path(__file__).parents[2] / "fixtures" / "hosts" / "1.2.1")
RECORDED_SESSION = "0198f000-0000-7000-8000-000000000001"
RECORDED_ITEM = "0198f000-0000-7000-8000-000000000002-i2"


def recorded(tmp_path: Path, name: str) -> HostChoice:
    return HostChoice({"PATH": "/usr/bin:/bin"}, tmp_path, f"{RECORDED}/{name}")


async def test_a_recording_is_asked_for_as_much_as_it_was_asked_for(tmp_path: Path) -> None:
    checks = await walk(recorded(tmp_path, "read-three-pages"), RECORDED_SESSION, RECORDED_ITEM)
    # Whether the folder that it was recorded in is here is another matter.
    assert {check.status for check in checks[:6] + checks[7:]} == {"pass"}
    asked = checks[10].details["requestedBytes"]
    assert checks[10].details["servedBytes"] <= asked != PIECE_BYTES
    assert checks[10].summary.endswith("bytes, as many as were asked for when it was recorded.")


async def test_what_a_recorded_host_refused_is_a_failure(tmp_path: Path) -> None:
    checks = await walk(recorded(tmp_path, "read-refused-hostError"), RECORDED_SESSION, RECORDED_ITEM)
    assert next(check for check in checks if check.status == "fail").id == "read.11"


async def test_what_a_recording_has_not_is_no_failure(tmp_path: Path) -> None:
    # Its host was read from the middle on.
    checks = await walk(recorded(tmp_path, "read-refused-offsetInsideCharacter"), RECORDED_SESSION, RECORDED_ITEM)
    assert [check.status for check in checks[7:]] == ["pass"] * 3 + ["skipped"] * 3
    assert checks[10].summary.startswith("The recording has no such question: Off script")
    assert "The read was not walked to its end: look at read.11 (served)" in closing(checks)


async def test_what_a_recording_refuses_as_its_host_did_is_a_failure(tmp_path: Path) -> None:
    choice = HostChoice({"PATH": "/usr/bin:/bin"}, tmp_path, f"{RECORDED}/read-refused-sessionNotStored")
    stopped = stop(list(await walk(choice, "no-such-session", RECORDED_ITEM)))
    assert stopped.id == "read.7"


async def test_a_folder_that_is_gone_is_warned_of(tmp_path: Path) -> None:
    checks = await walked(placed_in(tmp_path, workspace=str(tmp_path / "gone")))
    assert [check.status for check in checks].count("warn") == 1
    assert checks[6].status == "warn" and "is no folder here" in checks[6].summary


async def test_words_of_a_host_stay_on_one_line(tmp_path: Path) -> None:
    pages = [[revised(outputRef=reference(availability="lost\n\x1b[31m in\tthe pears"))]]
    assert "lost [31m in the pears" in stop(await walked(placed_in(tmp_path, pages=pages))).summary
