"""Asking a host for its version: one bounded `muse --version`, or none if the answer is remembered."""

import time
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from host_probe.cache import VersionCache
from host_probe.identity import identify
from host_probe.version import HostVersion, parse_version

# Seconds a host gets to print its version: about ten times what a cold one needs.
VERSION_TIMEOUT = 5.0

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

    `environ` is the child's whole environment. A version that was read is remembered in `cache`, a failure is not.
    Nothing of the child outlives this call; whatever goes wrong with it is in the answer's `problem`.
    """
    started = time.perf_counter()
    identity = identify(command, environ)
    if cache and identity and (remembered := cache.get(identity)):
        return Probe(version=remembered, elapsed_seconds=time.perf_counter() - started, cached=True)
    probe = await _ask([*command, "--version"], environ, timeout)
    # Not if the binary was replaced while it answered: which of the two spoke is then unknown.
    if cache and identity and probe.problem is None and identify(command, environ) == identity:
        cache.put(identity, probe.version)
    return msgspec.structs.replace(probe, elapsed_seconds=time.perf_counter() - started)


async def _ask(argv: list[str], environ: Mapping[str, str], timeout: float) -> Probe:
    # Here, because a warm start never needs them.
    import shlex

    from host_probe.brief_run import run_briefly

    shown = shlex.join(argv)
    try:
        output = await run_briefly(argv, environ, timeout)
    except (OSError, ValueError) as error:  # ValueError: a null character in an argument
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        return Probe(problem="spawnFailed", details=f"`{shown}` could not be started: {reason}.")
    version = parse_version(output.stdout, output.stderr)
    if output.exit_code is None:
        # What it printed so far may be half a version.
        details = f"`{shown}` did not end within {timeout:g} s."
        return Probe(version=HostVersion(raw=version.raw), problem="timeout", details=details)
    if version.release is None:
        said = f"printed {version.raw!r} and no version" if version.raw else "printed nothing"
        details = f"`{shown}` {said} (exit code {output.exit_code})."
        return Probe(version=version, problem="unreadable", details=details, exit_code=output.exit_code)
    return Probe(version=version, exit_code=output.exit_code)
