"""Options and modes of sessions on the simulated hosts: offered, chosen, announced, in force."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.adapter_process import Json, running_adapter
from tests.option_clients import choose, offered, opened, option_updates, set_mode, told, values
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


def faulty(*faults: Json) -> dict[str, str]:
    return {"MUSE_SIMULATED_FAULTS": json.dumps(faults)}


def witnessed(path: Path, method: str) -> list[Json]:
    """The hosts that were asked this, in order."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [entry for entry in map(json.loads, lines) if entry["method"] == method]


def is_restricted(entry: Json) -> bool:
    return {"--disable-write", "--disable-shell"} <= set(entry["flags"])


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


@pytest.mark.acp(97)
def test_modes_and_the_option_are_one_thing(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "plan")
        choose(adapter, session_id, "mode", "readOnly")
        set_mode(adapter, session_id, "readOnly")
        set_mode(adapter, session_id, "default")
        modes = ["plan", "readOnly", "default"]
        assert [each["currentModeId"] for each in told(adapter, session_id, "current_mode_update")] == modes
        assert [each["mode"] for each in option_updates(adapter, session_id)] == modes
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


# -- in force


@each_version
def test_a_restricted_mode_moves_the_session_before_its_next_prompt(tmp_path: Path, version: str) -> None:
    witness = tmp_path / "witness"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        for mode in ("default", "readOnly", "plan", "default"):
            set_mode(adapter, session_id, mode)
            assert adapter.prompt(session_id, f"hello from {mode}")["stopReason"] == "end_turn"
        asked = witnessed(witness, "turn/start")
        assert [is_restricted(entry) for entry in asked] == [False, True, True, False]
        assert asked[1]["pid"] == asked[2]["pid"], "plan needs no other host than read-only"
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.2.1", "1.4.13"])
@pytest.mark.parametrize("cancelled", [False, True])
def test_a_prompt_waits_for_the_turn_before_it_if_the_session_has_to_move(
    tmp_path: Path, version: str, cancelled: bool
) -> None:
    witness = tmp_path / "witness"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        first = adapter.begin_prompt(session_id, "slow 30" if cancelled else "slow 1")
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        set_mode(adapter, session_id, "readOnly")
        second = adapter.begin_prompt(session_id, "hello")
        if cancelled:
            adapter.notify("session/cancel", {"sessionId": session_id})
        reason = "cancelled" if cancelled else "end_turn"
        assert adapter.response(first)["result"]["stopReason"] == reason
        assert adapter.response(second)["result"]["stopReason"] == reason
        assert adapter.prompt(session_id, "and on")["stopReason"] == "end_turn"
        expected = [False, True] if cancelled else [False, True, True]
        assert [is_restricted(entry) for entry in witnessed(witness, "turn/start")] == expected
        assert adapter.finish() == 0


@each_version
def test_a_plan_is_asked_for_in_words_the_transcript_does_not_show(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "plan")
        adapter.prompt(session_id, "rebuild the orchard")
        # The host answers with the first line of what it was asked.
        assert "You said: Plan only." in adapter.text(session_id)
        assert adapter.finish() == 0
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        result = adapter.call("session/load", stored(session_id, tmp_path))
        assert adapter.text(session_id, "user_message_chunk") == "rebuild the orchard"
        # L12: what is in force after the load is what is shown.
        assert result["modes"]["currentModeId"] == values(result["configOptions"])["mode"] == "default"
        assert adapter.finish() == 0


def test_another_session_at_work_keeps_an_older_host_from_ending(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse="simulated:1.2.1") as adapter:
        adapter.initialize()
        one, two = (opened(adapter, tmp_path)["sessionId"] for _ in range(2))
        adapter.prompt(one, "hello")
        busy = adapter.begin_prompt(two, "slow 30")
        adapter.wait_for_update(
            lambda update: update["sessionUpdate"] == "agent_message_chunk" and "This" in str(update)
        )
        set_mode(adapter, one, "readOnly")
        error = adapter.response(adapter.begin_prompt(one, "hello"))["error"]
        assert error["data"]["reason"] == "hostBusy" and error["data"]["retryable"] is True
        adapter.notify("session/cancel", {"sessionId": two})
        assert adapter.response(busy)["result"]["stopReason"] == "cancelled"
        assert adapter.prompt(one, "hello")["stopReason"] == "end_turn"
        assert adapter.prompt(two, "hello")["stopReason"] == "end_turn", "the other one comes back by itself"
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


@each_version
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_a_restricted_session_can_be_opened_anew(tmp_path: Path, version: str, method: str) -> None:
    """It is on the other host, and an older one lets go of nothing that is closed."""
    witness = tmp_path / "witness"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "readOnly")
        adapter.prompt(session_id, "hello")
        # Open all the time: it keeps its mode.
        result = adapter.call(method, stored(session_id, tmp_path))
        assert result["modes"]["currentModeId"] == values(result["configOptions"])["mode"] == "readOnly"
        adapter.prompt(session_id, "hello again")
        # Closed and opened: the mode is gone, and what is shown holds.
        adapter.call("session/close", {"sessionId": session_id})
        result = adapter.call(method, stored(session_id, tmp_path))
        assert result["modes"]["currentModeId"] == values(result["configOptions"])["mode"] == "default"
        adapter.prompt(session_id, "and again")
        assert [is_restricted(entry) for entry in witnessed(witness, "turn/start")] == [True, True, False]
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.2.1", "1.4.13"])
def test_a_copy_of_a_restricted_session_is_restricted(tmp_path: Path, version: str) -> None:
    witness = tmp_path / "witness"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "readOnly")
        adapter.prompt(session_id, "hello")
        copy = adapter.call("session/fork", stored(session_id, tmp_path))
        assert copy["modes"]["currentModeId"] == values(copy["configOptions"])["mode"] == "readOnly"
        adapter.prompt(copy["sessionId"], "hello from the copy")
        set_mode(adapter, copy["sessionId"], "default")
        adapter.prompt(copy["sessionId"], "and from the other host")
        adapter.prompt(session_id, "the first is where it was")
        assert [is_restricted(entry) for entry in witnessed(witness, "turn/start")] == [True, True, False, True]
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.2.1", "1.4.13"])
def test_a_restricted_session_stays_so_when_its_host_dies(tmp_path: Path, version: str) -> None:
    witness = tmp_path / "witness"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "readOnly")
        adapter.prompt(session_id, "hello")
        os.kill(witnessed(witness, "turn/start")[-1]["pid"], signal.SIGKILL)
        assert adapter.prompt(session_id, "hello again")["stopReason"] == "end_turn"
        assert [is_restricted(entry) for entry in witnessed(witness, "turn/start")][-1] is True
        assert option_updates(adapter, session_id)[-1]["mode"] == "readOnly"
        assert adapter.finish() == 0


def test_a_restricted_session_is_deleted_where_it_is(tmp_path: Path) -> None:
    """The one version that deletes does so only at the host that started the session; that is gone, and is said."""
    with running_adapter(tmp_path, muse="simulated:1.4.2") as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "readOnly")
        adapter.prompt(session_id, "hello")
        error = adapter.refused("session/delete", {"sessionId": session_id})
        assert error["data"]["reason"] == "hostError" and "started since" in error["data"]["details"]
        assert adapter.call("session/load", stored(session_id, tmp_path))["modes"]["currentModeId"] == "default"
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
    # L12: another adapter shows what the host says, and does not let it be chosen.
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        result = adapter.call("session/resume", stored(session_id, tmp_path))
        assert values(result["configOptions"])["approval_mode"] == "allowAll"
        assert choose(adapter, session_id, "approval_mode", "onRequest")["approval_mode"] == "onRequest"
        (update,) = told(adapter, session_id, "config_option_update")
        assert "allowAll" not in offered(update["configOptions"], "approval_mode")
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.2.1", "1.4.13"])
def test_a_restricted_host_that_does_not_start_costs_a_prompt_and_no_session(tmp_path: Path, version: str) -> None:
    witness = tmp_path / "witness"
    fault = {"at": "spawn", "do": "exit", "code": 1, "flag": "--disable-shell", "times": None}
    env = faulty(fault) | {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        set_mode(adapter, session_id, "readOnly")
        error = adapter.response(adapter.begin_prompt(session_id, "hello"))["error"]
        assert error["data"]["reason"] == "hostStartFailed"
        assert witnessed(witness, "turn/start") == [], "it never runs where it may write"
        set_mode(adapter, session_id, "default")
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
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
