"""Log notes about what goes wrong on a connection, at most a few a minute: a noisy peer must not fill the disk."""

from __future__ import annotations

import logging
import time

NOTES_PER_WINDOW = 10
WINDOW_SECONDS = 60.0


class RateLimited:
    """A logger that goes quiet when it is used too often and says afterwards how much it left out."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger
        self._window_began = time.monotonic()
        self._in_window = 0

    def warning(self, message: str, *args: object) -> None:
        """Log what the peer did wrong, unless `NOTES_PER_WINDOW` notes were already made in this window."""
        if self._admits():
            self._logger.warning(message, *args)

    def failure(self, error: Exception, message: str, *args: object) -> None:
        """Log what we did wrong, with its traceback, under the same limit."""
        if self._admits():
            self._logger.error(message, *args, exc_info=error)

    def _admits(self) -> bool:
        now = time.monotonic()
        if now - self._window_began > WINDOW_SECONDS:
            left_out = self._in_window - NOTES_PER_WINDOW
            if left_out > 0:
                self._logger.warning("%d more notes of the last minute were left out", left_out)
            self._window_began = now
            self._in_window = 0
        self._in_window += 1
        return self._in_window <= NOTES_PER_WINDOW
