"""A session's options at work: what is chosen is asked of the host, and told to the client once."""

from __future__ import annotations

import anyio
import pytest

from adapter.msp.errors import MspError, SessionUnreachable
from adapter.msp.handshake import Handshake
from adapter.wire.envelope import RpcError
from tests.session_options import FIRST, LARGE, ROW, SMALL, Json, opened, values
from tests.wired import outcome, until

pytestmark = pytest.mark.anyio


async def test_the_opening_says_what_is_set() -> None:
    async with opened() as it:
        result = await it.begin()
        assert values(result["configOptions"]) == FIRST
        assert result["modes"]["currentModeId"] == "default"
        assert it.told == [], "nothing is told before the client knows the session"


async def test_a_list_that_is_late_is_told_when_it_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.bridge.session_state.session_options.LEARNING_WAIT", 0.05)
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


ALLOWING = {**ROW, "approvalMode": {"mode": "allowAll"}}


async def test_a_session_that_allows_everything_is_set_back_before_the_client_knows_it() -> None:
    async with opened() as it:
        warnings: list[str] = []
        it.options.warn = lambda title, description: warnings.append(title)
        it.session.fold.load_snapshot({"approvalMode": {"mode": "allowAll"}})
        assert values((await it.begin(ALLOWING))["configOptions"])["approval_mode"] == "promptUnmatched"
        await it.options.rein_in()
        assert it.host.commands == [("session/setApprovalMode", {"mode": "promptUnmatched"})]
        assert len(warnings) == 1 and it.told == []


@pytest.mark.parametrize("acks", [None, {"effectiveMode": {"mode": "allowAll"}}], ids=["refused", "kept"])
async def test_no_turn_begins_while_a_host_goes_on_allowing_everything(acks: Json | None) -> None:
    async with opened() as it:
        it.host.acks = acks or {}
        it.host.refusal = None if acks else MspError(-32030, "commandRejected", "a policy says so")
        assert values((await it.begin(ALLOWING))["configOptions"])["approval_mode"] == "allowAll", "what is in force"
        error = await outcome(it.options.rein_in)
        assert isinstance(error, SessionUnreachable) and error.reason == "allowAllNotAllowed"
        assert "policy" in error.details or acks
        it.host.refusal, it.host.acks = None, {}
        await it.options.rein_in()
        assert it.options.settings.approval_mode == "promptUnmatched"


async def test_what_others_allow_is_told_and_set_back() -> None:
    async with opened() as it:
        await it.begin()
        it.event("turn/started", turnId="t1", commandId="c1")
        it.event("session/approvalModeChanged", mode="allowAll")
        await until(lambda: len(it.told) == 3)
        assert it.kinds() == ["config_option_update", "config_option_update", "notice"]
        modes = [values(update["configOptions"])["approval_mode"] for update in it.told[:2]]
        assert modes == ["allowAll", "promptUnmatched"]


async def test_everything_stays_allowed_after_the_start_option() -> None:
    async with opened(allow_all=True) as it:
        await it.begin(ALLOWING)
        it.event("session/approvalModeChanged", mode="allowAll")
        await it.options.rein_in()
        assert it.host.commands == [] and it.told == []


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


# -- what a host cannot do


@pytest.mark.parametrize(("option", "value"), [("model", "small"), ("approval_mode", "denyUnmatched")])
async def test_o6_an_option_that_the_host_cannot_change_is_offered_no_more(option: str, value: str) -> None:
    async with opened() as it:
        assert option in values((await it.begin())["configOptions"])
        it.host.refusal = MspError(-32601, "methodNotFound", "no such method")
        error = await outcome(lambda: it.options.set_option(option, value))
        assert isinstance(error, RpcError) and error.data is not None
        assert error.data["reason"] == "unsupportedByHost" and "no such method" in error.data["details"]
        [update] = it.told
        assert option not in values(update["configOptions"])
        error = await outcome(lambda: it.options.set_option(option, value))
        assert isinstance(error, RpcError) and error.code == -32602
        assert len(it.host.commands) == 1, "it is not asked again"


async def test_o6_no_mode_is_offered_that_would_lose_the_session() -> None:
    async with opened() as it:
        it.host.handshake = Handshake("m", "1", "", frozenset(), False, None)
        assert [mode["id"] for mode in (await it.begin())["modes"]["availableModes"]] == ["default"]
        error = await outcome(lambda: it.options.set_mode("readOnly"))
        assert isinstance(error, RpcError) and error.code == -32602 and not it.attachment.wanted


@pytest.mark.parametrize("older", [True, False])
async def test_o6_a_mode_is_refused_where_no_host_loads_sessions(older: bool) -> None:
    async with opened() as it:
        assert len((await it.begin())["modes"]["availableModes"]) == 3
        it.host.loads = False
        error = await outcome(
            lambda: it.options.set_mode("plan") if older else it.options.set_option("mode", "readOnly")
        )
        assert isinstance(error, RpcError) and error.code == -32602 and error.data is not None
        assert error.data["reason"] == "modeUnavailable" and not it.attachment.wanted
        assert it.options.settings.mode == "default" and not it.options.settings.can_restrict
