"""What can be set in a session, what it is set to, and what a client may choose (`acp.md §11`, `msp.md §17`). Pure.

The options are made anew from the state each time, so that the list is always whole and its current values are always
on offer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from adapter.acp import errors, options
from adapter.bridge.session_state.models import Model, ModelRef, values_of, with_current

Json = dict[str, Any]

MODE: Final = "mode"
MODEL: Final = "model"
EFFORT: Final = "reasoning_effort"
APPROVALS: Final = "approval_mode"

ASK: Final = "default"
READ_ONLY: Final = "readOnly"
PLAN: Final = "plan"
RESTRICTING: Final = frozenset({READ_ONLY, PLAN})
"""Modes of a host without write and shell."""

_MODES: Final[Mapping[str, tuple[str, str]]] = {
    ASK: ("Ask", "Muse may read, write and run commands, and asks as the approval mode says"),
    READ_ONLY: (
        "Read-only",
        "Muse's own tools write no files and run no commands; tools of MCP servers are not covered",
    ),
    PLAN: (
        "Plan",
        "Muse writes a plan instead of doing the work; as read-only, and tools of MCP servers are not covered",
    ),
}

PLANNING: Final = (
    "Plan only. Look at whatever helps, change nothing, and answer with a plan for the following request: the steps, "
    "the files each of them touches, and what is uncertain. The plan is carried out later, once it is agreed to."
)
"""What goes before a prompt in plan mode (`peers.md §6.8`)."""

MUSES_OWN: Final = "default"
"""The effort that is not chosen: what Muse is set to. No tier is sent, since one that is sent outranks Muse's own
setting (`peers.md §17`, trap 17)."""

ALLOW_ALL: Final = "allowAll"
CAUTIOUS: Final = "promptUnmatched"
"""What takes its place where it is not wanted."""

_APPROVALS: Final[Mapping[str, tuple[str, str]]] = {
    CAUTIOUS: ("Ask unless allowed", "Asks for whatever no rule allows or forbids"),
    "onRequest": ("Ask on request", "Asks when Muse itself wants to be allowed something"),
    "denyUnmatched": ("Deny unless allowed", "Refuses whatever no rule allows, without asking"),
    ALLOW_ALL: ("Allow everything", "Asks for nothing and allows everything"),
}
"""The host's modes in its own words (`msp.md §17.3`)."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of one session."""

    mode: str = ASK
    can_restrict: bool = False
    """Whether there can be a host that neither writes nor runs commands."""
    models: tuple[Model, ...] = ()
    """What `model/list` told."""
    model: ModelRef | None = None
    """What the session uses, as far as anybody said."""
    effort: str | None = None
    """The chosen tier; None for what Muse is set to."""
    standing: bool = False
    """The host keeps the effort, and has no word for taking it back."""
    approval_mode: str | None = None
    """None while the host has not said."""
    fixed: frozenset[str] = frozenset()
    """Options that the host does not let be changed."""
    allow_all: bool = False
    """The user started the adapter so that everything may be allowed."""

    @property
    def is_unbridled(self) -> bool:
        """Whether everything is allowed though the user did not start the adapter so."""
        return self.approval_mode == ALLOW_ALL and not self.allow_all

    @property
    def restricted(self) -> bool:
        """Whether the session belongs on a host without write and shell."""
        return self.mode in RESTRICTING

    @property
    def effort_in_force(self) -> str:
        """The effort as it is shown. A tier that the model does not take is not in force (`peers.md §17`, trap 68)."""
        _, model = with_current(self.models, self.model)
        tiers = model.tiers if model is not None else ()
        chosen = self.effort if any(tier.name == self.effort for tier in tiers) else None
        return chosen or MUSES_OWN

    def model_for(self, value: str) -> Model:
        """The model that a checked value of the option stands for."""
        return values_of(with_current(self.models, self.model)[0])[value]


def config_options(settings: Settings) -> list[Json]:
    """All options of the session, most important first."""
    offered = (_mode(settings), _model(settings), _effort(settings), _approvals(settings))
    return [option for option in offered if option is not None and option["id"] not in settings.fixed]


def session_modes(settings: Settings) -> Json:
    """The modes in the older form."""
    available = [options.mode(mode_id, *_MODES[mode_id]) for mode_id in _mode_ids(settings)]
    return options.modes(settings.mode, available)


def check_mode(settings: Settings, mode_id: str) -> None:
    """See that a mode may be chosen.

    Raises:
        RpcError: -32602; it is not on offer (`fault-cases.md O6`).
    """
    if mode_id not in _mode_ids(settings):
        raise errors.invalid_params("modeId", "is not one of the session's modes")


def check_option(settings: Settings, option_id: str, value: str | bool) -> str:
    """The value, if it may be chosen.

    Raises:
        RpcError: -32602; there is no such option now, or it has no such value (`fault-cases.md O6`).
    """
    option = next((each for each in config_options(settings) if each["id"] == option_id), None)
    if option is None:
        raise errors.invalid_params("configId", "is not one of the session's options")
    if not isinstance(value, str) or all(each["value"] != value for each in option["options"]):
        raise errors.invalid_params("value", "is not one of the option's values")
    if option_id == APPROVALS and value == ALLOW_ALL and not settings.allow_all:
        raise errors.invalid_params(
            "value", "everything may only be allowed if the adapter is started with --allow-all"
        )
    return value


def _mode_ids(settings: Settings) -> tuple[str, ...]:
    return (ASK, READ_ONLY, PLAN) if settings.can_restrict or settings.restricted else (ASK,)


def _mode(settings: Settings) -> Json:
    choices = [options.choice(mode_id, *_MODES[mode_id]) for mode_id in _mode_ids(settings)]
    return options.select(
        MODE, "Mode", settings.mode, choices, category="mode", description="What Muse may do, from the next prompt on"
    )


def _model(settings: Settings) -> Json | None:
    """Nothing to choose where the host lists nothing, or nobody knows what is in use."""
    models, current = with_current(settings.models, settings.model)
    if not settings.models or current is None:
        return None
    values = values_of(models)
    choices = [
        options.choice(value, model.label or model.model_id, model.description) for value, model in values.items()
    ]
    chosen = next(value for value, model in values.items() if model == current)
    return options.select(
        MODEL, "Model", chosen, choices, category="model", description="Which model Muse asks from its next call on"
    )


def _effort(settings: Settings) -> Json | None:
    """The tiers of the current model, if it told them. Muse's own choice can be gone back to as long as the host has
    not been given a standing one."""
    _, model = with_current(settings.models, settings.model)
    if model is None or not model.tiers:
        return None
    current = settings.effort_in_force
    choices = [options.choice(tier.name, tier.name, tier.description) for tier in model.tiers]
    if current == MUSES_OWN or not settings.standing:
        choices.insert(0, options.choice(MUSES_OWN, "Default", "What Muse is set to"))
    return options.select(
        EFFORT, "Reasoning effort", current, choices, category="thought_level", description="How much Muse thinks first"
    )


def _approvals(settings: Settings) -> Json | None:
    current = settings.approval_mode
    if current is None:
        return None
    offered = {
        mode: texts
        for mode, texts in _APPROVALS.items()
        if mode != ALLOW_ALL or settings.allow_all or current == ALLOW_ALL
    }
    if current not in offered:
        # A word newer than this adapter: it is what is in force, so it is what is shown.
        offered[current] = (current, "A mode of the host that this adapter does not know")
    choices = [options.choice(mode, *texts) for mode, texts in offered.items()]
    return options.select(APPROVALS, "Approvals", current, choices, description="What Muse asks you about")
