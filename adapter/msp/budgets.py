"""How long things at a host may take, in seconds, and how often a command is tried (`msp.md §6, §25`)."""

from __future__ import annotations

from typing import Final

STARTUP_TIMEOUT: Final = 120.0
"""Spawn to handshake. A real cold start with a large store took 29 s."""

READ_HOST_IDLE: Final = 30.0
"""How long a host for reading stored output is kept after a read: reads come in rows."""

CLOSE_GRACE: Final = 5.0
"""What a host has after stdin closed to settle its turns and write its records."""

QUERY_TIMEOUT: Final = 30.0
COMMAND_TIMEOUT: Final = 60.0
OPEN_TIMEOUT: Final = 180.0
"""Methods that may scan a workspace or read a whole history."""

_OPENING: Final = frozenset({"session/start", "session/resume", "session/fork", "session/read", "view/page"})

ATTEMPTS: Final = 3
"""How often one command is sent at most, always under the same `commandId`."""

_RETRIED_KINDS: Final = frozenset({"overloaded", "backpressured"})
_FIRST_DELAY: Final = 0.050
_LONGEST_DELAY: Final = 2.0


def takes_long(method: str) -> bool:
    """Whether a host may be silent over it for long."""
    return method in _OPENING


def request_timeout(method: str, *, command: bool) -> float:
    """Seconds to wait for the answer to `method`."""
    if takes_long(method):
        return OPEN_TIMEOUT
    return COMMAND_TIMEOUT if command else QUERY_TIMEOUT


def retry_delay(kind: str, attempt: int) -> float | None:
    """Seconds to wait before sending a refused command again, None if it must not be: only a host that admitted
    nothing, because it was too busy, may be asked twice. `attempt` is 1 for the first sending."""
    if kind not in _RETRIED_KINDS or attempt >= ATTEMPTS:
        return None
    import random  # here, because it is slow to import and a host is hardly ever too busy

    return random.uniform(0, min(_LONGEST_DELAY, _FIRST_DELAY * 2 ** (attempt - 1)))
