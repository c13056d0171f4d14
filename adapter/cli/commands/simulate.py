"""The command line of `muse-adapter simulate`."""

import typer


def simulate(context: typer.Context) -> None:
    """Everything after `simulate` is for the simulated host."""
    from adapter.hosts.simulated.__main__ import main

    raise typer.Exit(main(context.args))
