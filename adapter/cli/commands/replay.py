"""The command line of `muse-adapter replay`."""

import typer


def replay(context: typer.Context) -> None:
    """Everything after `replay` is for the player of recordings."""
    from adapter.hosts.recorded.__main__ import main

    raise typer.Exit(main(context.args, context.command_path))
