"""Signals that come too early or too late for the loop: a start and an end without traces."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.adapter_process import EXIT_SECONDS

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the signals are those of POSIX")

SIGNALS = pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])


@contextmanager
def starting(home: Path, *python: str) -> Iterator[subprocess.Popen[bytes]]:
    """An adapter whose client says nothing."""
    with subprocess.Popen(
        [sys.executable, *python, "-m", "adapter.cli.entry", "--muse", "simulated"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=home,
        env=os.environ | {"HOME": str(home)},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.acp(23)
@SIGNALS
@pytest.mark.parametrize("module", ["adapter.msp.budgets", "adapter.cli.options", "anyio", "adapter.bridge.agent"])
def test_a_signal_while_it_starts_is_a_quiet_end(tmp_path: Path, module: str, signum: signal.Signals) -> None:
    with starting(tmp_path, "-X", "importtime") as process:
        assert process.stderr is not None and process.stdout is not None
        for line in process.stderr:
            if line.split(b"|")[-1].strip() == module.encode():
                break
        process.send_signal(signum)
        rest = process.stderr.read()
        assert process.wait(EXIT_SECONDS) == 0, rest
        assert b"Traceback" not in rest
        assert process.stdout.read() == b""


@pytest.mark.acp(23)
@SIGNALS
def test_signals_until_it_is_gone_do_not_change_how_it_ends(tmp_path: Path, signum: signal.Signals) -> None:
    with starting(tmp_path) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.write(b"{}\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.stdin.close()
        while process.poll() is None:
            process.send_signal(signum)
        assert process.returncode == 0
        assert b"Traceback" not in process.stderr.read()
