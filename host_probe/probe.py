"""Asking a host for its version: one bounded `muse --version`, or none if the answer is remembered."""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal

import anyio
import anyio.abc
import msgspec

from host_probe.cache import VersionCache
from host_probe.identity import identify
from host_probe.locate import resolve_program
from host_probe.version import HostVersion, parse_version

# Seconds a host gets to print its version: about ten times what a cold one needs.
VERSION_TIMEOUT = 5.0
# Seconds to read on after the host has ended, for what it left in the pipe: a process it started may keep that open.
DRAIN_TIMEOUT = 0.25
# Seconds to wait for a killed process to be gone; only one stuck in the kernel needs longer.
REAP_TIMEOUT = 2.0
# Bytes kept of each of stdout and stderr; the rest is read and dropped, so that the host never waits for us.
KEPT_BYTES = 64 * 1024

# Keeps a host from replacing its own binary because it was asked for its version (msp.md §23.1).
PROBE_ENVIRONMENT = {"MUSE_NO_AUTO_UPDATE": "1"}

Problem = Literal["timeout", "spawnFailed", "unreadable"]


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What came of asking: `version.release`, or a `problem` with a sentence for people in `details`.

    `exit_code` is negative for a signal and None if no process ended by itself. A version counts whatever it is.
    """

    version: HostVersion = HostVersion()
    problem: Problem | None = None
    details: str | None = None
    exit_code: int | None = None
    cached: bool = False
    elapsed_seconds: float = 0.0


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


def cached_version(command: Sequence[str], environ: Mapping[str, str], cache: VersionCache) -> HostVersion | None:
    """The remembered version of the binary that `command` runs, without a process or a task; None if there is none."""
    identity = identify(command, environ)
    return cache.get(identity) if identity else None


async def probe_version(
    command: Sequence[str],
    *,
    environ: Mapping[str, str],
    cache: VersionCache | None = None,
    timeout: float = VERSION_TIMEOUT,
) -> Probe:
    """Ask the host that `command` (a program and its leading arguments) runs for its version, within `timeout` seconds.

    `environ` is the child's whole environment; `PROBE_ENVIRONMENT` is added. A version that was read is remembered in
    `cache`, a failure is not. The child has its own process group, and nothing of that group outlives this call,
    however it ends. Whatever goes wrong with the child is in the answer's `problem`.
    """
    started = time.perf_counter()
    identity = identify(command, environ)
    if cache and identity and (remembered := cache.get(identity)):
        return Probe(version=remembered, elapsed_seconds=time.perf_counter() - started, cached=True)
    program = resolve_program(command[0], environ) or command[0]
    probe = await _ask([str(program), *command[1:], "--version"], {**environ, **PROBE_ENVIRONMENT}, timeout)
    # Not if the binary was replaced while it answered: which of the two spoke is then unknown.
    if cache and identity and probe.problem is None and identify(command, environ) == identity:
        cache.put(identity, probe.version)
    return msgspec.structs.replace(probe, elapsed_seconds=time.perf_counter() - started)


async def _ask(argv: list[str], environ: dict[str, str], timeout: float) -> Probe:
    import subprocess  # here, because a warm start never needs it

    shown = " ".join(argv)
    try:
        # Shielded, so that a cancellation cannot come between the start of the process and our holding it.
        with anyio.CancelScope(shield=True):
            process = await anyio.open_process(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environ,
                start_new_session=os.name == "posix",
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )
    except (OSError, ValueError) as error:  # ValueError: a null character in an argument
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return Probe(problem="spawnFailed", details=f"`{shown}` could not be started: {reason}.")

    stdout, stderr = _Kept(), _Kept()
    try:
        with anyio.move_on_after(timeout) as limit:
            await _read_to_end(process, stdout, stderr)
    finally:
        await _end(process)
    version = parse_version(stdout.whole_lines(), stderr.whole_lines())

    if limit.cancelled_caught:
        # What it printed so far may be half a version.
        details = f"`{shown}` did not end within {timeout:g} s."
        return Probe(version=HostVersion(raw=version.raw), problem="timeout", details=details)
    if version.release is None:
        said = f"printed {version.raw!r} and no version" if version.raw else "printed nothing"
        details = f"`{shown}` {said} (exit code {process.returncode})."
        return Probe(version=version, problem="unreadable", details=details, exit_code=process.returncode)
    return Probe(version=version, exit_code=process.returncode)


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
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):  # macOS answers EPERM for a group of zombies
            os.killpg(process.pid, signal.SIGKILL)
    elif process.returncode is None:
        process.kill()
    with anyio.move_on_after(REAP_TIMEOUT, shield=True):
        await process.wait()
        await process.aclose()
