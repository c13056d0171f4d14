"""What a soak finds out: problems, counts, and how long things took. Told by many threads."""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter, defaultdict
from typing import Final

SHOWN_PROBLEMS: Final = 200
"""Problems that are printed; the others are counted."""


class Findings:
    """Everything of one run."""

    def __init__(self) -> None:
        self.problems: Counter[str] = Counter()
        """How many, by kind."""
        self.counts: Counter[str] = Counter()
        self.excused: Counter[str] = Counter()
        """Errors that were to be expected, by method and reason."""
        self.memory: dict[str, list[tuple[float, float, int]]] = defaultdict(list)
        """By run of the adapter: seconds, MiB, descriptors."""
        self._seconds: defaultdict[str, list[float]] = defaultdict(list)
        self._lock = threading.Lock()
        self._began = time.monotonic()

    def problem(self, kind: str, text: str) -> None:
        """Something is wrong."""
        with self._lock:
            self.problems[kind] += 1
            if self.problems.total() <= SHOWN_PROBLEMS:
                print(f"{time.monotonic() - self._began:7.1f} s  {kind}: {text[:1500]}", flush=True)

    def count(self, what: str, many: int = 1) -> None:
        """Something has happened."""
        with self._lock:
            self.counts[what] += many

    def excuse(self, what: str) -> None:
        """An error came that had to."""
        with self._lock:
            self.excused[what] += 1

    def took(self, operation: str, seconds: float) -> None:
        """An operation went undisturbed."""
        with self._lock:
            self._seconds[operation].append(seconds)

    def operations(self) -> list[tuple[str, int, float, float]]:
        """By name: how many, and the median and the 99th percentile in seconds."""
        rows = []
        for name, values in sorted(self._seconds.items()):
            if len(values) > 1:
                cuts = statistics.quantiles(values, n=100, method="inclusive")
                rows.append((name, len(values), cuts[49], cuts[98]))
        return rows
