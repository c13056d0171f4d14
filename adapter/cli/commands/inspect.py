"""The command line of `muse-adapter inspect`."""

from pathlib import Path
from typing import Annotated

import typer


def inspect(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="the folder of the recording")],
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="write one page for a browser, instead of showing it")
    ] = None,
    frame: Annotated[
        int | None, typer.Option("--frame", metavar="N", help="show only this frame, as it was sent")
    ] = None,
    method: Annotated[
        str | None, typer.Option("--method", metavar="TEXT", help="only methods that have this in their name")
    ] = None,
    session: Annotated[
        str | None, typer.Option("--session", metavar="ID", help="only this session: its number, or how its id begins")
    ] = None,
    errors: Annotated[bool, typer.Option("--errors", help="only what failed")] = False,
) -> None:
    """Show a recording."""
    from adapter.cli.inspect.run import Wanted, main

    wanted = Wanted(directory, html, frame, method, session, errors)
    if html is not None and (wanted.filtered or frame is not None):
        raise typer.BadParameter("the page has all frames, and filters of its own", param_hint="--html")
    if frame is not None and wanted.filtered:
        raise typer.BadParameter("one frame is named already", param_hint="--frame")
    raise typer.Exit(main(wanted))
