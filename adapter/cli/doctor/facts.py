"""What the checks have learnt of the Muse that was found, for whatever else has to know it."""

from __future__ import annotations

import msgspec

from adapter.msp.handshake import Handshake
from host_probe import Abilities, HostVersion


class MuseFacts(msgspec.Struct, frozen=True, kw_only=True):
    """`problem` is a sentence that says why no host has answered, None if one has."""

    command: tuple[str, ...] = ()
    """The command line of `muse`, without a subcommand; empty if there is none."""
    problem: str | None = None
    version: HostVersion = HostVersion()
    """What `--version` said just now, not what is remembered."""
    version_problem: str | None = None
    """Why that is no version, in a sentence."""
    handshake: Handshake | None = None
    abilities: Abilities | None = None
    """What the host has shown to be able to do, asked as serving asks it; None if it was not asked."""
    unanswered: frozenset[str] = frozenset()
    """Methods whose question it has not answered, so that it is not known whether it has them."""
    last_words: str = ""
    """The end of what the host wrote to stderr, without secrets."""
