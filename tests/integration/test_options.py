"""Options and modes of sessions on the simulated hosts: offered, chosen, announced, in force."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapter_process import Json, running_adapter
from tests.option_clients import choose, faulty, offered, opened, option_updates, set_mode, told, values, witnessed
from tests.output_clients import stored
from tests.processes import wait_until

each_version = pytest.mark.parametrize("version", ["1.0.1", "1.1.1", "1.2.1", "1.3.0", "1.4.2", "1.4.13"])

TIERS = ["none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra"]
FIRST = {
    "mode": "default",
    "model": "muse-large-2",
    "reasoning_effort": "default",
    "approval_mode": "promptUnmatched",
}


@each_version
@pytest.mark.acp(95, 97)
def test_a_new_session_says_what_can_be_set(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        result = opened(adapter, tmp_path)
        assert values(result["configOptions"]) == FIRST
        assert offered(result["configOptions"], "model") == ["muse-large-2", "muse-small-1"]
        tiers = [tier for tier in TIERS if tier != "max" or version > "1.2"]
        assert offered(result["configOptions"], "reasoning_effort") == ["default", *tiers]
        assert offered(result["configOptions"], "approval_mode") == ["promptUnmatched", "onRequest", "denyUnmatched"]
        assert result["modes"]["currentModeId"] == "default"
        modes = [mode["id"] for mode in result["modes"]["availableModes"]]
        assert modes == offered(result["configOptions"], "mode") == ["default", "readOnly", "plan"]
        assert adapter.prompt(result["sessionId"], "hello")["stopReason"] == "end_turn"
        assert option_updates(adapter, result["sessionId"]) == [], "nothing has changed"
        assert adapter.finish() == 0


@each_version
@pytest.mark.acp(95, 97)
def test_each_choice_is_answered_with_all_options_and_told_once(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        expected, announced = dict(FIRST), []
        for option, value in (
            ("model", "muse-small-1"),
            ("reasoning_effort", "high"),
            ("approval_mode", "denyUnmatched"),
            ("mode", "readOnly"),
        ):
            expected[option] = value
            announced.append(dict(expected))
            assert choose(adapter, session_id, option, value) == expected
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        updates = option_updates(adapter, session_id)
        if version == "1.1.1":
            # It takes the choice and does not follow it.
            assert updates.pop() == expected | {"model": "muse-large-2"}
        assert updates == announced
        assert [each["currentModeId"] for each in told(adapter, session_id, "current_mode_update")] == ["readOnly"]
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.1.1", "1.2.1", "1.4.13"])
@pytest.mark.acp(95)
def test_o6_what_is_not_on_offer_is_refused_and_changes_nothing(tmp_path: Path, version: str) -> None:
    witness = tmp_path / "witness"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        result = opened(adapter, tmp_path)
        session_id = result["sessionId"]
        wrong: list[tuple[str, Json, str]] = [
            ("session/set_mode", {"modeId": "does-not-exist"}, "modeId"),
            ("session/set_config_option", {"configId": "mode", "value": "bypassApprovals"}, "value"),
            ("session/set_config_option", {"configId": "model", "value": "does-not-exist"}, "value"),
            ("session/set_config_option", {"configId": "reasoning_effort", "value": "enormous"}, "value"),
            ("session/set_config_option", {"configId": "approval_mode", "value": "allowAll"}, "value"),
            ("session/set_config_option", {"configId": "does-not-exist", "value": "x"}, "configId"),
            ("session/set_config_option", {"configId": "mode", "value": True, "type": "boolean"}, "value"),
        ]
        for method, params, field in wrong:
            error = adapter.refused(method, {"sessionId": session_id, **params})
            assert (error["code"], error["data"]["reason"], error["data"]["field"]) == (-32602, "invalidParams", field)
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert option_updates(adapter, session_id) == []
        assert choose(adapter, session_id, "mode", "default") == FIRST
        asked = {entry["method"] for entry in map(json.loads, witness.read_text().splitlines()) if not _probes(entry)}
        assert not asked & {"session/setModel", "session/setApprovalMode"}
        unknown = adapter.refused("session/set_mode", {"sessionId": "ses-gone", "modeId": "plan"})
        assert unknown["code"] == -32002
        assert adapter.finish() == 0


def _probes(entry: Json) -> bool:
    """Every host is asked once what it has, effort included."""
    return bool(entry["method"] == "session/setReasoningEffort")


@pytest.mark.acp(96)
def test_no_option_is_a_boolean_whatever_the_client_can_show(tmp_path: Path) -> None:
    shows: Json = {"session": {"configOptions": {"boolean": {}}}}
    for capabilities in ({}, shows):
        with running_adapter(tmp_path) as adapter:
            adapter.initialize(clientCapabilities=capabilities)
            options = opened(adapter, tmp_path)["configOptions"]
            assert {option["type"] for option in options} == {"select"}
            assert adapter.finish() == 0


@pytest.mark.acp(98)
def test_choices_are_taken_while_a_turn_runs(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse="simulated:1.4.13") as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        prompt = adapter.begin_prompt(session_id, "slow 30")
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        choose(adapter, session_id, "model", "muse-small-1")
        choose(adapter, session_id, "reasoning_effort", "low")
        choose(adapter, session_id, "approval_mode", "onRequest")
        set_mode(adapter, session_id, "plan")
        adapter.notify("session/cancel", {"sessionId": session_id})
        assert adapter.response(prompt)["result"]["stopReason"] == "cancelled", "the turn went on meanwhile"
        expected = {
            "mode": "plan",
            "model": "muse-small-1",
            "reasoning_effort": "low",
            "approval_mode": "onRequest",
        }
        assert option_updates(adapter, session_id)[-1] == expected
        assert adapter.finish() == 0


@pytest.mark.acp(99)
def test_each_session_has_its_own(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        one, two = (opened(adapter, tmp_path)["sessionId"] for _ in range(2))
        choose(adapter, one, "model", "muse-small-1")
        choose(adapter, one, "approval_mode", "denyUnmatched")
        assert choose(adapter, two, "approval_mode", "onRequest") == FIRST | {"approval_mode": "onRequest"}
        assert len(option_updates(adapter, one)) == 2
        assert option_updates(adapter, two) == [FIRST | {"approval_mode": "onRequest"}]
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.1.1", "1.2.1"])
def test_an_effort_goes_with_the_turn_only_where_the_host_keeps_none(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, "--log-level", "debug", muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        result = opened(adapter, tmp_path)
        session_id = result["sessionId"]
        choose(adapter, session_id, "reasoning_effort", "high")
        (update,) = told(adapter, session_id, "config_option_update")
        keeps = version != "1.1.1"
        assert ("default" in offered(update["configOptions"], "reasoning_effort")) is not keeps
        if keeps:
            params = {"sessionId": session_id, "configId": "reasoning_effort", "value": "default"}
            assert adapter.refused("session/set_config_option", params)["code"] == -32602
        else:
            assert choose(adapter, session_id, "reasoning_effort", "default")["reasoning_effort"] == "default"
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


# -- allowAll


def test_everything_is_allowed_only_after_the_start_option(tmp_path: Path) -> None:
    with running_adapter(tmp_path, "--allow-all") as adapter:
        adapter.initialize()
        result = opened(adapter, tmp_path)
        assert offered(result["configOptions"], "approval_mode")[-1] == "allowAll"
        session_id = result["sessionId"]
        assert choose(adapter, session_id, "approval_mode", "allowAll")["approval_mode"] == "allowAll"
        adapter.prompt(session_id, "hello")
        assert adapter.finish() == 0
    # L12: without the option it is taken back, and what is shown is what holds then.
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        result = adapter.call("session/resume", stored(session_id, tmp_path))
        assert values(result["configOptions"])["approval_mode"] == "promptUnmatched"
        assert choose(adapter, session_id, "approval_mode", "onRequest")["approval_mode"] == "onRequest"
        (update,) = told(adapter, session_id, "config_option_update")
        assert "allowAll" not in offered(update["configOptions"], "approval_mode")
        assert adapter.finish() == 0


# -- stored sessions


@each_version
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_l12_a_stored_session_shows_what_is_in_force(tmp_path: Path, version: str, method: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        choose(adapter, session_id, "approval_mode", "denyUnmatched")
        choose(adapter, session_id, "model", "muse-small-1")
        set_mode(adapter, session_id, "readOnly")
        adapter.prompt(session_id, "hello")
        assert adapter.finish() == 0
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        result = adapter.call(method, stored(session_id, tmp_path))
        expected = FIRST | {"approval_mode": "denyUnmatched", "model": "muse-small-1"}
        assert values(result["configOptions"]) == expected
        assert result["modes"]["currentModeId"] == "default"
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        if version != "1.1.1":
            assert option_updates(adapter, session_id) == []
        assert adapter.finish() == 0


@pytest.mark.parametrize(
    "fault",
    [
        {"do": "result", "set": {"models": []}},
        {"do": "result", "set": {"models": "none"}},
        {"do": "error", "kind": "internal"},
        {"do": "error", "kind": "authRequired", "code": -32603},
    ],
    ids=json.dumps,
)
def test_a_session_opens_without_a_list_of_models(tmp_path: Path, fault: Json) -> None:
    with running_adapter(tmp_path, env=faulty({"at": "model/list", "times": None, **fault})) as adapter:
        adapter.initialize()
        result = opened(adapter, tmp_path)
        assert values(result["configOptions"]) == {"mode": "default", "approval_mode": "promptUnmatched"}
        assert adapter.prompt(result["sessionId"], "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


def test_a_list_of_models_that_does_not_come_holds_nothing_up(tmp_path: Path) -> None:
    with running_adapter(tmp_path, env=faulty({"at": "model/list", "do": "hang"})) as adapter:
        adapter.initialize()
        result = opened(adapter, tmp_path)
        assert "model" not in values(result["configOptions"])
        assert adapter.prompt(result["sessionId"], "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0


def test_a_list_of_models_that_is_late_is_told_when_it_comes(tmp_path: Path) -> None:
    with running_adapter(tmp_path, env=faulty({"at": "model/list", "do": "delayAck", "seconds": 1.5})) as adapter:
        adapter.initialize()
        result = opened(adapter, tmp_path)
        assert "model" not in values(result["configOptions"])
        update = adapter.wait_for_update(lambda update: update["sessionUpdate"] == "config_option_update")
        assert values(update["configOptions"]) == FIRST
        assert adapter.finish() == 0


def test_a_mode_the_host_forbids_is_refused_in_its_words(tmp_path: Path) -> None:
    fault = {"at": "session/setApprovalMode", "do": "error", "code": -32030, "message": "the ceiling is onRequest"}
    with running_adapter(tmp_path, env=faulty(fault)) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        params = {"sessionId": session_id, "configId": "approval_mode", "value": "denyUnmatched"}
        error = adapter.refused("session/set_config_option", params)
        assert "the ceiling is onRequest" in error["data"]["details"]
        assert option_updates(adapter, session_id) == []
        assert choose(adapter, session_id, "approval_mode", "denyUnmatched")["approval_mode"] == "denyUnmatched"
        assert adapter.finish() == 0


def test_taking_back_a_new_session_leaves_nothing_open(tmp_path: Path) -> None:
    """While the options are waited for, the request can still be taken back."""
    witness = tmp_path / "witness"
    env = faulty({"at": "model/list", "do": "hang"}) | {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse="simulated:1.4.13", env=env) as adapter:
        adapter.initialize()
        request = adapter.begin("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        wait_until(lambda: bool(witnessed(witness, "model/list")))
        before = len(witnessed(witness, "session/leave"))
        adapter.notify("$/cancel_request", {"requestId": request})
        assert adapter.response(request)["error"]["code"] == -32800
        wait_until(lambda: len(witnessed(witness, "session/leave")) > before)
        assert adapter.prompt(opened(adapter, tmp_path)["sessionId"], "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0
