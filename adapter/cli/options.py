"""The commands and options of `muse-adapter`, and serving asked for in them, read without the libraries that only the
other commands need."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple, get_type_hints

from adapter.msp.budgets import READ_HOST_IDLE, STARTUP_TIMEOUT
from adapter.wire.framing import ACP_FRAME_CAP, MSP_FRAME_CAP

if TYPE_CHECKING:
    from adapter.bridge.hosts.host_choice import HostChoice

COMMANDS: Final[dict[str, str]] = {
    "serve": "speak ACP on stdin and stdout; what an editor starts, and the default",
    "demo": "play a short conversation with the adapter and show what happens",
    "doctor": "say whether it works here, what a client would be offered, and why something is not",
    "inspect": "show a recording for people: who said what when, in the terminal or as a page for a browser",
    "login": "log in to Muse Code in this terminal",
    "output": "list the stored outputs of a session, or write the bytes of one to a file or a pipe",
    "record": "run a Muse host or an ACP agent and record what is said, to be looked at, sent along or played",
    "replay": "play a recording as if it were the host or the agent that was recorded",
    "simulate": "run the simulated Muse host as if it were the muse binary",
}

LOG_LEVELS: Final = ("debug", "info", "warning", "error")


_MOST_DIGITS: Final = 18
"""More than any number here has."""


def whole(text: str) -> int | None:
    """A whole number as it is written here: decimal digits, and nothing else that Python would take; else None."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


def decimal(text: str) -> float | None:
    """A number that may have a fraction behind a point; None if it is something else."""
    before, point, behind = text.partition(".")
    parts = (before, behind) if point else (before,)
    return None if any(whole(part) is None for part in parts) else float(text)


def _seconds(text: str) -> float:
    value = decimal(text)
    if not value:
        raise ValueError("must be a positive number of seconds")
    return value


def _idle_seconds(text: str) -> float:
    value = decimal(text)
    if value is None:
        raise ValueError("must be a number of seconds, not below 0")
    return value


def _bytes(text: str) -> int:
    value = whole(text)
    if value is None or value < 1024:
        raise ValueError("must be a whole number of bytes, at least 1024")
    return value


def _log_level(text: str) -> str:
    level = text.lower()
    if level not in LOG_LEVELS:
        raise ValueError(f"must be one of {', '.join(LOG_LEVELS)}")
    return level


def _muse(text: str) -> str:
    if not text:
        raise ValueError("must be a path, a name on PATH or a stand-in")
    return text


class Option(NamedTuple):
    """How an option is written, read and told. `read` makes the value, or raises `ValueError` with what it must be;
    without a `metavar` the option is a switch."""

    help: str
    metavar: str | None = None
    read: Callable[[str], Any] = str
    default: str | None = None
    """The default in words, if its value does not tell it."""
    everywhere: bool = False
    """Whether it means something to more commands than `serve`."""


class GlobalOptions(NamedTuple):
    """What holds for all commands. The one declaration of these options: name, type, default and help."""

    muse: Annotated[
        str | None,
        Option(
            "the muse executable, or a stand-in: simulated[:VERSION], recorded:DIR",
            "WHAT",
            _muse,
            default="$MUSE_EXECUTABLE, then muse on PATH",
            everywhere=True,
        ),
    ] = None
    startup_timeout: Annotated[
        float, Option("seconds a host may take to become ready", "S", _seconds, everywhere=True)
    ] = STARTUP_TIMEOUT
    read_host_idle: Annotated[
        float,
        Option("seconds a host that reads stored output is kept; 0: one for each read", "S", _idle_seconds),
    ] = READ_HOST_IDLE
    allow_all: Annotated[
        bool, Option("let a session be set to the approval mode that allows everything without asking", default="no")
    ] = False
    log_level: Annotated[
        str, Option(f"what is logged to stderr: {', '.join(LOG_LEVELS)}", "LEVEL", _log_level, everywhere=True)
    ] = "warning"
    acp_frame_cap: Annotated[int, Option("longest line taken from the client", "BYTES", _bytes)] = ACP_FRAME_CAP
    msp_frame_cap: Annotated[int, Option("longest line exchanged with a host", "BYTES", _bytes)] = MSP_FRAME_CAP


OPTIONS: Final[dict[str, Option]] = {
    name: hint.__metadata__[0] for name, hint in get_type_hints(GlobalOptions, include_extras=True).items()
}
"""The options by the name of their value."""


def flag(name: str) -> str:
    """An option as it is written."""
    return f"--{name.replace('_', '-')}"


def told(name: str) -> str:
    """What an option is for, with its default."""
    option, default = OPTIONS[name], GlobalOptions._field_defaults[name]
    shown = option.default or (f"{default:g}" if isinstance(default, float) else str(default))
    return f"{option.help} (default: {shown})"


_BY_FLAG: Final = {flag(name): (name, option) for name, option in OPTIONS.items()}


def wanted(argv: Sequence[str]) -> tuple[str, GlobalOptions] | None:
    """`serve` or `login`, and the options, if `argv` asks for that and is right in all; None leaves it to the commands,
    which know more and tell what is wrong."""
    given: dict[str, Any] = {}
    words: list[str] = []
    left = iter(argv)
    for word in left:
        if word == "--":
            words += left
        elif not word.startswith("-") or word == "-":
            words.append(word)
        else:
            written, equals, value = word.partition("=")
            name, option = _BY_FLAG.get(written, ("", None))
            if option is None or (equals and option.metavar is None):
                return None
            if option.metavar is None:
                given[name] = True
                continue
            try:
                given[name] = option.read(value if equals else next(left))
            except (ValueError, StopIteration):
                return None
    if words in ([], ["serve"]):
        return "serve", GlobalOptions(**given)
    # Wherever it stands: clients add it to the arguments they serve with, or put it in their place (`acp.md §3`).
    return ("login", GlobalOptions(**given)) if "login" in words and set(words) <= {"serve", "login"} else None


def host_choice(options: GlobalOptions) -> HostChoice:
    """What the options and the environment say about hosts."""
    # Not before stdout is out of reach: what is imported may print something (`fault-cases.md C2`).
    from adapter.bridge.hosts.host_choice import HostChoice, host_environment
    from host_probe import home_directory

    return HostChoice(
        environ=host_environment(os.environ),
        home=home_directory(),
        muse=options.muse,
        startup_timeout=options.startup_timeout,
        frame_cap=options.msp_frame_cap,
        read_host_idle=options.read_host_idle,
        allow_all=options.allow_all,
    )
