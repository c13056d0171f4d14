"""Loading a session again on a host that does not have it loaded: the next one after a death, or one of another kind
(`msp.md §10.3, §23.4`)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

import anyio

from adapter.msp.abilities import NOBODY, is_lacking
from adapter.msp.errors import MspError, SessionUnreachable
from adapter.msp.history import Opened
from adapter.msp.host import Host
from adapter.msp.session import Session
from adapter.wire.envelope import Params

log = logging.getLogger("adapter.bridge")

BUSY_SECONDS: Final = 10.0
"""How long a session is waited for that another process still holds: a dying host lets go of it late."""

BUSY_PAUSE: Final = 0.2
"""Seconds between two tries meanwhile."""

_BUSY: Final = frozenset({"sessionInUse", "sessionBusy", "runtime_busy"})
"""Kinds and reasons of refusals that pass by themselves."""

_CURSOR_REFUSED: Final = frozenset({"viewTruncated", "notFound", "boundaryPruned", "boundaryUnusable", "noBoundary"})
"""The host cannot go on from where we were (`msp.md §10.3`)."""


async def load_again(
    session: Session, host: Host, config: Params, start: Params | None, wanted: Callable[[], bool]
) -> None:
    """Have `host` load the session and move it there; what has happened meanwhile is read in the background, if it is
    still `wanted`. The caller keeps the session's events, and listens to them afterwards.

    `config` is what a host is told of the client's MCP servers, `start` what the session was started with if it was
    started here: without a turn it may not have been stored, and is then started once more under its id.

    Raises:
        SessionUnreachable: the host does not know the session.
        MspError, HostGone: it cannot be loaded there now, or the host does not say that it is.
    """
    request: Params = {"sessionId": session.session_id, "excludeItems": True, **config}
    cursor = session.fold.last_durable_cursor
    try:
        result, anew = await _resumed(host, request, cursor, wanted)
    except MspError as error:
        if not wanted() or (error.kind != "sessionNotFound" and not is_lacking(error)):
            raise
        if start is None or session.fold.turns.any_known:
            raise SessionUnreachable("sessionLost", "Muse does not have this session any more") from None
        result, anew = await _started(session, host, start), False
    opened = Opened.read(result)
    opened.named("session/resume", session.session_id)
    if opened.at_rest:
        session.fold.turns.give_up()
    session.move_to(host)
    if not wanted():
        return
    if anew and session.is_whole:
        session.read_anew()
    else:
        if anew:
            log.warning("the host does not know where a session was left; what happened meanwhile is not shown")
        session.catch_up(None if anew else opened.view_cursor)


async def loads_sessions(host: Host) -> bool:
    """Whether the host can load a session at all, asked about one that nobody has.

    Raises:
        HostGone: nobody knows.
    """
    try:
        await host.command("session/resume", {"sessionId": NOBODY, "excludeItems": True})
    except MspError as error:
        return not is_lacking(error)
    return True


async def _resumed(host: Host, request: Params, cursor: str | None, wanted: Callable[[], bool]) -> tuple[Params, bool]:
    """The result, and whether the host could not go on from `cursor`."""
    if cursor is not None:
        try:
            return await once_free(host, "session/resume", {**request, "cursor": cursor}, wanted=wanted), False
        except MspError as error:
            if error.kind not in _CURSOR_REFUSED:
                raise
    return await once_free(host, "session/resume", request, wanted=wanted), cursor is not None


async def _started(session: Session, host: Host, start: Params) -> Params:
    """The session started once more, with what has been chosen in it since."""
    facts = session.fold.facts
    model, approvals, effort = (facts.get(name, {}) for name in ("model", "approvalMode", "reasoningEffort"))
    chosen = {name: model.get(name) for name in ("modelId", "providerId")} | {"approvalMode": approvals.get("mode")}
    known = {name: value for name, value in chosen.items() if isinstance(value, str)}
    result = await once_free(host, "session/start", {**start, **known, "sessionId": session.session_id})
    if isinstance(effort.get("reasoningEffort"), str):
        tier = {"sessionId": session.session_id, "reasoningEffort": effort["reasoningEffort"]}
        await host.command("session/setReasoningEffort", tier)
    return result


async def once_free(
    host: Host,
    method: str,
    params: Params,
    *,
    command_id: str | None = None,
    trace: Params | None = None,
    wanted: Callable[[], bool] = lambda: True,
) -> Params:
    """The answer to a command that opens the session, asked for while it is `wanted` until nobody else holds it.

    `command_id` is for the first time: a host repeats a refusal to its id (`msp.md §6`).

    Raises:
        MspError, HostGone: as for `Host.command`. That somebody else holds it is raised after `BUSY_SECONDS`, or when
            it is wanted no more.
    """
    deadline = anyio.current_time() + BUSY_SECONDS
    while True:
        try:
            return await host.command(method, params, command_id=command_id, trace=trace)
        except MspError as error:
            passes = bool({error.kind, error.reason} & _BUSY) and wanted()
            if not passes or anyio.current_time() >= deadline:
                raise
        command_id = None
        await anyio.sleep(BUSY_PAUSE)
