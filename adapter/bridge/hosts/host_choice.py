"""What the user said about hosts, and which program that makes `muse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from adapter.hosts.select import STAND_INS, stand_in_abilities, stand_in_command
from adapter.msp.budgets import CLOSE_GRACE, READ_HOST_IDLE, STARTUP_TIMEOUT
from adapter.msp.errors import HostStartError
from adapter.msp.host_command import HostCommand
from adapter.wire.framing import MSP_FRAME_CAP
from host_probe import Abilities, NotFound, VersionCache, default_directory, find_muse, identify

WITHOUT_MUSE: Final = "To try the adapter without Muse: --muse simulated."

NESTED_MARKERS: Final = frozenset({"CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT"})
"""Variables by which a coding agent knows that it runs inside another one; some then refuse to start
(`fault-cases.md N7`). Muse documents none of its own. What an adapter starts is nobody's nested run: its editor only
happens to have been started from such a shell."""


def host_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """What a host gets of our environment: everything but the marks of a nested run."""
    return {name: value for name, value in environ.items() if name not in NESTED_MARKERS}


class HostChoice(msgspec.Struct, frozen=True):
    """What the user said about hosts. `muse` is a program, a path, or a stand-in (`simulated`, `simulated:1.1.1`,
    `recorded:DIR`)."""

    environ: Mapping[str, str]
    """The whole environment of whatever is started of Muse (`host_environment`)."""
    home: Path
    muse: str | None = None
    startup_timeout: float = STARTUP_TIMEOUT
    close_grace: float = CLOSE_GRACE
    frame_cap: int = MSP_FRAME_CAP
    read_host_idle: float = READ_HOST_IDLE
    allow_all: bool = False
    """Whether a session may be set to allow everything."""


def version_cache(choice: HostChoice, *, learns: bool = True) -> VersionCache | None:
    """Where versions are remembered; nowhere for stand-ins, whose version is not a property of the file that runs."""
    if choice.muse and choice.muse.partition(":")[0] in STAND_INS:
        return None
    return VersionCache(default_directory(choice.environ, choice.home), learns=learns)


def resolve_muse(choice: HostChoice) -> Sequence[str]:
    """The command line of the `muse` program, without a subcommand.

    Raises:
        HostStartError: there is none; `details` lists what was tried and what to do.
    """
    try:
        stand_in = stand_in_command(choice.muse) if choice.muse else None
    except ValueError as error:
        raise HostStartError("museNotFound", str(error)) from None
    if stand_in is not None:
        return stand_in
    found = find_muse(choice.muse, choice.environ, choice.home)
    if isinstance(found, NotFound):
        raise HostStartError("museNotFound", found.message(WITHOUT_MUSE))
    return [str(found.path)]


def serve_command(muse: Sequence[str], choice: HostChoice, flags: Sequence[str] = ()) -> HostCommand:
    """How to start a host of this `muse`."""
    return HostCommand(argv=[*muse, "serve", *flags], environ=choice.environ)


def remembered_abilities(choice: HostChoice, cache: VersionCache | None) -> Abilities | None:
    """What the host is known to be able to do before it has been asked; None if nothing is known.

    Raises:
        HostStartError: as for `resolve_muse`.
    """
    muse = resolve_muse(choice)
    if choice.muse and (abilities := stand_in_abilities(choice.muse)) is not None:
        return abilities
    identity = identify(muse, choice.environ) if cache is not None else None
    return cache.abilities(identity) if cache is not None and identity is not None else None
