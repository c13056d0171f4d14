"""What only the snapshot of a stored session knows: real hosts page neither the use of the context nor the settings
(`msp.md §10.3`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapter_process import Json, running_adapter
from tests.option_clients import offered, values
from tests.output_clients import stored
from tests.output_hosts import SESSION
from tests.scripted_hosts import place
from tests.snapshot_hosts import SnapshotHost

STATE: Json = {
    "todoList": {"items": [{"text": "Read", "status": "completed"}], "revision": 3, "sourceTool": "write_todos"},
    "contextUsage": {"usedTokens": 5000, "windowTokens": 20000, "pressure": "normal"},
    "tokenUsage": {"promptTokens": 5, "outputTokens": 2, "totalTokens": 7, "cost": {"usd": 0.5, "partial": False}},
    "effectiveModel": {"modelId": "small", "providerId": "muse", "source": "user"},
    "reasoningEffort": {"reasoningEffort": "high", "source": "user"},
    "approvalMode": {"mode": "denyUnmatched", "source": "approvalReconfigure", "lastCommandId": None},
    "name": "The orchard",
    "goal": None,
}
ROW: Json = {
    "modelId": "large",
    "providerId": "muse",
    "approvalMode": {"mode": "promptUnmatched", "source": "startup", "lastCommandId": None},
    "updatedAt": "2026-01-02T03:04:05Z",
}
MODELS: list[Json] = [
    {"modelId": "large", "providerId": "muse", "displayLabel": "Large", "variants": ["low"], "isDefault": True},
    {"modelId": "small", "providerId": "muse", "displayLabel": "Small", "variants": ["low", "high"]},
]


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
@pytest.mark.acp(86, 87)
def test_l12_what_a_snapshot_knows_is_shown(tmp_path: Path, method: str) -> None:
    host = place(tmp_path / "host", SnapshotHost, state=STATE, row=ROW, models=MODELS, pages=[[]])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        result = adapter.call(method, stored(SESSION, tmp_path))
        assert values(result["configOptions"]) == {
            "mode": "default",
            "model": "small",
            "reasoning_effort": "high",
            "approval_mode": "denyUnmatched",
        }
        assert offered(result["configOptions"], "reasoning_effort") == ["low", "high"], "it cannot be taken back"
        plan = adapter.wait_for_update(lambda update: update["sessionUpdate"] == "plan")
        usage = adapter.wait_for_update(lambda update: update["sessionUpdate"] == "usage_update")
        info = adapter.wait_for_update(lambda update: update["sessionUpdate"] == "session_info_update")
        assert plan["entries"] == [{"content": "Read", "priority": "medium", "status": "completed"}]
        assert (usage["used"], usage["size"], usage["cost"]["amount"]) == (5000, 20000, 0.5)
        assert (info["title"], info["updatedAt"]) == ("The orchard", "2026-01-02T03:04:05Z")
        assert adapter.finish() == 0
        shown = [update["sessionUpdate"] for update in adapter.updates()]
        assert [shown.count(kind) for kind in ("plan", "usage_update", "session_info_update")] == [1, 1, 1]
        assert "config_option_update" not in shown, "the answer said it all"


@pytest.mark.parametrize("context", [None, {"usedTokens": 5000, "windowTokens": None}, {"usedTokens": 5000}])
@pytest.mark.acp(87)
def test_a_snapshot_without_a_size_shows_no_usage(tmp_path: Path, context: Json | None) -> None:
    state = {**STATE, "contextUsage": context}
    host = place(tmp_path / "host", SnapshotHost, state=state, row=ROW, models=MODELS, pages=[[]])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize()
        adapter.call("session/load", stored(SESSION, tmp_path))
        assert adapter.finish() == 0
        assert "usage_update" not in [update["sessionUpdate"] for update in adapter.updates()]
