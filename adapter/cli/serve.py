"""`muse-adapter` as an editor starts it: ACP on stdin and stdout, a Muse host behind it, until the editor goes."""

from __future__ import annotations

import gc
import logging
from typing import Final

import anyio

from adapter import __version__
from adapter.acp.agent import AgentDispatcher
from adapter.bridge.agent import MuseAgent
from adapter.bridge.extensions import SESSION_STEER, STEER, TASK
from adapter.bridge.hosts.host_choice import HostChoice, version_cache
from adapter.bridge.stored_output.contract import METHOD as READ_OUTPUT
from adapter.cli.first_answer import Greeting
from adapter.cli.first_signal import first_stop_signal
from adapter.cli.logs import log_to_stderr
from adapter.cli.options import GlobalOptions
from adapter.wire.background import Background
from adapter.wire.framing import ACP_OUTBOUND_CAP
from adapter.wire.peer import CANCEL_METHOD, Peer, PeerOptions
from adapter.wire.pipes import FdReader, FdWriter

log = logging.getLogger("adapter.acp")

THRESHOLDS: Final = (5_000, 5, 3)
"""When it is looked for what nobody holds any more. Objects that are new seven times less often than usual, since a
dozen messages make the usual 700 (`docs/performance.md`); all of them as often: a closed session is a cycle, and a
large one."""

EXIT_OK: Final = 0
EXIT_CUT_OFF: Final = 1
"""The client stopped reading before it had everything, or reading from it failed, or serving it did."""


def serve(options: GlobalOptions, choice: HostChoice, greeting: Greeting, stdin: int, stdout: int) -> int:
    """Serve one client; the exit code tells whether it was served to the end. `greeting` is what came of it so far."""
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    gc.enable()
    logs = log_to_stderr(options.log_level)
    reader, writer = FdReader(stdin, greeting.ahead), FdWriter(stdout)
    try:
        return anyio.run(_serve, options, choice, greeting, reader, writer)
    except Exception:
        # By the log, which never blocks and does not repeat the words of it.
        log.critical("serving has failed", exc_info=True)
        return EXIT_CUT_OFF
    finally:
        writer.close()
        logs.close()


async def _serve(
    options: GlobalOptions, choice: HostChoice, greeting: Greeting, reader: FdReader, writer: FdWriter
) -> int:
    peer_options = PeerOptions(
        name="client",
        inbound_cap=options.acp_frame_cap,
        outbound_cap=ACP_OUTBOUND_CAP,
        logger=log,
        cancel_method=CANCEL_METHOD,
        # A client that pastes too much is told so and goes on (`acp.md §25`, points 17 and 18).
        endless_line=None,
    )
    async with anyio.create_task_group() as tasks:
        background = Background(tasks, log)
        agent = MuseAgent(
            __version__,
            choice,
            version_cache(choice),
            background,
            greeting.settled,
            greeting.launched,
            greeting.asked_version,
        )
        extensions = {
            READ_OUTPUT: lambda call: agent.reader.begin(call),
            TASK: lambda call: agent.begin_task(call),
            STEER: lambda call: agent.begin_steering(call),
            SESSION_STEER: lambda call: agent.begin_steering(call),
        }
        dispatcher = AgentDispatcher(agent, extensions, initialized=greeting.settled is not None)
        peer = Peer(reader, writer, dispatcher, peer_options)
        peer.throttle = reader.unless_over(peer.throttle)
        agent.connect(peer)
        tasks.start_soon(_stop_on_signal, peer)
        tasks.start_soon(_stop_when_unread, writer, peer)
        await peer.run(agent.client_gone)
        await agent.close()
        tasks.cancel_scope.cancel()
    return EXIT_CUT_OFF if peer.unfinished or peer.ended in ("broken", "failed") else EXIT_OK


async def _stop_on_signal(peer: Peer) -> None:
    """A signal to stop is treated like the end of input: everything is answered and ended in order (`acp.md §25`,
    point 23)."""
    await first_stop_signal()
    peer.stop_reading()


async def _stop_when_unread(writer: FdWriter, peer: Peer) -> None:
    """A client that has closed the end it reads from is gone, also while nothing is written that would show it
    (`acp.md §24`)."""
    await writer.unread()
    peer.stop_writing()
