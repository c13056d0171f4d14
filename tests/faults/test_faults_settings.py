"""Fault cases about options and usage: B6, L10, L12 and O6. The last two are in `tests/integration/test_options.py`
too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.adapter_process import Json, running_adapter
from tests.option_clients import choose, offered, opened, option_updates, told, values
from tests.output_clients import stored


def faulty(*faults: Json) -> dict[str, str]:
    return {"MUSE_SIMULATED_FAULTS": json.dumps(faults)}


# -- B6

NUMBERS = ["NaN", "1e999", "-1e999", "Infinity", "-1", "true", "0.5", "1e300", "9007199254740993", '"7"']


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.acp(87)
def test_b6_a_number_that_is_none_is_never_written_out_and_is_noted(tmp_path: Path, number: str) -> None:
    """The host's own event is followed by one with such a number, as raw bytes."""
    event = (
        '{"jsonrpc":"2.0","method":"session/contextUsage","params":{"sessionId":"SESSION","viewCursor":"v:x",'
        f'"usedTokens":{number},"windowTokens":{number},"pressure":"normal"}}}}\n'
    )
    with running_adapter(tmp_path, env={"MUSE_SIMULATED_HOME": str(tmp_path / "muse")}) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        adapter.prompt(session_id, "usage 5000 20000")
        assert adapter.finish() == 0
    raw = {"at": "turn/start", "do": "raw", "chunks": [event.replace("SESSION", session_id)]}
    with running_adapter(tmp_path, env={"MUSE_SIMULATED_HOME": str(tmp_path / "muse")} | faulty(raw)) as adapter:
        adapter.initialize()
        adapter.call("session/load", stored(session_id, tmp_path))
        assert adapter.prompt(session_id, "usage 6000 20000")["stopReason"] == "end_turn"
        used = [(update["used"], update["size"]) for update in told(adapter, session_id, "usage_update")]
        assert list(dict.fromkeys(used)) == [(5000, 20000), (6000, 20000)]
        assert adapter.finish() == 0
        assert adapter.stderr, "it is noted"


# -- L10


@pytest.mark.parametrize("notices", [True, False])
@pytest.mark.parametrize("version", ["1.2.1", "1.4.13"])
def test_l10_the_model_that_answered_is_the_one_that_is_shown(tmp_path: Path, version: str, notices: bool) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize(clientCapabilities={"session": {"notices": {}}} if notices else {})
        session_id = opened(adapter, tmp_path)["sessionId"]
        choose(adapter, session_id, "model", "muse-small-1")
        for _ in range(2):
            adapter.prompt(session_id, "model-mismatch muse-blue-1")
        assert [each["model"] for each in option_updates(adapter, session_id)] == ["muse-small-1", "muse-blue-1"]
        options = told(adapter, session_id, "config_option_update")[-1]["configOptions"]
        assert offered(options, "model") == ["muse-large-2", "muse-small-1", "muse-blue-1"]
        warnings = [notice for notice in told(adapter, session_id, "notice") if "muse-blue-1" in notice["title"]]
        assert [notice["severity"] for notice in warnings] == (["warning"] if notices else [])
        assert adapter.finish() == 0
        assert b"muse-blue-1" in adapter.stderr


def test_l10_a_version_that_ignores_the_choice_is_not_said_to_follow_it(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse="simulated:1.1.1") as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        choose(adapter, session_id, "model", "muse-small-1")
        adapter.prompt(session_id, "hello")
        assert option_updates(adapter, session_id)[-1]["model"] == "muse-large-2"
        assert adapter.finish() == 0


# -- L12


@pytest.mark.parametrize("version", ["1.0.1", "1.2.1", "1.4.13"])
@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_l12_after_a_restart_the_modes_in_force_are_shown(tmp_path: Path, version: str, method: str) -> None:
    """What the host keeps is shown as it is; the read-only host is gone with the adapter, so that mode is too."""
    witness = tmp_path / "witness"
    env = {"MUSE_SIMULATED_WITNESS": str(witness)}
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        choose(adapter, session_id, "approval_mode", "onRequest")
        choose(adapter, session_id, "mode", "readOnly")
        adapter.prompt(session_id, "hello")
        assert adapter.finish() == 0
    with running_adapter(tmp_path, muse=f"simulated:{version}", env=env) as adapter:
        adapter.initialize()
        result = adapter.call(method, stored(session_id, tmp_path))
        shown = values(result["configOptions"])
        assert (shown["approval_mode"], shown["mode"]) == ("onRequest", "default")
        assert result["modes"]["currentModeId"] == "default"
        adapter.prompt(session_id, "hello")
        (asked,) = (
            entry for entry in map(json.loads, witness.read_text().splitlines()) if entry["method"] == "turn/start"
        )
        assert "--disable-write" not in asked["flags"], "what is shown is what is in force"
        assert adapter.finish() == 0


# -- O6

WRONG: list[tuple[str, dict[str, Any]]] = [
    ("session/set_mode", {"modeId": "does-not-exist"}),
    ("session/set_mode", {"modeId": ""}),
    ("session/set_mode", {}),
    ("session/set_mode", {"modeId": 7}),
    ("session/set_config_option", {"configId": "model", "value": "does-not-exist"}),
    ("session/set_config_option", {"configId": "model", "value": None}),
    ("session/set_config_option", {"configId": "model"}),
    ("session/set_config_option", {"configId": "model", "value": ["muse-small-1"]}),
    ("session/set_config_option", {"configId": "mode", "value": "true", "type": "boolean"}),
]


def test_o6_what_was_never_offered_is_refused_and_the_state_stays(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = opened(adapter, tmp_path)["sessionId"]
        for method, params in WRONG:
            assert adapter.refused(method, {"sessionId": session_id, **params})["code"] == -32602, params
        assert told(adapter, session_id, "config_option_update") == []
        assert told(adapter, session_id, "current_mode_update") == []
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0
