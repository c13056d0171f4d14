"""What a host says of a session that it opened is believed only if it is about that session (`fault-cases.md L3`)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.adapter_process import Json, running_adapter
from tests.faults.test_faults_host_death import kill
from tests.output_clients import error_of, stored
from tests.screens import a_session
from tests.scripted_hosts import ScriptedHost, place

NAMELESS: list[Json] = [{}, {"session": None}, {"session": {}}, {"session": {"sessionId": 7}, "viewCursor": "v:0"}]
OTHER: Json = {"session": {"sessionId": "ses-other", "status": "idle"}, "viewCursor": "v:0"}

each_wrong = pytest.mark.parametrize("wrong", [*NAMELESS, OTHER], ids=["empty", "null", "object", "number", "other"])
each_nameless = pytest.mark.parametrize("wrong", NAMELESS, ids=["empty", "null", "object", "number"])


class Misnames(ScriptedHost):
    """Answers the first requests of these methods with these results, then as it should."""

    results: ClassVar[dict[str, list[Json]]] = {}

    def receive(self, frame: Json) -> None:
        left = self.results.get(frame.get("method", ""))
        if left:
            return self.answer(frame, **left.pop(0))
        return super().receive(frame)

    def on_view_page(self, request: Json) -> None:
        self.answer(request, events=[], nextCursor=None)


def is_malformed(error: Json) -> bool:
    code, data = error_of(error)
    return (code, data["reason"], data["hostKind"]) == (-32603, "hostError", "malformedResult")


@pytest.mark.acp(58)
@each_wrong
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_l3_an_opening_that_does_not_name_the_session_is_no_success(tmp_path: Path, method: str, wrong: Json) -> None:
    host = place(tmp_path / "host", Misnames, results={"session/resume": [wrong]})
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        assert is_malformed(adapter.refused(method, stored("ses-x", tmp_path)))
        for session_id in ("ses-x", "ses-other"):
            params = {"sessionId": session_id, "prompt": [{"type": "text", "text": "hello"}]}
            code, _ = error_of(adapter.refused("session/prompt", params))
            assert code == -32002, "no ghost of it"
        assert adapter.updates() == [] and host.received("turn/start") == []
        adapter.call(method, stored("ses-x", tmp_path))
        assert adapter.prompt("ses-x", "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0
        assert b"Traceback" not in adapter.stderr
    left = [frame["params"]["sessionId"] for frame in host.received("view/unsubscribe")]
    assert left == ["ses-x"], "the host is not left with what it may have loaded"


@each_wrong
def test_l3_an_open_session_goes_on_when_opening_it_anew_names_another(tmp_path: Path, wrong: Json) -> None:
    host = place(tmp_path / "host", Misnames, results={"session/resume": [wrong]})
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert is_malformed(adapter.refused("session/load", stored(session_id, tmp_path)))
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert host.received("view/unsubscribe") == []
        assert adapter.finish() == 0


@each_nameless
def test_l3_a_start_without_a_name_is_no_success(tmp_path: Path, wrong: Json) -> None:
    host = place(tmp_path / "host", Misnames, results={"session/start": [wrong]})
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        assert is_malformed(adapter.refused("session/new", {"cwd": str(tmp_path), "mcpServers": []}))
        adapter.new_session(tmp_path)
        assert adapter.finish() == 0


def lying(method: str, **result: Any) -> dict[str, str]:
    """The environment of a simulated host that changes members of one answer."""
    return {"MUSE_SIMULATED_FAULTS": json.dumps([{"at": method, "do": "result", "set": result}])}


@pytest.mark.parametrize("wrong", [{"session": {}}, OTHER], ids=["nameless", "other"])
def test_l3_a_copy_that_is_opened_as_something_else_is_no_success(tmp_path: Path, wrong: Json) -> None:
    source, _ = a_session(tmp_path, "one")
    with running_adapter(tmp_path, env=lying("session/resume", **wrong)) as adapter:
        adapter.initialize()
        assert is_malformed(adapter.refused("session/fork", stored(source, tmp_path)))
        [copy_id] = {row["sessionId"] for row in adapter.call("session/list", {})["sessions"]} - {source}
        for session_id in (copy_id, "ses-other"):
            code, _ = error_of(adapter.refused("session/prompt", {"sessionId": session_id, "prompt": []}))
            assert code == -32002
        assert adapter.finish() == 0


def test_l3_a_copy_that_is_an_open_session_is_no_success(tmp_path: Path) -> None:
    source, _ = a_session(tmp_path, "one")
    other, _ = a_session(tmp_path, "two")
    copied = {"sessionId": other, "forkedFrom": {"sessionId": source, "cutExplicit": False}}
    with running_adapter(tmp_path, env=lying("session/fork", session=copied)) as adapter:
        adapter.initialize()
        adapter.call("session/resume", stored(other, tmp_path))
        assert is_malformed(adapter.refused("session/fork", stored(source, tmp_path)))
        assert adapter.prompt(other, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


@each_wrong
def test_l3_a_session_that_comes_back_as_something_else_after_a_death_is_no_success(
    tmp_path: Path, wrong: Json
) -> None:
    # Each run of the host answers wrongly at first.
    host = place(tmp_path / "host", Misnames, results={"session/resume": [wrong]})
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        kill(adapter, host)
        params = {"sessionId": session_id, "prompt": [{"type": "text", "text": "on"}]}
        assert is_malformed(adapter.refused("session/prompt", params))
        assert len(host.received("turn/start")) == 1, "the prompt went nowhere"
        assert adapter.prompt(session_id, "on")["stopReason"] == "end_turn"
        assert adapter.finish() == 0
