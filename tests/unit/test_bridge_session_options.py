"""A session's options at work: each change is asked of the host, and told to the client once."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio
import pytest

from adapter.bridge.attachment import Attachment
from adapter.bridge.launch_profile import LaunchProfile
from adapter.bridge.notices import Notices
from adapter.bridge.session_options import SessionOptions
from adapter.msp.changes import Change, SessionFactChanged, TokenUsageChanged
from adapter.msp.errors import HostGone, MspError
from adapter.msp.host import Host, HostStartError
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import RpcError
from adapter.wire.peer import Peer
from tests.wired import PATIENCE, until

pytestmark = pytest.mark.anyio

Json = dict[str, Any]

LARGE = {"modelId": "large", "providerId": "muse", "displayLabel": "Large", "variants": ["low", "high"]}
SMALL = {"modelId": "small", "providerId": "muse", "displayLabel": "Small", "variants": ["low"]}
ROW = {"sessionId": "ses", "modelId": "large", "providerId": "muse", "approvalMode": {"mode": "onRequest"}}


class FakeHost:
    """Takes every command; `refusal` is raised instead, `acks` adds to an answer, `before_ack` runs first."""

    def __init__(self) -> None:
        self.gone: HostGone | None = None
        self.models: Json | Exception = {"models": [LARGE, SMALL]}
        self.listing = anyio.Event()
        self.listing.set()
        self.refusal: Exception | None = None
        self.acks: Json = {}
        self.before_ack: Callable[[], None] = lambda: None
        self.commands: list[tuple[str, Json]] = []
        self.lists = 0

    async def query(self, method: str, params: Json, **more: Any) -> Json:
        assert (method, params) == ("model/list", {"sessionId": "ses"})
        self.lists += 1
        await self.listing.wait()
        if isinstance(self.models, Exception):
            raise self.models
        return self.models

    async def command(self, method: str, params: Json, **more: Any) -> Json:
        self.commands.append((method, {name: value for name, value in params.items() if name != "sessionId"}))
        if self.refusal is not None:
            raise self.refusal
        self.before_ack()
        return {"status": "accepted", **self.acks}


class FakeAttachment:
    def __init__(self) -> None:
        self.wanted: list[bool] = []

    def want(self, profile: LaunchProfile) -> None:
        self.wanted.append(profile.restricted)


class Opened:
    """Options of an open session, and what its client is told."""

    def __init__(self, background: Background, *, notices: bool, allow_all: bool, restricts: bool | None) -> None:
        self.host = FakeHost()
        self.attachment = FakeAttachment()
        self.told: list[Json] = []
        peer = cast(Peer, self)
        self.session = Session(cast(Host, self.host), "ses", self._changed, background)
        remarks = Notices("ses", peer, shown=notices, in_turn=lambda: False)

        async def can_restrict() -> bool:
            if restricts is None:
                raise HostStartError("museNotFound", "there is none")
            return restricts

        self.options = SessionOptions(
            self.session,
            cast(Attachment, self.attachment),
            peer,
            background,
            remarks,
            allow_all=allow_all,
            can_restrict=can_restrict,
        )

    def _changed(self, change: Change) -> None:
        if isinstance(change, SessionFactChanged):
            self.options.take(change.name, change.params)
        elif isinstance(change, TokenUsageChanged):
            self.options.take_usage(change.params)

    def notify(self, method: str, params: Json) -> None:
        assert method == "session/update"
        self.told.append(params["update"])

    def event(self, method: str, **params: Any) -> None:
        self.session.receive(method, {"sessionId": "ses", **params})

    async def begin(self, row: Json | None = None) -> Json:
        self.options.begin(ROW if row is None else row)
        await self.options.settled()
        return self.options.result()

    async def set(self, option: str, value: str | bool) -> dict[str, str]:
        return values((await self.options.set_option(option, value))["configOptions"])

    def kinds(self) -> list[str]:
        return [update["sessionUpdate"] for update in self.told]


def values(options: list[Json]) -> dict[str, str]:
    return {option["id"]: option["currentValue"] for option in options}


@asynccontextmanager
async def opened(
    *, notices: bool = True, allow_all: bool = False, restricts: bool | None = True
) -> AsyncIterator[Opened]:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            background = Background(tasks, logging.getLogger("tests"))
            yield Opened(background, notices=notices, allow_all=allow_all, restricts=restricts)
            tasks.cancel_scope.cancel()


FIRST = {"mode": "default", "model": "large", "reasoning_effort": "default", "approval_mode": "onRequest"}


async def test_the_opening_says_what_is_set() -> None:
    async with opened() as it:
        result = await it.begin()
        assert values(result["configOptions"]) == FIRST
        assert result["modes"]["currentModeId"] == "default"
        assert it.told == [], "nothing is told before the client knows the session"


async def test_a_list_that_is_late_is_told_when_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.bridge.session_options.LEARNING_WAIT", 0.05)
    async with opened() as it:
        it.host.listing = anyio.Event()
        assert "model" not in values((await it.begin())["configOptions"])
        it.host.listing.set()
        await until(lambda: bool(it.told))
        assert values(it.told[0]["configOptions"]) == FIRST
        assert it.kinds() == ["config_option_update"]


@pytest.mark.parametrize(
    "models",
    [{"models": []}, {}, MspError(-32601, "methodNotFound", "no"), MspError(-32603, "authRequired", "no")],
    ids=str,
)
async def test_without_a_list_there_is_no_model_to_choose(models: Json | Exception) -> None:
    async with opened() as it:
        it.host.models = models
        assert values((await it.begin())["configOptions"]) == {"mode": "default", "approval_mode": "onRequest"}


async def test_models_are_listed_again_once_there_is_a_login() -> None:
    async with opened() as it:
        it.host.models = MspError(-32603, "authRequired", "no")
        await it.begin()
        it.host.models = {"models": [LARGE, SMALL]}
        it.event("session/tokenUsage", turnId="t1", modelId="large")
        it.event("session/tokenUsage", turnId="t1", modelId="large", usage={})
        await until(lambda: bool(it.told))
        assert values(it.told[0]["configOptions"])["model"] == "large"
        assert it.host.lists == 2


@pytest.mark.acp(95, 97)
async def test_a_choice_is_asked_of_the_host_and_told_once() -> None:
    async with opened() as it:
        await it.begin()
        assert (await it.set("model", "small"))["model"] == "small"
        assert it.host.commands == [
            ("session/setModel", {"model": {"modelId": "small", "providerId": "muse", "displayLabel": "Small"}})
        ]
        # The host says so too, which is no further change.
        it.event("session/modelChanged", modelId="small", providerId="muse", source="user")
        assert it.kinds() == ["config_option_update"]
        assert values(it.told[0]["configOptions"])["model"] == "small"


async def test_what_the_host_says_meanwhile_counts_more_than_its_ack() -> None:
    async with opened() as it:
        await it.begin()
        it.host.before_ack = lambda: it.event("session/modelChanged", modelId="policy", providerId=None)
        assert (await it.set("model", "small"))["model"] == "policy"


@pytest.mark.parametrize("option", ["model", "approval_mode", "reasoning_effort"])
@pytest.mark.acp(95)
async def test_a_refusal_of_the_host_changes_nothing(option: str) -> None:
    async with opened() as it:
        await it.begin()
        it.host.refusal = MspError(-32030, "commandRejected", "the ceiling is onRequest", data={"reason": "ceiling"})
        value = {"model": "small", "approval_mode": "denyUnmatched", "reasoning_effort": "high"}[option]
        with pytest.raises(RpcError) as refused:
            await it.options.set_option(option, value)
        assert "the ceiling is onRequest" in (refused.value.data or {})["details"]
        assert it.told == []
        assert values(it.options.result()["configOptions"]) == FIRST


@pytest.mark.parametrize(
    ("option", "value"), [("mode", "yolo"), ("model", "x"), ("x", "y"), ("approval_mode", "allowAll")]
)
@pytest.mark.acp(95)
async def test_o6_what_is_not_on_offer_never_reaches_the_host(option: str, value: str) -> None:
    async with opened() as it:
        await it.begin()
        with pytest.raises(RpcError) as refused:
            await it.options.set_option(option, value)
        assert refused.value.code == -32602
        assert (it.host.commands, it.told, it.attachment.wanted) == ([], [], [])


async def test_the_mode_in_force_is_the_one_the_host_answers() -> None:
    async with opened() as it:
        await it.begin()
        it.host.acks = {"applyOutcome": "completed", "effectiveMode": {"mode": "promptUnmatched"}}
        assert (await it.set("approval_mode", "denyUnmatched"))["approval_mode"] == "promptUnmatched"


async def test_everything_is_allowed_after_the_start_option() -> None:
    async with opened(allow_all=True) as it:
        await it.begin()
        assert (await it.set("approval_mode", "allowAll"))["approval_mode"] == "allowAll"
        assert it.host.commands == [("session/setApprovalMode", {"mode": "allowAll"})]


@pytest.mark.acp(97)
@pytest.mark.parametrize("way", ["mode", "option"])
async def test_modes_are_told_in_both_forms_once(way: str) -> None:
    async with opened() as it:
        await it.begin()
        if way == "mode":
            assert await it.options.set_mode("readOnly") == {}
        else:
            assert (await it.set("mode", "readOnly"))["mode"] == "readOnly"
        assert it.kinds() == ["current_mode_update", "config_option_update"]
        assert it.told[0]["currentModeId"] == "readOnly"
        assert values(it.told[1]["configOptions"])["mode"] == "readOnly"
        assert (it.attachment.wanted, it.host.commands) == ([True], [])
        await it.options.set_mode("readOnly")
        assert len(it.told) == 2, "no change, nothing to tell"
        await it.options.set_mode("plan")
        await it.options.set_mode("default")
        assert it.attachment.wanted == [True, True, True, False]


@pytest.mark.parametrize("restricts", [False, None])
async def test_a_host_that_cannot_be_restricted_offers_one_mode(restricts: bool | None) -> None:
    async with opened(restricts=restricts) as it:
        assert len((await it.begin())["modes"]["availableModes"]) == 1
        with pytest.raises(RpcError):
            await it.options.set_mode("plan")


async def test_planning_goes_with_the_turn() -> None:
    async with opened() as it:
        await it.begin()
        assert it.options.for_turn().instruction is None
        await it.options.set_mode("plan")
        assert "plan" in (it.options.for_turn().instruction or "")


# -- effort


async def test_a_standing_effort_is_never_sent_with_a_turn() -> None:
    async with opened() as it:
        await it.begin()
        await it.set("reasoning_effort", "high")
        assert it.host.commands == [("session/setReasoningEffort", {"reasoningEffort": "high"})]
        assert it.options.for_turn().effort is None
        (option,) = [each for each in it.told[-1]["configOptions"] if each["id"] == "reasoning_effort"]
        assert [choice["value"] for choice in option["options"]] == ["low", "high"], "there is no way back"


async def test_a_host_without_a_standing_effort_gets_it_with_each_turn() -> None:
    async with opened() as it:
        await it.begin()
        it.host.refusal = MspError(-32601, "methodNotFound", "no such method")
        assert (await it.set("reasoning_effort", "high"))["reasoning_effort"] == "high"
        assert it.options.for_turn().effort == "high"
        await it.set("reasoning_effort", "low")
        assert len(it.host.commands) == 1, "it is asked once"
        await it.set("reasoning_effort", "default")
        assert it.options.for_turn().effort is None


@pytest.mark.acp(95)
async def test_an_effort_the_next_model_lacks_falls_back_for_good() -> None:
    async with opened() as it:
        await it.begin()
        it.host.refusal = MspError(-32601, "methodNotFound", "no such method")
        await it.set("reasoning_effort", "high")
        it.host.refusal = None
        assert (await it.set("model", "small"))["reasoning_effort"] == "default"
        assert (await it.set("model", "large"))["reasoning_effort"] == "default"
        assert it.options.for_turn().effort is None


async def test_a_standing_effort_the_model_does_not_take_is_not_shown() -> None:
    async with opened() as it:
        await it.begin()
        it.event("session/reasoningEffortChanged", reasoningEffort="max", source="user")
        assert it.told == [], "the present model does not take it"
        it.event("session/reasoningEffortChanged", reasoningEffort="high", source="user")
        assert values(it.told[-1]["configOptions"])["reasoning_effort"] == "high"
        it.event("session/modelChanged", modelId="small", providerId="muse")
        assert values(it.told[-1]["configOptions"])["reasoning_effort"] == "default"
        it.event("session/modelChanged", modelId="large", providerId="muse")
        assert values(it.told[-1]["configOptions"])["reasoning_effort"] == "high"


# -- what the host says


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
