"""Leaving out what a version does not have yet: members newer than the profile are never sent (`msp.md §28`)."""

from __future__ import annotations

from typing import Any

from adapter.hosts.simulated.profiles import Profile

_NOTHING: frozenset[str] = frozenset()


def without(profile: Profile, what: str, value: dict[str, Any]) -> dict[str, Any]:
    """`value` without the members that `what` does not have in this version."""
    newer = profile.withheld.get(what, _NOTHING)
    if newer.isdisjoint(value):
        return value
    return {key: member for key, member in value.items() if key not in newer}


def event_params(profile: Profile, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The params of a notification as this version sends them."""
    if not profile.withheld:
        return params
    shaped = without(profile, method, params)
    if "item" in shaped:
        shaped = {**shaped, "item": without(profile, "item", shaped["item"])}
    if "session" in shaped:
        shaped = {**shaped, "session": without(profile, "session", shaped["session"])}
    if "cumulative" in shaped:
        shaped = {**shaped, "cumulative": without(profile, "cumulative", shaped["cumulative"])}
    return shaped
