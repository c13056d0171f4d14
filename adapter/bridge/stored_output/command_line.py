"""How a person reads stored output without a client that can."""

from __future__ import annotations

import shlex

from adapter.bridge.hosts.host_choice import HostChoice
from host_probe import Verified, parse_server_version, verified_for_reading


def output_command(choice: HostChoice, server_version: str) -> str | None:
    """The command, to be followed by a session and an item; None where it would be refused, because reading is not
    verified on this version."""
    if not isinstance(verified_for_reading(parse_server_version(server_version)), Verified):
        return None
    return shlex.join(["muse-adapter", *(["--muse", choice.muse] if choice.muse else []), "output"])
