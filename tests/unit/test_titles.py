"""Titles and words that say what they are about, and nothing that deceives the eye."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapter.acp.content import ResourceLink, Text
from adapter.acp.text import one_line
from adapter.bridge.consent import permission
from adapter.bridge.outcomes import stop_reason
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.bridge.tool_cards.cards import card_of
from adapter.bridge.turns.prompt_input import input_parts
from adapter.bridge.turns.prompt_input import text_of as written
from adapter.msp.items import ItemState
from adapter.msp.turns import TurnError, TurnOutcome
from adapter.wire.envelope import RpcError
from tests.card_screen import ROOT, Json, Screen, text_of

STYLE = CardStyle("ses-1", ROOT)


def item(kind: str = "toolCall", status: str = "inProgress", **raw: Any) -> ItemState:
    state = ItemState("i1")
    state.raw, state.kind, state.status = raw, kind, status
    return state


def call(tool: str, **arguments: Any) -> ItemState:
    return item(tool=tool, args=json.dumps(arguments))


@pytest.mark.parametrize(
    ("shown", "title"),
    [
        (call("request_user_input", questions=[{"header": "Database", "question": "Which one?"}]), "Which one?"),
        (call("request_user_input", questions=[{"header": "Database"}]), "Database"),
        (call("request_user_input", questions=[3]), "request_user_input"),
        (call("write_file", path=f"{ROOT}/src/a.rs"), "write_file: src/a.rs"),
        (call("write_file", path="/etc/hosts"), "write_file: /etc/hosts"),
        (call("write_file", path=f"{ROOT}/../x"), f"write_file: {ROOT}/../x"),
        (call("bash", command=f"rm {ROOT}/a"), f"rm {ROOT}/a"),
        (item("hookRun", event="UserPromptSubmit", label="Check the style"), "Hook UserPromptSubmit: Check the style"),
        (item("hookRun", event="Stop"), "Hook Stop"),
        (item("compaction", trigger="auto"), "Context compaction (automatic)"),
        (item("compaction"), "Context compaction"),
        (item("webSearch", query="rust"), "Web search: rust"),
    ],
)
def test_a_title_says_what_a_card_is_about(shown: ItemState, title: str) -> None:
    assert card_of(shown, STYLE).title == title


@pytest.mark.parametrize(("word", "told"), [("accepted", "It is about to start."), ("mulling", "mulling")])
def test_the_stage_of_a_subagent_is_told_in_words(word: str, told: str) -> None:
    [content] = card_of(item("subagent", objective="look", controlStatus=word), STYLE).content
    assert content["content"]["text"] == told


def test_a_picture_is_described_once() -> None:
    screen = Screen()
    seen: Json = {"tool": "read_file", "modelVisibleContent": [{"type": "image", "mediaType": "image/png"}]}
    screen.item("i1", **seen)
    screen.delta("i1", "[image]", "output")
    screen.item("i1", 2, "completed", **seen)
    assert {text_of(update) for update in screen.take() if "content" in update} == {
        "[image, image/png: not shown here]"
    }


def test_a_dialog_has_a_short_title_and_the_whole_path() -> None:
    subject = {"kind": "fileAccess", "path": f"{ROOT}/src/a.rs", "access": "write"}
    asked = permission.question({"toolName": "write_file", "subject": subject}, workspace=ROOT)
    assert asked["title"] == "write_file: src/a.rs"
    assert f"path: {ROOT}/src/a.rs" in asked["content"][0]["content"]["text"]


def test_what_turns_the_turn_off_says_so_beside_a_plain_refusal() -> None:
    deny: Json = {"choiceId": "d", "label": "Deny", "decision": "denied"}
    abort: Json = {"choiceId": "a", "label": "Reject", "decision": "abort"}
    names = [option["name"] for option in permission.options([deny, abort])]
    assert names == ["Deny", "Reject (stops the turn)"]
    assert [option["name"] for option in permission.options([abort])] == ["Reject"]


def test_the_hosts_words_stay_the_title_of_a_card_that_is_asked_about() -> None:
    screen = Screen()
    label = {"active": "Writing a file", "done": "Wrote a file", "neutral": "Write a file"}
    screen.item("i1", tool="write_file", args='{"path": "a"}', displayLabel=label)
    screen.item("i2", tool="write_file", args='{"path": "a"}')
    assert [screen.projection.label(name) for name in ("i1", "i2", "i3")] == ["Writing a file", None, None]


def test_marks_that_turn_the_text_are_left_out() -> None:
    assert one_line("a\u202ebc\u2066d\x00e\u2069") == "abcd e"
    assert one_line("שלום 👩‍👩‍👧") == "שלום 👩‍👩‍👧"


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        ((Text("hello"), ResourceLink("file:///x/N", "N")), "hello [N](file:///x/N)"),
        ((ResourceLink("file:///x/N", "N"), Text("and more")), "[N](file:///x/N) and more"),
        ((Text("see ("), ResourceLink("file:///x/N", "N"), Text(").")), "see ([N](file:///x/N))."),
        ((Text("one"), Text("two")), "onetwo"),
    ],
)
def test_a_link_is_kept_from_the_words_beside_it(blocks: Any, text: str) -> None:
    assert written(input_parts(blocks)) == text


def test_a_model_that_failed_is_called_so() -> None:
    outcome = TurnOutcome("failed", error=TurnError("modelError", "it is tired"))
    with pytest.raises(RpcError) as failed:
        stop_reason(outcome)
    assert failed.value.message == "The model failed"
    assert failed.value.data is not None and failed.value.data["reason"] == "hostError"
