"""Questions of Muse over every simulated version: in a form, or in text that the next message answers."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.adapter_process import Json
from tests.integration.test_consent import (
    CANCELLED,
    END_TURN,
    FORMS,
    asked,
    card_statuses,
    every_version,
    next_request,
    reply,
    session,
)
from tests.processes import wait_until

CREATE = "elicitation/create"


def fill(request: Json, **values: Any) -> Json:
    """A form sent off: the first option of each choice, as many as are needed, words where words are asked for."""
    content: Json = {}
    for name, field in request["params"]["requestedSchema"]["properties"].items():
        if field["type"] == "array":
            content[name] = [option["const"] for option in field["items"]["anyOf"]][: max(1, field["minItems"])]
        else:
            content[name] = field["oneOf"][0]["const"] if "oneOf" in field else "orchard"
    return {"result": {"action": "accept", "content": content | values}}


@every_version
@pytest.mark.acp(94)
@pytest.mark.parametrize(
    ("word", "said"),
    [("", "Postgres; Backups"), (" multi", "Zürich, 東京"), (" text", "orchard"), (" two", "You chose")],
    ids=["both", "multi", "text", "two"],
)
def test_a_form_is_answered(tmp_path: Path, version: str, word: str, said: str) -> None:
    with session(tmp_path, version, **FORMS) as (adapter, session_id):
        adapter.answer = fill
        assert adapter.prompt(session_id, f"ask{word}") == END_TURN
        assert "The question was answered" in adapter.text(session_id) and said in adapter.text(session_id)
        [form] = asked(adapter, CREATE)
        assert form["sessionId"] == session_id
        assert card_statuses(adapter, session_id) == ["completed"]


@every_version
@pytest.mark.acp(94)
@pytest.mark.parametrize("action", ["decline", "cancel", "_later"])
def test_a_form_that_is_not_sent_off_lets_the_turn_go_on(tmp_path: Path, version: str, action: str) -> None:
    with session(tmp_path, version, **FORMS) as (adapter, session_id):
        adapter.answer = lambda request: {"result": {"action": action}}
        assert adapter.prompt(session_id, "ask") == END_TURN
        assert "The question was cancelled" in adapter.text(session_id)


@pytest.mark.acp(94)
def test_a_form_filled_wrong_is_shown_again(tmp_path: Path) -> None:
    with session(tmp_path, "1.4.13", **FORMS) as (adapter, session_id):
        prompt = adapter.begin_prompt(session_id, "ask multi")
        first = next_request(adapter, CREATE)
        reply(adapter, first, fill(first, regions=["Zürich"]))
        second = next_request(adapter, CREATE)
        assert second["params"]["message"].startswith("Regions: choose 2 to 3")
        reply(adapter, second, fill(second))
        assert adapter.response(prompt)["result"] == END_TURN
        assert "The question was answered" in adapter.text(session_id)


@pytest.mark.acp(79)
def test_a_question_answered_elsewhere_is_withdrawn(tmp_path: Path) -> None:
    with session(tmp_path, "1.4.13", **FORMS) as (adapter, session_id):
        assert adapter.prompt(session_id, "ask elsewhere") == END_TURN
        [form] = [frame for frame in adapter.frames if frame.get("method") == CREATE]
        [withdrawn] = [frame for frame in adapter.frames if frame.get("method") == "$/cancel_request"]
        assert withdrawn["params"] == {"requestId": form["id"]}


def test_the_countdown_waits_for_a_form_on_screen(tmp_path: Path) -> None:
    """Without it the host would go on alone after 0.2 s."""
    with session(tmp_path, "1.4.13", **FORMS) as (adapter, session_id):
        prompt = adapter.begin_prompt(session_id, "ask 0.2")
        form = next_request(adapter, CREATE)
        other = adapter.new_session(tmp_path)
        adapter.prompt(other, "wait 0.5")
        assert not [frame for frame in adapter.frames if frame.get("method") == "$/cancel_request"]
        reply(adapter, form, fill(form))
        assert adapter.response(prompt)["result"] == END_TURN
        assert "The question was answered" in adapter.text(session_id)


@pytest.mark.acp(73, 79)
def test_a_cancel_withdraws_a_form(tmp_path: Path) -> None:
    with session(tmp_path, "1.4.13", **FORMS) as (adapter, session_id):
        prompt = adapter.begin_prompt(session_id, "ask")
        form = next_request(adapter, CREATE)
        adapter.notify("session/cancel", {"sessionId": session_id})
        assert adapter.response(prompt)["result"] == CANCELLED
        adapter.wait_for(lambda frame: frame.get("method") == "$/cancel_request")
        reply(adapter, form, fill(form))
        assert adapter.prompt(session_id, "hello") == END_TURN


# -- without forms


@every_version
@pytest.mark.acp(94)
@pytest.mark.parametrize(
    ("word", "message", "said"),
    [
        ("", "2\n1, replicas", "You chose: SQLite; Backups, Replicas"),
        (" multi", "Oslo, 1", "You chose: Oslo, Zürich"),
        (" text", "orchard", "You chose: orchard"),
        (" multi", "what is cheaper?", "You said: what is cheaper?"),
    ],
    ids=["both", "multi", "text", "clarify"],
)
def test_i8_the_next_message_answers(tmp_path: Path, version: str, word: str, message: str, said: str) -> None:
    with session(tmp_path, version) as (adapter, session_id):
        assert adapter.prompt(session_id, f"ask{word}") == END_TURN
        assert "Your next message is the answer" in adapter.text(session_id)
        assert asked(adapter, CREATE) == []
        before = len(adapter.updates(session_id))
        assert adapter.prompt(session_id, message) == END_TURN
        later = [update for update in adapter.updates(session_id)[before:] if "content" in update]
        text = "".join(
            update["content"]["text"] for update in later if update["sessionUpdate"] == "agent_message_chunk"
        )
        assert said in text
        assert card_statuses(adapter, session_id) == ["completed"]
        assert adapter.prompt(session_id, "recall") == END_TURN
        assert adapter.text(session_id).endswith(f"You first said: ask{word}")


def test_a_turn_that_goes_on_alone_is_shown_with_the_next_message(tmp_path: Path) -> None:
    with session(tmp_path, "1.4.13") as (adapter, session_id):
        assert adapter.prompt(session_id, "ask elsewhere") == END_TURN
        adapter.wait_for_update(lambda update: update.get("status") == "completed")
        adapter.new_session(tmp_path)
        assert "The question was" not in adapter.text(session_id)
        assert adapter.prompt(session_id, "recall") == END_TURN
        text = adapter.text(session_id)
        assert 0 < text.index("The question was answered") < text.index("You first said: ask elsewhere")


@pytest.mark.acp(73)
def test_a_cancel_reaches_a_turn_that_waits_for_a_message(tmp_path: Path) -> None:
    with session(tmp_path, "1.4.13") as (adapter, session_id):
        assert adapter.prompt(session_id, "ask") == END_TURN
        adapter.notify("session/cancel", {"sessionId": session_id})
        assert adapter.prompt(session_id, "1\n1") == END_TURN
        assert "You chose" not in adapter.text(session_id)
        assert set(card_statuses(adapter, session_id)) == {"failed"}


def test_a_session_whose_turn_waits_for_a_message_can_be_closed(tmp_path: Path) -> None:
    with session(tmp_path, "1.4.13") as (adapter, session_id):
        assert adapter.prompt(session_id, "ask") == END_TURN
        adapter.call("session/close", {"sessionId": session_id})
        adapter.call("session/load", {"sessionId": session_id, "cwd": str(tmp_path), "mcpServers": []})
        assert adapter.prompt(session_id, "recall") == END_TURN
        assert adapter.text(session_id).endswith("You first said: ask")


# -- a host that dies


@pytest.mark.parametrize("forms", [True, False], ids=["forms", "text"])
def test_a_question_outlives_its_host(tmp_path: Path, forms: bool) -> None:
    """It keeps its id, and is put again all the same, since its form has gone with the host that asked."""
    with session(tmp_path, "1.4.13", **(FORMS if forms else {})) as (adapter, session_id):
        prompt = adapter.begin_prompt(session_id, "ask text")
        if forms:
            first = next_request(adapter, CREATE)
        else:
            assert adapter.response(prompt)["result"] == END_TURN
        [host] = adapter.hosts()
        os.kill(host, signal.SIGKILL)
        if forms:
            assert adapter.response(prompt)["error"]["data"]["reason"] == "hostDied"
            second = next_request(adapter, CREATE)
            assert second["params"]["_meta"]["museUserInputId"] == first["params"]["_meta"]["museUserInputId"]
            reply(adapter, first, fill(first, service_name="too late"))
            reply(adapter, second, fill(second, service_name="orchard"))
        else:
            wait_until(lambda: adapter.text(session_id).count("Your next message is the answer") == 2)
            assert adapter.prompt(session_id, "orchard") == END_TURN
        wait_until(lambda: "You chose: orchard" in adapter.text(session_id))


@every_version
def test_a_prompt_in_line_leaves_a_question_in_text_unanswered(tmp_path: Path, version: str) -> None:
    """It can be no answer, and a client that waits for it sends nothing else."""
    with session(tmp_path, version) as (adapter, session_id):
        with adapter.one_write():
            prompts = [adapter.begin_prompt(session_id, text) for text in ("ask", "hello")]
        assert [adapter.response(prompt)["result"] for prompt in prompts] == [END_TURN, END_TURN]
        assert "You said: hello" in adapter.text(session_id)
