"""The command line of `muse-adapter simulate`."""

import typer

from adapter.cli.commands.values import wrong


def simulate(context: typer.Context) -> None:
    """Everything after `simulate` is for the simulated host."""
    if context.obj.muse is not None:
        raise wrong("--muse", "the simulated host is its own Muse")
    from adapter.hosts.simulated.__main__ import main

    raise typer.Exit(main(context.args, context.command_path))
