"""What a client can do wrong while a host works on something for it, and goes on afterwards: the columns of the matrix
on its side.

The host stands still at the moment, the client does it, and the host goes on. A strike only writes, under ids of its
own: that what it asks is answered, and what nobody asked is not, the frames show in the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import orjson

from tests.adapter_process import Json, permission
from tests.faults.matrix.cell import ACP_CAP, OK, Cell
from tests.faults.matrix.fault import OR, Fault, in_key_phases
from tests.faults.matrix.phases import PHASES, Phase, ends_turn, is_cancelled

TAKEN_BACK: Final = "-32800 cancelled"
READ_ENDED: Final = "-32800 sessionClosed"
"""A read ends with its session, also if that is opened anew."""

STOPPED: Final = "result {'stopReason': 'cancelled'}"

FLOOD: Final = 2000
CLOSES: Final = 1100
"""More requests than may be open at once."""

LONG_LINE: Final = 2 * ACP_CAP

STALL_SECONDS: Final = 0.5
LONG_STALL_SECONDS: Final = 6.0
"""More than a host is waited for."""

GARBAGE: Final = (
    b"\xff\xfe\x00",
    b"no JSON",
    b"[]",
    b'[{"jsonrpc":"2.0","id":1,"method":"session/list"}]',
    b"42",
    b"null",
    b"{}",
    b"[" * 100_000,
    b'{"jsonrpc":"2.0","id":1.5,"method":"session/list"}',
    b'{"jsonrpc":"2.0","id":{},"method":"session/list"}',
    b"\r",
    b" ",
)
"""Nothing of it has an id that could be named."""

TO_NOBODY: Final[tuple[Json, ...]] = (
    {"id": 99_999, "result": {}},
    {"id": "1", "result": {"outcome": {"outcome": "selected", "optionId": "approve"}}},
    {"id": None, "error": {"code": -32700, "message": "I cannot read you"}},
    {"id": 99_998, "error": "wrong"},
    {"id": [], "result": {}},
    {"id": 99_997, "result": {}, "error": {"code": 1, "message": "both"}},
    {"id": 99_996, "result": "words"},
)
"""Answers that nobody waits for, and some that are none."""

UNKNOWN: Final[tuple[Json, ...]] = (
    {"method": "session/sparkle", "params": {"sessionId": "nobody"}},
    {"method": "_vendor/orchard", "params": {}},
    {"method": "$/progress", "params": {"token": 1}},
    {"method": "session/prompt", "params": {}},
    {"method": "session/cancel", "params": {"sessionId": 7}},
    {"method": "session/cancel", "params": {"sessionId": "nobody", "why": "for no reason"}},
    {"method": "$/cancel_request", "params": {"requestId": None}},
    {"method": "$/cancel_request", "params": {"requestId": []}},
    {"method": "$/cancel_request", "params": {"requestId": "nobody"}},
    {"method": "$/cancel_request"},
    {"id": "unknown", "method": "session/sparkle", "params": {"sessionId": "nobody"}},
    {"id": "odd", "method": "session/close", "params": {"sessionId": "nobody", "_meta": 7, "more": {}}},
    {"id": "flat", "method": "session/close", "params": []},
)


# -- strikes


def _say(cell: Cell, *frames: Json) -> None:
    """Frames in one write, good or bad."""
    with cell.adapter.one_write():
        for frame in frames:
            cell.adapter.send({"jsonrpc": "2.0", **frame})


def _prompt(session: str) -> Json:
    return {"sessionId": session, "prompt": [{"type": "text", "text": "hello"}]}


def _talks_garbage(cell: Cell) -> None:
    cell.adapter.write(b"\n".join(GARBAGE) + b"\n")


def _writes_a_long_line(cell: Cell) -> None:
    cell.adapter.write(b'{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"')
    cell.adapter.write(b"x" * LONG_LINE)
    cell.adapter.write(b'"}}\n')


def _uses_an_id_twice(cell: Cell) -> None:
    """Not told to who counts the answers: one of them has no id."""
    request = {"jsonrpc": "2.0", "id": cell.open_request, "method": "session/sparkle", "params": {}}
    for frame in (request, {**request, "params": []}, {**request, "method": None}, {**request, "jsonrpc": "1.0"}):
        cell.adapter.write(orjson.dumps(frame) + b"\n")


def _floods_with_requests(cell: Cell) -> None:
    closes = [{"id": f"close-{n}", "method": "session/close", "params": {"sessionId": "no"}} for n in range(CLOSES)]
    _say(cell, *closes, *({"id": f"what-{n}", "method": "session/sparkle"} for n in range(FLOOD)))


def _floods_with_notes(cell: Cell) -> None:
    notes: list[Json] = [{"method": "session/cancel", "params": {"sessionId": "nobody"}}, {"method": "$/progress"}]
    _say(cell, *notes * FLOOD)


def _introduces_itself_again(cell: Cell) -> None:
    _say(cell, {"id": "again", "method": "initialize", "params": {"protocolVersion": 1, "clientCapabilities": {}}})
    _say(cell, {"id": "wrong", "method": "initialize", "params": {"protocolVersion": "one"}})


def _prompts_again(cell: Cell) -> None:
    _say(cell, *({"id": f"prompt-{n}", "method": "session/prompt", "params": _prompt(cell.session)} for n in (1, 2)))


def _loads_it(cell: Cell) -> None:
    session = cell.session or cell.memory["stored"]
    asked: Json = {"sessionId": session, "cwd": str(cell.workspace), "mcpServers": []}
    _say(cell, {"id": "load", "method": "session/load", "params": asked})
    cell.busy_until = "load"


def _closes_it(cell: Cell) -> None:
    _say(cell, {"id": "close", "method": "session/close", "params": {"sessionId": cell.session}})
    cell.memory["closed"], cell.session = cell.session, ""


def _takes_it_back(cell: Cell) -> None:
    note = {"method": "$/cancel_request", "params": {"requestId": cell.open_request}}
    _say(cell, note, note)


def _stops(cell: Cell) -> None:
    _say(cell, *[{"method": "session/cancel", "params": {"sessionId": cell.session}}] * 3)


def _answers_again(cell: Cell) -> None:
    """The same question, and differently: what counts has been said."""
    question = cell.memory["question"]
    options = question["params"].get("options", [])
    answers: list[Json] = [permission(option["optionId"]) for option in options]
    answers += [{"result": {"action": "cancel"}}, {"error": {"code": -32601, "message": "no such method"}}]
    _say(cell, *({"id": question["id"], **answer} for answer in answers))


def _stalls(seconds: float) -> Callable[[Cell], None]:
    """It reads nothing for a while, beginning with what is told next."""
    return lambda cell: _stall(cell, seconds)


def _stall(cell: Cell, seconds: float) -> None:
    before, stalled = cell.adapter.watch, False

    def watch(from_adapter: bool, frame: Json) -> None:
        nonlocal stalled
        before(from_adapter, frame)
        if from_adapter and not stalled:
            stalled = True
            time.sleep(seconds)

    cell.adapter.watch = watch


# -- where they make sense, and what comes of them


def _where(holds: Callable[[Phase], bool], otherwise: str) -> Callable[[Phase], str | None]:
    return lambda phase: None if holds(phase) else otherwise


def _has_session(phase: Phase) -> bool:
    return not phase.early and not phase.name.startswith(("load", "resume", "close", "delete"))


def _has_question(phase: Phase) -> bool:
    return phase.refuses or phase.name in ("decide", "decided", "answer-question", "decline-question", "form-error")


IN_A_SESSION: Final = _where(_has_session, "there is no session")
IN_A_PROMPT: Final = _where(lambda phase: phase.right is ends_turn, "no prompt is open")


COMMANDS: Final = frozenset({"compact", "rename", "goal"})


def _of_prompts(outcome: str, others: str = OK, reads: str = "") -> Mapping[str, str]:
    """What has to come where a prompt is open, and elsewhere. A prompt that was stopped before is that anyway, and what
    waits for no answer of the host's may have been answered; so may a command whose last step this is."""
    came = {phase.name: outcome if phase.right is ends_turn else others for phase in PHASES}
    came |= {phase.name: came[phase.name] + OR + OK for phase in PHASES if not phase.needed or phase.name in COMMANDS}
    came |= {phase.name: reads for phase in PHASES if reads and phase.name.startswith("read-")}
    return came | {phase.name: OK for phase in PHASES if phase.right is is_cancelled}


def _harmless(name: str, told: str, strike: Callable[[Cell], None], **more: Any) -> Fault:
    return Fault(name, told, "harmless", "waits", strike=strike, **more)


CLIENT_FAULTS: Final = (
    _harmless("client-garbage", "the client writes garbage, and invalid UTF-8", _talks_garbage),
    _harmless("client-long-line", "a line longer than one may be", _writes_a_long_line, sense=in_key_phases),
    _harmless("client-unknown", "unknown methods and members", lambda cell: _say(cell, *UNKNOWN)),
    _harmless("client-to-nobody", "answers to nobody", lambda cell: _say(cell, *TO_NOBODY), sense=in_key_phases),
    _harmless(
        "client-same-id",
        "requests under an id that is in use",
        _uses_an_id_twice,
        sense=_where(lambda phase: not phase.answered, "no id is in use"),
    ),
    _harmless("client-flood-requests", "3,100 requests at once", _floods_with_requests),
    _harmless("client-flood-notes", "4,000 notifications at once", _floods_with_notes, sense=in_key_phases),
    _harmless("client-initialize", "a second `initialize`, and one that is wrong", _introduces_itself_again),
    _harmless("client-stalls", "it does not read for a while", _stalls(STALL_SECONDS), seconds=STALL_SECONDS),
    _harmless(
        "client-reads-nothing",
        "it does not read for longer than a host is waited for",
        _stalls(LONG_STALL_SECONDS),
        seconds=LONG_STALL_SECONDS,
        sense=in_key_phases,
    ),
    _harmless(
        "client-answers-again",
        "other answers to a question that it has answered",
        _answers_again,
        sense=_where(_has_question, "there is no question"),
    ),
    _harmless("client-prompts", "two more prompts in the session", _prompts_again, sense=IN_A_SESSION, more=True),
    _harmless(
        "client-takes-back",
        "it takes its request back, twice",
        _takes_it_back,
        expects=_of_prompts(STOPPED, TAKEN_BACK),
    ),
    _harmless("client-stops", "it stops it, three times", _stops, expects=_of_prompts(STOPPED), sense=IN_A_PROMPT),
    _harmless(
        "client-closes",
        "it closes the session",
        _closes_it,
        expects=_of_prompts(STOPPED, reads=READ_ENDED),
        sense=IN_A_SESSION,
    ),
    _harmless(
        "client-loads",
        "it loads the session anew",
        _loads_it,
        more=True,
        expects=_of_prompts(OK, reads=READ_ENDED + OR + OK),
        sense=IN_A_SESSION,
    ),
)
