"""The models and skills a simulated host offers, and the subscription it has never seen."""

from __future__ import annotations

from typing import Any, Final

from adapter.hosts.simulated.profiles import Profile
from adapter.hosts.simulated.shape import without

PROVIDER: Final = "muse"
DEFAULT_MODEL: Final = "muse-large-2"

_MODELS: Final = (
    ("muse-large-2", "Muse Large 2 (simulated)", 200_000, 64_000, "2026-06-01"),
    ("muse-small-1", "Muse Small 1 (simulated)", 100_000, 32_000, "2026-03-01"),
)

SKILLS: Final = (
    {
        "selector": "review",
        "displayName": "Review",
        "description": "Review the changes — thoroughly",
        "source": "bundled",
        "argumentHint": "[path]",
    },
    {"selector": "explain", "displayName": "Explain", "description": "Explain the code", "source": "project"},
)

ANOTHER_SKILL: Final = {
    "selector": "deploy",
    "displayName": "Deploy",
    "description": "Deploy what is there",
    "source": "project",
    "argumentHint": "<place>",
}
"""What a session has after the script `skills`."""


def models(profile: Profile, active: str | None) -> dict[str, Any]:
    """The result of `model/list`; `active` is the session's model, if one was named."""
    rows = []
    for model_id, label, context, output, released in _MODELS:
        tiers = [{"tier": tier} for tier in profile.efforts]
        row = {
            "modelId": model_id,
            "providerId": PROVIDER,
            "displayLabel": label,
            "isDefault": model_id == DEFAULT_MODEL,
            "isActive": model_id == active,
            "profileId": None,
            "description": None,
            "contextLimit": context,
            "outputLimit": output,
            "releaseDate": released,
            "cost": None,
            "variants": list(profile.efforts),
            "reasoningEffortVariants": tiers,
            "defaultReasoningEffort": "medium",
        }
        rows.append(without(profile, "model", row))
    return {"models": rows, "providerId": PROVIDER, "profileId": None, "source": "fakeCatalog"}


def has_model(model_id: str) -> bool:
    """Whether the catalogue has the model."""
    return any(row[0] == model_id for row in _MODELS)
