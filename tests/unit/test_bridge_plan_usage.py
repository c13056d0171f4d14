"""Plan and usage as the host tells them, whatever it tells."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.bridge.session_state.plan import MAX_ENTRIES, MAX_TEXT, plan_entries
from adapter.bridge.session_state.usage import KEY, UsageMeter

Json = dict[str, Any]


@pytest.mark.acp(86)
def test_a_plan_has_all_fields_and_leaves_out_what_was_cancelled() -> None:
    items = [
        {"text": "Read", "status": "completed", "activeForm": "Reading"},
        {"text": "Write", "status": "inProgress", "activeForm": "Writing"},
        {"text": "Think", "status": "inProgress", "activeForm": " "},
        {"text": "Drop", "status": "cancelled"},
        {"text": "Test", "status": "pending", "activeForm": "Testing"},
        {"text": "Wonder", "status": "someday"},
    ]
    assert plan_entries(items) == [
        {"content": "Read", "priority": "medium", "status": "completed"},
        {"content": "Writing", "priority": "medium", "status": "in_progress"},
        {"content": "Think", "priority": "medium", "status": "in_progress"},
        {"content": "Test", "priority": "medium", "status": "pending"},
        {"content": "Wonder", "priority": "medium", "status": "pending"},
    ]


@pytest.mark.parametrize("item", [{}, {"text": 3}, {"text": ""}, {"text": None, "status": []}, {"text": "\n"}])
def test_a_step_without_text_is_none(item: Json) -> None:
    assert plan_entries([item]) == []


def test_a_plan_is_bounded_and_says_so() -> None:
    entries = plan_entries([{"text": f"step {number}" + "x" * 5000, "status": "pending"} for number in range(1000)])
    assert len(entries) == MAX_ENTRIES
    assert entries[-1]["content"] == "… and 501 more steps"
    assert all(len(entry["content"]) <= MAX_TEXT for entry in entries)
    assert entries[0]["content"].endswith("…")
    assert len(plan_entries([{"text": "x"}] * MAX_ENTRIES)) == MAX_ENTRIES


def meter(context: Json | None = None, cumulative: Json | None = None) -> UsageMeter:
    made = UsageMeter()
    if cumulative is not None:
        made.take_tokens({"cumulative": cumulative})
    if context is not None:
        made.take_context(context)
    return made


def update(it: UsageMeter) -> Json:
    params = it.update("ses")
    assert params is not None
    found: Json = params["update"]
    return found


FULL = {"usedTokens": 100, "windowTokens": 1000, "pressure": "normal"}


@pytest.mark.acp(87)
def test_usage_is_told_with_what_the_host_counted() -> None:
    cumulative = {"promptTokens": 7, "outputTokens": 3, "totalTokens": 10, "cost": {"usd": 0.25, "partial": True}}
    assert update(meter(FULL, cumulative)) == {
        "sessionUpdate": "usage_update",
        "used": 100,
        "size": 1000,
        "cost": {"amount": 0.25, "currency": "USD"},
        "_meta": {
            KEY: {
                "scope": "session",
                "context": FULL,
                "cumulative": {"promptTokens": 7, "outputTokens": 3, "totalTokens": 10},
                "costIsPartial": True,
            }
        },
    }


@pytest.mark.parametrize("context", [{}, {"usedTokens": 5}, {"windowTokens": 5}, {"usedTokens": 5, "windowTokens": 0}])
@pytest.mark.acp(87)
def test_an_unknown_size_is_not_made_up(context: Json) -> None:
    assert meter(context, {"totalTokens": 3}).update("ses") is None


def test_what_is_null_or_left_out_stays_as_it_was() -> None:
    it = meter(FULL, {"totalTokens": 10, "cost": {"usd": 1, "partial": False}})
    it.take_context({"usedTokens": 200, "windowTokens": None})
    it.take_context({"usedTokens": None})
    it.take_tokens({"cumulative": {"totalTokens": None, "cost": None}})
    it.take_tokens({"cumulative": None})
    shown = update(it)
    assert (shown["used"], shown["size"], shown["cost"]["amount"]) == (200, 1000, 1.0)
    assert shown["_meta"][KEY]["cumulative"] == {"totalTokens": 10}


def test_the_window_of_another_model_has_to_be_told_again() -> None:
    it = meter(FULL)
    it.forget_size()
    assert it.update("ses") is None
    it.take_context({"usedTokens": 1, "windowTokens": 50})
    assert update(it)["size"] == 50


NO_COUNT = [float("nan"), float("inf"), float("-inf"), -1, True, 1.5, 2**53, 1e308, "7", [], {}]


@pytest.mark.parametrize("value", NO_COUNT, ids=str)
@pytest.mark.acp(87)
def test_b6_numbers_that_are_none_are_left_out_and_noted(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    it = meter(FULL, {"totalTokens": 10})
    it.take_context({"usedTokens": value, "windowTokens": value})
    it.take_tokens({"cumulative": {"totalTokens": value}})
    shown = update(it)
    assert (shown["used"], shown["size"]) == (100, 1000)
    assert shown["_meta"][KEY]["cumulative"] == {"totalTokens": 10}
    assert len(caplog.records) == 3


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -0.01, True, "1", [1]], ids=str)
def test_b6_a_cost_that_is_no_amount_is_left_out_and_noted(value: Any, caplog: pytest.LogCaptureFixture) -> None:
    it = meter(FULL, {"cost": {"usd": value}})
    assert "cost" not in update(it)
    assert len(caplog.records) == 1


def test_whole_numbers_may_be_written_as_fractions() -> None:
    assert update(meter({"usedTokens": 3.0, "windowTokens": 9.0}))["used"] == 3
    assert type(update(meter({"usedTokens": 3.0, "windowTokens": 9.0}))["used"]) is int
