"""Whether stored output would be offered, decided by what serving decides it by: what is remembered of this very
binary, else what `--version` says. What a running host says of itself comes too late for that, and counts for reads."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from adapter.bridge.hosts.host_choice import HostChoice, version_cache
from adapter.bridge.stored_output.negotiation import Negotiation, judged, refused
from host_probe import HostVersion, cached_version


class Decision(msgspec.Struct, frozen=True):
    """What a client that asks is told, and the version it was decided by."""

    output: Negotiation
    version: HostVersion = HostVersion()
    remembered: bool = False
    """Whether that version is the remembered one."""


def decide(choice: HostChoice, command: Sequence[str], said: HostVersion, problem: str | None) -> Decision:
    """`said` is what `--version` has just told, `problem` a sentence that says why it has told none. Reads what is
    remembered."""
    if not command:
        return Decision(refused("No Muse was found, so its version cannot be told."))
    cache = version_cache(choice, learns=False)
    remembered = cached_version(command, choice.environ, cache) if cache is not None else None
    if remembered is not None:
        return Decision(judged(remembered), remembered, remembered=True)
    if problem is not None:
        return Decision(refused(problem), said)
    return Decision(judged(said), said)
