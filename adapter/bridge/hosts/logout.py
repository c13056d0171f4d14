"""`muse logout`, run for a client."""

from __future__ import annotations

import logging
from typing import Final

from adapter.acp.errors import error_of
from adapter.bridge.hosts.host_choice import HostChoice, resolve_muse
from adapter.bridge.outcomes import client_error
from adapter.msp.errors import HostStartError
from adapter.msp.process_mark import with_mark
from adapter.msp.secrets import scrub
from adapter.wire.envelope import INTERNAL_ERROR, RpcError
from host_probe.brief_run import run_briefly

log = logging.getLogger("adapter.bridge")

LOGOUT_SECONDS: Final = 30.0
"""How long the command may take; it may have to tell a server."""


async def run_logout(choice: HostChoice) -> None:
    """Have Muse forget its login. What the command says goes to the log.

    Raises:
        RpcError: it could not be run, or did not succeed.
    """
    try:
        command = [*resolve_muse(choice), "logout"]
    except HostStartError as error:
        raise client_error(error) from None
    try:
        done = await run_briefly(command, with_mark(choice.environ), LOGOUT_SECONDS)
    except (OSError, ValueError) as error:
        raise _failed(f"it could not be started: {error}", retryable=False) from None
    # All at once: a key may have several lines.
    for line in scrub((done.stdout + done.stderr).decode("utf-8", "replace"), choice.environ).splitlines():
        log.info("muse logout: %s", line)
    if done.exit_code is None:
        raise _failed(f"it took longer than {LOGOUT_SECONDS:g} s", retryable=True)
    if done.exit_code != 0:
        raise _failed(f"its exit code is {done.exit_code}; the log has what it said", retryable=False)


def _failed(why: str, *, retryable: bool) -> RpcError:
    details = f"`muse logout` did not succeed: {why}"
    return error_of(INTERNAL_ERROR, "Logging out failed", "logoutFailed", details, retryable=retryable)
