"""A peer that runs: in a group of processes of its own, with bounded waits, gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

import orjson

from tests.benchmarks.client import LINE_BUFFER, Client, Json
from tests.benchmarks.peers.install import PeerAdapter

END_SECONDS: Final = 2.0
"""How long it may take to end with its input; codex-acp does not."""

SAID_CHARS: Final = 200


class NotMeasured(Exception):
    """A peer did not do what is measured; the text says why."""


class PeerClient(Client):
    """A client of a peer. Whatever goes wrong is told as `NotMeasured`."""

    def __init__(self, command: tuple[str, ...], home: Path, environ: dict[str, str]) -> None:
        self._log = home / "stderr.log"
        try:
            with self._log.open("wb") as log:
                self.process = subprocess.Popen(
                    command,
                    bufsize=LINE_BUFFER,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=home,
                    env=environ | {"HOME": str(home)},
                    start_new_session=True,
                )
        except OSError as error:
            raise NotMeasured(f"it cannot be started: {error}") from None
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout
        self._next_id = 0

    def ask(self, method: str, params: Json) -> int:
        """Send a request and give its id."""
        try:
            return super().ask(method, params)
        except OSError:
            raise self.ended() from None

    def until_answered(self, request_id: int) -> list[Json]:
        """The frames up to the answer to a request, which is the last and not an error."""
        try:
            frames = super().until_answered(request_id)
        except orjson.JSONDecodeError:
            raise self.ended() from None
        if "result" not in frames[-1]:
            raise NotMeasured(f"it answered with an error: {frames[-1].get('error')}")
        return frames

    def ended(self) -> NotMeasured:
        """That it ended, or wrote something else than frames, and the last it said."""
        lines = self._log.read_text(errors="replace").splitlines() or ["nothing"]
        return NotMeasured(f"it gave no answer; the last it said is: {lines[-1][-SAID_CHARS:]}")

    def kill(self) -> None:
        """End it and all it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)


@contextmanager
def running(peer: PeerAdapter, home: Path, seconds: float, **environ: str) -> Iterator[PeerClient]:
    """A client with its peer, for so long at most.

    Raises:
        NotMeasured: it is not installed or cannot be started, gave no answer, or gave it too late.
    """
    if peer.command is None:
        raise NotMeasured(peer.reason)
    client = PeerClient(peer.command, home, peer.environ | environ)
    late = threading.Event()

    def give_up() -> None:
        late.set()
        client.kill()

    timer = threading.Timer(seconds, give_up)
    timer.start()
    try:
        yield client
    except NotMeasured:
        if late.is_set():
            raise NotMeasured(f"it gave no answer within {seconds:g} s") from None
        raise
    finally:
        timer.cancel()
        timer.join()
        with suppress(OSError):
            client.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            client.process.wait(END_SECONDS)
        client.kill()
        client.process.wait()
        client.stdout.close()
