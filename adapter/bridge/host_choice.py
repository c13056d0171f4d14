"""What the user said about hosts, and which program that makes `muse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from adapter.hosts.select import stand_in_command
from adapter.msp.budgets import STARTUP_TIMEOUT
from adapter.msp.host import HostStartError
from adapter.msp.process import CLOSE_GRACE
from adapter.wire.framing import MSP_FRAME_CAP
from host_probe import NotFound, find_muse

WITHOUT_MUSE: Final = "To try the adapter without Muse: --muse simulated."


class HostChoice(msgspec.Struct, frozen=True):
    """What the user said about hosts. `muse` is a program, a path, or a stand-in (`simulated`, `simulated:1.1.1`,
    `recorded:DIR`)."""

    environ: Mapping[str, str]
    home: Path
    muse: str | None = None
    startup_timeout: float = STARTUP_TIMEOUT
    close_grace: float = CLOSE_GRACE
    frame_cap: int = MSP_FRAME_CAP


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
