"""The command line of `muse-adapter record`."""

from pathlib import Path
from typing import Annotated

import typer

from adapter.cli.commands.values import Reads, new_folder


def record(
    context: typer.Context,
    out: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="the folder to make; if it holds a recording, OUT-2, OUT-3, ..."),
        Reads(new_folder),
    ],
    command: Annotated[
        list[str],
        typer.Argument(metavar="COMMAND", help="behind `--`, what to record: `muse serve`, or `muse-adapter`"),
    ],
    redact: Annotated[
        bool, typer.Option("--redact", help="put stand-ins in the place of secrets, paths, names and text")
    ] = False,
) -> None:
    """Run COMMAND and record it, then end as it has ended."""
    from adapter.hosts.recorder import relay

    relay.leave(relay.record(out, command, redact=redact))
