"""The command line, as if this were the `muse` executable (`msp.md §23.1, §23.2`)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, Literal

import msgspec

from adapter.hosts.simulated.profiles import DEFAULT, Profile, profile

EXIT_OK: Final = 0
EXIT_USAGE: Final = 2
EXIT_CONFIGURATION: Final = 3

HONEST: Final = "simulated host, no model is called"

_USAGE: Final = """\
usage: {program} [--profile VERSION] [--data-dir DIR] [--faults FILE] --version
       {program} [--profile VERSION] [--data-dir DIR] [--faults FILE] serve [flags]
       {program} [--data-dir DIR] login
       {program} [--data-dir DIR] logout

  --profile VERSION   the version of Muse to be like (default: {default})
  --data-dir DIR      where sessions are kept (default: $MUSE_SIMULATED_HOME, then
                      muse-simulated in $XDG_DATA_HOME or ~/.local/share)
  --faults FILE       what is to go wrong, in JSON (default: $MUSE_SIMULATED_FAULTS)
  -h, --help          show this text; behind serve, its flags

Example: {program} --profile 1.3.0 serve
"""

_SERVE_HELP: Final = """\
Serve sessions over stdin and stdout ({honest}).

usage: {program} serve [flags]

  --provider NAME           model provider (accepted, not used)
  --model NAME              model of new sessions
  --disable-sandbox         run tools unsandboxed; also asks for no approvals
  --sandbox-network MODE    restricted, proxy-only or enabled
  --disable-write           deny tools that write files
  --disable-shell           deny shell tools
  --trust-workspace         trust the workspace without asking
  --no-session-log          keep no sessions on disk
  -h, --help                show this text

Example: {program} serve --disable-write
"""

_NETWORK_MODES: Final = ("restricted", "proxy-only", "enabled")
_SWITCHES: Final = {
    "--disable-sandbox": "disable_sandbox",
    "--disable-write": "disable_write",
    "--disable-shell": "disable_shell",
    "--trust-workspace": "trust_workspace",
    "--no-session-log": "no_session_log",
}
_VALUES: Final = {"--provider": "provider", "--model": "model", "--sandbox-network": "sandbox_network"}
SERVE_FLAGS: Final = frozenset({*_SWITCHES, *_VALUES})
"""What `serve` takes, in every version."""
_COMMANDS: Final = ("serve", "login", "logout")
_GLOBAL_VALUES: Final = {"--profile": "profile", "--data-dir": "data_dir", "--faults": "faults"}


class Options(msgspec.Struct):
    """What the command line asks for."""

    profile: Profile
    data_dir: Path
    command: Literal["serve", "login", "logout"] = "serve"
    faults: str | None = None
    """Path of a fault file."""
    provider: str | None = None
    model: str | None = None
    sandbox_network: str = "restricted"
    disable_sandbox: bool = False
    disable_write: bool = False
    disable_shell: bool = False
    trust_workspace: bool = False
    no_session_log: bool = False


class Shown(Exception):
    """The command line is answered by printing `text`."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class Mistake(Exception):
    """The command line is wrong; the message says how."""


def parse(argv: list[str], program: str) -> Options:
    """The options of `serve`, `login` or `logout`; `program` is what was typed before `argv`.

    Raises:
        Shown: there is nothing to do but to tell a version or a help text.
        Mistake: it asks for nothing that there is.
    """
    found: dict[str, str | bool] = {}
    words = list(argv)
    command: str | None = None
    version = False
    while words:
        word, equals, value = words.pop(0).partition("=")
        serving = command == "serve"
        names = _VALUES if serving else _GLOBAL_VALUES if command is None else {}
        if word in names:
            if not equals and not words:
                raise Mistake(f"{word} needs a value")
            found[names[word]] = value if equals else words.pop(0)
        elif serving and word in _SWITCHES and not equals:
            found[_SWITCHES[word]] = True
        elif word in ("-h", "--help"):
            text = _SERVE_HELP if serving else _USAGE
            raise Shown(text.format(program=program, default=DEFAULT, honest=HONEST))
        elif word == "--version" and command is None:
            version = True
        elif word in _COMMANDS and command is None and not equals:
            command = word
        else:
            raise Mistake(f"unexpected argument {word!r}")
    options = _options(found)
    if version:
        raise Shown(f"Muse Code {options.profile.version} ({options.profile.build})\n")
    if command is None:
        raise Mistake("this stand-in has no terminal interface; use serve")
    return msgspec.structs.replace(options, command=command)


def _options(found: dict[str, str | bool]) -> Options:
    network = found.get("sandbox_network", "restricted")
    if network not in _NETWORK_MODES:
        raise Mistake(f"--sandbox-network takes {', '.join(_NETWORK_MODES)}, not {network!r}")
    try:
        chosen = profile(str(found.pop("profile", DEFAULT)))
    except ValueError as error:
        raise Mistake(str(error)) from None
    data_dir = found.pop("data_dir", None)
    named = {"profile": chosen, "data_dir": Path(str(data_dir)) if data_dir else default_data_dir(), **found}
    return msgspec.convert(named, Options)


def default_data_dir() -> Path:
    """Where sessions are kept if the command line does not say."""
    home = os.environ.get("MUSE_SIMULATED_HOME")
    if home:
        return Path(home)
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else _home() / ".local" / "share") / "muse-simulated"


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        # A user that nobody has written down, as in a container.
        return Path(os.sep)
