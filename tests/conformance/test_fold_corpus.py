"""The official transcripts against the fold: every server frame is taken, and holes in the view are filled."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.msp.changes import Change, GapSeen, ItemChanged, TextAppended, TurnEnded, Unrecognised
from adapter.msp.errors import MspError
from adapter.msp.view import SessionView
from tests.corpus import answers, frames, needs_corpus, scenarios

pytestmark = needs_corpus


def session_of(message: dict[str, Any]) -> str | None:
    params = message.get("params", {})
    session = params.get("sessionId") or params.get("session", {}).get("sessionId")
    return session if isinstance(session, str) else None


def replay(scenario: str) -> tuple[dict[str, SessionView], list[Change]]:
    """Feeds all server frames to one view per session; history results are loaded like a resume would."""
    views: dict[str, SessionView] = {}
    changes: list[Change] = []
    for frame in frames(scenario):
        if frame.sender != "server":
            continue
        message = frame.message
        if "method" in message:
            session = session_of(message)
            assert session, message
            view = views.setdefault(session, SessionView(session, page_limit=2))
            changes += view.receive(message["method"], message["params"])
        elif "error" in message:
            assert MspError.from_error(message["error"]).kind != "unknown"
        elif "history" in message["result"]:
            session = message["result"]["session"]["sessionId"]
            fold = views.setdefault(session, SessionView(session)).fold
            history = message["result"]["history"]
            changes += fold.load_snapshot({"items": history["items"] or []})
            if history["snapshot"]:
                changes += fold.load_snapshot(history["snapshot"]["state"], history["snapshot"]["viewCursor"])
    return views, changes


def shown(changes: list[Change]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for change in changes:
        if isinstance(change, TextAppended):
            texts[change.item.item_id] = texts.get(change.item.item_id, "") + change.text
    return texts


def fill(view: SessionView, scenario: str) -> list[Change]:
    """Answers the view's page requests from the transcript; a page that is not in it fails as truncated."""
    pages = {(params.get("cursor"), params.get("anchor")): answer for params, answer in answers(scenario, "view/page")}
    changes: list[Change] = []
    while request := view.next_page():
        answer = pages.get((request.cursor, request.anchor))
        changes += view.take_page(answer["result"]) if answer else view.page_failed("viewTruncated")
    return changes


def test_all_transcripts_are_here() -> None:
    assert len(scenarios()) == 32


@pytest.mark.parametrize("scenario", scenarios())
def test_every_server_frame_is_taken(scenario: str) -> None:
    _, changes = replay(scenario)
    unrecognised = {change.method for change in changes if isinstance(change, Unrecognised)}
    assert unrecognised == ({"session/auraChanged"} if scenario == "tolerance-unknown-state-method" else set())


@pytest.mark.parametrize("scenario", [name for name in scenarios() if not name.startswith("gap-")])
def test_shown_text_is_the_final_text(scenario: str) -> None:
    views, changes = replay(scenario)
    texts = shown(changes)
    for view in views.values():
        for item in view.fold.items:
            if item.kind == "agentMessage" and not item.is_open:
                assert texts.get(item.item_id, "") == item.raw.get("text", "")


@pytest.mark.parametrize("scenario", scenarios())
def test_every_started_turn_of_a_transcript_ends_once(scenario: str) -> None:
    _, changes = replay(scenario)
    ended = [change.turn_id for change in changes if isinstance(change, TurnEnded)]
    assert len(ended) == len(set(ended))


@pytest.mark.parametrize(
    ("scenario", "terminal"),
    [
        ("text-run-single-turn", "completed"),
        ("provider-failure-turn", "failed"),
        ("turn-unqueued-round-trip", "unqueued"),
        ("tolerance-unknown-item-kind", "completed"),
        ("tolerance-unknown-state-method", "completed"),
        ("tolerance-unknown-stream-kind", "completed"),
    ],
)
def test_terminal_of(scenario: str, terminal: str) -> None:
    _, changes = replay(scenario)
    assert terminal in [change.outcome.terminal for change in changes if isinstance(change, TurnEnded)]


def test_unknown_item_kind_is_told_with_its_fallback() -> None:
    _, changes = replay("tolerance-unknown-item-kind")
    (hologram,) = [c.item for c in changes if isinstance(c, ItemChanged) and c.item.kind == "hologramPreview"]
    assert not hologram.is_open
    assert hologram.raw["fallbackText"]


@pytest.mark.parametrize(
    "scenario", ["snapshot-suffix-pending-approval", "approval-round-trip", "approval-deny-round-trip"]
)
def test_approvals_open_and_close(scenario: str) -> None:
    views, changes = replay(scenario)
    names = [type(change).__name__ for change in changes]
    assert names.count("ApprovalOpened") == names.count("ApprovalResolved") == 1
    assert not any(view.fold.open_approvals for view in views.values())


def test_splice_fill_makes_the_view_whole() -> None:
    scenario = "gap-recovery-splice-fill"
    views, changes = replay(scenario)
    (view,) = views.values()
    assert [type(c) for c in changes if isinstance(c, GapSeen)] == [GapSeen]
    changes += fill(view, scenario)
    texts = shown(changes)
    assert sorted(texts.values()) == sorted(f"event {n}" for n in range(5, 13))
    assert not view.recovery.active
    assert view.reconcile_due


def test_re_anchor_makes_the_view_whole() -> None:
    scenario = "gap-recovery-reanchor"
    views, changes = replay(scenario)
    (view,) = views.values()
    changes += fill(view, scenario)
    assert list(shown(changes).values()) == ["tail after boundary"]
    assert [change.outcome.terminal for change in changes if isinstance(change, TurnEnded)] == ["completed"]
    assert not view.recovery.active
    assert view.reconcile_due
