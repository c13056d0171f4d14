"""Asking a program something it answers at once: one bounded run, of which nothing is left afterwards."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO

import anyio
import msgspec

from host_probe import watching
from host_probe.child import Child
from host_probe.launch import launch

# Seconds to read on after the program has ended, for what it left in the pipe: a process it started may keep that open.
DRAIN_TIMEOUT = 0.25
# Seconds to wait for a killed process to be gone; only one stuck in the kernel needs longer.
REAP_TIMEOUT = 2.0
# Bytes kept of each of stdout and stderr; the rest is read and dropped, so that the program never waits for us.
KEPT_BYTES = 64 * 1024
READ_BYTES = 64 * 1024


class Output(msgspec.Struct, frozen=True):
    """What the program wrote in whole lines, and how it ended: `exit_code` is negative for a signal, and None if it was
    ended because its time was up."""

    stdout: bytes
    stderr: bytes
    exit_code: int | None


class _Kept:
    """The beginning of an output stream, at most `KEPT_BYTES` of it."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._cut = False

    def feed(self, chunk: bytes) -> None:
        room = KEPT_BYTES - len(self._data)
        self._data += chunk[:room]
        self._cut = self._cut or len(chunk) > room

    def whole_lines(self) -> bytes:
        """What was kept, without a last line that was cut: `1.2.10` cut after `1.2.1` would be another version."""
        return bytes(self._data[: self._data.rfind(b"\n") + 1] if self._cut else self._data)


async def run_briefly(command: Sequence[str], environ: Mapping[str, str], timeout: float) -> Output:
    """Run `command` for at most `timeout` seconds with nothing on its stdin.

    `environ` is its whole environment; `PROBE_ENVIRONMENT` is added. It has its own process group, and nothing of that
    group outlives this call, however it ends.

    Raises:
        OSError, ValueError: it could not be started.
    """
    return await hear_out(launch(command, environ), timeout)


async def hear_out(process: "subprocess.Popen[bytes]", timeout: float) -> Output:
    """The same for one that `launch` has started; the time counts from now."""
    stdout, stderr = _Kept(), _Kept()
    child = Child(process)
    with watching.watch(child.pid):
        try:
            with anyio.move_on_after(timeout) as limit:
                await _read_to_end(process, child, stdout, stderr)
        finally:
            await _end(process, child)
    exit_code = None if limit.cancelled_caught else child.exit_code
    return Output(stdout.whole_lines(), stderr.whole_lines(), exit_code)


async def _read_to_end(process: "subprocess.Popen[bytes]", child: Child, stdout: _Kept, stderr: _Kept) -> None:
    async with anyio.create_task_group() as readers:
        readers.start_soon(_keep, process.stdout, stdout)
        readers.start_soon(_keep, process.stderr, stderr)
        await child.wait()
        readers.cancel_scope.deadline = anyio.current_time() + DRAIN_TIMEOUT


async def _keep(stream: IO[bytes] | None, kept: _Kept) -> None:
    if stream is not None:
        while chunk := await _read(stream.fileno()):
            kept.feed(chunk)


async def _read(fd: int) -> bytes:
    if sys.platform == "win32":
        return await anyio.to_thread.run_sync(os.read, fd, READ_BYTES, abandon_on_cancel=True)
    await anyio.wait_readable(fd)
    return os.read(fd, READ_BYTES)


async def _end(process: "subprocess.Popen[bytes]", child: Child) -> None:
    """Kill what is left of the process's group, and reap. No grace: whoever prints a version has nothing to save."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
            os.killpg(child.pid, signal.SIGKILL)
    elif child.exit_code is None:
        process.kill()
    with anyio.move_on_after(REAP_TIMEOUT, shield=True):
        await child.wait()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()
