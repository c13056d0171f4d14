"""Sessions that are lost, come back, or are opened while a host does other things as well (`fault-cases.md L, M`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adapter_process import Json, permission, running_adapter
from tests.output_clients import error_of, stored
from tests.screens import VERSIONS, a_session, before_answer, told
from tests.scripted_hosts import ScriptedHost, place

each_version = pytest.mark.parametrize("version", VERSIONS)
each_way = pytest.mark.parametrize("method", ["session/load", "session/resume"])


def prompt(session_id: str, text: str = "hello") -> Json:
    return {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}


@pytest.mark.acp(52, 58)
@each_version
def test_l3_a_session_that_never_was_is_an_error_each_time(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        gone = {"sessionId": "ses-gone"}
        for _ in range(2):
            for method, params in (
                ("session/load", stored("ses-gone", tmp_path)),
                ("session/resume", stored("ses-gone", tmp_path)),
                ("session/fork", stored("ses-gone", tmp_path)),
                ("session/prompt", prompt("ses-gone")),
                ("session/prompt", gone | {"prompt": []}),
                ("session/set_mode", gone | {"modeId": "default"}),
                ("session/set_config_option", gone | {"configId": "mode", "value": "default"}),
                ("session/close", gone),
            ):
                code, data = error_of(adapter.refused(method, params))
                assert (code, data["sessionId"]) == (-32002, "ses-gone"), method
        adapter.notify("session/cancel", gone)
        assert adapter.call("session/list", {}) == {"sessions": []}
        assert adapter.updates() == []
        assert adapter.finish() == 0


class Forgetful(ScriptedHost):
    """Takes a session in and has lost it by the next request about it."""

    def on_turn_start(self, request: Json) -> None:
        self.refuse(request, "sessionNotFound", "there is no such session", code=-32020)


@each_way
def test_l3_a_session_that_is_lost_after_it_was_opened_is_no_success(tmp_path: Path, method: str) -> None:
    host = place(tmp_path / "host", Forgetful)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        adapter.call("session/resume", stored("ses-lost", tmp_path))
        code, data = error_of(adapter.refused("session/prompt", prompt("ses-lost")))
        assert (code, data["sessionId"]) == (-32002, "ses-lost")
        assert adapter.text() == ""
        assert adapter.finish() == 0


@pytest.mark.acp(54)
@each_way
@each_version
def test_l8_the_first_prompt_after_opening_is_answered_and_knows_what_was_said(
    tmp_path: Path, version: str, method: str
) -> None:
    session_id, _ = a_session(tmp_path, "the pears are ripe", version=version)
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        shown = "".join(one.text for one in told(before_answer(adapter, method, stored(session_id, tmp_path))))
        start = len(adapter.text(session_id))
        assert adapter.prompt(session_id, "recall")["stopReason"] == "end_turn"
        assert "the pears are ripe" in adapter.text(session_id)[start:]
        assert ("the pears are ripe" in shown) == (method == "session/load")
        assert adapter.finish() == 0


class AsksFirst(ScriptedHost):
    """Asks for consent before it answers the opening of a session, and answers when the question has been received."""

    request: Json = {}  # noqa: RUF012 - the opening that waits

    def on_session_resume(self, request: Json) -> None:
        self.request = request
        session_id = request["params"]["sessionId"]
        self.turns.append((session_id, "t1"))
        self.event("turn/started", session_id, turnId="t1", commandId="c1")
        self.ask_approval(session_id, "t1")

    def on_session_start(self, request: Json) -> None:
        self.request = request
        self.event("session/statusChanged", "ses-new", status="idle")
        self.send({"jsonrpc": "2.0", "id": "odd", "method": "host/isThisKnown", "params": {"sessionId": "ses-new"}})

    def on_response(self, frame: Json) -> None:
        """Only now the host goes on: a client that waits for the answer first waits for ever."""
        if self.request:
            params = self.request["params"]
            session = {"sessionId": params.get("sessionId", "ses-new"), "status": "running"}
            request, self.request = self.request, {}
            self.answer(request, session=session, viewCursor="v:0")

    def on_view_page(self, request: Json) -> None:
        self.answer(request, events=[], nextCursor=None)


@each_way
def test_m4_a_question_before_the_answer_to_an_opening_is_served_at_once(tmp_path: Path, method: str) -> None:
    host = place(tmp_path / "host", AsksFirst)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        adapter.answer = lambda request: permission(request["params"]["options"][0]["optionId"])
        adapter.call(method, stored("ses-asking", tmp_path))
        adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        assert adapter.prompt("ses-asking", "hello")["stopReason"] == "end_turn"
        assert [frame["params"]["choiceId"] for frame in host.received("approval/decide")] == ["yes"]
        assert adapter.finish() == 0


def test_m4_an_unknown_request_before_the_answer_to_a_start_is_answered_at_once(tmp_path: Path) -> None:
    host = place(tmp_path / "host", AsksFirst)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        assert adapter.new_session(tmp_path) == "ses-new"
        assert adapter.finish() == 0


class Talkative(ScriptedHost):
    """Says a hundred things while it is asked for a page of history."""

    said = 100

    def on_session_resume(self, request: Json) -> None:
        session = {"sessionId": request["params"]["sessionId"], "status": "running"}
        self.answer(request, session=session, viewCursor="v:0")

    def on_view_page(self, request: Json) -> None:
        session_id = request["params"]["sessionId"]
        started: dict[str, Any] = {"sessionId": session_id, "viewCursor": "v:0", "turnId": "t1", "commandId": "c1"}
        text = ""
        self.item("started", session_id, "t1", "m1", text="")
        for number in range(self.said):
            self.delta(session_id, "m1", f"{number} ")
            text += f"{number} "
        self.answer(request, events=[{"method": "turn/started", "params": started}], nextCursor=None)
        self.item("completed", session_id, "t1", "m1", text=text)
        self.complete(session_id, "t1")


def test_m5_what_is_said_during_a_read_waits_for_nobody_and_keeps_its_order(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Talkative)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        adapter.call("session/load", stored("ses-talking", tmp_path))
        assert adapter.prompt("ses-talking", "hello")["stopReason"] == "end_turn"
        expected = "".join(f"{number} " for number in range(Talkative.said))
        assert adapter.text("ses-talking").startswith(expected)
        assert adapter.text("ses-talking").count("99 ") == 1
        assert adapter.finish() == 0
