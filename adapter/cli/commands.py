"""The commands beside `serve`."""

from __future__ import annotations

import argparse
import os
import subprocess
from pathlib import Path
from typing import NoReturn

import typer

from adapter.bridge.host_choice import HostChoice, resolve_muse
from adapter.cli.options import COMMANDS
from adapter.msp.host import HostStartError

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


def run(arguments: argparse.Namespace) -> NoReturn:
    """Run one command with the options that stood before it, and exit with its code."""
    app([arguments.command, *arguments.rest], prog_name="muse-adapter", obj=arguments)
    raise AssertionError("the application exits")


@app.callback()
def _root() -> None:
    """ACP adapter for Muse Code."""


@app.command(help=COMMANDS["demo"])
def demo(context: typer.Context) -> None:
    """The demo brings its own host: an answer that depends on somebody's Muse could not be checked."""
    if context.obj.muse is not None:
        raise typer.BadParameter("the demo always uses the simulated host", param_hint="--muse")
    from adapter.cli.demo import main

    raise typer.Exit(main())


@app.command(help=COMMANDS["login"])
def login(context: typer.Context) -> None:
    """Run `muse login` and exit with its code."""
    options = context.obj
    try:
        muse = resolve_muse(HostChoice(environ=dict(os.environ), home=Path.home(), muse=options.muse))
    except HostStartError as error:
        typer.echo(error.details, err=True)
        raise typer.Exit(1) from None
    raise typer.Exit(subprocess.run([*muse, "login"], check=False).returncode)


@app.command(
    help=COMMANDS["simulate"],
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def simulate(context: typer.Context) -> None:
    """Everything after `simulate` is for the simulated host, `--help` included."""
    from adapter.hosts.simulated.__main__ import main

    raise typer.Exit(main(context.args))
