"""Where `muse-adapter` begins. Serving is the default and the fast way: nothing the other commands need is imported
on it."""

from __future__ import annotations

import sys

from adapter.cli.options import read_arguments


def main() -> None:
    """Run the command the arguments name, and exit with its code."""
    arguments = read_arguments(sys.argv[1:])
    if arguments.command == "serve":
        from adapter.cli.serve import main as serve

        sys.exit(serve(arguments))
    from adapter.cli.commands import run

    run(arguments)


if __name__ == "__main__":
    main()
