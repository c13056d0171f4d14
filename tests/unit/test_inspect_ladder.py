"""A ladder of an MSP conversation: rows in order, answers with their requests, turns, times and totals."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from adapter.cli.inspect.brackets import brackets
from adapter.cli.inspect.ladder import ladder_of
from adapter.cli.inspect.members import Members
from adapter.cli.inspect.recording import Recording
from adapter.hosts.recorded.script import Line, Script
from tests.inspecting import OTHER, SESSION, TURN, Transcript, rows


def prompted(made: Transcript) -> None:
    """A session and a turn that has begun in it."""
    made.shake_hands()
    made.call(
        "session/start", {"workspaceRoot": "/farm/orchard"}, {"session": {"sessionId": SESSION, "status": "idle"}}
    )
    prompt = {"sessionId": SESSION, "input": [{"type": "text", "text": "count the trees"}]}
    made.call("turn/start", prompt, {"turnId": TURN, "disposition": "started"})
    made.tell("turn/started", {"sessionId": SESSION, "turnId": TURN})


def test_a_turn_reads_as_what_happened(tmp_path: Path) -> None:
    made = Transcript()
    prompted(made)
    call = {"itemId": "i1", "kind": "toolCall", "tool": "bash", "args": '{"command":"ls trees"}'}
    made.item("started", {**call, "status": "inProgress"})
    made.item("completed", {**call, "status": "completed", "visibleOutput": "oak\nelm\n", "durationMs": 1200})
    made.item("completed", {"itemId": "i2", "kind": "agentMessage", "status": "completed", "text": "Two trees."})
    made.tell("turn/completed", {"sessionId": SESSION, "turnId": TURN, "terminal": "completed", "durationMs": 2500})
    _, ladder = made.read(tmp_path)

    assert rows(ladder) == [
        "> initialize tester 3",
        "< initialize muse-session-server 1.2.1, grants sessionMcp",
        "> session/start in /farm/orchard",
        "< session/start idle",
        '> turn/start "count the trees"',
        "< turn/start started",
        "< turn/started",
        '< item/started bash "ls trees"',
        '< item/completed bash "ls trees": 8 bytes shown, 1.2 s',
        '< item/completed answer: "Two trees."',
        "< turn/completed completed, after 2.5 s",
    ]
    (turn,) = ladder.turns
    assert (turn.first, turn.last, turn.prompt, turn.outcome) == (5, 11, '"count the trees"', "completed")
    assert (turn.items, turn.lasted_ms, turn.ended, turn.failed) == (2, 2500, True, False)
    assert [entry.turn for entry in ladder.entries] == [None] * 4 + [1] * 7
    assert [entry.session for entry in ladder.entries] == [None] * 2 + [1] * 9


def test_answers_carry_the_time_since_their_request_and_point_at_it(tmp_path: Path) -> None:
    made = Transcript()
    slow = made.ask("model/list", {})
    made.call("skill/list", {}, {"skills": [{}, {}]})
    made.answer(slow, {"models": []}, after=4000)
    _, ladder = made.read(tmp_path)

    assert [(entry.number, entry.partner, entry.elapsed_ms) for entry in ladder.entries] == [
        (1, 4, None),
        (2, 3, None),
        (3, 2, 10),
        (4, 1, 4020),
    ]
    assert [entry.number for entry in ladder.totals.slowest] == [4, 3]
    assert ladder.totals.unanswered == ()


def test_ids_of_the_two_sides_and_of_two_types_are_different_ids(tmp_path: Path) -> None:
    made = Transcript()
    for request_id in (1, "1"):
        made.client(json.dumps({"jsonrpc": "2.0", "id": request_id, "method": f"model/{request_id!r}"}))
    made.server('{"jsonrpc":"2.0","id":1,"method":"approval/request"}')
    made.answer("1", {})
    made.answer(1, {}, by="client")
    made.answer(1, {})
    _, ladder = made.read(tmp_path)

    assert [entry.partner for entry in ladder.entries] == [6, 4, 5, 2, 3, 1]


def test_what_is_never_answered_and_what_answers_nothing_is_told(tmp_path: Path) -> None:
    made = Transcript()
    made.ask("model/list", {})
    made.answer(99, {})
    made.server('{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}')
    _, ladder = made.read(tmp_path)

    assert [entry.number for entry in ladder.totals.unanswered] == [1]
    assert rows(ladder)[1:] == ["<  done", "<  refused: -32700: no JSON"]


def test_a_refusal_tells_reason_code_and_sentence(tmp_path: Path) -> None:
    made = Transcript()
    data = {"kind": "commandRejected", "reason": "stale_attempt"}
    made.refuse(made.ask("turn/steer", {"sessionId": SESSION}), -32030, "it is over", data)
    made.server('{"jsonrpc":"2.0","id":7,"error":"odd"}')
    _, ladder = made.read(tmp_path)

    assert rows(ladder)[1:] == ["< turn/steer refused: stale_attempt -32030: it is over", "<  refused: odd"]
    assert [entry.number for entry in ladder.totals.failed] == [2, 3]


def test_pieces_of_one_text_are_one_row(tmp_path: Path) -> None:
    made = Transcript()
    prompted(made)
    before = len(made.lines)
    made.item("started", {"itemId": "m1", "kind": "agentMessage", "status": "inProgress"})
    for piece in ("Two ", "trees, ", "grüne."):
        made.tell("item/delta", {"sessionId": SESSION, "itemId": "m1", "delta": piece})
    made.tell("item/delta", {"sessionId": SESSION, "itemId": "m2", "field": "output", "delta": "x"})
    made.tell("item/delta", {"sessionId": SESSION, "itemId": "m1", "delta": "!"})
    _, ladder = made.read(tmp_path)

    assert rows(ladder)[before + 1 :] == [
        '< item/delta answer: "Two trees, grüne.", 18 bytes in 3 pieces',
        '< item/delta output of an item not seen before: "x", 1 byte',
        '< item/delta answer: "!", 1 byte',
    ]
    assert ladder.entries[before + 1].numbers == (before + 2, before + 3, before + 4)
    assert ladder.entries[before + 1].turn == 1
    # Every frame is in exactly one row.
    assert [number for entry in ladder.entries for number in entry.numbers] == list(range(1, len(made.lines) + 1))


def test_turns_end_once_and_say_how(tmp_path: Path) -> None:
    made = Transcript()
    for turn, terminal in (("t1", "failed"), ("t2", "cancelled")):
        error = {"error": {"kind": "modelError", "message": "no such model"}} if terminal == "failed" else {}
        made.tell("turn/started", {"sessionId": SESSION, "turnId": turn})
        made.tell("turn/completed", {"sessionId": SESSION, "turnId": turn, "terminal": terminal, **error})
    made.tell("turn/completed", {"sessionId": SESSION, "turnId": "t1", "terminal": "completed"})
    made.tell("turn/unqueued", {"sessionId": SESSION, "turnId": "t3"})
    made.tell("turn/started", {"sessionId": SESSION, "turnId": "t4"})
    _, ladder = made.read(tmp_path)

    assert [turn.outcome for turn in ladder.turns] == [
        'failed, modelError: "no such model"',
        "cancelled",
        "unqueued",
        "",
    ]
    assert [turn.ended for turn in ladder.turns] == [True, True, True, False]
    assert [entry.number for entry in ladder.totals.failed] == [2]


def test_items_that_failed_and_gaps_are_failures(tmp_path: Path) -> None:
    made = Transcript()
    failed = {"itemId": "i1", "kind": "toolCall", "tool": "bash", "status": "timedOut", "failureReason": "too slow"}
    made.item("completed", failed)
    made.tell("view/gap", {"sessionId": SESSION, "after": "v:4", "next": "v:9"})
    _, ladder = made.read(tmp_path)

    assert rows(ladder) == [
        "< item/completed bash: timedOut, too slow",
        "< view/gap events are missing after v:4 and before v:9",
    ]
    assert len(ladder.totals.failed) == 2


def test_sessions_are_numbered_as_they_come_and_get_their_names(tmp_path: Path) -> None:
    made = Transcript()
    made.tell("session/started", {"session": {"sessionId": SESSION, "status": "idle"}})
    made.tell("session/statusChanged", {"sessionId": OTHER, "status": "running"})
    made.tell("session/nameChanged", {"sessionId": SESSION, "name": "Trees"})
    _, ladder = made.read(tmp_path)

    assert [(one.number, one.id, one.name) for one in ladder.sessions] == [(1, SESSION, "Trees"), (2, OTHER, "")]


def test_times_are_those_of_the_recording_else_those_the_host_tells(tmp_path: Path) -> None:
    untimed = Transcript(timed=False)
    untimed.shake_hands()
    for at in (5_000, 5_250, 6_000):
        untimed.tell("session/statusChanged", {"sessionId": SESSION, "status": "idle"}, emittedAtMs=at)
    _, ladder = untimed.read(tmp_path)
    timed = Transcript()
    timed.shake_hands()
    timed.tell("session/statusChanged", {"sessionId": SESSION, "status": "idle"}, emittedAtMs=99)

    assert [entry.at_ms for entry in ladder.entries] == [None, None, 0, 250, 1000]
    assert (ladder.totals.lasted_ms, ladder.totals.timed) == (1000, False)
    assert [entry.at_ms for entry in timed.read(tmp_path)[1].entries] == [0, 10, 20]


def test_times_that_were_made_equal_are_none(tmp_path: Path) -> None:
    made = Transcript(timed=False)
    for _ in range(3):
        made.tell("session/statusChanged", {"sessionId": SESSION, "status": "idle"}, emittedAtMs=1767323045678)
    _, ladder = made.read(tmp_path)

    assert ladder.totals.lasted_ms is None and all(entry.at_ms is None for entry in ladder.entries)


def test_brackets_put_turns_that_run_at_once_beside_each_other(tmp_path: Path) -> None:
    made = Transcript()
    made.shake_hands()
    for method, turn in [("started", "t1"), ("started", "t2"), ("retracted", "t1"), ("completed", "t1")]:
        made.tell(f"turn/{method}", {"sessionId": SESSION, "turnId": turn, "terminal": "completed"})
    for method, turn in [("completed", "t2"), ("started", "t3"), ("completed", "t3"), ("started", "t4")]:
        made.tell(f"turn/{method}", {"sessionId": SESSION, "turnId": turn, "terminal": "completed"})
    # Work in the background is no part of its turn any more.
    made.item("completed", {"itemId": "i1", "kind": "toolCall", "turnId": "t1", "status": "completed"})
    _, ladder = made.read(tmp_path)

    assert brackets(ladder.entries, ladder.turns) == [
        ["", ""],
        ["", ""],
        ["begin", ""],
        ["beside", "begin"],
        ["inside", "beside"],
        ["end", "beside"],
        ["", "end"],
        ["begin", ""],
        ["end", ""],
        ["alone", ""],
        ["", ""],
    ]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
METHODS = (
    *("initialize", "session/start", "session/resume", "turn/start", "turn/completed", "item/started", "item/delta"),
    *("approval/request", "approval/decide", "approval/updated", "userInput/requested", "userInput/answer"),
    *("item/readOutput", "view/page", "session/prompt", "session/update", "session/request_permission", "odd"),
)
MEMBERS = (
    *("sessionId", "session", "item", "turnId", "input", "update", "options", "questions", "subject", "error"),
    *("clientInfo", "capabilities", "availableChoices", "prompt", "content", "toolCall", "answers", "delta"),
)
frames = st.fixed_dictionaries(
    {},
    optional={
        "id": st.integers(0, 3) | st.text(max_size=2) | st.none(),
        "method": st.sampled_from(METHODS) | anything,
        "params": st.dictionaries(st.sampled_from(MEMBERS), anything, max_size=4) | anything,
        "result": anything,
        "error": anything,
    },
)
lines = st.lists(st.tuples(st.sampled_from(["client", "server"]), frames), max_size=12)


@given(lines, st.sampled_from(["msp", "acp"]))
def test_no_frame_is_too_odd_to_be_shown(said: list[tuple[str, dict[str, object]]], protocol: str) -> None:
    made = tuple(
        Line(number, "client" if direction == "client" else "server", json.dumps(frame), frame)
        for number, (direction, frame) in enumerate(said, 1)
    )
    ladder = ladder_of(Recording(Script(made), Members({}), "acp" if protocol == "acp" else "msp"))

    assert [number for entry in ladder.entries for number in entry.numbers] == [line.number for line in made]
    shown = "".join(entry.method + entry.words for entry in ladder.entries)
    assert not [letter for letter in shown if unicodedata.category(letter) == "Cc"]
