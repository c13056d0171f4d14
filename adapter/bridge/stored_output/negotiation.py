"""Whether stored output is offered on a connection: the client asked for it, and reading is verified on the host's
version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from adapter.bridge.hosts.host_choice import HostChoice, resolve_muse
from adapter.bridge.stored_output.contract import KEY, advertisement
from adapter.msp.errors import HostStartError
from adapter.msp.secrets import scrub
from adapter.wire.envelope import RpcError
from host_probe import (
    HostVersion,
    Verified,
    VersionAsked,
    VersionCache,
    ask_version,
    cached_version,
    hear_version,
    probe_version,
    verified_for_reading,
)


class Negotiation(msgspec.Struct, frozen=True):
    """What was settled at `initialize`, for the life of the connection. `reason` says why in a sentence."""

    asked: bool = False
    offered: bool = False
    host_version: str | None = None
    reason: str = "initialize has not been called"

    def meta(self) -> dict[str, Any] | None:
        """What `initialize` carries under `_meta`, None if nothing is offered."""
        return {KEY: advertisement()} if self.offered else None

    def refusal(self) -> RpcError | None:
        """Checks 1 and 2: why reads are refused on this connection, None if they are not."""
        # Not before something is read: a client waits for what imports this.
        from adapter.bridge.stored_output import errors

        if not self.asked:
            return errors.not_negotiated()
        return None if self.offered else errors.not_advertised(self.host_version)


NOT_ASKED: Final = Negotiation(reason="the client did not ask for stored output")


async def negotiate(
    asked: bool, choice: HostChoice, cache: VersionCache | None, begun: VersionAsked | None = None
) -> Negotiation:
    """Decide for a client that did or did not ask. Only for one that did is the host's version looked up: from memory,
    or by `--version` within `host_probe.VERSION_TIMEOUT`; `begun` is that, if it was started before. Never raises: what
    cannot be told is not offered."""
    if not asked:
        return NOT_ASKED
    if begun is not None:
        probe = await hear_version(begun, cache=cache)
    else:
        try:
            muse = resolve_muse(choice)
        except HostStartError as error:
            return refused(error.details)
        from adapter.msp.process_mark import with_mark

        probe = await probe_version(muse, environ=with_mark(choice.environ), cache=cache)
    if probe.problem is not None:
        return refused(scrub(probe.details or probe.problem, choice.environ))
    return judged(probe.version)


def begin(choice: HostChoice, muse: Sequence[str]) -> VersionAsked:
    """Start to look the version up, on no event loop, for `negotiate`.

    Raises:
        OSError, ValueError: it could not be started.
    """
    from adapter.msp.process_mark import now_runs, with_mark

    asked = ask_version(muse, with_mark(choice.environ))
    now_runs(asked.process.pid)
    return asked


def remembered(asked: bool, choice: HostChoice, cache: VersionCache | None) -> Negotiation | None:
    """The same decision without asking anybody; None if that needs a version that is not remembered.

    Raises:
        HostStartError: as for `resolve_muse`.
    """
    if not asked:
        return NOT_ASKED
    version = cached_version(resolve_muse(choice), choice.environ, cache) if cache is not None else None
    return judged(version) if version is not None else None


def judged(version: HostVersion) -> Negotiation:
    """The decision for a client that asked, on a host of this version."""
    verdict = verified_for_reading(version)
    if isinstance(verdict, Verified):
        return Negotiation(
            asked=True, offered=True, host_version=version.build or version.release, reason=verdict.details
        )
    return refused(verdict.details, version.build or version.release)


def refused(reason: str, host_version: str | None = None) -> Negotiation:
    """The decision for a client that asked in vain."""
    return Negotiation(asked=True, host_version=host_version, reason=reason)
