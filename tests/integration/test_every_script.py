"""Everything the simulated host can do in a turn, shown to every kind of client: each frame is as the schema says.

`finish` checks them all, strictly: also that no member of our own stands on a type of the protocol.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Final

import pytest

from adapter.hosts.simulated import scripts
from adapter.hosts.simulated.profiles import PROFILES
from tests.adapter_process import Json, permission, running_adapter
from tests.integration.test_initialize import EVERYTHING

PROMPTS: Final = {
    "slow": "slow 0.05",
    "work": "work 0.05",
    "stream": "stream 5000 100",
    "shell": "shell 20000",
    "gap": "gap 3",
    "many": "many 3",
    "write": "write a.txt words of a file",
    "ask-write": "ask-write b.txt words of a file",
    "replace": "replace a.txt words letters",
    "ask-replace": "ask-replace b.txt words letters",
    "usage": "usage 1000 200000",
    "title": "title A new name",
    "model-mismatch": "model-mismatch orchard-1",
}
"""Scripts that need more than their name, or would take long without."""

KINDS: Final = {"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
STATUSES: Final = {"pending", "in_progress", "completed", "failed"}
STOP_REASONS: Final = {"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}


def said(request: Json) -> Json:
    """A client that allows what it is asked for, and answers no form."""
    if request["method"] == "session/request_permission":
        options = request["params"]["options"]
        return permission(next(option["optionId"] for option in options if option["kind"].startswith("allow")))
    return {"result": {"action": "decline"}}


def check_cards(updates: list[Json]) -> None:
    """Each card is opened first, has words of the protocol, places that are places, and ends once."""
    statuses: dict[str, list[str]] = defaultdict(list)
    for update in updates:
        if update["sessionUpdate"] not in {"tool_call", "tool_call_update"}:
            continue
        card = update["toolCallId"]
        assert (update["sessionUpdate"] == "tool_call") == (card not in statuses), update
        assert update.get("kind", "other") in KINDS
        if update["sessionUpdate"] == "tool_call" or "status" in update:
            statuses[card].append(update.get("status", "pending"))
        for place in update.get("locations") or []:
            assert place["path"].startswith("/") and place.get("line", 1) >= 1
    for seen in statuses.values():
        assert set(seen) <= STATUSES
        ended = [status for status in seen if status in {"completed", "failed"}]
        assert len(ended) <= 1 and (not ended or seen[-1] == ended[0]), seen


@pytest.mark.acp(80, 81, 82, 84, 102)
@pytest.mark.parametrize(
    ("version", "capabilities"),
    [*((version, EVERYTHING) for version in PROFILES), ("1.2.1", {}), ("1.4.13", {})],
    ids=[*PROFILES, "1.2.1 without", "1.4.13 without"],
)
def test_every_frame_of_every_script_is_as_the_schema_says(tmp_path: Path, version: str, capabilities: Json) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.answer = said
        adapter.initialize(clientCapabilities=capabilities)
        session_id = adapter.new_session(tmp_path)
        for word in [word for word in scripts._SCRIPTS if word != "expire"]:
            before = len(adapter.updates())
            response = adapter.response(adapter.begin_prompt(session_id, PROMPTS.get(word, word)))
            if "result" in response:
                assert response["result"]["stopReason"] in STOP_REASONS
            else:
                assert response["error"]["data"]["retryable"] in {True, False}, (word, response)
            assert len(adapter.updates()) > before or "error" in response, word
        check_cards(adapter.updates())
        assert adapter.finish() == 0
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize(clientCapabilities=capabilities)
        adapter.call("session/load", {"sessionId": session_id, "cwd": str(tmp_path), "mcpServers": []})
        check_cards(adapter.updates())
        assert adapter.finish() == 0
