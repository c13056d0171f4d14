"""Plan, use of the context, title and remarks of sessions on the simulated hosts: live, loaded, resumed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.option_clients import told
from tests.output_clients import stored
from tests.screens import before_answer

each_version = pytest.mark.parametrize("version", ["1.0.1", "1.1.1", "1.2.1", "1.3.0", "1.4.2", "1.4.13"])

NOTICES: Json = {"session": {"notices": {}}}
FACTS = ("plan", "usage_update", "session_info_update")


def facts_of(updates: list[Json]) -> list[Json]:
    return [update for update in updates if update["sessionUpdate"] in FACTS]


@each_version
@pytest.mark.acp(86)
def test_a_plan_is_told_whole_and_moves_forward(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "todo")
        plans = [plan["entries"] for plan in told(adapter, session_id, "plan")]
        assert [[entry["status"] for entry in plan] for plan in plans] == [
            ["in_progress", "pending", "pending"],
            ["completed", "in_progress", "pending"],
            ["completed", "completed", "in_progress"],
            ["completed", "completed", "completed"],
        ]
        assert {tuple(entry["content"] for entry in plan) for plan in plans} == {
            ("Read the code", "Change it", "Test it — twice")
        }
        assert all(set(entry) == {"content", "priority", "status"} for plan in plans for entry in plan)
        assert adapter.finish() == 0


@each_version
@pytest.mark.acp(87)
def test_usage_is_told_with_a_prompt_and_never_with_a_made_up_size(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        request = adapter.begin_prompt(session_id, "usage 1234")
        adapter.response(request)
        assert told(adapter, session_id, "usage_update") == [], "the size is not known"
        adapter.prompt(session_id, "usage 5000 20000")
        first = told(adapter, session_id, "usage_update")[-1]
        assert (first["used"], first["size"]) == (5000, 20000)
        adapter.prompt(session_id, "usage 6000")
        last = told(adapter, session_id, "usage_update")[-1]
        assert (last["used"], last["size"]) == (6000, 20000), "what is left out stays as it was"
        used = [update["used"] for update in told(adapter, session_id, "usage_update")]
        assert used == [5000, 6000], "one a call, with what belongs together"
        has_cost = version in ("1.4.2", "1.4.13")
        assert ("cost" in last) is has_cost
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", ["1.2.1", "1.4.13"])
@pytest.mark.acp(88)
def test_a_title_is_told_when_it_changes(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        for prompt in ("hello", "title The orchard", "hello again", "title The orchard", "title Another"):
            adapter.prompt(session_id, prompt)
        infos = told(adapter, session_id, "session_info_update")
        assert [info["title"] for info in infos if "title" in info] == ["The orchard", "Another"]
        assert adapter.finish() == 0


@each_version
@pytest.mark.acp(86, 87)
def test_a_loaded_session_shows_plan_usage_and_title_before_the_answer_and_once(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "todo")
        adapter.prompt(session_id, "title The orchard")
        adapter.prompt(session_id, "usage 5000 20000")
        assert adapter.finish() == 0
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        shown = facts_of(before_answer(adapter, "session/load", stored(session_id, tmp_path)))
        named = version not in ("1.0.1", "1.1.1")
        assert [update["sessionUpdate"] for update in shown] == list(FACTS[: 3 if named else 2])
        assert [entry["status"] for entry in shown[0]["entries"]] == ["completed"] * 3
        assert (shown[1]["used"], shown[1]["size"]) == (5000, 20000)
        if named:
            assert shown[2]["title"] == "The orchard" and shown[2]["updatedAt"]
        adapter.prompt(session_id, "usage 5000 20000")
        assert len(told(adapter, session_id, "plan")) == 1
        assert adapter.finish() == 0


@each_version
@pytest.mark.acp(87)
def test_a_resumed_session_shows_them_after_the_answer(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "todo")
        adapter.prompt(session_id, "usage 5000 20000")
        assert adapter.finish() == 0
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        assert before_answer(adapter, "session/resume", stored(session_id, tmp_path)) == []
        adapter.wait_for_update(lambda update: update["sessionUpdate"] == "plan")
        usage = adapter.wait_for_update(lambda update: update["sessionUpdate"] == "usage_update")
        assert (usage["used"], usage["size"]) == (5000, 20000)
        assert adapter.finish() == 0


# -- remarks


def retry_told(adapter: AdapterProcess, session_id: str) -> list[Json]:
    return [
        update
        for update in adapter.updates(session_id)
        if update["sessionUpdate"] in ("notice", "agent_thought_chunk") and "again" in json.dumps(update)
    ]


@pytest.mark.parametrize("version", ["1.0.1", "1.2.1", "1.4.13"])
@pytest.mark.acp(89)
def test_a_retry_is_a_notice_only_for_clients_that_show_them(tmp_path: Path, version: str) -> None:
    for capabilities, variant in ((NOTICES, "notice"), ({}, "agent_thought_chunk")):
        with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
            adapter.initialize(clientCapabilities=capabilities)
            session_id = adapter.new_session(tmp_path)
            adapter.prompt(session_id, "retry")
            (remark,) = retry_told(adapter, session_id)
            assert remark["sessionUpdate"] == variant
            assert "attempt 2 of 3, in 0.05 s" in json.dumps(remark)
            assert adapter.text(session_id) == "The second attempt worked ✓", "the answer is as it was"
            assert adapter.finish() == 0


@pytest.mark.acp(89)
def test_a_client_without_notices_gets_none_whatever_happens(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse="simulated:1.4.13") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        for prompt in ("retry", "model-mismatch muse-blue-1", "gap", "compaction"):
            adapter.prompt(session_id, prompt)
        kinds = {update["sessionUpdate"] for update in adapter.updates(session_id)}
        assert not kinds & {"notice", "compaction_update", "compaction_summary_chunk"}
        assert adapter.finish() == 0


def test_a_gap_that_cannot_be_filled_is_a_notice(tmp_path: Path) -> None:
    faults = json.dumps([{"at": "view/page", "do": "error", "kind": "internal", "times": None}])
    with running_adapter(tmp_path, env={"MUSE_SIMULATED_FAULTS": faults}) as adapter:
        adapter.initialize(clientCapabilities=NOTICES)
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "gap")
        notice = adapter.wait_for_update(lambda update: update["sessionUpdate"] == "notice")
        assert "could not be read" in notice["title"]
        assert adapter.finish() == 0
