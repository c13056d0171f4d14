"""The models a host offers a session, and which of them is meant by what is said elsewhere (`msp.md §17.1`). Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec

MAX_MODELS: Final = 1000
"""Rows taken of a list; a picker with more is of no use to anybody."""

MAX_ID: Final = 1024
"""Characters of an id; it comes back with every choice."""


_NO_TIERS: Final = frozenset({"unknown", "default"})
"""Words in a list of tiers that are none; "default" is what an option calls no tier at all."""


class Tier(msgspec.Struct, frozen=True):
    """A step of reasoning effort."""

    name: str
    description: str | None = None


class Model(msgspec.Struct, frozen=True):
    """One row of `model/list`, or a model that is only known to be in use. `label` is the name for people."""

    model_id: str
    provider_id: str | None = None
    profile_id: str | None = None
    label: str | None = None
    description: str | None = None
    tiers: tuple[Tier, ...] = ()
    """Which efforts it takes, in order; none if nobody said."""
    is_active: bool = False
    is_default: bool = False

    def wire(self) -> dict[str, Any]:
        """How `session/setModel` names it: as the row did."""
        members = {
            "modelId": self.model_id,
            "providerId": self.provider_id,
            "profileId": self.profile_id,
            "displayLabel": self.label,
        }
        return {name: value for name, value in members.items() if value is not None}


class ModelRef(msgspec.Struct, frozen=True):
    """How an event or a session's row names a model; the provider may be unknown."""

    model_id: str
    provider_id: str | None = None

    def names(self, model: Model) -> bool:
        """Whether this is that model; an unknown provider fits any."""
        return model.model_id == self.model_id and (
            None in (model.provider_id, self.provider_id) or model.provider_id == self.provider_id
        )


def read_models(result: Any) -> tuple[Model, ...]:
    """The rows of a `model/list` result that can be used, each once. Never raises."""
    rows = result.get("models") if isinstance(result, dict) else None
    models: dict[tuple[str, str | None, str | None], Model] = {}
    for row in (rows if isinstance(rows, list) else [])[:MAX_MODELS]:
        model = _read_row(row) if isinstance(row, dict) else None
        if model is not None:
            models.setdefault((model.model_id, model.provider_id, model.profile_id), model)
    return tuple(models.values())


def read_ref(members: Any) -> ModelRef | None:
    """The model that `modelId` and `providerId` name, in an event or a session's row."""
    model_id = _id(members, "modelId") if isinstance(members, dict) else None
    return None if model_id is None else ModelRef(model_id, _id(members, "providerId"))


def with_current(models: Sequence[Model], ref: ModelRef | None) -> tuple[tuple[Model, ...], Model | None]:
    """The models to offer and the current one among them: what `ref` names, else what the list says.

    A current model that is not on the list is added to it: what is in use is shown.
    """
    if ref is not None:
        named = [model for model in models if ref.names(model)]
        if named:
            return tuple(models), next((model for model in named if model.is_active), named[0])
        used = Model(ref.model_id, ref.provider_id)
        return (*models, used), used
    current = next((model for model in models if model.is_active), None)
    return tuple(models), current or next((model for model in models if model.is_default), None)


def values_of(models: Sequence[Model]) -> dict[str, Model]:
    """The models by the value that stands for each: its id, with as much before and behind it as makes it the only
    one."""
    spellings = [
        [
            model.model_id,
            f"{model.provider_id}/{model.model_id}",
            f"{model.provider_id}/{model.model_id}@{model.profile_id}",
        ]
        for model in models
    ]
    used = [Counter(each[length] for each in spellings) for length in range(3)]
    values: dict[str, Model] = {}
    for model, spelling in zip(models, spellings, strict=True):
        value = next((word for length, word in enumerate(spelling) if used[length][word] == 1), spelling[-1])
        while value in values:
            value += "'"
        values[value] = model
    return values


def _read_row(row: dict[str, Any]) -> Model | None:
    model_id = _id(row, "modelId")
    if model_id is None:
        return None
    return Model(
        model_id,
        _id(row, "providerId"),
        _id(row, "profileId"),
        _text(row, "displayLabel"),
        _text(row, "description"),
        _tiers(row),
        row.get("isActive") is True,
        row.get("isDefault") is True,
    )


def _tiers(row: dict[str, Any]) -> tuple[Tier, ...]:
    """Newer hosts describe the tiers, older ones list their names, or say "unknown" in the place of a list."""
    described, plain = row.get("reasoningEffortVariants"), row.get("variants")
    tiers: dict[str, Tier] = {}
    for entry in described if isinstance(described, list) and described else plain if isinstance(plain, list) else []:
        name = _id(entry, "tier") if isinstance(entry, dict) else entry
        if isinstance(name, str) and name and name not in _NO_TIERS:
            tiers.setdefault(name, Tier(name, _text(entry, "description") if isinstance(entry, dict) else None))
    return tuple(tiers.values())


def _id(members: dict[str, Any], name: str) -> str | None:
    value = _text(members, name)
    return value if value is not None and len(value) <= MAX_ID else None


def _text(members: dict[str, Any], name: str) -> str | None:
    value = members.get(name)
    return value if isinstance(value, str) and value else None
