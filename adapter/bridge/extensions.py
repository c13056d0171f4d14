"""The methods beside those of the protocol, and what `initialize` says of them in `_meta`."""

from __future__ import annotations

from typing import Final

from adapter.acp.capabilities import (
    ASYNC_TASKS,
    EXTENSION_VERSION,
    SESSION_STEERING,
    STEERING,
    ClientCapabilities,
)
from adapter.wire.envelope import Params

STEER: Final = "_muse/steer"
SESSION_STEER: Final = "_session/steering"
TASK: Final = "_muse/task"


def advertised_to(client: ClientCapabilities) -> Params:
    """What is offered to a client that asked for it."""
    offered: Params = {}
    if client.steering:
        offered[STEERING] = {"version": EXTENSION_VERSION, "method": STEER}
    if client.session_steering:
        offered[SESSION_STEERING] = {"supported": True, "idle": "reject", "targeting": "active-at-admission"}
    if client.async_tasks:
        offered[ASYNC_TASKS] = {"version": EXTENSION_VERSION, "method": TASK, "actionsPerTask": True}
    return offered
