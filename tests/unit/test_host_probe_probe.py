"""Asking a host for its version: real scripts that behave and misbehave, on both event loops."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
import pytest
from pytest_subprocess import FakeProcess

from host_probe.brief_run import KEPT_BYTES
from host_probe.cache import FILE_NAME, VersionCache
from host_probe.identity import identify
from host_probe.probe import ask_version, cached_version, hear_version, probe_version
from host_probe.version import HostVersion

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts"),
]

ENVIRON = {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}
LINE = "Muse Code 1.2.1 (1.2.1-R2847.1)"
# Long enough for a script to get going on a busy machine, short enough to wait for.
SOON = 2.0
# Bound of the waits that should end much earlier.
GENEROUS = 30.0

Script = Callable[[str], Path]


@pytest.fixture
def script(tmp_path: Path) -> Script:
    def write(body: str) -> Path:
        path = tmp_path / "muse"
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    return write


@pytest.fixture
def cache(tmp_path: Path) -> VersionCache:
    return VersionCache(tmp_path / "cache")


def is_gone(pid: int) -> bool:
    """Whether a process has ended. An unreaped one counts: whose child it is now is not ours to choose."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return Path("/proc/self").exists()


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + GENEROUS
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def assert_all_gone(pids: list[int]) -> None:
    wait_until(lambda: all(is_gone(pid) for pid in pids))


def pids_in(path: Path, count: int) -> list[int]:
    wait_until(lambda: path.exists() and path.read_text().count("\n") >= count)
    return [int(line) for line in path.read_text().split()]


async def test_a_usual_host_is_asked_once_with_version(script: Script, tmp_path: Path) -> None:
    muse = script(f'echo "$@" > {tmp_path}/arguments; echo "{LINE}"')
    probe = await probe_version([str(muse), "--quiet"], environ=ENVIRON)
    assert probe.version == HostVersion("1.2.1", "1.2.1-R2847.1", LINE)
    assert (probe.problem, probe.details, probe.exit_code, probe.cached) == (None, None, 0, False)
    assert probe.elapsed_seconds > 0
    assert (tmp_path / "arguments").read_text() == "--quiet --version\n"


@pytest.mark.parametrize(
    ("body", "release", "build", "exit_code"),
    [
        pytest.param(f'echo "Welcome to Muse!"; echo; echo "{LINE}"', "1.2.1", "1.2.1-R2847.1", 0, id="banner"),
        pytest.param(f'echo "{LINE}" >&2', "1.2.1", "1.2.1-R2847.1", 0, id="stderr"),
        pytest.param(f'echo "{LINE}"; exit 1', "1.2.1", "1.2.1-R2847.1", 1, id="exit 1"),
        pytest.param('echo "1.4.0-R3057.1 (x)"', "1.4.0", "1.4.0-R3057.1", 0, id="odd line"),
        pytest.param("echo 1.2.1; kill -9 $$", "1.2.1", None, -signal.SIGKILL, id="killed"),
        pytest.param("cat; echo 1.2.1", "1.2.1", None, 0, id="reads stdin"),
        pytest.param("head -c 200000 /dev/zero >&2; echo 1.2.1", "1.2.1", None, 0, id="floods stderr first"),
        pytest.param("echo 1.2.1; head -c 200000 /dev/zero", "1.2.1", None, 0, id="floods stdout after"),
    ],
)
async def test_n8_unusual_hosts_are_still_read(
    script: Script, body: str, release: str, build: str | None, exit_code: int
) -> None:
    probe = await probe_version([str(script(body))], environ=ENVIRON, timeout=GENEROUS)
    assert probe.problem is None
    assert (probe.version.release, probe.version.build, probe.exit_code) == (release, build, exit_code)


@pytest.mark.parametrize(
    ("body", "said", "exit_code"),
    [
        ("echo no such option >&2; exit 2", "printed 'no such option' and no version (exit code 2)", 2),
        ("exit 0", "printed nothing (exit code 0)", 0),
    ],
)
async def test_n8_an_unreadable_answer_is_a_note(
    script: Script, cache: VersionCache, body: str, said: str, exit_code: int
) -> None:
    command = [str(script(body))]
    probe = await probe_version(command, environ=ENVIRON, cache=cache, timeout=GENEROUS)
    assert (probe.problem, probe.version.release, probe.exit_code) == ("unreadable", None, exit_code)
    assert probe.details is not None
    assert said in probe.details
    assert cached_version(command, ENVIRON, cache) is None


async def test_n8_a_version_cut_by_the_bound_is_not_taken_for_a_shorter_one(script: Script) -> None:
    start = KEPT_BYTES - len("\n1.2.1")
    body = f"head -c {start} /dev/zero | tr '\\0' x; echo; echo 1.2.10"
    probe = await probe_version([str(script(body))], environ=ENVIRON, timeout=GENEROUS)
    assert (probe.problem, probe.version.release) == ("unreadable", None)


async def test_n8_a_host_that_hangs_is_ended_in_time(script: Script, tmp_path: Path, cache: VersionCache) -> None:
    command = [str(script(f"echo $$ > {tmp_path}/pids; echo 1.2.1; sleep 1000"))]
    probe = await probe_version(command, environ=ENVIRON, cache=cache, timeout=SOON)
    assert (probe.problem, probe.version, probe.exit_code) == ("timeout", HostVersion(raw="1.2.1"), None)
    assert probe.details == f"`{command[0]} --version` did not end within 2 s."
    assert SOON <= probe.elapsed_seconds < GENEROUS
    assert_all_gone(pids_in(tmp_path / "pids", 1))
    assert cached_version(command, ENVIRON, cache) is None


async def test_n8_nothing_is_left_of_a_family_that_ignores_sigterm(script: Script, tmp_path: Path) -> None:
    body = f"""
        trap '' TERM HUP INT
        sh -c 'trap "" TERM HUP INT; echo $$ >> {tmp_path}/pids; sleep 1000; sleep 1000' &
        echo $$ >> {tmp_path}/pids
        wait; sleep 1000"""
    probe = await probe_version([str(script(body))], environ=ENVIRON, timeout=SOON)
    assert probe.problem == "timeout"
    assert_all_gone(pids_in(tmp_path / "pids", 2))


async def test_n8_a_child_that_keeps_the_pipes_open_delays_nothing_and_is_ended(script: Script, tmp_path: Path) -> None:
    body = f'sleep 1000 & echo $! > {tmp_path}/pids; echo "{LINE}"'
    probe = await probe_version([str(script(body))], environ=ENVIRON, timeout=GENEROUS)
    assert (probe.problem, probe.version.release) == (None, "1.2.1")
    assert probe.elapsed_seconds < GENEROUS
    assert_all_gone(pids_in(tmp_path / "pids", 1))


async def test_n8_a_cancelled_probe_leaves_nothing(script: Script, tmp_path: Path) -> None:
    muse = script(f"echo $$ > {tmp_path}/pids; sleep 1000")
    pids: list[int] = []
    async with anyio.create_task_group() as group:

        async def ask() -> None:
            await probe_version([str(muse)], environ=ENVIRON, timeout=GENEROUS)

        group.start_soon(ask)
        pids += await anyio.to_thread.run_sync(pids_in, tmp_path / "pids", 1)
        group.cancel_scope.cancel()
    assert_all_gone(pids)


async def test_n8_other_tasks_go_on_while_a_host_hangs(script: Script, tmp_path: Path) -> None:
    muse = script(f"while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo 1.2.1")
    async with anyio.create_task_group() as group:

        async def let_go() -> None:
            (tmp_path / "go").touch()

        group.start_soon(let_go)
        probe = await probe_version([str(muse)], environ=ENVIRON, timeout=GENEROUS)
    assert probe.version.release == "1.2.1"


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [
        (None, 0o755, "No such file"),
        (b"#!/bin/sh\necho 1.2.1\n", 0o644, "ermission denied"),
        (b"\x00\x01\x02", 0o755, "xec format error"),
        (b"#!/nonexistent/interpreter\n", 0o755, "No such file"),
    ],
    ids=["missing", "not executable", "not a program", "no interpreter"],
)
async def test_n8_a_host_that_cannot_be_started_is_a_note(
    tmp_path: Path, cache: VersionCache, content: bytes | None, mode: int, reason: str
) -> None:
    muse = tmp_path / "muse"
    if content is not None:
        muse.write_bytes(content)
        muse.chmod(mode)
    probe = await probe_version([str(muse)], environ=ENVIRON, cache=cache)
    assert (probe.problem, probe.version, probe.exit_code) == ("spawnFailed", HostVersion(), None)
    assert probe.details is not None
    assert reason in probe.details
    assert str(muse) in probe.details


async def test_an_argument_that_cannot_be_passed_is_a_note(script: Script) -> None:
    probe = await probe_version([str(script("echo 1.2.1")), "a\0b"], environ=ENVIRON)
    assert probe.problem == "spawnFailed"


async def test_the_child_gets_the_environment_and_must_not_update_itself(script: Script, tmp_path: Path) -> None:
    muse = script(f"env > {tmp_path}/environ; echo 1.2.1")
    await probe_version([str(muse)], environ={**ENVIRON, "ORCHARD": "pear", "MUSE_NO_AUTO_UPDATE": "0"})
    seen = (tmp_path / "environ").read_text().splitlines()
    assert "MUSE_NO_AUTO_UPDATE=1" in seen
    assert "ORCHARD=pear" in seen
    assert f"PATH={ENVIRON['PATH']}" in seen


async def test_the_child_leads_its_own_group(script: Script, tmp_path: Path) -> None:
    muse = script(f"ps -o pgid= -p $$ > {tmp_path}/group 2>/dev/null || true; echo $$ > {tmp_path}/pid; echo 1.2.1")
    await probe_version([str(muse)], environ=ENVIRON)
    group = (tmp_path / "group").read_text().strip()
    if not group:
        pytest.skip("needs ps")
    assert group == (tmp_path / "pid").read_text().strip() != str(os.getpgrp())


async def test_a_program_by_name_is_found_on_the_childs_path(script: Script, cache: VersionCache) -> None:
    environ = {"PATH": f"{script('echo 1.2.1').parent}:{ENVIRON['PATH']}"}
    probe = await probe_version(["muse"], environ=environ, cache=cache)
    assert probe.version.release == "1.2.1"
    assert cached_version(["muse"], environ, cache) == probe.version


async def test_a_stand_in_is_a_program_with_arguments(tmp_path: Path, cache: VersionCache) -> None:
    stand_in = tmp_path / "stand_in.py"
    stand_in.write_text("import sys; print(sys.argv[1], '1.2.1' if sys.argv[1] == 'a' else '1.3.0')")
    command = [sys.executable, str(stand_in)]
    versions = [
        (await probe_version([*command, name], environ=ENVIRON, cache=cache, timeout=GENEROUS)).version.release
        for name in ("a", "b", "a")
    ]
    assert versions == ["1.2.1", "1.3.0", "1.2.1"]


async def test_a_warm_start_runs_nothing(script: Script, cache: VersionCache, fp: FakeProcess) -> None:
    command = [str(script(f'echo "{LINE}"'))]
    fp.pass_command([*command, "--version"])

    assert cached_version(command, ENVIRON, cache) is None
    cold = await probe_version(command, environ=ENVIRON, cache=cache, timeout=GENEROUS)
    assert fp.call_count([*command, "--version"]) == 1

    warm = await probe_version(command, environ=ENVIRON, cache=cache)
    assert (cold.cached, warm.cached, warm.exit_code) == (False, True, None)
    assert warm.version == cold.version == cached_version(command, ENVIRON, cache)
    assert len(fp.calls) == 1


async def test_a_changed_binary_is_asked_again(script: Script, cache: VersionCache, fp: FakeProcess) -> None:
    command = [str(script("echo 1.2.1"))]
    fp.pass_command([*command, "--version"], occurrences=2)
    await probe_version(command, environ=ENVIRON, cache=cache, timeout=GENEROUS)
    script("echo 1.3.0; exit")
    assert cached_version(command, ENVIRON, cache) is None
    probe = await probe_version(command, environ=ENVIRON, cache=cache, timeout=GENEROUS)
    assert (probe.version.release, probe.cached) == ("1.3.0", False)


async def test_n8_a_failure_is_asked_again(
    script: Script, tmp_path: Path, cache: VersionCache, fp: FakeProcess
) -> None:
    command = [str(script(f"[ -e {tmp_path}/fixed ] && echo 1.2.1"))]
    fp.pass_command([*command, "--version"], occurrences=2)
    first = await probe_version(command, environ=ENVIRON, cache=cache, timeout=GENEROUS)
    (tmp_path / "fixed").touch()
    second = await probe_version(command, environ=ENVIRON, cache=cache, timeout=GENEROUS)
    assert (first.problem, second.problem, second.version.release) == ("unreadable", None, "1.2.1")


async def test_a_binary_that_replaced_itself_while_it_answered_is_not_remembered(
    script: Script, tmp_path: Path, cache: VersionCache
) -> None:
    muse = script('echo 1.2.1; cp "$0" "$0.new"; echo \'# updated\' >> "$0.new"; mv "$0.new" "$0"')
    before = identify([str(muse)], ENVIRON)
    probe = await probe_version([str(muse)], environ=ENVIRON, cache=cache, timeout=GENEROUS)
    assert probe.version.release == "1.2.1"
    assert identify([str(muse)], ENVIRON) != before
    assert not (tmp_path / "cache" / FILE_NAME).exists()


def test_importing_starts_no_machinery() -> None:
    """Start-up time: the modules that only a cold probe needs are not imported with the package."""
    code = (
        "import anyio, msgspec, pathlib, logging, sys\n"
        "import host_probe\n"
        "print([name for name in ('subprocess', 'asyncio', 'trio', 'tempfile', 'shutil') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=GENEROUS, check=True)
    assert done.stdout == "[]\n"


async def test_what_was_asked_on_no_event_loop_is_heard_on_one(script: Script, cache: VersionCache) -> None:
    muse = script(f"echo '{LINE}'")
    asked = ask_version([str(muse)], ENVIRON)
    probe = await hear_version(asked, cache=cache)
    assert (probe.version.release, probe.exit_code) == ("1.2.1", 0)
    assert cached_version([str(muse)], ENVIRON, cache) == probe.version


async def test_what_was_replaced_after_it_was_asked_is_not_remembered(script: Script, cache: VersionCache) -> None:
    muse = script(f"echo '{LINE}'")
    asked = ask_version([str(muse)], ENVIRON)
    asked.process.wait(GENEROUS)
    script("echo 'Muse Code 1.3.0 (1.3.0-R1.1)'")
    assert (await hear_version(asked, cache=cache)).version.release == "1.2.1"
    assert cached_version([str(muse)], ENVIRON, cache) is None


async def test_who_has_no_time_to_hear_it_ends_it(script: Script) -> None:
    asked = ask_version([str(script("sleep 600"))], ENVIRON)
    probe = await hear_version(asked, timeout=0)
    assert (probe.problem, probe.exit_code) == ("timeout", None)
    assert is_gone(asked.process.pid)
