"""Where a session is loaded, and what happens when it has to be elsewhere."""

from __future__ import annotations

from typing import cast

import anyio
import anyio.lowlevel
import pytest

from adapter.bridge.hosts import reloading
from adapter.bridge.hosts.launch_profile import RESTRICTED, USUAL
from adapter.msp.errors import HostClosed, MalformedResult, MspError, SessionUnreachable
from tests.lodging import NO_METHOD, Json, Lodging, at, lodged
from tests.wired import outcome, until

pytestmark = pytest.mark.anyio


# -- nothing to do


async def test_a_session_that_is_where_it_should_be_stays() -> None:
    here = Lodging()
    async with lodged(here) as there:
        await there.attachment.reach()
        there.attachment.want(USUAL)
        await there.attachment.reach()
        assert there.host is here and not here.sent and not there.house.asked


# -- after a death


async def test_the_next_host_goes_on_from_the_last_durable_event() -> None:
    here, following = Lodging(), Lodging()
    async with lodged(here, usual=following) as there:
        there.tell("session/statusChanged", **at("v1"))
        there.tell("item/delta", itemId="i1", delta="x", viewCursor="v2")
        here.die()
        await there.attachment.reach()
        assert there.host is following and "ses-1" in following.sinks
        [(_, resumed)] = [row for row in following.sent if row[0] == "session/resume"]
        assert resumed == {"sessionId": "ses-1", "excludeItems": True, "config": {"mcpServers": {}}, "cursor": "v1"}
        await until(lambda: following.methods() == ["session/resume", "view/page", "approval/listPending"])
        assert following.sent[1][1]["cursor"] == "v1"


async def test_its_end_is_told_once_and_before_it_goes_on() -> None:
    here, following = Lodging(), Lodging()
    async with lodged(here, usual=following) as there:
        here.die()
        await there.attachment.reach()
        assert there.gone == [here.gone]
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        assert len(there.gone) == 1


async def test_two_who_need_it_bring_it_back_once() -> None:
    here, following = Lodging(), Lodging()
    async with lodged(here, usual=following) as there:
        here.die()
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(there.attachment.reach)
        assert following.methods().count("session/resume") == 1


@pytest.mark.parametrize("error", [MspError(0, "internal", "no"), HostClosed("it died too")], ids=["refused", "died"])
async def test_what_did_not_work_is_tried_again_at_the_next_use(error: Exception) -> None:
    here, following = Lodging(), Lodging()
    following.refusals["session/resume"] = [error]
    async with lodged(here, usual=following) as there:
        here.die()
        assert await outcome(there.attachment.reach) is error
        assert there.host is here
        await there.attachment.reach()
        assert there.host is following


async def test_l3_a_host_that_loads_another_session_is_not_moved_to() -> None:
    here, other = Lodging("session/leave"), Lodging()
    other.names = "ses-2"
    async with lodged(here, restricted=other) as there:
        there.attachment.want(RESTRICTED)
        assert isinstance(await outcome(there.attachment.reach), MalformedResult)
        assert there.host is here and there.attachment.is_to_move
        other.names = ""
        await there.attachment.reach()
        assert there.host is other and not there.attachment.is_to_move


async def test_a_session_that_others_hold_for_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reloading, "BUSY_SECONDS", 0.1)
    monkeypatch.setattr(reloading, "BUSY_PAUSE", 0.01)
    here, following = Lodging(), Lodging()
    following.refusals["session/resume"] = [MspError(-32021, "sessionInUse", "held")] * 1000
    async with lodged(here, usual=following) as there:
        here.die()
        error = await outcome(there.attachment.reach)
        assert isinstance(error, MspError) and error.kind == "sessionInUse"
        assert 2 <= following.methods().count("session/resume") < 1000


async def test_what_was_chosen_before_the_first_turn_is_chosen_again() -> None:
    here, following = Lodging(), Lodging()
    following.refusals["session/resume"] = [MspError(-32020, "sessionNotFound", "none")] * 2
    async with lodged(here, usual=following) as there:
        there.attachment.started({"workspaceRoot": "/srv/demo", "config": {"mcpServers": {}}})
        there.tell("session/modelChanged", modelId="red", providerId="acme", **at("v1"))
        there.tell("session/approvalModeChanged", mode="denyUnmatched", source="user", **at("v2"))
        there.tell("session/reasoningEffortChanged", reasoningEffort="high", source="user", **at("v3"))
        here.die()
        await there.attachment.reach()
        [(_, started)] = [row for row in following.sent if row[0] == "session/start"]
        assert started == {
            "workspaceRoot": "/srv/demo",
            "config": {"mcpServers": {}},
            "sessionId": "ses-1",
            "modelId": "red",
            "providerId": "acme",
            "approvalMode": "denyUnmatched",
        }
        [(_, effort)] = [row for row in following.sent if row[0] == "session/setReasoningEffort"]
        assert effort == {"sessionId": "ses-1", "reasoningEffort": "high"}


async def test_a_session_with_a_turn_is_never_started_again() -> None:
    here, following = Lodging(), Lodging()
    following.refusals["session/resume"] = [MspError(-32020, "sessionNotFound", "none")] * 2
    async with lodged(here, usual=following) as there:
        there.attachment.started({"workspaceRoot": "/srv/demo"})
        there.tell("turn/completed", turnId="t1", terminal="completed", **at("v1"))
        here.die()
        error = await outcome(there.attachment.reach)
        assert isinstance(error, SessionUnreachable) and error.reason == "sessionLost"
        assert "session/start" not in following.methods()


async def test_a_command_that_finds_the_session_unloaded_loads_it_where_it_is() -> None:
    here = Lodging()
    here.refusals["session/rename"] = [MspError(-32024, "sessionNotLoaded", "resume first")]
    async with lodged(here) as there:
        await there.session.command("session/rename", {"name": "x"}, command_id="c1")
        asked = [method for method in here.methods() if method != "approval/listPending"]
        assert asked == ["session/rename", "session/resume", "session/rename"]
        assert [params["command_id"] for method, params in here.sent if method == "session/rename"] == ["c1", "c1"]
        assert there.host is here and "ses-1" in here.sinks


async def test_a_command_that_nobody_wants_any_more_is_not_sent_again() -> None:
    here, following = Lodging(), Lodging()
    async with lodged(here, usual=following) as there:
        here.die()
        error = await outcome(lambda: there.session.command("turn/start", {}, wanted=lambda: False))
        assert error is here.gone and not following.sent


async def test_a_stop_or_a_decision_is_not_sent_again() -> None:
    here, following = Lodging(), Lodging()
    async with lodged(here, usual=following) as there:
        here.die()
        assert await outcome(lambda: there.session.interrupt("t1")) is here.gone
        assert await outcome(lambda: there.session.decide("a1", None, "yes")) is here.gone
        assert not following.sent


# -- lost


async def test_e2_what_a_host_has_not_stored_is_lost_with_it() -> None:
    here, following = Lodging(durable=False), Lodging(durable=False)
    async with lodged(here, usual=following) as there:
        here.die()
        for use in (there.attachment.reach, lambda: there.session.command("session/rename", {"name": "x"})):
            error = await outcome(use)
            assert isinstance(error, SessionUnreachable) and error.reason == "sessionLost"
        [told] = there.gone
        assert isinstance(told, SessionUnreachable) and told.reason == "sessionLost"
        assert there.attachment.lost is not None and not following.sent


async def test_l9_a_session_is_lost_where_no_host_loads_any() -> None:
    here, following = Lodging(), Lodging()
    following.refusals["session/resume"] = [NO_METHOD] * 2
    async with lodged(here, usual=following) as there:
        there.tell("turn/completed", turnId="t1", terminal="completed", **at("v1"))
        here.die()
        error = await outcome(there.attachment.reach)
        assert isinstance(error, SessionUnreachable) and error.reason == "sessionLost"
        assert cast(object, there.attachment.lost) is error
        following.refusals.clear()
        await there.attachment.reach()
        assert there.attachment.lost is None


# -- idleness


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("turn/started", {"turnId": "t1"}),
        ("item/started", {"item": {"itemId": "i1", "kind": "subagent", "revision": 1, "status": "inProgress"}}),
        ("approval/requested", {"approvalId": "a1", "currentRequirementId": {"approvalId": "a1", "sourceIndex": 0}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_session_is_idle_when_nothing_goes_on_in_it(method: str, params: Json) -> None:
    async with lodged(Lodging()) as there:
        assert there.attachment.is_idle
        there.tell(method, **params, **at("v1"))
        assert not there.attachment.is_idle
