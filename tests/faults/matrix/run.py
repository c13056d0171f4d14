"""One cell from the start to the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.faults.matrix.cell import OK, Cell, Wrong, outcome, running
from tests.faults.matrix.fault import Fault, expected, plan_of
from tests.faults.matrix.phases import Phase
from tests.processes import wait_until

SETTLE_SECONDS: Final = 6.0
"""How long descriptors of what has ended may be held."""


def run_cell(phase: Phase, fault: Fault) -> None:
    """Run it; raises if anything is not as it should be."""
    with running(plan_of(phase, fault)) as cell:
        if phase.early:
            cell.arm()
        cell.adapter.initialize()
        phase.arrange(cell)
        beside = None if phase.early else _bystander(cell, same_host=fault.leaves == "host" or phase.restricted)
        held = None if phase.early else cell.held()
        cell.arm()
        _check(outcome(phase.act(cell), phase.right), expected(phase, fault), "the answer")
        cell.wait_for_strike()
        if beside is not None:
            beside()
        _go_on(cell, fault)
        if held is not None:
            _check_held(cell, held)


def _check(came: str, wanted: str, what: str) -> None:
    if came != wanted:
        raise Wrong(f"{what} has to be `{wanted}` and is `{came}`")


def _check_held(cell: Cell, held: int) -> None:
    now = 0

    def is_same() -> bool:
        nonlocal now
        now = cell.held()
        return now <= held

    wait_until(is_same, SETTLE_SECONDS, lambda: f"the adapter held {held} descriptors and now holds {now}")


def _go_on(cell: Cell, fault: Fault) -> None:
    """Another prompt works, or its error says why not."""
    wanted = "-32603 hostTimeout" if fault.leaves == "wedged" else OK
    if not cell.session:
        answer = cell.ask("session/new", cwd=str(cell.workspace), mcpServers=[])
        if wanted != OK:
            return _check(outcome(answer, lambda result: True), wanted, "a new session")
        cell.session = answer["result"]["sessionId"]
    answer = cell.answer(cell.prompt(cell.session, "hello"))
    return _check(outcome(answer, lambda result: result["stopReason"] == "end_turn"), wanted, "the next prompt")


def _bystander(cell: Cell, *, same_host: bool) -> Callable[[], None]:
    """A turn of another session that is under way; gives what ends it, and shows that it was let alone."""
    session = cell.must("session/new", cwd=str(cell.workspace), mcpServers=[])["sessionId"]
    if same_host:
        asking = cell.prompt(session, "approve")
        question = cell.next_request("session/request_permission")

        def consent() -> None:
            cell.allow(question)
            cell.must_end(asking, "end_turn")

        return consent
    cell.must("session/set_mode", sessionId=session, modeId="readOnly")
    working = cell.prompt(session, "slow 600")
    cell.adapter.wait_for_update(lambda update: "This takes" in str(update.get("content")))

    def stop() -> None:
        cell.adapter.notify("session/cancel", {"sessionId": session})
        cell.must_end(working, "cancelled")
        cell.must_end(cell.prompt(session, "hello"), "end_turn")

    return stop
