"""Work that may never come back: a look at a file system that has gone away."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

import anyio

POLL_SECONDS: Final = 0.005


async def beside(work: Callable[[], object]) -> None:
    """Run `work` in a thread, and raise what it raises. If this is cancelled the thread goes on, and the program does
    not wait for it in the end, as it does for those that a pool has."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="doctor", daemon=True)
    thread.start()
    while thread.is_alive():  # noqa: ASYNC110 - a thread tells nobody of its end
        await anyio.sleep(POLL_SECONDS)
    if raised:
        raise raised[0]
