"""A session that has to go to a host of another kind."""

from __future__ import annotations

import pytest

from adapter.bridge.hosts import reloading
from adapter.bridge.hosts.launch_profile import RESTRICTED, USUAL
from adapter.msp.errors import HostClosed, MspError, SessionUnreachable
from tests.lodging import Json, Lodging, at, lodged
from tests.wired import outcome

pytestmark = pytest.mark.anyio


async def test_a_host_that_lets_go_of_one_session_goes_on() -> None:
    here, other = Lodging("session/leave"), Lodging("session/leave")
    async with lodged(here, restricted=other) as there:
        there.house.used = True
        there.attachment.want(RESTRICTED)
        await there.attachment.reach()
        assert here.methods() == ["view/unsubscribe", "session/leave"] and not there.house.ended
        assert there.host is other and "ses-1" in other.sinks and "ses-1" not in here.sinks
        await there.attachment.reach()
        assert other.methods().count("session/resume") == 1
        there.attachment.want(USUAL)
        await there.attachment.reach()
        assert there.host is here


async def test_one_that_cannot_ends_if_nobody_else_works_there() -> None:
    here, other = Lodging(), Lodging()
    async with lodged(here, restricted=other) as there:
        there.attachment.want(RESTRICTED)
        there.house.used = True
        error = await outcome(there.attachment.reach)
        assert isinstance(error, SessionUnreachable) and error.reason == "hostBusy"
        assert there.host is here and not here.sent and not there.house.asked
        there.house.used = False
        await there.attachment.reach()
        assert there.house.ended == [here] and there.host is other and there.gone == [here.gone]


TURN = ("turn", {"turnId": "t1", "commandId": "c", "terminal": "completed"})
SUBAGENT = ("item", {"item": {"itemId": "i1", "kind": "subagent", "revision": 2, "status": "completed"}})
BACKGROUND = (
    "item",
    {"item": {"itemId": "i1", "kind": "toolCall", "revision": 2, "background": True, "status": "completed"}},
)


@pytest.mark.parametrize("leaves", [["session/leave"], []], ids=["leaves", "ends"])
@pytest.mark.parametrize(("what", "params"), [TURN, SUBAGENT, BACKGROUND], ids=["turn", "subagent", "background"])
async def test_what_runs_in_the_session_itself_is_not_cut_off(what: str, params: Json, leaves: list[str]) -> None:
    here, other = Lodging(*leaves), Lodging()
    async with lodged(here, restricted=other) as there:
        there.attachment.want(RESTRICTED)
        begun = {"item": params["item"] | {"revision": 1, "status": "inProgress"}} if "item" in params else params
        there.tell(f"{what}/started", **begun, **at("v1"))
        error = await outcome(there.attachment.reach)
        assert isinstance(error, SessionUnreachable) and error.reason == "hostBusy"
        assert not here.sent and not there.house.ended
        there.tell(f"{what}/completed", **params, **at("v2"))
        await there.attachment.reach()
        assert there.host is other


async def test_a_kind_that_cannot_be_had_leaves_all_as_it_was() -> None:
    here = Lodging("session/leave")
    async with lodged(here) as there:
        there.attachment.want(RESTRICTED)
        assert isinstance(await outcome(there.attachment.reach), HostClosed)
        assert not here.sent and "ses-1" in here.sinks
        there.attachment.want(USUAL)
        await there.attachment.reach()
        assert there.host is here


async def test_a_session_that_is_nowhere_is_found_again() -> None:
    here, other = Lodging("session/leave"), Lodging()
    other.refusals["session/resume"] = [MspError(0, "internal", "no")] * 2
    async with lodged(here, restricted=other) as there:
        there.attachment.want(RESTRICTED)
        assert isinstance(await outcome(there.attachment.reach), MspError)
        there.attachment.want(USUAL)
        await there.attachment.reach()
        await there.session.command("turn/start", {})
        asked = [method for method in here.methods() if method in ("turn/start", "session/resume")]
        assert asked == ["session/resume", "turn/start"]
        assert there.host is here and "ses-1" in here.sinks


async def test_a_session_that_its_host_keeps_stays_there_and_its_events_come_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reloading, "BUSY_SECONDS", 0.1)
    here, other = Lodging("session/leave"), Lodging()
    here.refusals["session/leave"] = [MspError(-32603, "internal", "no")]
    other.refusals["session/resume"] = [MspError(-32021, "sessionInUse", "held")] * 1000
    async with lodged(here, restricted=other) as there:
        there.attachment.want(RESTRICTED)
        error = await outcome(there.attachment.reach)
        assert isinstance(error, SessionUnreachable) and error.reason == "hostBusy"
        assert here.methods() == ["view/unsubscribe", "session/leave"]
        there.attachment.want(USUAL)
        await there.attachment.reach()
        assert here.methods()[2] == "session/resume" and there.host is here and "ses-1" in here.sinks
        await there.attachment.reach()
        assert here.methods().count("session/resume") == 1


@pytest.mark.parametrize("leaves", [["session/leave"], []], ids=["leaves", "ends"])
@pytest.mark.parametrize("durable", [True, False])
async def test_a_session_that_could_not_be_loaded_elsewhere_stays(leaves: list[str], durable: bool) -> None:
    """Whether its host says that it stores nothing, or lacks the method."""
    here, other = Lodging(*leaves, durable=durable), Lodging(durable=durable)
    other.loads = not durable
    async with lodged(here, restricted=other) as there:
        there.attachment.want(RESTRICTED)
        error = await outcome(there.attachment.reach)
        assert isinstance(error, SessionUnreachable) and error.reason == "modeUnavailable"
        assert there.host is here and not here.sent and not there.house.ended and "ses-1" in here.sinks
        there.attachment.want(USUAL)
        await there.attachment.reach()
        assert there.attachment.lost is None


async def test_n12_a_host_that_stores_nothing_keeps_its_sessions_whatever_becomes_of_the_login() -> None:
    here, other = Lodging(durable=False), Lodging(durable=False)
    async with lodged(here, usual=other) as there:
        there.house.outdated = True
        await there.attachment.reach()
        assert there.host is here and not there.house.asked
