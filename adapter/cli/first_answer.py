"""The first answer, before there is an event loop.

A client shows nothing until `initialize` is answered, and most of what a start takes is the import of what only
sessions need. So if the request is there already, its host is started at once, and if everything that the answer says
is known from an earlier start, it is written at once. Whatever is not as usual is left to the connection (`cli.serve`),
which comes to the same answer later, or to the right error.
"""

from __future__ import annotations

import os
import select
import stat
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import msgspec

from adapter import __version__
from adapter.acp import params
from adapter.acp.capabilities import ClientCapabilities
from adapter.bridge.hosts.host_choice import (
    HostChoice,
    remembered_abilities,
    resolve_muse,
    serve_command,
    version_cache,
)
from adapter.bridge.offer import Settled, capabilities_on, initialize_result
from adapter.bridge.stored_output.negotiation import Negotiation, begin, remembered
from adapter.msp.errors import HostStartError
from adapter.wire.envelope import Id, Request, RpcError, read_line, success_object
from adapter.wire.framing import ACP_OUTBOUND_CAP, FrameDecoder, encode_frame
from host_probe import Abilities, VersionAsked

if TYPE_CHECKING:
    from adapter.msp.launch import Launched

FIRST_READ: Final = 64 * 1024

AT_ONCE: Final = 4096
"""Bytes that a pipe with room for some takes as a whole (`PIPE_BUF`), and practically every socket."""


ROOM_POLL: Final = 0.001
"""Seconds between looks whether there is room for the rest of an answer."""


class Greeting(msgspec.Struct, frozen=True):
    """What came of it: `ahead` was read and is still to be worked on."""

    ahead: bytes = b""
    settled: Settled | None = None
    """What the client has been told; None if it has had no answer."""
    launched: Launched | None = None
    """Its host; None if none has been started."""
    asked_version: VersionAsked | None = None
    """What its host is, asked by another process; None if that is known or of no interest."""


def greet(choice: HostChoice, frame_cap: int, stdin: int, stdout: int) -> Greeting:
    """Start the host and answer, if the client has asked already and that can be done without waiting for anything."""
    if sys.platform != "linux" or not _is_ready(stdin):
        return Greeting()
    try:
        ahead = os.read(stdin, FIRST_READ)
    except OSError:
        # It is read again, and then somebody is told.
        return Greeting()
    first, end, rest = ahead.partition(b"\n")
    request = _request_in(first + end, frame_cap)
    if request is None:
        return Greeting(ahead)
    try:
        client = params.read_initialize(request.params).client
        muse = resolve_muse(choice)
    except (RpcError, HostStartError):
        return Greeting(ahead)
    # Before the answer: it is the host that whoever asks next will wait for.
    launched = _launched(muse, choice)
    output, abilities = _known(client, choice)
    if output is None:
        return Greeting(ahead, None, launched, _asked_version(muse, choice))
    if abilities is None:
        return Greeting(ahead, None, launched)
    settled = Settled(client, output, capabilities_on(abilities))
    if not _answer(request.id, settled, choice, stdout):
        return Greeting(ahead, None, launched)
    # The line that is answered has left its end behind: what comes is not the first line any more.
    return Greeting(end + rest, settled, launched)


if sys.platform == "win32":

    def _is_ready(fd: int, *, to_write: bool = False) -> bool:
        return False

else:

    def _is_ready(fd: int, *, to_write: bool = False) -> bool:
        """Whether this is a pipe or a socket that can be read, or written, at once."""
        mode = os.fstat(fd).st_mode
        if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)):
            return False
        event = select.POLLOUT if to_write else select.POLLIN
        poll = select.poll()
        poll.register(fd, event)
        return any(told & event for _, told in poll.poll(0))


def _request_in(line: bytes, frame_cap: int) -> Request | None:
    """The request to initialize that the line is, None if it is anything else."""
    for found in FrameDecoder(frame_cap).feed(line):
        frame = read_line(found)
        if isinstance(frame, Request) and frame.method == "initialize":
            return frame
    return None


def _known(client: ClientCapabilities, choice: HostChoice) -> tuple[Negotiation | None, Abilities | None]:
    """What can be settled with this client, as far as no host has to be asked for it."""
    cache = version_cache(choice)
    try:
        return remembered(client.stored_output, choice, cache), remembered_abilities(choice, cache)
    except HostStartError:
        return None, None


def _answer(request_id: Id, settled: Settled, choice: HostChoice, stdout: int) -> bool:
    """Whether the client has the answer."""
    result = initialize_result(settled, settled.client, choice.muse, __version__)
    line = encode_frame(success_object(request_id, result), ACP_OUTBOUND_CAP)
    if len(line) > AT_ONCE or not _is_ready(stdout, to_write=True):
        return False
    sent = 0
    while sent < len(line):
        try:
            sent += os.write(stdout, line[sent:])
        except BlockingIOError:
            while not _is_ready(stdout, to_write=True):
                time.sleep(ROOM_POLL)
        except OSError:
            # Nobody reads: that is seen again, and told.
            break
    return sent > 0


def _launched(muse: Sequence[str], choice: HostChoice) -> Launched | None:
    from adapter.msp.launch import launch

    try:
        return launch(serve_command(muse, choice))
    except (OSError, ValueError):
        # It will be again, and then somebody is told.
        return None


def _asked_version(muse: Sequence[str], choice: HostChoice) -> VersionAsked | None:
    try:
        return begin(choice, muse)
    except (OSError, ValueError):
        return None
