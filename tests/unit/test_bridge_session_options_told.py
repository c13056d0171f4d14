"""What the host says of a session's settings is told to the client once."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from tests.session_options import FIRST, LARGE, SMALL, FakeHost, Json, Opened, opened, values
from tests.wired import until

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("method", "params", "option", "value"),
    [
        ("session/modelChanged", {"modelId": "small", "providerId": None}, "model", "small"),
        ("session/approvalModeChanged", {"mode": "allowAll", "source": "replay"}, "approval_mode", "allowAll"),
        ("session/reasoningEffortChanged", {"reasoningEffort": "low"}, "reasoning_effort", "low"),
    ],
)
@pytest.mark.acp(97)
async def test_changes_of_others_are_told_once(method: str, params: Json, option: str, value: str) -> None:
    async with opened() as it:
        await it.begin()
        it.event(method, **params)
        it.event(method, **params, again=True)
        assert it.kinds() == ["config_option_update"]
        assert values(it.told[0]["configOptions"]) == FIRST | {option: value}


@pytest.mark.parametrize(
    "params", [{}, {"mode": None}, {"mode": 3}, {"mode": ""}, {"modelId": 7, "reasoningEffort": []}]
)
async def test_news_without_a_value_change_nothing(params: Json) -> None:
    async with opened() as it:
        await it.begin()
        for method in ("session/modelChanged", "session/approvalModeChanged", "session/reasoningEffortChanged"):
            it.event(method, **params)
        assert it.told == []


async def test_the_model_of_the_list_counts_before_that_of_the_row() -> None:
    async with opened() as it:
        it.host.models = {"models": [LARGE, {**SMALL, "isActive": True}]}
        assert values((await it.begin())["configOptions"])["model"] == "small"


async def test_l12_what_history_brought_is_what_is_shown() -> None:
    async with opened() as it:
        it.host.models = {"models": [{**LARGE, "isActive": True}, SMALL]}
        state = {"effectiveModel": {"modelId": "small"}, "approvalMode": {"mode": "denyUnmatched"}}
        it.session.fold.load_snapshot(state)
        shown = values((await it.begin())["configOptions"])
        assert (shown["mode"], shown["model"], shown["approval_mode"]) == ("default", "small", "denyUnmatched")


async def test_what_was_read_after_the_answer_is_told() -> None:
    async with opened() as it:
        await it.begin()
        it.session.fold.load_snapshot({"approvalMode": {"mode": "denyUnmatched"}})
        it.options.show()
        it.options.show()
        assert it.kinds() == ["config_option_update"]


async def test_after_its_end_nothing_is_told() -> None:
    async with opened() as it:
        await it.begin()
        it.options.end()
        it.event("session/modelChanged", modelId="small")
        assert it.told == []


# -- L10


def used(it: Opened, model_id: str, turn_id: str = "t9", **more: Any) -> None:
    it.event("session/tokenUsage", turnId=turn_id, modelId=model_id, usage={}, **more)


@pytest.mark.parametrize("notices", [True, False])
async def test_l10_the_model_that_was_used_is_the_one_that_is_shown(notices: bool) -> None:
    async with opened(notices=notices) as it:
        await it.begin()
        await it.set("model", "small")
        it.told.clear()
        for number in range(3):
            used(it, "blue", number=number)
        assert it.kinds() == (["notice"] if notices else []) + ["config_option_update"]
        assert values(it.told[-1]["configOptions"])["model"] == "blue"
        if notices:
            assert it.told[0]["severity"] == "warning"
            assert "blue" in it.told[0]["title"] and "Small" in it.told[0]["title"]


async def test_l10_the_model_that_was_set_is_used_again_without_a_word() -> None:
    async with opened() as it:
        await it.begin()
        await it.set("model", "small")
        used(it, "large", "t1")
        it.told.clear()
        used(it, "small", "t2")
        assert it.kinds() == ["config_option_update"], "what is set is no fault"
        assert values(it.told[-1]["configOptions"])["model"] == "small"
        used(it, "blue", "t3")
        assert "blue" in it.told[1]["title"] and "Small" in it.told[1]["title"]
        used(it, "large", "t4")
        assert "Large" not in it.told[3]["title"].partition("not")[2], "the one before was not asked for either"
        assert "Small" in it.told[3]["title"]


async def test_l10_the_model_chosen_again_is_asked_for_again() -> None:
    async with opened() as it:
        await it.begin()
        await it.set("model", "small")
        used(it, "large")
        assert (await it.set("model", "small"))["model"] == "small"
        assert len(it.host.commands) == 2


async def test_a_model_nobody_chose_is_put_right_without_a_word() -> None:
    async with opened() as it:
        await it.begin()
        used(it, "small")
        assert it.kinds() == ["config_option_update"]


async def test_a_turn_that_was_running_may_still_have_asked_the_model_before() -> None:
    async with opened() as it:
        await it.begin()
        it.event("turn/started", turnId="t1", commandId="c1")
        await it.set("model", "small")
        it.told.clear()
        used(it, "large", "t1")
        assert it.told == []
        used(it, "large", "t2")
        assert "notice" in it.kinds()


async def test_models_are_listed_again_when_the_present_one_is_not_served() -> None:
    async with opened() as it:
        await it.begin()
        it.host.models = {"models": [SMALL]}
        it.event("session/modelRouteUnserved", modelId="large", installedProviderId="other")
        await until(lambda: it.host.lists == 2 and bool(it.told))
        assert values(it.told[-1]["configOptions"])["model"] == "large", "it is still what is set"


async def test_choices_come_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    overlaps, asked = 0, 0
    command = FakeHost.command

    async def slowly(host: FakeHost, method: str, params: Json, **more: Any) -> Json:
        nonlocal overlaps, asked
        overlaps, asked = overlaps + asked, asked + 1
        await anyio.sleep(0.01)
        asked -= 1
        return await command(host, method, params, **more)

    monkeypatch.setattr(FakeHost, "command", slowly)
    async with opened() as it:
        await it.begin()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(it.set, "model", "small")
            tasks.start_soon(it.set, "reasoning_effort", "low")
            tasks.start_soon(it.set, "model", "large")
        # In which order they are begun is the event loop's business; none is begun before another has its answer.
        assert overlaps == 0
        last = [params["model"]["modelId"] for method, params in it.host.commands if method == "session/setModel"][-1]
        assert values(it.told[-1]["configOptions"]) == FIRST | {"reasoning_effort": "low", "model": last}
