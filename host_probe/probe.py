"""Asking a host for its version: one bounded `muse --version`, or none if the answer is remembered."""

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from host_probe.cache import VersionCache
from host_probe.identity import BinaryIdentity, identify
from host_probe.version import HostVersion, parse_version

if TYPE_CHECKING:
    import subprocess

    from host_probe.brief_run import Output

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


class VersionAsked(NamedTuple):
    """A `--version` that has been started; `identity` is the binary's before that."""

    argv: list[str]
    environ: Mapping[str, str]
    identity: BinaryIdentity | None
    process: "subprocess.Popen[bytes]"


def ask_version(command: Sequence[str], environ: Mapping[str, str]) -> VersionAsked:
    """Start asking, on no event loop, for `hear_version`. `environ` is the child's whole environment.

    Raises:
        OSError, ValueError: it could not be started.
    """
    # Here, because a warm start never needs it.
    from host_probe.launch import launch

    identity, argv = identify(command, environ), [*command, "--version"]
    return VersionAsked(argv, environ, identity, launch(argv, environ))


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
    try:
        asked = ask_version(command, environ)
    except (OSError, ValueError) as error:  # ValueError: a null character in an argument
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        details = f"`{_shown([*command, '--version'])}` could not be started: {reason}."
        return Probe(problem="spawnFailed", details=details, elapsed_seconds=time.perf_counter() - started)
    return await hear_version(asked, cache=cache, timeout=timeout)


async def hear_version(
    asked: VersionAsked, *, cache: VersionCache | None = None, timeout: float = VERSION_TIMEOUT
) -> Probe:
    """The same for a question that has been begun; the time counts from now."""
    from host_probe.brief_run import hear_out

    started = time.perf_counter()
    probe = _judged(asked, await hear_out(asked.process, timeout), timeout)
    # Not if the binary was replaced while it answered: which of the two spoke is then unknown.
    identity = asked.identity
    if cache and identity and probe.problem is None and identify(asked.argv[:-1], asked.environ) == identity:
        cache.put(identity, probe.version)
    return msgspec.structs.replace(probe, elapsed_seconds=time.perf_counter() - started)


def _judged(asked: VersionAsked, output: "Output", timeout: float) -> Probe:
    version = parse_version(output.stdout, output.stderr)
    if output.exit_code is None:
        # What it printed so far may be half a version.
        details = f"`{_shown(asked.argv)}` did not end within {timeout:g} s."
        return Probe(version=HostVersion(raw=version.raw), problem="timeout", details=details)
    if version.release is None:
        said = f"printed {version.raw!r} and no version" if version.raw else "printed nothing"
        details = f"`{_shown(asked.argv)}` {said} (exit code {output.exit_code})."
        return Probe(version=version, problem="unreadable", details=details, exit_code=output.exit_code)
    return Probe(version=version, exit_code=output.exit_code)


def _shown(argv: Sequence[str]) -> str:
    import shlex

    return shlex.join(argv)
