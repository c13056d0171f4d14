"""What a session offers to set, and what a client may choose of it."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from adapter.bridge.session_state.models import Model, ModelRef, Tier, read_models, read_ref, values_of, with_current
from adapter.bridge.session_state.settings import (
    APPROVALS,
    EFFORT,
    MODE,
    MODEL,
    Settings,
    check_mode,
    check_option,
    config_options,
    session_modes,
)
from adapter.wire.envelope import RpcError

Json = dict[str, Any]

TIERS = (Tier("low"), Tier("high", "thinks long"))
LARGE = Model("large", "muse", None, "Large", "the large one", TIERS, is_default=True)
SMALL = Model("small", "muse", None, "Small")


def settings(**changes: Any) -> Settings:
    usual = Settings(
        models=(LARGE, SMALL), model=ModelRef("large", "muse"), approval_mode="onRequest", can_restrict=True
    )
    return msgspec.structs.replace(usual, **changes)


def shown(state: Settings) -> dict[str, tuple[str, list[str]]]:
    """The options: each with its value and what is on offer."""
    options = config_options(state)
    for option in options:
        assert option["type"] == "select"
        assert option["currentValue"] in [choice["value"] for choice in option["options"]]
    return {each["id"]: (each["currentValue"], [choice["value"] for choice in each["options"]]) for each in options}


def test_all_options_with_their_values_most_important_first() -> None:
    assert list(shown(settings()).items()) == [
        (MODE, ("default", ["default", "readOnly", "plan"])),
        (MODEL, ("large", ["large", "small"])),
        (EFFORT, ("default", ["default", "low", "high"])),
        (APPROVALS, ("onRequest", ["promptUnmatched", "onRequest", "denyUnmatched"])),
    ]
    assert [option.get("category") for option in config_options(settings())] == [
        "mode",
        "model",
        "thought_level",
        None,
    ]


def test_what_nobody_knows_is_not_offered() -> None:
    assert list(shown(Settings())) == [MODE]
    assert shown(Settings())[MODE] == ("default", ["default"])
    assert MODEL not in shown(settings(models=()))
    assert MODEL not in shown(settings(models=(SMALL,), model=None)), "a picker without a present value is none"


@pytest.mark.parametrize("mode", ["default", "readOnly", "plan"])
@pytest.mark.acp(97)
def test_both_forms_of_the_modes_say_the_same(mode: str) -> None:
    state = settings(mode=mode)
    older = session_modes(state)
    assert (older["currentModeId"], [each["id"] for each in older["availableModes"]]) == shown(state)[MODE]


def test_a_mode_in_force_is_on_offer_whatever_the_host_can() -> None:
    assert shown(settings(mode="plan", can_restrict=False))[MODE][0] == "plan"


def test_what_the_modes_do_not_cover_is_said() -> None:
    texts = {choice["value"]: choice["description"] for choice in config_options(settings())[0]["options"]}
    assert "MCP" in texts["readOnly"] and "MCP" in texts["plan"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("nothing", "x"),
        (MODE, "bypass"),
        (MODEL, "medium"),
        (EFFORT, "ultra"),
        (APPROVALS, "allowAll"),
        (APPROVALS, True),
        (MODE, ""),
        ("", "default"),
    ],
)
@pytest.mark.acp(95)
def test_o6_unknown_options_and_values_are_refused(option: str, value: str | bool) -> None:
    with pytest.raises(RpcError) as refused:
        check_option(settings(), option, value)
    assert refused.value.code == -32602
    assert refused.value.data is not None
    known = option in (MODE, MODEL, EFFORT, APPROVALS)
    assert refused.value.data["field"] == ("value" if known else "configId")


def test_o6_modes_that_are_not_on_offer_are_refused() -> None:
    check_mode(settings(), "plan")
    for state, mode in ((settings(), "does-not-exist"), (settings(can_restrict=False), "plan")):
        with pytest.raises(RpcError) as refused:
            check_mode(state, mode)
        assert (refused.value.code, (refused.value.data or {})["field"]) == (-32602, "modeId")


def test_everything_is_allowed_only_with_the_start_option() -> None:
    assert check_option(settings(allow_all=True), APPROVALS, "allowAll") == "allowAll"
    # Somebody else set it: it is shown, since it is in force, and cannot be chosen all the same.
    state = settings(approval_mode="allowAll")
    assert shown(state)[APPROVALS] == ("allowAll", ["promptUnmatched", "onRequest", "denyUnmatched", "allowAll"])
    with pytest.raises(RpcError) as refused:
        check_option(state, APPROVALS, "allowAll")
    assert "--allow-all" in (refused.value.data or {})["details"]


def test_an_approval_mode_nobody_knows_is_shown_while_it_is_in_force() -> None:
    assert shown(settings(approval_mode="askTwice"))[APPROVALS][0] == "askTwice"


# -- effort


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"effort": "high"}, ("high", ["default", "low", "high"])),
        # MSP has no word for taking a standing effort back.
        ({"effort": "high", "standing": True}, ("high", ["low", "high"])),
        ({"effort": "ultra", "standing": True}, ("default", ["default", "low", "high"])),
        ({"effort": "ultra"}, ("default", ["default", "low", "high"])),
    ],
)
def test_the_effort_that_is_shown(changes: Json, expected: tuple[str, list[str]]) -> None:
    assert shown(settings(**changes))[EFFORT] == expected


@pytest.mark.acp(95)
def test_a_model_brings_its_own_efforts() -> None:
    assert EFFORT not in shown(settings(model=ModelRef("small")))


# -- models


def row(model_id: str, **members: Any) -> Json:
    return {"modelId": model_id, "providerId": "muse", "displayLabel": model_id.title(), **members}


@pytest.mark.parametrize(
    ("members", "tiers"),
    [
        ({"variants": ["low", "high"]}, ["low", "high"]),
        ({"variants": "unknown"}, []),
        ({"variants": ["unknown"]}, []),
        ({"variants": ["low", "low", 3, None, "default"]}, ["low"]),
        ({"reasoningEffortVariants": [{"tier": "max", "description": "d"}], "variants": ["low"]}, ["max"]),
        ({"reasoningEffortVariants": [], "variants": ["low"]}, ["low"]),
        ({"reasoningEffortVariants": "x", "variants": None}, []),
        ({}, []),
    ],
)
def test_the_tiers_of_a_row(members: Json, tiers: list[str]) -> None:
    (model,) = read_models({"models": [row("large", **members)]})
    assert [tier.name for tier in model.tiers] == tiers


@pytest.mark.parametrize(
    "result", [None, [], {}, {"models": "x"}, {"models": [3, {}, {"modelId": 3}, {"modelId": ""}]}]
)
def test_a_list_that_is_none_is_empty(result: Any) -> None:
    assert read_models(result) == ()


def test_rows_are_taken_once() -> None:
    assert len(read_models({"models": [row("large"), row("large"), row("small")]})) == 2


def test_a_model_is_named_to_the_host_as_its_row_did() -> None:
    (model,) = read_models({"models": [row("large", profileId="p")]})
    assert model.wire() == {"modelId": "large", "providerId": "muse", "profileId": "p", "displayLabel": "Large"}
    assert Model("large").wire() == {"modelId": "large"}


def test_values_are_ids_with_as_much_beside_them_as_it_takes() -> None:
    models = (
        Model("one", "a"),
        Model("two", "a"),
        Model("two", "b"),
        Model("three", "a", "p"),
        Model("three", "a", "q"),
    )
    assert list(values_of(models)) == ["one", "a/two", "b/two", "a/three@p", "a/three@q"]
    odd = (Model("a/two", "c"), Model("two", "a"), Model("two", "b"))
    assert list(values_of(odd).values()) == list(odd), "whatever they are called, each has a value"


@pytest.mark.parametrize(
    ("ref", "expected"),
    [
        (ModelRef("small"), "small"),
        (ModelRef("small", "muse"), "small"),
        (ModelRef("gone", "muse"), "gone"),
        (None, "large"),
    ],
)
def test_the_current_model_is_always_among_those_offered(ref: ModelRef | None, expected: str) -> None:
    models, current = with_current((LARGE, SMALL), ref)
    assert current is not None and current.model_id == expected and current in models


def test_an_active_model_counts_before_the_default_one() -> None:
    active = msgspec.structs.replace(SMALL, is_active=True)
    assert with_current((LARGE, active), None)[1] == active


def test_another_provider_is_another_model() -> None:
    assert not ModelRef("large", "other").names(LARGE)
    assert ModelRef("large").names(LARGE) and ModelRef("large", "x").names(Model("large"))


@pytest.mark.parametrize(
    "members", [None, {}, {"modelId": None}, {"modelId": 7}, {"modelId": ""}, {"modelId": "x" * 2000}]
)
def test_a_model_that_is_not_named(members: Any) -> None:
    assert read_ref(members) is None
