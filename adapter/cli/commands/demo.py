"""The command line of `muse-adapter demo`."""

import typer


def demo(context: typer.Context) -> None:
    """The demo brings its own host: an answer that depends on somebody's Muse could not be checked."""
    if context.obj.muse is not None:
        raise typer.BadParameter("the demo always uses the simulated host", param_hint="--muse")
    from adapter.cli.demo import main

    raise typer.Exit(main())
