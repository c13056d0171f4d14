"""What clients do with options and modes, and what they know of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.adapter_process import AdapterProcess, Json


def values(options: list[Json]) -> dict[str, str]:
    """The present value of each option."""
    for option in options:
        assert option["currentValue"] in choices(option), "a present value is on offer"
    return {option["id"]: option["currentValue"] for option in options}


def choices(option: Json) -> list[str]:
    """What is on offer."""
    return [choice["value"] for choice in option["options"]]


def offered(options: list[Json], option_id: str) -> list[str]:
    """What is on offer of one option; nothing if there is none."""
    return next((choices(option) for option in options if option["id"] == option_id), [])


def opened(adapter: AdapterProcess, cwd: Any) -> Json:
    """The whole answer to a new session."""
    return adapter.call("session/new", {"cwd": str(cwd), "mcpServers": []})


def choose(adapter: AdapterProcess, session_id: str, option_id: str, value: Any) -> dict[str, str]:
    """Set an option; the values afterwards, as the answer has them."""
    params = {"sessionId": session_id, "configId": option_id, "value": value}
    return values(adapter.call("session/set_config_option", params)["configOptions"])


def set_mode(adapter: AdapterProcess, session_id: str, mode: str) -> None:
    adapter.call("session/set_mode", {"sessionId": session_id, "modeId": mode})


def told(adapter: AdapterProcess, session_id: str, variant: str) -> list[Json]:
    """The updates of one kind so far."""
    return [update for update in adapter.updates(session_id) if update["sessionUpdate"] == variant]


def option_updates(adapter: AdapterProcess, session_id: str) -> list[dict[str, str]]:
    """The values in each announcement so far."""
    return [values(update["configOptions"]) for update in told(adapter, session_id, "config_option_update")]


def faulty(*faults: Json) -> dict[str, str]:
    return {"MUSE_SIMULATED_FAULTS": json.dumps(faults)}


def witnessed(path: Path, method: str) -> list[Json]:
    """The hosts that were asked this, in order."""
    lines = path.read_text().splitlines() if path.exists() else []
    return [entry for entry in map(json.loads, lines) if entry["method"] == method]


def is_restricted(entry: Json) -> bool:
    return {"--disable-write", "--disable-shell"} <= set(entry["flags"])
