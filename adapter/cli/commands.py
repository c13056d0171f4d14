"""The commands beside `serve`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from adapter.bridge.hosts.host_choice import resolve_muse
from adapter.bridge.stored_output.contract import MAX_BYTES
from adapter.bridge.stored_output.references import MAX_ID_LENGTH
from adapter.cli.logs import log_to_stderr
from adapter.cli.options import COMMANDS, host_choice
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
    from adapter.cli.login import run_login

    try:
        choice = host_choice(context.obj)
        muse = resolve_muse(choice)
        code = run_login(muse, choice.environ)
    except HostStartError as error:
        typer.echo(error.details, err=True)
        raise typer.Exit(1) from None
    except OSError as error:
        typer.echo(f"{muse[0]} cannot be started: {error.strerror or error}", err=True)
        raise typer.Exit(1) from None
    raise typer.Exit(code)


@app.command(
    help=COMMANDS["output"],
    epilog="Example: muse-adapter output SESSION ITEM -o build.log",
)
def output(
    context: typer.Context,
    session_id: Annotated[str, typer.Argument(metavar="SESSION", help="the id of a stored session")],
    item_id: Annotated[
        str | None, typer.Argument(metavar="ITEM", help="the id of a tool call; without it outputs are listed")
    ] = None,
    ref: Annotated[
        str | None, typer.Option("--ref", metavar="ID", help="which output of the item (default: its first)")
    ] = None,
    file: Annotated[
        Path | None, typer.Option("-o", metavar="FILE", help="where the bytes go (default: stdout)")
    ] = None,
    offset: Annotated[int, typer.Option(metavar="N", min=0, max=MAX_BYTES, help="the first byte to read")] = 0,
    length: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=MAX_BYTES, help="how many bytes to read (default: all)")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on behind the bytes that FILE has")] = False,
) -> None:
    """List the outputs of a session, or read one."""
    from adapter.cli.output import Wanted, main

    if item_id is None and (ref is not None or file is not None or offset or length is not None or resume):
        raise typer.BadParameter("the options of a read need an item", param_hint="ITEM")
    if resume and file is None:
        raise typer.BadParameter("there is nothing to go on with; name a file with -o", param_hint="--resume")
    for name, value in (("SESSION", session_id), ("ITEM", item_id), ("--ref", ref)):
        if value is not None and not 1 <= len(value) <= MAX_ID_LENGTH:
            raise typer.BadParameter(f"an id has 1 to {MAX_ID_LENGTH} characters", param_hint=name)
    wanted = Wanted(session_id, item_id, ref, file, offset, length, resume)
    logs = log_to_stderr(context.obj.log_level)
    try:
        raise typer.Exit(main(wanted, host_choice(context.obj)))
    finally:
        logs.close()


@app.command(
    help=COMMANDS["simulate"],
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)
def simulate(context: typer.Context) -> None:
    """Everything after `simulate` is for the simulated host, `--help` included."""
    from adapter.hosts.simulated.__main__ import main

    raise typer.Exit(main(context.args))
