"""What a client is told of a session that cannot be opened as it asked."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import anyio

from adapter.acp import errors
from adapter.acp.params import FORK, ForkSession
from adapter.acp.text import one_line
from adapter.acp.workspace import same_directory, unusable_directory
from adapter.bridge.conversation import Conversation
from adapter.bridge.host_errors import ENDS
from adapter.bridge.outcomes import client_error
from adapter.msp.history import Opened
from adapter.msp.host import Host
from adapter.wire.envelope import RpcError

CUT_POINT: Final = f'_meta["{FORK}"].lastTurnId'
"""Where a client says how much of a session is to be copied."""

_LACKING: Final = frozenset({"unsupportedByHost", "sessionUnknown"})
"""What is said of a session that a host does not have, or could not have."""


@asynccontextmanager
async def cut_named() -> AsyncIterator[None]:
    """A cut point that is refused is a parameter of the client's."""
    try:
        yield
    except RpcError as error:
        if error.data is not None and error.data.get("reason") == "forkBoundaryInvalid":
            error.data["field"] = CUT_POINT
        raise


@asynccontextmanager
async def copy_named(sent: anyio.Event) -> AsyncIterator[None]:
    """A host that gave no answer to a copy may have made one, and another try makes another one."""
    try:
        yield
    except RpcError as error:
        if sent.is_set() and error.data is not None and error.data.get("reason") in ENDS:
            details = f"There may be a copy already (see the list of sessions): {error.data['details']}"
            error.data |= {"details": one_line(details, errors.MAX_DETAILS), "retryable": False}
        raise


@asynccontextmanager
async def lost_named(known: Conversation | None) -> AsyncIterator[None]:
    """That no host opens a session which is lost is no lack of the host's."""
    try:
        yield
    except RpcError as error:
        if known is None or known.lost is None or error.data is None or error.data.get("reason") not in _LACKING:
            raise
        raise client_error(known.lost, known.session_id) from None


async def require_several_roots(host: Host) -> None:
    """Check that a session of this host can have more folders than its own.

    Raises:
        RpcError: -32602; it cannot.
        HostGone: nobody knows.
    """
    if not (await host.abilities()).workspace_roots:
        problem = "this Muse host works in one folder only; Muse 1.4.2 and newer take several"
        raise errors.invalid_params("additionalDirectories", problem)


def require_folder(opened: Opened, cwd: str) -> None:
    """Check that the session which was opened is one of this folder.

    Raises:
        RpcError: -32602; the host says that it belongs to another one.
    """
    if opened.root is not None and not same_directory(opened.root, cwd):
        raise unusable_directory(cwd, "is not the folder of this session")


def require_copy(copied: Opened, asked: ForkSession) -> None:
    """Raises:
    RpcError: what the host made is not the copy that was asked for.
    """
    origin = copied.row.get("forkedFrom")
    if not isinstance(origin, dict) or origin.get("sessionId") != asked.session_id:
        raise no_copy("What the Muse host made is no copy of this session")
    if asked.last_turn_id is not None and origin.get("cutExplicit") is False:
        raise no_copy("The Muse host copied more of the session than was asked for")
    require_folder(copied, asked.cwd)


def no_copy(details: str) -> RpcError:
    """The host made something else than the copy that was asked for."""
    return errors.host_error("malformedResult", details)


def has_other_servers(error: RpcError) -> bool:
    """Whether a session was refused because it is loaded with other MCP servers than the client passes."""
    return error.data is not None and error.data.get("hostReason") == "configuration_conflict"
