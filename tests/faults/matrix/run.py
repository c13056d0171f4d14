"""One cell from the start to the end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tests.adapter_process import Json
from tests.faults.matrix.cell import OK, Cell, Wrong, outcome, running
from tests.faults.matrix.fault import STOPPED, Fault, expected, plan_of
from tests.faults.matrix.phases import Phase
from tests.processes import wait_until

SETTLE_SECONDS: Final = 6.0
"""How long descriptors of what has ended may be held."""


CLIENT: Final = {
    "elicitation": {"form": {}},
    "_meta": {"muse/output": 1, "muse/steering": 1, "muse/asyncTasks": 1},
}
"""What the client can do: all that makes the adapter ask a host for more."""

STOP_SECONDS: Final = 2.5
"""How long a user waits for a turn that does not end."""


def run_cell(phase: Phase, fault: Fault) -> None:
    """Run it; raises if anything is not as it should be."""
    with running(plan_of(phase, fault)) as cell:
        if phase.early:
            cell.arm()
        cell.adapter.initialize(clientCapabilities=CLIENT)
        phase.arrange(cell)
        beside = None if phase.early else _bystander(cell, same_host=fault.leaves == "host" or phase.restricted)
        held = None if phase.early else cell.held()
        cell.arm()
        wanted = expected(phase, fault)
        if wanted == STOPPED:
            _stop_later(cell)
        answer = _acted(phase, fault, cell)
        if answer.get("result") == {"stopReason": "cancelled"} and wanted == STOPPED:
            came = STOPPED
        else:
            came = outcome(answer, phase.right)
        _check(came, wanted, "the answer")
        cell.wait_for_strike()
        if beside is not None:
            beside()
        _go_on(cell, fault)
        if held is not None:
            _check_held(cell, held)


def _acted(phase: Phase, fault: Fault, cell: Cell) -> Json:
    """What comes of what the client does, with what the driver does at the moment of the fault."""
    if fault.strike is None:
        return phase.act(cell)
    cell.mark()
    with ThreadPoolExecutor(1) as client:
        acting = client.submit(phase.act, cell)
        try:
            cell.wait_for_strike()
            fault.strike(cell)
        finally:
            cell.release()
        return acting.result()


def _stop_later(cell: Cell) -> None:
    """The user stops a turn that does not come to an end."""
    timer = threading.Timer(STOP_SECONDS, cell.adapter.notify, ("session/cancel", {"sessionId": cell.session}))
    timer.daemon = True
    timer.start()


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
