"""From the name of a stand-in to the command that starts it, and to what is known of it without."""

from __future__ import annotations

import sys
from typing import Final

from host_probe import Abilities

# -P: a folder named like ours where the editor was started must not be run in our place.
_PYTHON = (sys.executable, "-P", "-m")


_NO_VERSION: Final = "a version must follow 'simulated:'"

STAND_INS = frozenset({"simulated", "recorded"})


def stand_in_command(spec: str) -> list[str] | None:
    """The command line that stands in for the `muse` executable, or None if `spec` names no stand-in.

    `simulated` is the simulated host in its default version, `simulated:1.1.1` in that one, `recorded:DIR` plays the
    recording in that directory.

    Raises:
        ValueError: a stand-in that does not exist, in a sentence.
    """
    kind, colon, rest = spec.partition(":")
    if kind == "simulated":
        from adapter.hosts.simulated.profiles import DEFAULT, profile

        if colon and not rest:
            raise ValueError(_NO_VERSION)
        return [*_PYTHON, "adapter.hosts.simulated", "--profile", profile(rest or DEFAULT).version]
    if kind == "recorded" and colon:
        if not rest:
            raise ValueError("a directory must follow 'recorded:'")
        return [*_PYTHON, "adapter.hosts.recorded", rest]
    return None


def stand_in_abilities(spec: str) -> Abilities | None:
    """What the host of a stand-in can do, without starting one; None if that cannot be told.

    Raises:
        ValueError: as for `stand_in_command`.
    """
    kind, colon, rest = spec.partition(":")
    if kind != "simulated":
        return None
    from adapter.hosts.simulated.profiles import DEFAULT, profile

    if colon and not rest:
        raise ValueError(_NO_VERSION)
    simulated = profile(rest or DEFAULT)
    return Abilities(
        simulated.methods,
        workspace_roots="workspaceRoots" not in simulated.withheld.get("start", ()),
        list_filter="appliedFilter" not in simulated.withheld.get("session/list", ()),
    )


def stand_in_flags(spec: str) -> frozenset[str] | None:
    """What `serve` of a stand-in can be started with, without asking it; None if that cannot be told."""
    if spec.partition(":")[0] != "simulated":
        return None
    from adapter.hosts.simulated.options import SERVE_FLAGS

    return SERVE_FLAGS
