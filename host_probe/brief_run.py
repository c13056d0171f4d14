"""Asking a program something it answers at once: one bounded run, of which nothing is left afterwards."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress

import anyio
import anyio.abc
import msgspec

from host_probe import watching
from host_probe.locate import resolve_program

# Seconds to read on after the program has ended, for what it left in the pipe: a process it started may keep that open.
DRAIN_TIMEOUT = 0.25
# Seconds to wait for a killed process to be gone; only one stuck in the kernel needs longer.
REAP_TIMEOUT = 2.0
# Bytes kept of each of stdout and stderr; the rest is read and dropped, so that the program never waits for us.
KEPT_BYTES = 64 * 1024

# Keeps a host from replacing its own binary because it was asked something (msp.md §23.1).
PROBE_ENVIRONMENT = {"MUSE_NO_AUTO_UPDATE": "1"}


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
    program = resolve_program(command[0], environ) or command[0]
    # Shielded, so that a cancellation cannot come between the start of the process and our holding it.
    with anyio.CancelScope(shield=True):
        try:
            process = await anyio.open_process(
                [str(program), *command[1:]],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**environ, **PROBE_ENVIRONMENT},
                start_new_session=sys.platform != "win32",
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
        except RuntimeError as error:  # no thread to wait for it with
            raise OSError(str(error)) from None
    stdout, stderr = _Kept(), _Kept()
    with watching.watch(process.pid):
        try:
            with anyio.move_on_after(timeout) as limit:
                await _read_to_end(process, stdout, stderr)
        finally:
            await _end(process)
    exit_code = None if limit.cancelled_caught else process.returncode
    return Output(stdout.whole_lines(), stderr.whole_lines(), exit_code)


async def _read_to_end(process: anyio.abc.Process, stdout: _Kept, stderr: _Kept) -> None:
    async with anyio.create_task_group() as readers:
        readers.start_soon(_keep, process.stdout, stdout)
        readers.start_soon(_keep, process.stderr, stderr)
        await process.wait()
        readers.cancel_scope.deadline = anyio.current_time() + DRAIN_TIMEOUT


async def _keep(stream: anyio.abc.ByteReceiveStream | None, kept: _Kept) -> None:
    if stream is not None:
        with suppress(anyio.BrokenResourceError):
            async for chunk in stream:
                kept.feed(chunk)


async def _end(process: anyio.abc.Process) -> None:
    """Kill what is left of the process's group, and reap. No grace: whoever prints a version has nothing to save."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
            os.killpg(process.pid, signal.SIGKILL)
    elif process.returncode is None:
        process.kill()
    with anyio.move_on_after(REAP_TIMEOUT, shield=True):
        await process.wait()
        await process.aclose()
