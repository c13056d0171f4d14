"""How far `muse-adapter output` is, for somebody who looks: on stderr, since stdout may get the bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

_WIDE: Final = 56
"""Columns of a terminal in which there is room for a rate and a time."""

_NARROW: Final = 36
"""Columns of a terminal in which there is no room for a bar."""


def columns_for(width: int) -> tuple[ProgressColumn, ...]:
    """What there is room for on one line."""
    if width < _NARROW:
        return (DownloadColumn(),)
    bar = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    return bar if width < _WIDE else (*bar, TransferSpeedColumn(), TimeRemainingColumn())


class Screen:
    """The terminal at stderr. Nothing is shown where there is none, or if it is to be `quiet`."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._console = Console(stderr=True)
        self._shown = self._console.is_terminal and not quiet

    def starting(self) -> AbstractContextManager[object]:
        """Until it is known how much there is."""
        return self._console.status("starting Muse") if self._shown else nullcontext()

    @contextmanager
    def reading(self, done: int, total: int) -> Iterator[Callable[[int], None]]:
        """From then on; what it gives is to be told how far it is."""
        columns = columns_for(self._console.width)
        with Progress(*columns, console=self._console, disable=not self._shown, transient=True) as progress:
            task = progress.add_task("reading", completed=done, total=total)
            yield lambda now: progress.update(task, completed=now)

    def told(self, sentence: str) -> None:
        """In one piece, whatever the terminal makes of it: a path that is broken cannot be copied."""
        if self._shown:
            self._console.print(Text(sentence), soft_wrap=True)
