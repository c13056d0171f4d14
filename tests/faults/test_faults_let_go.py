"""What a host was asked to load and nobody wants any more is let go of, once, and before anything else is done with it
(`fault-cases.md L9, L11`)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import ClassVar

from tests.adapter_process import Json, running_adapter
from tests.faults.test_faults_host_death import kill
from tests.output_clients import error_of, stored
from tests.processes import wait_until
from tests.scripted_hosts import Placed, ScriptedHost, place

LETTING_GO = ["view/unsubscribe", "session/leave"]


class LetsGo(ScriptedHost):
    """Lets go of sessions, and holds the requests of these methods up until it may go on."""

    held: ClassVar[list[str]] = []

    def receive(self, frame: Json) -> None:
        method = frame.get("method", "")
        if method in self.held and frame["params"]["sessionId"] == "ses-1":
            while not (self.directory / "go").exists():
                time.sleep(0.005)
        return super().receive(frame)

    def on_view_page(self, request: Json) -> None:
        self.answer(request, events=[], nextCursor=None)

    def on_view_unsubscribe(self, request: Json) -> None:
        self.answer(request)

    def on_session_leave(self, request: Json) -> None:
        params = request["params"]
        self.answer(request, commandId=params["commandId"], status="accepted")
        told = {"sessionId": params["sessionId"], "commandId": params["commandId"], "outcome": "completed"}
        self.send({"jsonrpc": "2.0", "method": "session/leaveCompleted", "params": told})


def let_on(host: Placed) -> None:
    (host.directory / "go").touch()


def hold(host: Placed) -> None:
    (host.directory / "go").unlink(missing_ok=True)


def told(host: Placed, *more: str) -> list[str]:
    """What the hosts were asked to do with the session, in order."""
    frames = [frame for frame in host.received() if frame.get("params", {}).get("sessionId") == "ses-1"]
    return [frame["method"] for frame in frames if frame["method"] in ("session/resume", *LETTING_GO, *more)]


def test_l9_a_session_that_is_closed_on_its_way_to_the_next_host_is_let_go_of_there(tmp_path: Path) -> None:
    host = place(tmp_path / "host", LetsGo, held=["session/resume"])
    let_on(host)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        adapter.call("session/resume", stored("ses-1", tmp_path))
        assert adapter.prompt("ses-1", "hello")["stopReason"] == "end_turn"
        hold(host)
        kill(adapter, host)
        prompt = adapter.begin_prompt("ses-1", "on")
        wait_until(lambda: told(host) == ["session/resume"] * 2)
        close = adapter.begin("session/close", {"sessionId": "ses-1"})
        assert adapter.response(prompt)["result"]["stopReason"] == "cancelled"
        let_on(host)
        assert adapter.response(close)["result"] == {}
        adapter.call("session/load", stored("ses-1", tmp_path))
        assert told(host) == ["session/resume", "session/resume", *LETTING_GO, "session/resume"]
        assert adapter.prompt("ses-1", "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


def test_l11_a_session_whose_loading_is_taken_back_is_let_go_of_before_it_is_loaded_again(tmp_path: Path) -> None:
    host = place(tmp_path / "host", LetsGo, held=["view/page"])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        taken_back = adapter.begin("session/load", stored("ses-1", tmp_path))
        wait_until(lambda: "view/page" in told(host, "view/page"))
        adapter.notify("$/cancel_request", {"requestId": taken_back})
        assert adapter.response(taken_back)["error"]["code"] == -32800
        again = adapter.begin("session/load", stored("ses-1", tmp_path))
        let_on(host)
        assert "result" in adapter.response(again)
        assert adapter.prompt("ses-1", "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0
    assert told(host) == ["session/resume", *LETTING_GO, "session/resume"]


def test_l11_a_session_that_is_opened_again_before_its_host_has_answered_stays_open(tmp_path: Path) -> None:
    host = place(tmp_path / "host", LetsGo, held=["session/resume"])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        taken_back = adapter.begin("session/load", stored("ses-1", tmp_path))
        wait_until(lambda: told(host) == ["session/resume"])
        adapter.notify("$/cancel_request", {"requestId": taken_back})
        assert adapter.response(taken_back)["error"]["code"] == -32800
        again = adapter.begin("session/load", stored("ses-1", tmp_path))
        prompt = {"sessionId": "ses-1", "prompt": [{"type": "text", "text": "early"}]}
        code, data = error_of(adapter.refused("session/prompt", prompt))
        assert (code, data["reason"]) == (-32600, "sessionBusy"), "it is being opened now"
        let_on(host)
        assert "result" in adapter.response(again)
        assert adapter.prompt("ses-1", "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0
    assert told(host) == ["session/resume", "session/resume"]
