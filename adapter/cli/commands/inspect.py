"""The command line of `muse-adapter inspect`."""

from pathlib import Path
from typing import Annotated

import typer

from adapter.cli.commands.values import Reads, path, some_text, whole_number, written_file, wrong


def inspect(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="the folder of the recording"), Reads(path)],
    html: Annotated[
        Path | None,
        typer.Option("--html", metavar="FILE", help="write one page for a browser, instead of showing it"),
        Reads(written_file),
    ] = None,
    frame: Annotated[
        int | None,
        typer.Option("--frame", metavar="N", help="show only this frame, as it was sent"),
        Reads(whole_number(1)),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option("--method", metavar="TEXT", help="only methods that have this in their name"),
        Reads(some_text),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="only this session: its number, or how its id begins"),
        Reads(some_text),
    ] = None,
    errors: Annotated[bool, typer.Option("--errors", help="only what failed")] = False,
) -> None:
    """Show a recording."""
    from adapter.cli.inspect.run import Wanted, main

    wanted = Wanted(directory, html, frame, method, session, errors)
    if html is not None and (wanted.filtered or frame is not None):
        raise wrong("--html", "the page has all frames, and filters of its own")
    if frame is not None and wanted.filtered:
        raise wrong("--frame", "one frame is named already")
    raise typer.Exit(main(wanted))
