"""How a host is started, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec


class HostCommand(msgspec.Struct, frozen=True):
    """`argv` up to and including `serve` and its flags, and the whole environment for it."""

    argv: Sequence[str]
    environ: Mapping[str, str]

    def display(self) -> str:
        """The program and its arguments as one line for messages."""
        return " ".join(self.argv)
