"""`muse-adapter login`: the login of Muse in this terminal."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from types import FrameType

from adapter.cli.stop_signals import STOP_SIGNALS

STDIN = 0


def run_login(muse: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run `muse login` with our stdin and outputs, and give its exit code, in the way of a shell if a signal ended it.

    Signals that ask to stop are for the login to follow.
    """
    process: subprocess.Popen[bytes] | None = None
    arrived: list[int] = []

    def pass_on(signum: int, _frame: FrameType | None) -> None:
        if process is None:
            arrived.append(signum)
        elif signum != signal.SIGINT or not os.isatty(STDIN):
            # Ctrl-C reaches everybody on the terminal by itself, and twice may mean something else.
            process.send_signal(signum)

    for signum in STOP_SIGNALS:
        signal.signal(signum, pass_on)
    process = subprocess.Popen([*muse, "login"], env=dict(environ))
    for early in arrived:
        process.send_signal(early)
    code = process.wait()
    return code if code >= 0 else 128 - code
