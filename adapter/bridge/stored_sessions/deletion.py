"""`session/delete`: taking a session away for good, where the host can (`acp.md §4`, `msp.md §28.5`, `peers.md §7`).

The host's ack is admission; what came of it is told afterwards.
"""

from __future__ import annotations

from typing import Final

import anyio

from adapter.acp import errors
from adapter.bridge.conversation import Conversation
from adapter.bridge.host_errors import DELETIONS
from adapter.bridge.hosts.execution_hosts import ExecutionHosts
from adapter.bridge.outcomes import client_error, not_deleted
from adapter.bridge.sessions import Sessions
from adapter.msp.errors import HostGone, MspError
from adapter.msp.host import Host
from adapter.wire.background import Background
from adapter.wire.envelope import Params, RpcError

DELETE_SECONDS: Final = 30.0
"""How long a host may take to remove what it has of a session."""

_GONE: Final = frozenset({"session_deleted", "sessionNotFound", "notFound"})
"""Refusals of what has been deleted before, or never was: the client has what it wants (`acp.md §25`, point 57)."""

_WORKED_ON: Final = frozenset({"writerBusy", "runtime_busy", "sessionBusy"})
"""Refusals because something works on the session, which may be a prompt of this connection."""


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
        """Delete the session, and close it if it is open. Goes on when the client no longer waits.

        Raises:
            RpcError: the host did not delete it, and has it; if it is open it stays so, and what runs in it runs on
                unless the host says that this was all that kept it.
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
            await self._sessions.left(session_id)
            known = self._sessions.find(session_id)
            if known is None or not known.is_busy or not await self._is_deleted_at_work(known):
                with self._sessions.opening(session_id):
                    await self._delete_at_host(session_id)
            if self._sessions.find(session_id) is not None:
                await self._sessions.close(session_id, leave=False)
            deletion.error = None
        except RpcError as error:
            deletion.error = error
        except (MspError, HostGone) as error:
            deletion.error = client_error(error, session_id)
        finally:
            del self._running[session_id]
            deletion.done.set()

    async def _is_deleted_at_work(self, known: Conversation) -> bool:
        """Whether a session whose prompts run is deleted. If they are all that keeps the host from it, they are
        stopped."""
        try:
            await self._delete_at_host(known.session_id)
        except RpcError as error:
            if error.data is None or error.data.get("reason") != "sessionBusy":
                raise
            known.cancel()
            await known.all_answered()
            return False
        return True

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
            reason = next((word for word in (error.reason, error.kind) if word in DELETIONS), None)
            if reason is not None:
                raise not_deleted(reason, session_id) from None
            raise
        problem = _problem(told)
        if problem is None or problem in _GONE:
            return
        # A host says the same of a session that it may not delete and of one that never was (`peers.md`, trap 58).
        if problem in _WORKED_ON or await _has(host, session_id):
            raise not_deleted(problem, session_id)


def _problem(told: Params) -> str | None:
    """Why the session was not deleted, None if it was."""
    if told.get("outcome") in ("completed", "deleted", "noop") or told.get("physicalChange") == "confirmed":
        return None
    reason = told.get("reason")
    return reason if isinstance(reason, str) and reason else "unknown"


async def _has(host: Host, session_id: str) -> bool:
    """Whether the host has stored the session."""
    try:
        await host.query("session/read", {"sessionId": session_id, "excludeItems": True})
    except MspError as error:
        return error.kind not in _GONE and error.kind != "invalidParams"
    return True
