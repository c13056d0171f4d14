"""The options of `muse-adapter`, read without the libraries that only the other commands need."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from adapter import __version__
from adapter.msp.budgets import READ_HOST_IDLE, STARTUP_TIMEOUT
from adapter.wire.framing import ACP_FRAME_CAP, MSP_FRAME_CAP

if TYPE_CHECKING:
    from adapter.bridge.hosts.host_choice import HostChoice

COMMANDS: Final[dict[str, str]] = {
    "serve": "speak ACP on stdin and stdout; what an editor starts, and the default",
    "demo": "play a short conversation with the adapter and show what happens",
    "login": "log in to Muse Code in this terminal",
    "output": "list the stored outputs of a session, or write the bytes of one to a file or a pipe",
    "simulate": "run the simulated Muse host as if it were the muse binary",
}


_WITHOUT_OPTIONS: Final = frozenset({"serve", "login"})


def read_arguments(argv: list[str]) -> argparse.Namespace:
    """Options, `command` and its own arguments in `rest`. Exits with a usage message if they are not as they should
    be."""
    lines = "\n".join(f"  {name:10} {what}" for name, what in COMMANDS.items())
    parser = argparse.ArgumentParser(
        prog="muse-adapter",
        description="ACP adapter for Muse Code: editors speak ACP to it, it drives Muse hosts.",
        epilog=f"commands:\n{lines}\n\n`muse-adapter COMMAND --help` tells more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"muse-adapter {__version__}")
    parser.add_argument(
        "--muse",
        metavar="WHAT",
        help="the muse executable, or a stand-in: simulated[:VERSION], recorded:DIR (default: $MUSE_EXECUTABLE, PATH)",
    )
    parser.add_argument(
        "--startup-timeout",
        type=_seconds,
        default=STARTUP_TIMEOUT,
        metavar="S",
        help="seconds a host may take to become ready (default: %(default)g)",
    )
    parser.add_argument(
        "--read-host-idle",
        type=_idle_seconds,
        default=READ_HOST_IDLE,
        metavar="S",
        help="seconds a host that reads stored output is kept after a read; 0: one a read (default: %(default)g)",
    )
    parser.add_argument(
        "--allow-all",
        action="store_true",
        help="let a session be set to the approval mode that allows everything without asking",
    )
    parser.add_argument("--log-level", choices=["debug", "info", "warning", "error"], default="warning")
    parser.add_argument(
        "--acp-frame-cap",
        type=_bytes,
        default=ACP_FRAME_CAP,
        metavar="BYTES",
        help="longest line taken from the client",
    )
    parser.add_argument(
        "--msp-frame-cap",
        type=_bytes,
        default=MSP_FRAME_CAP,
        metavar="BYTES",
        help="longest line exchanged with a host",
    )
    parser.add_argument("command", nargs="?", default="serve", choices=list(COMMANDS), metavar="COMMAND")
    parser.add_argument("rest", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    found = {arguments.command}
    while arguments.command in _WITHOUT_OPTIONS and arguments.rest:
        # They have no options of their own, so those that stand behind them are these.
        at = len(argv) - len(arguments.rest) - 1
        argv = argv[:at] + argv[at + 1 :]
        arguments = parser.parse_args(argv)
        found.add(arguments.command)
        if arguments.command not in _WITHOUT_OPTIONS:
            parser.error(f"argument COMMAND: invalid choice: {arguments.command!r}: it cannot stand behind another")
    if "login" in found:
        # Wherever it stands: clients add it to the arguments they serve with, or put it in their place (`acp.md §3`).
        arguments.command = "login"
    return arguments


def host_choice(arguments: argparse.Namespace) -> HostChoice:
    """What the options and the environment say about hosts."""
    # Not before stdout is out of reach: what is imported may print something (`fault-cases.md C2`).
    from adapter.bridge.hosts.host_choice import HostChoice, host_environment

    return HostChoice(
        environ=host_environment(os.environ),
        home=Path.home(),
        muse=arguments.muse,
        startup_timeout=arguments.startup_timeout,
        frame_cap=arguments.msp_frame_cap,
        read_host_idle=arguments.read_host_idle,
        allow_all=arguments.allow_all,
    )


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError("must be a positive number of seconds")
    return value


def _idle_seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError("must be a number of seconds, not below 0")
    return value


def _bytes(text: str) -> int:
    value = int(text)
    if value < 1024:
        raise argparse.ArgumentTypeError("must be at least 1024 bytes")
    return value
