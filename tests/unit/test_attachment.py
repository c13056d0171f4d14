"""Where a session is loaded, and what happens when it has to be elsewhere."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import anyio.lowlevel
import pytest

from adapter.bridge.hosts import reloading
from adapter.bridge.hosts.attachment import Attachment
from adapter.bridge.hosts.execution_hosts import ExecutionHosts
from adapter.bridge.hosts.launch_profile import RESTRICTED, USUAL, LaunchProfile
from adapter.msp.abilities import NOBODY, Abilities
from adapter.msp.errors import HostClosed, HostGone, MalformedResult, MspError, SessionUnreachable
from adapter.msp.event_routing import Sink
from adapter.msp.handshake import Handshake
from adapter.msp.host import Host
from adapter.msp.session import Session
from adapter.wire.background import Background
from tests.wired import PATIENCE, outcome, until

pytestmark = pytest.mark.anyio

Json = dict[str, Any]

NO_METHOD = MspError(-32601, "methodNotFound", "there is no such method")


class Lodging:
    """What an attachment needs of a host. `refusals` are raised by a method, one a time, before it answers."""

    def __init__(self, *methods: str, durable: bool = True) -> None:
        self.gone: HostGone | None = None
        self.is_closing = False
        self.loads = True
        self.names = ""
        """The session that it names instead of the one it is asked for."""
        self.handshake = Handshake("m", "1", "", frozenset(), durable, None)
        self.sent: list[tuple[str, Json]] = []
        self.refusals: dict[str, list[Exception]] = {}
        self.sinks: dict[str, Sink] = {}
        self._methods = frozenset(methods)
        self._gone = anyio.Event()

    def methods(self) -> list[str]:
        return [method for method, _ in self.sent]

    async def abilities(self) -> Abilities:
        return Abilities(self._methods)

    async def query(self, method: str, params: Json) -> Json:
        return await self.command(method, params)

    async def command(self, method: str, params: Json, **more: Any) -> Json:
        if params["sessionId"] == NOBODY:
            raise MspError(-32020, "sessionNotFound", "there is none") if self.loads else NO_METHOD
        self.sent.append((method, {**params, **more}))
        await anyio.lowlevel.checkpoint()
        if self.gone is not None:
            raise self.gone
        if self.refusals.get(method):
            raise self.refusals[method].pop(0)
        session = {"sessionId": self.names or params["sessionId"], "status": "idle"}
        return {"session": session, "viewCursor": "v9", "approvals": [], "events": [], "nextCursor": None}

    async def carry_out(self, method: str, params: Json, *, conclusion: str, seconds: float) -> Json:
        return await self.command(method, params)

    @asynccontextmanager
    async def opening(self) -> AsyncIterator[None]:
        yield

    def listen(self, session_id: str, sink: Sink) -> None:
        self.sinks[session_id] = sink

    def unlisten(self, session_id: str) -> None:
        self.sinks.pop(session_id, None)

    async def wait_if_ending(self) -> None:
        """Its end is known as soon as it is noticed."""

    async def wait_gone(self) -> None:
        await self._gone.wait()

    def die(self) -> None:
        self.gone = HostClosed("it died")
        self._gone.set()


class House:
    """The hosts there are; `used` by others, `outdated` as it is set."""

    def __init__(self, **hosts: Lodging) -> None:
        self.kinds = {USUAL: hosts.get("usual"), RESTRICTED: hosts.get("restricted")}
        self.used = self.outdated = False
        self.asked: list[LaunchProfile] = []
        self.ended: list[Lodging] = []

    async def host(self, profile: LaunchProfile, asking: Any = None) -> Lodging:
        self.asked.append(profile)
        await anyio.lowlevel.checkpoint()
        host = self.kinds[profile]
        if host is None:
            raise HostClosed("there is none")
        return host

    def is_used(self, host: Lodging, but_by: Any) -> bool:
        return self.used

    def is_outdated(self, host: Lodging) -> bool:
        return self.outdated

    async def end(self, host: Lodging) -> None:
        self.ended.append(host)
        host.is_closing = True
        host.die()

    def join(self, host: Lodging, tenant: Any) -> None:
        """Who is there does not matter here."""

    def leave(self, host: Lodging, tenant: Any) -> None:
        """Nor who is not."""

    def settled(self, session_id: str, profile: LaunchProfile) -> None:
        """Nor of which kind it is."""


class Lodged:
    """A session at home in `here`."""

    def __init__(self, here: Lodging, house: House, background: Background) -> None:
        self.here, self.house = here, house
        self.gone: list[HostGone] = []
        self.session = Session(cast(Host, here), "ses-1", lambda change: None, background)
        hosts = cast(ExecutionHosts, house)
        config: Json = {"config": {"mcpServers": {}}}
        self.attachment = Attachment(self.session, hosts, background, config, self.session.receive, self.gone.append)
        self.attachment.listen()

    @property
    def host(self) -> Any:
        return self.session.host

    def tell(self, method: str, **params: Any) -> None:
        sink: Callable[..., None] = self.host.sinks["ses-1"]
        sink(method, {"sessionId": "ses-1", **params})


@asynccontextmanager
async def lodged(here: Lodging, **hosts: Lodging) -> AsyncIterator[Lodged]:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            yield Lodged(here, House(**{"usual": here, **hosts}), Background(tasks, logging.getLogger("tests")))
            tasks.cancel_scope.cancel()


def at(cursor: str) -> Json:
    return {"viewCursor": cursor, "sourceRange": {}}


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
        assert here.methods()[:3] == ["session/rename", "session/resume", "session/rename"]
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


# -- to a host of another kind


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
        here.refusals["turn/start"] = [MspError(-32024, "sessionNotLoaded", "resume first")]
        await there.attachment.reach()
        await there.session.command("turn/start", {})
        asked = [method for method in here.methods() if method in ("turn/start", "session/resume")]
        assert asked == ["turn/start", "session/resume", "turn/start"]


@pytest.mark.parametrize("leaves", [["session/leave"], []], ids=["leaves", "ends"])
@pytest.mark.parametrize("durable", [True, False])
async def test_n6_a_session_that_could_not_be_loaded_elsewhere_stays(leaves: list[str], durable: bool) -> None:
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
