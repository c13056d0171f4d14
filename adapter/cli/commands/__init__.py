"""The commands beside `serve`, each declared in a module of its name; what one does is imported when it runs."""

from __future__ import annotations

import argparse
from typing import NoReturn

import typer

from adapter.cli.commands.demo import demo
from adapter.cli.commands.login import login
from adapter.cli.commands.output import output
from adapter.cli.commands.simulate import simulate
from adapter.cli.options import COMMANDS

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)


def run(arguments: argparse.Namespace) -> NoReturn:
    """Run one command with the options that stood before it, and exit with its code."""
    app([arguments.command, *arguments.rest], prog_name="muse-adapter", obj=arguments)
    raise AssertionError("the application exits")


@app.callback()
def _root() -> None:
    """ACP adapter for Muse Code."""


app.command("demo", help=COMMANDS["demo"])(demo)
app.command("login", help=COMMANDS["login"])(login)
app.command("output", help=COMMANDS["output"], epilog="Example: muse-adapter output SESSION ITEM -o build.log")(output)
app.command(
    "simulate",
    help=COMMANDS["simulate"],
    # Everything after it is for the simulated host, `--help` included.
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)(simulate)
