"""The vocabulary against the protocol package installed beside us: a newer one must not pass unnoticed."""

from __future__ import annotations

from typing import Any, get_args

import muse_code_msp as package
import pytest

from adapter.msp import vocabulary
from adapter.msp.vocabulary import (
    CAPABILITIES,
    ERRORS,
    EXCLUDED,
    ITEM_KINDS,
    ITEM_STATUSES,
    METHODS,
    NOTIFICATIONS,
    Delivery,
)


def _params_type(spec: Any) -> Any:
    return getattr(package, spec["params"]) if spec["params"] else None


def _required(spec: Any) -> frozenset[str]:
    params = _params_type(spec)
    return params.__required_keys__ if params else frozenset()


def _missing(ours: Any, theirs: Any) -> list[str]:
    return sorted(set(theirs) - set(ours) - set(EXCLUDED))


def test_every_method_is_carried_or_excluded() -> None:
    assert _missing(METHODS, package.METHODS) == []


def test_every_notification_is_carried_or_excluded() -> None:
    assert _missing(NOTIFICATIONS, package.NOTIFICATIONS) == []


def test_every_capability_is_carried_or_excluded() -> None:
    assert _missing(CAPABILITIES, package.GRANTABLE_CAPABILITIES) == []
    assert _missing(CAPABILITIES, package.CAPABILITY_NAME_KNOWN_VALUES) == []


def test_every_item_kind_and_status_is_carried() -> None:
    assert _missing(ITEM_KINDS, package.ITEM_KIND_KNOWN_VALUES) == []
    assert _missing(ITEM_STATUSES, package.ITEM_STATUS_KNOWN_VALUES) == []


def test_every_error_is_carried_with_its_meaning() -> None:
    ours = {code: (row.kind, row.retryable, set(row.override_kinds)) for code, row in ERRORS.items()}
    theirs = {row["code"]: (row["kind"], row["retryable"], set(row["overrideKinds"])) for row in package.ERRORS}
    assert ours == theirs


def test_exclusions_name_things_that_exist_and_that_we_do_not_carry() -> None:
    known = {*package.METHODS, *package.NOTIFICATIONS, *package.GRANTABLE_CAPABILITIES}
    assert sorted(set(EXCLUDED) - known) == []
    assert sorted(set(EXCLUDED) & {*METHODS, *NOTIFICATIONS, *CAPABILITIES}) == []
    assert all(reason.strip() for reason in EXCLUDED.values())


@pytest.mark.parametrize("name", sorted(METHODS.keys() & package.METHODS.keys()))
def test_class_and_required_params_of(name: str) -> None:
    required = _required(package.METHODS[name])
    assert METHODS[name].required == required
    assert METHODS[name].kind == ("command" if "commandId" in required else "query")


@pytest.mark.parametrize("name", sorted(NOTIFICATIONS.keys() & package.NOTIFICATIONS.keys()))
def test_delivery_of(name: str) -> None:
    """A view event has a cursor, a durable one names its source, broadcasts need neither."""
    delivery, required = NOTIFICATIONS[name], _required(package.NOTIFICATIONS[name])
    params = _params_type(package.NOTIFICATIONS[name])
    optional = params.__optional_keys__ if params else frozenset()
    if delivery & Delivery.VIEW:
        assert "viewCursor" in required
    assert bool(delivery & Delivery.DURABLE) == ("sourceRange" in required | optional)
    if delivery & Delivery.BROADCAST:
        assert "sourceRange" not in required


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("APPROVAL_MODES", "ApprovalMode"),
        ("REASONING_EFFORTS", "ReasoningEffort"),
        ("IF_BUSY", "IfBusy"),
        ("INPUT_PART_TYPES", "TurnInputPartType"),
        ("SKILL_SOURCES", "SkillInvocationSource"),
        ("HISTORY_PREFERENCES", "HistoryPreference"),
        ("PAGE_DIRECTIONS", "ViewPageDirection"),
        ("OUTPUT_ENCODINGS", "ItemReadOutputEncoding"),
        ("COMMAND_ACK_STATUSES", "CommandAckStatus"),
        ("RECOVERY_MODES", "RecoveryMode"),
        ("MCP_SERVER_MODES", "SessionMcpServerMode"),
        ("MCP_STDIO_FRAMINGS", "SessionMcpStdioFraming"),
        ("USER_INPUT_SELECTION_MODES", "UserInputSelectionMode"),
        ("SESSION_LIST_TEXT_FIELDS", "SessionListTextField"),
        ("WORKFLOW_CHILD_ACTIONS", "WorkflowChildAction"),
    ],
)
def test_closed_enum(ours: str, theirs: str) -> None:
    assert getattr(vocabulary, ours) == get_args(getattr(package, theirs))
