"""A host's events (`msp.md §10-§18, §27`): whatever their members are, nothing raises, the session has one state, each
turn ends once, a gap's reading ends, and what the client is told can be written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from adapter.bridge.outcomes import stop_reason
from adapter.bridge.session_state.plan import plan_entries
from adapter.bridge.stored_output.references import card_meta, references_of
from adapter.msp.changes import ApprovalOpened, Change, TurnEnded
from adapter.msp.gaps import RE_ANCHOR_PAGES, SPLICE_PAGES
from adapter.msp.history import Opened
from adapter.wire.envelope import RpcError
from tests.fuzz.client_screen import ClientScreen
from tests.fuzz.reading import objects

MOST_LINES = 60
MOST_PAGES = SPLICE_PAGES + 2 * RE_ANCHOR_PAGES


def one(data: bytes) -> None:
    """Lines are what the host writes: `{"method", "params"}` is an event, `{"result"}` is how a session was opened,
    `{"events", "nextCursor"}` a page, if one is asked for, and anything else the list of open questions."""
    lines = objects(data)[:MOST_LINES]
    screen = ClientScreen()
    told: list[Change] = []
    pages = [line for line in lines if "events" in line]

    def take(changes: Sequence[Change]) -> None:
        told.extend(changes)
        screen.show(changes)

    for line in lines:
        if isinstance(line.get("method"), str):
            take(screen.view.receive(line["method"], line.get("params")))
        elif isinstance(line.get("result"), dict):
            opened = Opened.read(line["result"])
            if opened.state is not None:
                take(screen.fold.load_snapshot(opened.state, opened.view_cursor))
            screen.facts.show_all(opened.row)
        elif "events" not in line:
            take(screen.view.reconcile(line, screen.fold.open_questions))
    asked = 0
    while (request := screen.view.next_page()) is not None:
        asked += 1
        assert asked <= MOST_PAGES, "the reading of a gap ends"
        request.params("s")
        if pages:
            take(screen.view.take_page(pages[asked % len(pages)]))
        else:
            take(screen.view.page_failed("pageEventTooLarge", f"c{asked}"))
    assert not screen.view.recovery.active
    _check(screen, told)


def _check(screen: ClientScreen, told: list[Change]) -> None:
    ends = Counter(change.turn_id for change in told if isinstance(change, TurnEnded))
    assert all(count == 1 for count in ends.values()), "a turn ends once"
    assert not set(screen.fold.turns.running) & ends.keys(), "what has ended does not run"
    for change in told:
        if isinstance(change, TurnEnded):
            _outcome(change)
        elif isinstance(change, ApprovalOpened):
            assert isinstance(change.params["approvalId"], str)
    for item in screen.fold.items:
        assert isinstance(item.item_id, str) and item.item_id
        assert item.is_open == (item.status == "inProgress")
        references_of(item.raw)
        card_meta("s", item.item_id, item.raw)
    plan_entries(screen.fold.todo)


def _outcome(change: TurnEnded) -> None:
    try:
        reason: Any = stop_reason(change.outcome)
    except RpcError:
        return
    assert reason in {"end_turn", "cancelled", "max_tokens", "max_turn_requests", "refusal"}
