"""What a card says beside an output: true whatever a host leaves out, and nothing that a host did not say."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.bridge.tool_cards.card_notes import MOST_CHILDREN, MOST_RESULTS, notes, result_facts
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.bridge.tool_cards.cards import card_of, is_card
from adapter.msp.items import ItemState
from adapter.msp.vocabulary import ITEM_KINDS


def item(kind: str = "toolCall", status: str = "completed", **raw: Any) -> ItemState:
    state = ItemState("i1")
    state.kind, state.status, state.raw = kind, status, raw
    return state


@pytest.mark.parametrize(
    ("raw", "line"),
    [
        ({"statusLine": "compiling"}, "compiling"),
        ({"statusPhase": "linking"}, "linking"),
        (
            {"statusLine": "compiling", "statusProgress": {"current": 1, "total": 3, "unit": "crates"}},
            "compiling (1 of 3 crates)",
        ),
        ({"statusProgress": {"current": 4}}, "4"),
        ({"statusStep": {"label": "test", "index": 2, "total": 5}}, "step 2 of 5: test"),
        ({"statusHealth": {"level": "ok"}}, ""),
        ({"statusHealth": {"level": "degraded", "reason": "slow disk"}}, "degraded: slow disk"),
        ({"statusAttempt": {"attempt": 2, "maxAttempts": 5}}, "attempt 2 of 5"),
        ({"statusChildren": {"active": 3, "completed": 1, "failed": 0}}, "3 active, 1 completed"),
        ({"statusLine": 3, "statusProgress": "half", "statusStep": None}, ""),
    ],
)
def test_where_a_running_call_stands(raw: dict[str, Any], line: str) -> None:
    assert notes(item(status="inProgress", **raw)) == line
    assert notes(item(**raw)) == "", "a call that has ended stands nowhere"


@pytest.mark.parametrize(
    ("status", "raw", "line"),
    [
        ("cancelled", {}, "cancelled"),
        ("timedOut", {"failureReason": "after 60 s"}, "timedOut: after 60 s"),
        ("rejected", {"failureReason": "denied\nby the user"}, "rejected: denied by the user"),
        ("failed", {"exitCode": 3}, "failed\nexit code 3"),
        ("failed", {"exitSignal": 9, "exitCode": 137}, "failed\nended by signal 9"),
        ("completed", {"exitCode": 0}, ""),
        ("completed", {"exitCode": True}, ""),
        ("completed", {"durationMs": 999}, ""),
        ("completed", {"durationMs": 1500}, "took 1.5 s"),
        ("completed", {"durationMs": 125_000}, "took 2 min 5 s"),
        ("completed", {"durationMs": -5}, ""),
    ],
)
def test_j4_how_a_call_ended(status: str, raw: dict[str, Any], line: str) -> None:
    assert notes(item(status=status, **raw)) == line


def test_j4_the_exit_code_of_a_structured_result() -> None:
    assert notes(item(), {"exit_code": 2}) == notes(item(), {"exitCode": 2}) == "exit code 2"


def test_a_workflow_names_its_children() -> None:
    children = [
        {"childId": "c1", "attempt": 1, "status": "started", "label": "triage", "phase": "one"},
        {"childId": "c2", "attempt": 2, "status": "terminal", "terminal": "failed", "failureReason": "no model"},
        3,
        {},
    ]
    assert notes(item("workflow", "inProgress", children=children, paused=True)).splitlines() == [
        "- triage (one): started",
        "- c2 (attempt 2): failed: no model",
        "- child: unknown",
        "paused",
    ]
    many = notes(item("workflow", children=[{"childId": str(number)} for number in range(MOST_CHILDREN + 7)]))
    assert many.splitlines()[-1] == "[7 more]" and len(many.splitlines()) == MOST_CHILDREN + 1


def test_a_result_is_told_once() -> None:
    assert notes(item("workflow", message="all done", finalSummary="all done")) == "all done"
    report = {"summary": "short", "text": "short"}
    assert notes(item("subagent", result=report)) == "short"
    assert (
        notes(item("subagent", result=report | {"text": "long", "errorKind": "limit"})) == "short\nlong\nerror: limit"
    )


def test_a_long_report_is_cut_and_says_so() -> None:
    text = notes(item("subagent", result={"text": "x" * 100_000}))
    assert len(text) < 20_000 and "[100000 bytes]" in text


def test_results_of_a_search_are_bounded() -> None:
    results = [{"title": "one", "url": "https://example.com/1"}] * (MOST_RESULTS + 1)
    lines = notes(item("webSearch", results=results)).splitlines()
    assert lines[0] == "- one <https://example.com/1>" and lines[-1] == "[1 more]"


def test_a_terminal_that_ended_in_the_background() -> None:
    nested = {
        "toolCallId": "c",
        "command": "make",
        "terminalStatus": "completed",
        "output": "ok\n",
        "outputTruncated": True,
    }
    told = item("backgroundTerminalCompletion", backgroundTerminalCompletion=nested, fallbackText="make has ended")
    assert notes(told) == "ok\n[the Muse host cut this output]"
    assert card_of(told, CardStyle("ses-1", "/w")).title == "make has ended"


@pytest.mark.parametrize(
    "kind", ["damagedRange", "scheduledFire", "monitorFeed", "backgroundTerminalCompletion", "overdueNotice"]
)
def test_other_kinds_show_what_the_host_says_of_them(kind: str) -> None:
    told = item(kind, fallbackText="As it is")
    assert is_card(told) and card_of(told, CardStyle("ses-1", "/w")).title == "As it is"
    assert not is_card(item(kind))


def test_facts_of_a_result_are_for_programs() -> None:
    raw = {"exitCode": 0, "exitSignal": None, "visibleOutput": "x", "toolReceipt": {"family": "cron"}}
    assert result_facts(raw) == {"exitCode": 0, "toolReceipt": {"family": "cron"}}


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
MEMBERS = (
    *("statusLine", "statusProgress", "statusStep", "statusHealth", "statusAttempt", "statusChildren", "durationMs"),
    *("exitCode", "exitSignal", "failureReason", "result", "children", "usage", "objective", "controlStatus", "label"),
    *("modelVisibleContent", "results", "query", "reason", "runStatus", "event", "displayLabel", "tool", "args"),
    *("backgroundTerminalCompletion", "visibleOutput", "fallbackText", "commandText", "outcome", "toolReceipt"),
)


@given(
    st.sampled_from(sorted(ITEM_KINDS)),
    st.sampled_from(["inProgress", "completed", "failed", "simmering"]),
    st.dictionaries(st.sampled_from(MEMBERS), anything, max_size=8),
    st.booleans(),
)
def test_o3_members_of_any_shape_make_a_card(kind: str, status: str, raw: dict[str, Any], terminals: bool) -> None:
    card = card_of(item(kind, status, **raw), CardStyle("ses-1", "/w"), terminal="i1" if terminals else None)
    assert card.title and len(card.title) <= 256
    assert not {"Cc", "Zl", "Zp"} & {unicodedata.category(character) for character in card.title}
