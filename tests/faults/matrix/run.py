"""One cell from the start to the end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final

from tests.adapter_process import Json
from tests.faults.matrix.cell import OK, Cell, Wrong, outcome, running
from tests.faults.matrix.fault import OR, STOPPED, TIMEOUT, Fault, expected, plan_of
from tests.faults.matrix.phases import NEWEST, Phase
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
        cell.adapter.initialize(clientCapabilities=CLIENT if phase.forms else {**CLIENT, "elicitation": {}})
        phase.arrange(cell)
        if phase.at == "end":
            return cell.arm()
        beside = _beside(cell, phase, fault)
        held = None if phase.early else cell.held()
        cell.arm()
        wanted = expected(phase, fault)
        _check(_came(cell, phase, fault, stopped=STOPPED in wanted.split(OR)), wanted, "the answer")
        cell.wait_for_strike()
        if beside is not None:
            beside()
        _go_on(cell, fault)
        if held is not None:
            _check_held(cell, held)
    return None


def _came(cell: Cell, phase: Phase, fault: Fault, *, stopped: bool) -> str:
    """What comes of what the client does, as a word."""
    # The user stops a turn that does not come to an end.
    stopping = threading.Timer(STOP_SECONDS, _stop, (cell,))
    stopping.daemon = True
    if stopped:
        stopping.start()
    answer = _acted(phase, fault, cell)
    stopping.cancel()
    if stopped and answer.get("result") == {"stopReason": "cancelled"}:
        return STOPPED
    return outcome(answer, phase.right)


def _stop(cell: Cell) -> None:
    with suppress(OSError):
        cell.adapter.notify("session/cancel", {"sessionId": cell.session})


def _acted(phase: Phase, fault: Fault, cell: Cell) -> Json:
    """What comes of what the client does, with what the driver does at the moment of the fault."""
    if fault.strike is None:
        return phase.act(cell)
    cell.mark()
    with ThreadPoolExecutor(1) as client:
        acting = client.submit(phase.act, cell)
        undo = None
        try:
            cell.wait_for_strike()
            undo = fault.strike(cell)
        finally:
            cell.release()
        try:
            return acting.result()
        finally:
            if undo is not None:
                undo()


def _check(came: str, wanted: str, what: str) -> None:
    if came not in wanted.split(OR):
        raise Wrong(f"{what} has to be `{wanted}` and is `{came}`")


def _check_held(cell: Cell, held: int) -> None:
    now = 0

    def is_same() -> bool:
        nonlocal now
        now = cell.held()
        return now <= held

    wait_until(is_same, SETTLE_SECONDS, lambda: f"the adapter held {held} descriptors and now holds {now}")


def _go_on(cell: Cell, fault: Fault) -> None:
    """Another prompt works, or its error says why not: a host that has been greeted, is there and is of no use. One
    that has said nothing to a command is used no more."""
    came = _another_prompt(cell)
    if fault.leaves == "wedged" and came == TIMEOUT:
        came = _another_prompt(cell)
    _check(came, fault.then or OK, "the next prompt")


def _another_prompt(cell: Cell) -> str:
    if not cell.session:
        answer = cell.ask("session/new", cwd=str(cell.workspace), mcpServers=[])
        if "result" not in answer:
            return outcome(answer, _is_anything)
        cell.session = answer["result"]["sessionId"]
    return outcome(cell.answer(cell.prompt(cell.session, "hello")), _has_ended)


def _is_anything(result: Json) -> bool:
    return True


def _has_ended(result: Json) -> bool:
    return bool(result["stopReason"] == "end_turn")


def _beside(cell: Cell, phase: Phase, fault: Fault) -> Callable[[], None] | None:
    """A bystander, where there can be one: on the same host, if that serves on, else on another one."""
    if phase.early:
        return None
    if fault.leaves == "host" or phase.restricted:
        return _bystander(cell, same_host=True)
    # Only this version lets go of a session without an end.
    return _bystander(cell, same_host=False) if phase.version == NEWEST else None


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
    cell.restrict(session)
    working = cell.prompt(session, "slow 600")
    cell.adapter.wait_for_update(lambda update: "This takes" in str(update.get("content")))

    def stop() -> None:
        cell.adapter.notify("session/cancel", {"sessionId": session})
        cell.must_end(working, "cancelled")
        cell.must_end(cell.prompt(session, "hello"), "end_turn")

    return stop
