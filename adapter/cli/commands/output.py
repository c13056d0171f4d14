"""The command line of `muse-adapter output`."""

from pathlib import Path
from typing import Annotated

import typer

from adapter.bridge.stored_output.contract import MAX_BYTES
from adapter.bridge.stored_output.references import MAX_ID_LENGTH
from adapter.cli.logs import log_to_stderr
from adapter.cli.options import host_choice


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
        Path | None, typer.Option("-o", metavar="FILE", help="where the bytes go (default: -, which is stdout)")
    ] = None,
    offset: Annotated[
        int, typer.Option(metavar="N", show_default=False, help="the first byte to read (default: 0)")
    ] = 0,
    length: Annotated[
        int | None, typer.Option(metavar="N", help="how many bytes to read (default: all that follow)")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on behind the bytes that FILE has")] = False,
) -> None:
    """List the outputs of a session, or read one."""
    from adapter.cli.output import Wanted, main

    file = None if file == Path("-") else file
    if item_id is None and (ref is not None or file is not None or offset or length is not None or resume):
        raise typer.BadParameter("the options of a read need an item", param_hint="ITEM")
    if resume and file is None:
        raise typer.BadParameter("there is nothing to go on with; name a file with -o", param_hint="--resume")
    for name, value in (("SESSION", session_id), ("ITEM", item_id), ("--ref", ref)):
        if value is not None and not 1 <= len(value) <= MAX_ID_LENGTH:
            raise typer.BadParameter(f"an id has 1 to {MAX_ID_LENGTH} characters", param_hint=name)
    for name, number, least in (("--offset", offset, 0), ("--length", length, 1)):
        if number is not None and not least <= number <= MAX_BYTES:
            raise typer.BadParameter(f"must be a whole number from {least} to {MAX_BYTES}", param_hint=name)
    wanted = Wanted(session_id, item_id, ref, file, offset, length, resume)
    logs = log_to_stderr(context.obj.log_level)
    try:
        raise typer.Exit(main(wanted, host_choice(context.obj)))
    finally:
        logs.close()
