"""The command line of `muse-adapter doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adapter.cli.logs import log_to_stderr
from adapter.cli.options import host_choice

if TYPE_CHECKING:
    from adapter.cli.doctor.client_profiles import ClientProfile

LONGEST_WAIT = 600.0


def doctor(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON document on stdout instead of tables")] = False,
    clients: Annotated[
        list[str] | None,
        typer.Option("--client", metavar="NAME", help="only what this client is offered; may be given again"),
    ] = None,
    capabilities: Annotated[
        Path | None,
        typer.Option("--client-capabilities", metavar="FILE", help="what the client is offered that says this (JSON)"),
    ] = None,
    read: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--read", metavar="SESSION ITEM", help="read a stored output step by step, and show where it stops"
        ),
    ] = None,
    support: Annotated[
        bool, typer.Option("--support", help="also write a file to go with a report of a fault, without secrets")
    ] = False,
    file: Annotated[
        Path | None, typer.Option("-o", metavar="FILE", help="where that file goes (default: one named by the date)")
    ] = None,
    wait: Annotated[
        float,
        typer.Option(metavar="S", show_default=False, help="seconds a host may take to become ready (default: 10)"),
    ] = 10.0,
) -> None:
    """Say whether it works here, what a client would be offered, and why something is not."""
    from adapter.cli.doctor.run import Wanted, main

    if not 0 < wait <= LONGEST_WAIT:
        raise typer.BadParameter(f"must be a number of seconds, at most {LONGEST_WAIT:g}", param_hint="--wait")
    if file is not None and not support:
        raise typer.BadParameter("goes with --support only", param_hint="-o")
    wanted = Wanted(
        as_json=as_json,
        wait=wait,
        profiles=_profiles(clients or [], capabilities),
        read=read,
        bundle=support,
        file=file,
        options=context.obj._asdict(),
    )
    logs = log_to_stderr(context.obj.log_level)
    try:
        raise typer.Exit(main(wanted, host_choice(context.obj)))
    finally:
        logs.close()


def _profiles(names: list[str], file: Path | None) -> tuple[ClientProfile, ...]:
    from adapter.cli.doctor.client_profiles import PROFILES, read_profile

    known = {profile.name: profile for profile in PROFILES}
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"{name!r} is none of {', '.join(known)}", param_hint="--client")
    chosen = tuple(known[name] for name in dict.fromkeys(names))
    if file is None:
        return chosen or PROFILES
    try:
        return (*chosen, read_profile(file))
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--client-capabilities") from None
