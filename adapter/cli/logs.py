"""Logging to stderr that never blocks: a client that does not read our stderr must not stop us (`acp.md §25`, point
4)."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from types import TracebackType
from typing import Final

STDERR: Final = 2

MAX_WAITING_LINES: Final = 2000
"""Log lines kept while nobody reads stderr; more are dropped."""

FLUSH_SECONDS: Final = 0.2
"""How long the last lines may take to leave when the process ends."""

MAX_LINE_BYTES: Final = 8 * 1024

MOST_ALIKE: Final = 20
"""Warnings of one wording that are logged within `WINDOW_SECONDS`; how many more there were is said afterwards."""

WINDOW_SECONDS: Final = 60.0
MOST_WORDINGS: Final = 500
"""Wordings that are told apart within that time."""

MOST_CAUSES: Final = 5
"""Exceptions behind an exception that are told of."""


class Discreet(logging.Formatter):
    """Formats a record without what nobody has looked at before it was logged.

    An exception nobody expected may hold any value in its words (`invalid literal: 'my key'`): it is told by its kind
    and where it came from. A message is one line, so that no name a peer gives itself can look like a line of ours.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - named by logging
        return "\\n".join(super().formatMessage(record).splitlines())

    def formatException(  # noqa: N802 - named by logging
        self, ei: tuple[type[BaseException] | None, BaseException | None, TracebackType | None]
    ) -> str:
        return "\n".join(told(ei[1])) if ei[1] is not None else ""


def told(error: BaseException, depth: int = 0) -> Iterator[str]:
    """An exception without its words: what led to it first, then where it was raised and its kind, then what it is made
    of."""
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if depth > MOST_CAUSES:
        return
    if cause is not None:
        yield from told(cause, depth + 1)
        yield "which led to:"
    yield "Traceback (most recent call last):"
    yield "".join(traceback.format_tb(error.__traceback__)).rstrip("\n")
    yield f"{type(error).__module__}.{type(error).__qualname__}"
    for part in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        yield from told(part, depth + 1)


class Sparse(logging.Filter):
    """Leaves out warnings that say the same again and again: a noisy peer must not fill the disk, however it is
    noisy."""

    def __init__(self) -> None:
        super().__init__()
        self._began = time.monotonic()
        self._made: Counter[tuple[str, str]] = Counter()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is logged."""
        if record.levelno < logging.WARNING:
            return True
        now = time.monotonic()
        if now - self._began > WINDOW_SECONDS:
            left_out = sum(count - MOST_ALIKE for count in self._made.values() if count > MOST_ALIKE)
            self._began = now
            self._made.clear()
            if left_out:
                logging.getLogger("adapter").warning("%d more warnings of the last minutes were left out", left_out)
        said = record.getMessage() if record.msg == "%s" else str(record.msg)
        wording = (record.name, said[:200])
        if len(self._made) >= MOST_WORDINGS and wording not in self._made:
            wording = ("", "")
        self._made[wording] += 1
        return self._made[wording] <= MOST_ALIKE


class StderrHandler(logging.Handler):
    """Hands formatted lines to a thread of its own, which may block as long as it likes."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: queue.Queue[bytes | None] = queue.Queue(MAX_WAITING_LINES)
        self._thread: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        """Queue one line; drop it when too many wait."""
        try:
            line = self.format(record).encode("utf-8", "replace")[:MAX_LINE_BYTES] + b"\n"
        except Exception:
            return self.handleError(record)
        if self._thread is None:
            thread = threading.Thread(target=self._write, name="stderr", daemon=True)
            try:
                thread.start()
            except RuntimeError:
                # There can be no more threads now. The next line tries again.
                return None
            self._thread = thread
        with contextlib.suppress(queue.Full):
            self._lines.put_nowait(line)
        return None

    def close(self) -> None:
        """Let the last lines out, for a moment."""
        if self._thread is not None:
            with contextlib.suppress(queue.Full):
                self._lines.put_nowait(None)
                self._thread.join(FLUSH_SECONDS)
        super().close()

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            with contextlib.suppress(OSError):
                os.write(STDERR, line)


def log_to_stderr(level: str) -> StderrHandler:
    """Send everything that is logged, warnings included, to stderr from `level` on."""
    handler = StderrHandler()
    handler.addFilter(Sparse())
    handler.setFormatter(Discreet("%(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level.upper())
    logging.captureWarnings(True)
    return handler
