"""From the name of a stand-in to the command that starts it."""

from __future__ import annotations

import sys

# -P: a folder named like ours where the editor was started must not be run in our place.
_PYTHON = (sys.executable, "-P", "-m")


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
            raise ValueError("a version must follow 'simulated:'")
        return [*_PYTHON, "adapter.hosts.simulated", "--profile", profile(rest or DEFAULT).version]
    if kind == "recorded" and colon:
        if not rest:
            raise ValueError("a directory must follow 'recorded:'")
        return [*_PYTHON, "adapter.hosts.recorded", rest]
    return None
