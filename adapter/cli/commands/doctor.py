"""The command line of `muse-adapter doctor`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from adapter.bridge.stored_output.references import MAX_ID_LENGTH
from adapter.cli.commands.values import Reads, identifier, one_of, path, seconds, written_file, wrong
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
        Reads(written_file),
    ] = None,
    wait: Annotated[
        float | None,
        typer.Option(
            "--wait",
            metavar="S",
            help="seconds a host is waited for here; serving waits --startup-timeout "
            "(default: that if it is given, at most 600, else 10)",
        ),
        Reads(seconds(LONGEST_WAIT)),
    ] = None,
) -> None:
    """Say whether it works here, what a client would be offered, and why something is not."""
    from adapter.cli.doctor.run import Wanted, main

    if file is not None and not support:
        raise wrong("-o", "goes with --support only")
    if file == Path("-"):
        raise wrong("-o", "must be a file: stdout has the report")
    wanted = Wanted(
        as_json=as_json,
        wait=_waited(context) if wait is None else wait,
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


def _waited(context: typer.Context) -> float:
    """How long a host is waited for if nothing is said about that."""
    from adapter.cli.doctor.trial import READY_SECONDS

    # It may stand before the command's name or behind it.
    before = context.parent.params if context.parent is not None else {}
    given = [taken.get("startup_timeout") for taken in (context.params, before)]
    return next((min(one, LONGEST_WAIT) for one in given if one is not None), READY_SECONDS)


def _profiles(names: list[str], file: Path | None) -> tuple[ClientProfile, ...]:
    import msgspec

    from adapter.acp.text import one_line
    from adapter.cli.doctor.client_profiles import NAME_LENGTH, PROFILES, read_profile

    known = {profile.name: profile for profile in PROFILES}
    chosen = tuple(known[name] for name in dict.fromkeys(names))
    if file is None:
        return chosen or PROFILES
    try:
        own = read_profile(file)
    except ValueError as error:
        raise wrong("--client-capabilities", str(error)) from None
    if any(own.name == one.name for one in chosen):
        # None of those has a dot in its name.
        own = msgspec.structs.replace(own, name=one_line(file.name, NAME_LENGTH))
    return (*chosen, own)
