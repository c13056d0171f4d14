"""Where `muse-adapter` begins. Serving is the default and the fast way: nothing the other commands need is imported
on it."""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TYPE_CHECKING, Final

from adapter.cli.stop_signals import held_back, leave_when_asked

if TYPE_CHECKING:
    import argparse

EXIT_NO_CLIENT: Final = 2
"""There is no client: stdin or stdout is closed."""


def main() -> None:
    """Run the command the arguments name, and exit with its code."""
    # What a signal has to do depends on the command, and imports take a while.
    with held_back():
        from adapter.cli.options import read_arguments

        arguments = read_arguments(sys.argv[1:])
        if arguments.command == "serve":
            leave_when_asked()
    if arguments.command == "serve":
        sys.exit(_serve(arguments))
    from adapter.cli.commands import run

    run(arguments)


def _serve(arguments: argparse.Namespace) -> int:
    from adapter.wire.stdio import claim_stdio

    # First of all: what the rest imports may print something (`fault-cases.md C2`).
    try:
        reader, writer = claim_stdio()
    except OSError as error:
        # Not `sys.stderr`, which is None if stderr is closed as well.
        with contextlib.suppress(OSError):
            os.write(2, f"muse-adapter: stdin and stdout must be open: {error.strerror}\n".encode())
        return EXIT_NO_CLIENT
    from adapter.cli.serve import serve

    return serve(arguments, reader, writer)


if __name__ == "__main__":
    main()
