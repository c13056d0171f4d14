"""The command line of `muse-adapter doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adapter.bridge.stored_output.references import MAX_ID_LENGTH
from adapter.cli.commands.values import Reads, identifier, one_of, path, seconds, wrong
from adapter.cli.logs import log_to_stderr
from adapter.cli.options import host_choice

if TYPE_CHECKING:
    from adapter.cli.doctor.client_profiles import ClientProfile

LONGEST_WAIT: Final = 600.0


def _clients() -> list[str]:
    from adapter.cli.doctor.client_profiles import PROFILES

    return [profile.name for profile in PROFILES]


def _matching_clients(incomplete: str) -> list[str]:
    return [name for name in _clients() if name.startswith(incomplete)]


def _client(name: str) -> str:
    return one_of(_clients())(name)


def doctor(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="one JSON document on stdout instead of tables")] = False,
    clients: Annotated[
        list[str] | None,
        typer.Option(
            "--client",
            metavar="NAME",
            help="only what this client is offered; may be given again",
            autocompletion=_matching_clients,
        ),
        Reads(_client, each=True),
    ] = None,
    capabilities: Annotated[
        Path | None,
        typer.Option("--client-capabilities", metavar="FILE", help="what the client is offered that says this (JSON)"),
        Reads(path),
    ] = None,
    read: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--read", metavar="SESSION ITEM", help="read a stored output step by step, and show where it stops"
        ),
        Reads(identifier(MAX_ID_LENGTH), each=True),
    ] = None,
    support: Annotated[
        bool, typer.Option("--support", help="also write a file to go with a report of a fault, without secrets")
    ] = False,
    file: Annotated[
        Path | None,
        typer.Option("-o", metavar="FILE", help="where the file of --support goes (default: one named by the date)"),
        Reads(path),
    ] = None,
    wait: Annotated[
        float,
        typer.Option("--wait", metavar="S", help="seconds a host may take to become ready (default: 10)"),
        Reads(seconds(LONGEST_WAIT)),
    ] = 10.0,
) -> None:
    """Say whether it works here, what a client would be offered, and why something is not."""
    from adapter.cli.doctor.run import Wanted, main

    if file is not None and not support:
        raise wrong("-o", "goes with --support only")
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
    chosen = tuple(known[name] for name in dict.fromkeys(names))
    if file is None:
        return chosen or PROFILES
    try:
        return (*chosen, read_profile(file))
    except ValueError as error:
        raise wrong("--client-capabilities", str(error)) from None
