"""The command line of `muse-adapter replay`."""

import typer


def replay(context: typer.Context) -> None:
    """Everything after `replay` is for the player of recordings."""
    from adapter.hosts.recorded.__main__ import main
    from adapter.wire.ends import as_it_ended

    raise typer.Exit(as_it_ended(main(context.args, context.command_path)))
