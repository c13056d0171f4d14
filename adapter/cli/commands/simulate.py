"""The command line of `muse-adapter simulate`."""

import typer


def simulate(context: typer.Context) -> None:
    """Everything after `simulate` is for the simulated host."""
    if context.obj.muse is not None:
        raise typer.BadParameter("the simulated host is its own Muse", param_hint="--muse")
    from adapter.hosts.simulated.__main__ import main

    raise typer.Exit(main(context.args))
