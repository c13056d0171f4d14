"""The command line of `muse-adapter login`."""

import typer

from adapter.bridge.hosts.host_choice import resolve_muse
from adapter.cli.options import host_choice
from adapter.msp.errors import HostStartError


def login(context: typer.Context) -> None:
    """Run `muse login` and exit with its code."""
    from adapter.cli.login_run import run_login

    try:
        choice = host_choice(context.obj)
        muse = resolve_muse(choice)
        code = run_login(muse, choice.environ)
    except HostStartError as error:
        typer.echo(f"muse-adapter: {error.details}", err=True)
        raise typer.Exit(1) from None
    except OSError as error:
        typer.echo(f"muse-adapter: {muse[0]} cannot be started: {error.strerror or error}", err=True)
        raise typer.Exit(1) from None
    raise typer.Exit(code)
