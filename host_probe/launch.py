"""Starting a program that is asked something it answers at once, on no event loop: `brief_run` hears the answer."""

import subprocess
import sys
from collections.abc import Mapping, Sequence

from host_probe.locate import resolve_program

# Keeps a host from replacing its own binary because it was asked something (msp.md §23.1).
PROBE_ENVIRONMENT = {"MUSE_NO_AUTO_UPDATE": "1"}


def launch(command: Sequence[str], environ: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start `command` in a process group of its own, with nothing on its stdin and a pipe for what it writes.

    `environ` is its whole environment; `PROBE_ENVIRONMENT` is added.

    Raises:
        OSError, ValueError: it could not be started.
    """
    return subprocess.Popen(
        [str(resolve_program(command[0], environ) or command[0]), *command[1:]],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        env={**environ, **PROBE_ENVIRONMENT},
        start_new_session=sys.platform != "win32",
        creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
    )
