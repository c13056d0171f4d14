"""Where `muse-adapter` begins. Serving is the default and the fast way: nothing the other commands need is imported
on it."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from typing import TYPE_CHECKING, Final

from adapter.cli.stop_signals import hear_of_children, held_back, leave_when_asked, leave_when_interrupted

if TYPE_CHECKING:
    from types import TracebackType

    from adapter.cli.options import GlobalOptions

EXIT_NO_CLIENT: Final = 2
"""There is no client: stdin or stdout is closed."""

COMPLETION: Final = "_MUSE_ADAPTER_COMPLETE"
"""The variable by which a shell asks what could come next on the command line."""

_ON_A_TERMINAL: Final = (
    "muse-adapter: waiting for an editor to speak ACP here; Ctrl-D ends it. "
    "`muse-adapter --help` tells what else there is.\n"
)


def main() -> None:
    """Run the command the arguments name, and exit with its code."""
    sys.excepthook = _last_words
    completing = bool(os.environ.get(COMPLETION))
    if sys.argv[1:2] == ["record"] and not completing:
        _record_at_once(sys.argv[1:])
    # What a signal has to do depends on the command, and imports take a while.
    with held_back():
        hear_of_children()
        from adapter.cli.options import wanted

        asked = None if completing else wanted(sys.argv[1:])
        if asked is not None and asked[0] == "serve":
            leave_when_asked()
        else:
            leave_when_interrupted()
    if asked is None:
        from adapter.cli.commands import run

        run(sys.argv[1:])
    command, options = asked
    if command == "serve":
        sys.exit(serve(options))
    from adapter.cli.commands import run

    run([command], options)


def _last_words(_kind: type[BaseException], error: BaseException, _trace: TracebackType | None) -> None:
    """Tell of an exception that nobody expected as the log does: its kind and its place, not its words."""
    from adapter.cli.logs import told

    with contextlib.suppress(OSError):
        os.write(2, "\n".join([*told(error), ""]).encode("utf-8", "replace"))


def _record_at_once(argv: list[str]) -> None:
    """Record, and never return, if the command line is the usual one: what is recorded should start as fast as it
    does without."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        leave_when_interrupted()
    hear_of_children()
    from adapter.cli.record_line import record_line

    line = record_line(argv)
    if line is not None:
        from adapter.hosts.recorder import relay

        relay.leave(relay.record(line.out, line.command, redact=line.redact))


def serve(options: GlobalOptions) -> int:
    """Serve whoever is at stdin and stdout."""
    from adapter.wire.stdio import claim_stdio

    # What is imported stays, and need not be looked through for garbage; `serving` goes on with that.
    gc.disable()
    if os.isatty(0) and os.isatty(2):
        os.write(2, _ON_A_TERMINAL.encode())
    # First of all: what the rest imports may print something (`fault-cases.md C2`).
    try:
        stdin, stdout = claim_stdio()
    except OSError as error:
        # Not `sys.stderr`, which is None if stderr is closed as well.
        with contextlib.suppress(OSError):
            os.write(2, f"muse-adapter: stdin and stdout must be open: {error.strerror}\n".encode())
        return EXIT_NO_CLIENT
    from adapter.cli.first_answer import greet
    from adapter.cli.options import host_choice

    choice = host_choice(options)
    greeting = greet(choice, options.acp_frame_cap, stdin, stdout)
    from adapter.cli import serve as serving

    return serving.serve(options, choice, greeting, stdin, stdout)


if __name__ == "__main__":
    main()
