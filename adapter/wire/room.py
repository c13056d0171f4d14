"""Room for more in what waits to be written."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import NamedTuple


class Room(NamedTuple):
    """Whether there is some now, and the wait until there is. The look costs next to nothing, and there nearly always
    is some."""

    is_there: Callable[[], bool]
    wait: Callable[[], Awaitable[None]]
