"""What was asked of the user, and reads of stored output, as a recording of a Muse host shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inspecting import SESSION, TURN, Json, Transcript, rows

APPROVAL: Json = {
    "sessionId": SESSION,
    "turnId": TURN,
    "approvalId": "a1",
    "toolName": "bash",
    "subject": {"kind": "shell", "command": "make all", "stages": [{}, {}]},
    "currentRequirementId": {"approvalId": "a1", "sourceIndex": 0},
    "availableChoices": [
        {"choiceId": "allow_once", "label": "Allow once", "decision": "approved"},
        {"choiceId": "abort", "label": "Reject", "decision": "abort"},
    ],
}


def test_an_approval_is_told_from_the_question_to_the_end(tmp_path: Path) -> None:
    made = Transcript()
    made.tell("turn/started", {"sessionId": SESSION, "turnId": TURN})
    made.tell("approval/requested", APPROVAL)
    made.answer(made.ask("approval/request", APPROVAL, by="server"), {}, by="client")
    decision = {"sessionId": SESSION, "approvalId": "a1", "choiceId": "allow_once"}
    made.call("approval/decide", decision, {"terminal": False})
    stage = {"currentRequirementId": {"approvalId": "a1", "sourceIndex": 1}, "change": {"kind": "stageResolved"}}
    made.tell("approval/updated", APPROVAL | stage)
    made.call("approval/decide", decision | {"choiceId": "abort", "feedback": "not now"}, {"terminal": True})
    made.tell(
        "approval/resolved", {"sessionId": SESSION, "approvalId": "a1", "decision": "abort", "resolvedBy": "user"}
    )
    _, ladder = made.read(tmp_path)

    assert rows(ladder)[1:] == [
        '< approval/requested may bash "make all"? Allow once / Reject, stage 1 of 2',
        '< approval/request may bash "make all"? Allow once / Reject, stage 1 of 2',
        "> approval/request seen",
        "> approval/decide Allow once (allow_once)",
        "< approval/decide the next stage follows",
        "< approval/updated stageResolved, stage 2 of 2, Allow once / Reject",
        '> approval/decide Reject (abort), saying "not now"',
        "< approval/decide settled",
        "< approval/resolved abort by user",
    ]
    (asked,) = ladder.asked
    assert (asked.number, asked.what, asked.choices) == (2, 'may bash "make all"', "Allow once / Reject")
    assert asked.answer == "Allow once, then Reject, then abort by user"
    assert (asked.stages, asked.waited_ms) == (2, 30)
    assert ladder.turns[0].asked == 1
    assert all(entry.turn == 1 for entry in ladder.entries)


def test_an_approval_nobody_decides_has_no_answer(tmp_path: Path) -> None:
    made = Transcript()
    made.tell("approval/requested", APPROVAL)
    _, ladder = made.read(tmp_path)

    assert (ladder.asked[0].answer, ladder.asked[0].waited_ms) == ("", None)


@pytest.mark.parametrize(
    ("subject", "what"),
    [
        ({"kind": "fileAccess", "access": "write", "path": "/w/a"}, 'may bash write "/w/a"'),
        ({"kind": "network", "host": "example.org", "port": 443}, 'may bash "example.org:443"'),
        ({"kind": "network", "host": "example.org"}, 'may bash "example.org"'),
        ({"kind": "hologram"}, 'may bash "from arguments"'),
        (7, 'may bash "from arguments"'),
    ],
)
def test_what_an_approval_is_about_is_named(tmp_path: Path, subject: object, what: str) -> None:
    made = Transcript()
    made.tell("approval/requested", APPROVAL | {"subject": subject, "rawArgs": '{"path": "from arguments"}'})

    assert made.read(tmp_path)[1].asked[0].what == what


@pytest.mark.parametrize(
    ("method", "params", "outcome", "answer"),
    [
        ("userInput/answer", {"answers": [{"selectedLabel": "Oak"}, {"freeText": "tall"}]}, "answered", "Oak; tall"),
        ("userInput/answer", {"answers": [{"selectedLabels": ["Oak", "Elm"]}]}, "answered", "Oak, Elm"),
        ("userInput/cancel", {"reason": "no form"}, "cancelled", '"no form"'),
        ("userInput/clarify", {"clarification": {"content": "which wood?"}}, "clarified", '"which wood?"'),
    ],
)
def test_questions_to_the_user_are_told_with_their_answers(
    tmp_path: Path, method: str, params: Json, outcome: str, answer: str
) -> None:
    made = Transcript()
    questions = [{"question": "Which tree?", "options": [{"label": "Oak"}, {"label": "Elm"}]}, {"question": "How?"}]
    prompt = {"sessionId": SESSION, "turnId": TURN, "userInputId": "u1", "questions": questions}
    made.answer(made.ask("userInput/request", prompt, by="server"), {}, by="client")
    made.call(method, {"sessionId": SESSION, "userInputId": "u1", **params}, {"status": "accepted"})
    made.tell("userInput/settled", {"sessionId": SESSION, "userInputId": "u1", "outcome": outcome, "answers": []})
    _, ladder = made.read(tmp_path)

    assert rows(ladder) == [
        '< userInput/request "Which tree?" and 1 question more: Oak / Elm',
        "> userInput/request seen",
        f"> {method} {answer}",
        f"< {method} accepted",
        f"< userInput/settled {outcome}",
    ]
    assert [one.answer for one in ladder.asked] == [f"{answer}, then {outcome}"]


def test_reads_are_told_with_what_was_served(tmp_path: Path) -> None:
    made = Transcript()
    read = {"sessionId": SESSION, "itemId": "i1", "outputRef": "out-1", "offsetBytes": 65_536, "lengthBytes": 65_536}
    piece = {
        "content": "",
        "encoding": "utf8",
        "mediaType": "text/plain",
        "offsetBytes": 65_536,
        "byteLen": 300,
        "eof": True,
    }
    made.call("item/readOutput", read, piece)
    made.refuse(made.ask("item/readOutput", read), -32041, "gone", {"kind": "outputUnavailable"})
    made.ask("item/readOutput", read)
    _, ladder = made.read(tmp_path)

    wanted = "from byte 65,536, up to 64.0 KiB"
    assert rows(ladder)[:2] == [
        f"> item/readOutput {wanted}",
        "< item/readOutput 300 bytes, from byte 65,536, text/plain, the end",
    ]
    assert [(one.number, one.ref, one.wanted, one.served, one.refused) for one in ladder.reads] == [
        (1, "out-1", wanted, "300 bytes, from byte 65,536, text/plain, the end", False),
        (3, "out-1", wanted, "refused: outputUnavailable -32041: gone", True),
        (5, "out-1", wanted, "", False),
    ]
