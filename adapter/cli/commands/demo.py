"""The command line of `muse-adapter demo`."""

import typer

from adapter.cli.commands.values import wrong


def demo(context: typer.Context) -> None:
    """The demo brings its own host: an answer that depends on somebody's Muse could not be checked."""
    if context.obj.muse is not None:
        raise wrong("--muse", "the demo always uses the simulated host")
    from adapter.cli.demo import main

    raise typer.Exit(main())
