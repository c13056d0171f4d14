"""What `docs/command-line.md` repeats of the help of all commands."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Final

from adapter.cli.options import COMMANDS

HEAD: Final = "## Commands\n"

SECONDS: Final = 60.0


def with_commands(text: str) -> str:
    """The document with the help of each command as it is."""
    return text.partition(HEAD)[0] + HEAD + "\n" + "\n".join(_sections())


def _sections() -> Iterator[str]:
    for name in COMMANDS:
        yield f"### {name}\n\n```text\n{_help(name)}```\n"


def _help(command: str) -> str:
    """What it says in a terminal of the usual width."""
    done = subprocess.run(
        [sys.executable, "-m", "adapter.cli.entry", command, "--help"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=True,
        env=os.environ | {"COLUMNS": "80"},
    )
    return "".join(f"{line.rstrip()}\n" for line in done.stdout.splitlines())
