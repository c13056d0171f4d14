"""Work that runs beside everything else: its failure is logged and costs nobody else anything."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVarTuple

from anyio.abc import TaskGroup

Arguments = TypeVarTuple("Arguments")


class Background:
    """Starts tasks in a group without letting an unexpected exception of one of them cancel the others."""

    def __init__(self, tasks: TaskGroup, logger: logging.Logger) -> None:
        self._tasks = tasks
        self._logger = logger

    def start(self, function: Callable[[*Arguments], Awaitable[object]], *arguments: *Arguments) -> None:
        """Run `function(*arguments)` until it ends or the group is cancelled."""

        async def run() -> None:
            try:
                await function(*arguments)
            except Exception:
                self._logger.exception("%s failed", getattr(function, "__qualname__", function))

        self._tasks.start_soon(run)
