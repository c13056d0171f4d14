"""`session/delete`: taking a session away for good, where the host can (`acp.md §4`, `msp.md §28.5`, `peers.md §7`).

The host's ack is admission; what came of it is told afterwards.
"""

from __future__ import annotations

from typing import Final

import anyio

from adapter.acp import errors
from adapter.bridge.hosts.execution_hosts import ExecutionHosts
from adapter.bridge.outcomes import client_error
from adapter.bridge.sessions import Sessions
from adapter.msp.errors import HostGone, MspError
from adapter.msp.host import Host
from adapter.wire.background import Background
from adapter.wire.envelope import Params, RpcError

DELETE_SECONDS: Final = 30.0
"""How long a host may take to remove what it has of a session."""

_GONE: Final = frozenset({"session_deleted", "sessionNotFound", "notFound"})
"""Refusals of what has been deleted before, or never was: the client has what it wants (`acp.md §25`, point 57)."""

_BUSY: Final = frozenset({"writerBusy", "runtime_busy", "sessionInUse", "sessionBusy"})
"""Refusals that pass when whatever works on the session has ended."""


class _Deletion:
    """One session on its way out."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.error: RpcError | None = errors.internal_error()


class Deletions:
    """Deletes sessions, each once however often it is asked for at the same time."""

    def __init__(self, hosts: ExecutionHosts, sessions: Sessions, background: Background) -> None:
        self._hosts = hosts
        self._sessions = sessions
        self._background = background
        self._running: dict[str, _Deletion] = {}

    async def delete(self, session_id: str) -> None:
        """Close the session if it is open, and delete it. Goes on when the client no longer waits.

        Raises:
            RpcError: the host did not delete it, and has it.
        """
        deletion = self._running.get(session_id)
        if deletion is None:
            deletion = self._running[session_id] = _Deletion()
            self._background.start(self._run, session_id, deletion)
        await deletion.done.wait()
        if deletion.error is not None:
            raise deletion.error

    async def _run(self, session_id: str, deletion: _Deletion) -> None:
        try:
            if self._sessions.find(session_id) is not None:
                await self._sessions.close(session_id)
            await self._sessions.left(session_id)
            with self._sessions.opening(session_id):
                await self._delete_at_host(session_id)
            deletion.error = None
        except RpcError as error:
            deletion.error = error
        except (MspError, HostGone) as error:
            deletion.error = client_error(error, session_id)
        finally:
            del self._running[session_id]
            deletion.done.set()

    async def _delete_at_host(self, session_id: str) -> None:
        host = await self._hosts.host(self._hosts.home(session_id))
        try:
            told = await host.carry_out(
                "session/delete",
                {"sessionId": session_id},
                conclusion="session/deleteCompleted",
                seconds=DELETE_SECONDS,
            )
        except MspError as error:
            if not await _has(host, session_id):
                return
            if {error.kind, error.reason} & _BUSY:
                raise _busy(session_id) from None
            raise
        problem = _problem(told)
        if problem is None or problem in _GONE:
            return
        if problem in _BUSY:
            raise _busy(session_id)
        # A host says the same of a session that it may not delete and of one that never was (`peers.md`, trap 58).
        if await _has(host, session_id):
            raise errors.host_error(problem, _SENTENCES.get(problem, "The Muse host did not delete the session"))


_SENTENCES: Final = {
    "ownershipUnavailable": "Muse deletes only sessions that were started since the adapter was; this one is older",
    "cleanupIncomplete": "Muse has deleted the session only in part",
}


def _problem(told: Params) -> str | None:
    """Why the session was not deleted, None if it was."""
    if told.get("outcome") in ("completed", "deleted", "noop") or told.get("physicalChange") == "confirmed":
        return None
    reason = told.get("reason")
    return reason if isinstance(reason, str) and reason else "unknown"


def _busy(session_id: str) -> RpcError:
    return errors.session_busy(session_id, "Something still works on this session; try again when it has ended")


async def _has(host: Host, session_id: str) -> bool:
    """Whether the host has stored the session."""
    try:
        await host.query("session/read", {"sessionId": session_id, "excludeItems": True})
    except MspError as error:
        return error.kind not in _GONE and error.kind != "invalidParams"
    return True
