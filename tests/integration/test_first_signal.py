"""The first stop signal is noticed at once, whatever the main thread is doing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the signals are those of POSIX")

SECONDS = 20.0

PROGRAM = """
import signal, sys, threading, time
import anyio
from adapter.cli.first_signal import first_stop_signal

def send():
    while signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        time.sleep(0.01)
    time.sleep(0.2)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    time.sleep(600)

threading.Thread(target=send, daemon=True).start()
anyio.run(first_stop_signal, backend=sys.argv[1])
print(signal.getsignal(signal.SIGTERM) == signal.SIG_IGN, signal.set_wakeup_fd(-1))
"""


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_a_signal_is_noticed_whichever_thread_gets_it(backend: str) -> None:
    # The kernel may give it to any, or to the main thread in the moment before that begins to wait.
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, backend], capture_output=True, text=True, timeout=SECONDS, check=False
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "True -1\n"
