"""The command line of `muse-adapter output`."""

from pathlib import Path
from typing import Annotated

import typer

from adapter.bridge.stored_output.contract import MAX_BYTES
from adapter.bridge.stored_output.references import MAX_ID_LENGTH
from adapter.cli.commands.values import Reads, identifier, whole_number, written_file, wrong
from adapter.cli.logs import log_to_stderr
from adapter.cli.options import host_choice

_ID = Reads(identifier(MAX_ID_LENGTH))


def output(
    context: typer.Context,
    session_id: Annotated[str, typer.Argument(metavar="SESSION", help="the id of a stored session"), _ID],
    item_id: Annotated[
        str | None, typer.Argument(metavar="ITEM", help="the id of a tool call; without it outputs are listed"), _ID
    ] = None,
    ref: Annotated[
        str | None, typer.Option("--ref", metavar="ID", help="which output of the item (default: its first)"), _ID
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("-o", metavar="FILE", help="where the bytes go (default: -, which is stdout)"),
        Reads(written_file),
    ] = None,
    offset: Annotated[
        int,
        typer.Option("--offset", metavar="N", help="the first byte to read (default: 0)"),
        Reads(whole_number(0, MAX_BYTES)),
    ] = 0,
    length: Annotated[
        int | None,
        typer.Option("--length", metavar="N", help="how many bytes to read (default: all that follow)"),
        Reads(whole_number(1, MAX_BYTES)),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="go on behind the bytes that FILE has")] = False,
) -> None:
    """List the outputs of a session, or read one."""
    from adapter.cli.output import Wanted, main

    file = None if file == Path("-") else file
    if item_id is None and (ref is not None or file is not None or offset or length is not None or resume):
        raise wrong("ITEM", "the options of a read need an item")
    if resume and file is None:
        raise wrong("--resume", "there is nothing to go on with; name a file with -o")
    wanted = Wanted(session_id, item_id, ref, file, offset, length, resume)
    logs = log_to_stderr(context.obj.log_level)
    try:
        raise typer.Exit(main(wanted, host_choice(context.obj)))
    finally:
        logs.close()
