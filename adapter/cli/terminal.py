"""The terminal, or what stands in its place, as the commands for people write to it."""

from __future__ import annotations

from rich.console import Console


class Terminal(Console):
    """A console that leaves it to its user what to do when nobody reads any more; rich ends the program."""

    def on_broken_pipe(self) -> None:
        """Called by rich while it handles that."""
        raise BrokenPipeError
