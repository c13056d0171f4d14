"""The command line of `muse-adapter serve`, for its help; what asks for nothing else does not come here."""

import typer


def serve(context: typer.Context) -> None:
    """Serve an editor."""
    from adapter.cli import entry

    raise typer.Exit(entry.serve(context.obj))
