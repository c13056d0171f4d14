"""One cell from the start to the end."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Final, NamedTuple

from tests.adapter_process import Json
from tests.faults.matrix import tampering_host
from tests.faults.matrix.cell import HELD_SECONDS, OK, Cell, Wrong, outcome, running
from tests.faults.matrix.expectations import HELD
from tests.faults.matrix.fault import DIED, OR, STOPPED, TIMEOUT, Fault, expected, plan_of
from tests.faults.matrix.limits import limit
from tests.faults.matrix.phases import NEWEST, Phase
from tests.faults.matrix.shown import CONSENTED
from tests.faults.matrix.tampering_host import Plan
from tests.processes import wait_until

SETTLE_SECONDS: Final = 6.0
"""How long descriptors of what has ended may be held."""

CLIENT: Final[Json] = {
    "elicitation": {"form": {}},
    "_meta": {"muse/output": 1, "muse/steering": 1, "muse/asyncTasks": 1},
}
"""What the client can do: all that makes the adapter ask a host for more."""

HANGING_PROMPTS: Final = 2
"""How many prompts may fail more until a host that hangs is ended: it is asked something else first."""

STOP_SECONDS: Final = 2.5
"""How long a user waits for a turn that does not end."""


class Passed(NamedTuple):
    """What was looked at in a cell that came out well."""

    seconds: float | None = None
    """How long the answer took, without what the fault itself waits."""
    beside: bool = False
    """Whether a turn of another session ran."""
    descriptors: bool = False
    """Whether those of the adapter, and its tasks, were counted; they end with it where it ends."""


def run_cell(phase: Phase, fault: Fault) -> Passed:
    """Run it; raises if anything is not as it should be."""
    passed = Passed()
    # What an idle adapter holds is found out before, so that nothing else runs meanwhile.
    held = held_when_idle() if phase.at != "end" else 0
    greets_early = phase.early and fault.strike is not None
    with running(plan_of(phase, fault), fault.prepare, greets_early=greets_early) as cell:
        if phase.early:
            cell.arm()
        cell.adapter.initialize(clientCapabilities=client_of(phase))
        phase.arrange(cell)
        if phase.at == "end":
            cell.arm()
        else:
            beside = _beside(cell, phase, fault)
            cell.left.look()
            cell.more, cell.refused = fault.more, fault.group == "refused"
            cell.arm()
            seconds = _judge(cell, phase, fault)
            cell.wait_for_strike()
            cell.wait_for_effect()
            _note_gone(cell, fault)
            if beside is not None:
                beside()
            cell.left.look()
            _go_on(cell, phase, fault)
            _check_held(cell, held)
            cell.check_tasks(heard_out=not phase.name.startswith("abilities"))
            passed = Passed(seconds, beside is not None, True)
    return passed


def client_of(phase: Phase) -> Json:
    """The capabilities of the client in it."""
    return CLIENT if phase.forms else {**CLIENT, "elicitation": {}}


def _note_gone(cell: Cell, fault: Fault) -> None:
    """Whoever hears nothing any more is not told anything."""
    if fault.leaves != "host":
        cell.hosts_gone.add(str(tampering_host.struck_host(cell.folder)))


@functools.cache
def held_when_idle() -> int:
    """The descriptors that an adapter holds to which nothing was done, without those for its hosts."""
    with running(Plan(NEWEST, "goes-on", "answer", "turn/start")) as cell:
        cell.arm()
        cell.adapter.initialize(clientCapabilities=CLIENT)
        cell.new_session()
        return cell.held()


def _judge(cell: Cell, phase: Phase, fault: Fault) -> float:
    """What the client does has to have the right outcome, in time; gives the seconds."""
    wanted = expected(phase, fault)
    cell.look()
    began = time.monotonic()
    answer, held_up = _came(cell, phase, fault, stopped=STOPPED in wanted.split(OR))
    took = time.monotonic() - began - held_up
    came = outcome(answer, phase.right)
    if came not in wanted.split(OR) and not _is_stopped(answer, wanted):
        raise Wrong(f"the answer has to be `{wanted}` and is `{came}`")
    if came == OK and (phase.whole or fault.group == "harmless"):
        problem = phase.shows(cell, answer["result"])
        if problem is not None:
            raise Wrong(problem)
    # What came of a turn that had no good end, or was lost on the way, may be told later.
    cell.more |= came != OK or not phase.whole
    waits = (STOP_SECONDS if STOPPED in wanted else 0) + (HELD_SECONDS if wanted == HELD else 0)
    most = limit(phase, fault) + waits
    if took > most:
        raise Wrong(f"the answer may take {most:.1f} s and took {took:.1f} s")
    return max(0.0, took - fault.seconds - (HELD_SECONDS if wanted == HELD else 0))


def _is_stopped(answer: Json, wanted: str) -> bool:
    return STOPPED in wanted.split(OR) and answer.get("result") == {"stopReason": "cancelled"}


def _came(cell: Cell, phase: Phase, fault: Fault, *, stopped: bool) -> tuple[Json, float]:
    """What comes of what the client does, and how long the driver has held everybody up meanwhile."""
    # The user stops a turn that does not come to an end.
    stopping = threading.Timer(STOP_SECONDS, _stop, (cell,))
    stopping.daemon = True
    if stopped:
        stopping.start()
    try:
        return _acted(phase, fault, cell)
    finally:
        stopping.cancel()


def _stop(cell: Cell) -> None:
    with suppress(OSError):
        cell.adapter.notify("session/cancel", {"sessionId": cell.session})


def _acted(phase: Phase, fault: Fault, cell: Cell) -> tuple[Json, float]:
    """What comes of what the client does, with what the driver does at the moment of the fault."""
    if fault.strike is None:
        return phase.act(cell), 0.0
    cell.mark()
    with ThreadPoolExecutor(1) as client:
        acting = client.submit(phase.act, cell)
        undo, began = None, time.monotonic()
        try:
            cell.wait_for_strike()
            began = time.monotonic()
            undo = fault.strike(cell)
        finally:
            cell.release()
        held_up = time.monotonic() - began
        try:
            return acting.result(), held_up
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

    wait_until(is_same, SETTLE_SECONDS, lambda: f"an idle adapter holds {held} descriptors and this one {now}")


def _go_on(cell: Cell, phase: Phase, fault: Fault) -> None:
    """Another prompt works, or its error says why not: a host that has been greeted, is there and is of no use. One
    that has said nothing to a command is used no more."""
    if cell.busy_until is not None:
        cell.adapter.response(cell.busy_until)
    came = _another_prompt(cell)
    for _ in range(HANGING_PROMPTS if fault.leaves == "wedged" else 0):
        if came in (TIMEOUT, DIED):
            # It may have been taken in all the same.
            cell.more = True
            came = _another_prompt(cell)
    # A program that was lost before anybody could ask it what it can do stays so.
    stays = phase.early and fault.group == "harmless" and fault.name.startswith("muse-")
    otherwise = expected(phase, fault) if stays else OK
    _check(came, fault.then or otherwise, "the next prompt")


def _another_prompt(cell: Cell) -> str:
    if not cell.session:
        answer = cell.ask("session/new", cwd=str(cell.workspace), mcpServers=[])
        if "result" not in answer:
            return outcome(answer, _is_anything)
        cell.session = answer["result"]["sessionId"]
    return outcome(cell.asked_again(cell.session), _has_ended)


def _is_anything(result: Json) -> bool:
    return True


def _has_ended(result: Json) -> bool:
    return bool(result.get("stopReason") == "end_turn")


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
            answer = cell.answer(asking)
            if not _has_ended(answer.get("result", {})):
                raise Wrong(f"the turn of another session: {answer}")
            cell.must_have_said(session, CONSENTED)

        return consent
    cell.restrict(session)
    working = cell.prompt(session, "slow 600")
    cell.adapter.wait_for_update(lambda update: "This takes" in str(update.get("content")))

    def stop() -> None:
        cell.adapter.notify("session/cancel", {"sessionId": session})
        cell.must_end(working, "cancelled")
        _check(outcome(cell.asked_again(session), _has_ended), OK, "a prompt in another session")

    return stop
