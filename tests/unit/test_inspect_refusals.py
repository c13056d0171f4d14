"""What failed, what is only not available, and what was asked just to learn that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from adapter.cli.inspect.facts import facts
from adapter.cli.inspect.ladder import Ladder
from adapter.cli.inspect.recording import Recording
from adapter.cli.inspect.tables import summaries
from adapter.msp.abilities import questions
from tests.inspecting import SESSION, Json, Transcript, rows

NOT_THERE = {"kind": "methodNotFound"}


def holds(recording: Recording, ladder: Ladder) -> str:
    return dict(facts(recording, ladder)).get("holds", "")


def titles(ladder: Ladder) -> list[str]:
    return [summary.title for summary in summaries(ladder)]


def test_what_the_adapter_asks_to_learn_what_a_host_can_is_no_failure(tmp_path: Path) -> None:
    made = Transcript()
    made.shake_hands()
    asked = [(method, made.ask(method, params)) for method, params in questions()]
    for number, (_, request) in enumerate(asked):
        if number % 2:
            made.refuse(request, -32601, "no such method", NOT_THERE)
        else:
            made.refuse(request, -32020, "no such session", {"kind": "sessionNotFound"})
    made.answer(made.ask(*questions()[-1]), {"sessions": []})
    made.call("session/start", {}, {"session": {"sessionId": SESSION, "status": "idle"}})
    recording, ladder = made.read(tmp_path)

    asked_and_answered = ladder.entries[2:-2]
    assert {entry.kind for entry in asked_and_answered} == {"probe"}
    assert {entry.session for entry in asked_and_answered} == {None}
    assert rows(ladder)[2] == f"> {asked[0][0]} is it available?"
    answers = rows(ladder)[2 + len(asked) :]
    assert answers[0] == f"< {asked[0][0]} available: sessionNotFound -32020"
    assert answers[1] == f"< {asked[1][0]} not available here: methodNotFound -32601"
    assert rows(ladder)[-3] == "< session/list available"
    assert ladder.totals.failed == ladder.totals.lacking == ()
    assert holds(recording, ladder) == f"1 session, {len(asked) + 1} probes"
    assert [one.id for one in ladder.sessions] == [SESSION]


def test_a_list_filtered_for_sessions_that_are_there_is_no_probe(tmp_path: Path) -> None:
    made = Transcript()
    method, params = questions()[-1]
    params["filter"]["sessionId"]["anyOf"].append(SESSION)
    made.ask(method, params)

    assert made.read(tmp_path)[1].totals.probes == 0


@pytest.mark.parametrize(
    ("code", "data"),
    [
        (-32601, {}),
        (-32601, NOT_THERE),
        (-32000, {"kind": "experimentalRequired"}),
        (-32002, {"kind": "capabilityRequired"}),
    ],
)
def test_what_is_optional_and_not_there_is_told_apart_from_failures(tmp_path: Path, code: int, data: Json) -> None:
    made = Transcript()
    for _ in range(2):
        made.refuse(made.ask("skill/list", {"sessionId": SESSION}), code, "not on this host", data)
    recording, ladder = made.read(tmp_path)

    assert rows(ladder)[1].startswith("< skill/list not available here: ")
    assert [(entry.failed, entry.lacking) for entry in ladder.entries] == [(False, False), (False, True)] * 2
    assert holds(recording, ladder) == "1 session, 1 method not available"
    assert "Not available here" in titles(ladder) and "Failures" not in titles(ladder)


@pytest.mark.parametrize("method", ["initialize", "session/start", "turn/start"])
def test_without_what_every_host_has_there_is_no_conversation(tmp_path: Path, method: str) -> None:
    made = Transcript()
    made.refuse(made.ask(method, {}), -32601, "no such method", NOT_THERE)
    _, ladder = made.read(tmp_path)

    assert [entry.number for entry in ladder.totals.failed] == [2] and ladder.totals.lacking == ()


def test_an_editor_may_lack_what_is_optional_as_well(tmp_path: Path) -> None:
    made = Transcript()
    made.call("initialize", {"protocolVersion": 1}, {"protocolVersion": 1})
    made.refuse(made.ask("session/fork", {}), -32601, "no such method")
    made.refuse(made.ask("session/prompt", {}), -32601, "no such method")
    recording, ladder = made.read(tmp_path)

    assert recording.protocol == "acp"
    assert [entry.number for entry in ladder.totals.lacking] == [4]
    assert [entry.number for entry in ladder.totals.failed] == [6]


@pytest.mark.parametrize(
    "raw",
    [
        '{"i":1}',
        "{}",
        '{"id":1}',
        '{"result":{}}',
        '{"jsonrpc":"2.0","method":5}',
        '{"method":"model/list","id":1}',
        '{"jsonrpc":"2.0","method":"model/list","id":null}',
    ],
)
def test_an_object_that_is_no_message_is_a_failure(tmp_path: Path, raw: str) -> None:
    made = Transcript()
    made.client(raw)
    _, ladder = made.read(tmp_path)

    (entry,) = ladder.totals.failed
    assert (entry.shape, entry.method) == ("unreadable", "")
    assert entry.words == f'no valid frame: "{raw}"'
    assert ladder.totals.unanswered == ()


def test_an_answer_to_nothing_is_a_frame(tmp_path: Path) -> None:
    made = Transcript()
    made.server(json.dumps({"id": None, "error": {"code": -32700, "message": "no JSON"}}))

    assert rows(made.read(tmp_path)[1]) == ["<  refused: -32700: no JSON"]


@pytest.mark.parametrize(
    ("ended", "said", "failed"),
    [
        ({"exitCode": 0}, "with exit code 0", False),
        ({"exitCode": 3}, "with exit code 3", True),
        ({"exitCode": 130}, "with exit code 130, for SIGINT", False),
        ({"signal": 15}, "by SIGTERM", False),
        ({"signal": 9}, "by SIGKILL", True),
        ({"signal": 11}, "by SIGSEGV", True),
        ({"signal": 63}, "by signal 63", True),
    ],
)
def test_how_the_host_ended_by_itself_is_told(tmp_path: Path, ended: Json, said: str, failed: bool) -> None:
    made = Transcript()
    made.shake_hands()
    recording, ladder = made.read(tmp_path, {"ended": ended})

    assert dict(facts(recording, ladder))["ended"] == said
    assert holds(recording, ladder) == ("1 failure" if failed else "")
    failures = [summary for summary in summaries(ladder) if summary.title == "Failures"]
    assert [row.cells for summary in failures for row in summary.rows] == ([["", f"ended {said}"]] if failed else [])


def test_of_a_host_that_ended_as_it_was_told_nothing_is_said(tmp_path: Path) -> None:
    made = Transcript()
    made.shake_hands()
    recording, ladder = made.read(tmp_path, {})

    assert ladder.ending is None and "ended" not in dict(facts(recording, ladder))
