"""How a recorded command ends, what is known of it afterwards, and that the recorder ends when it is told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adapter.hosts.recorded import Ended, load_script
from tests.adapter_process import running_adapter
from tests.integration.recorded_run import (
    HELLO,
    RECORD,
    SECONDS,
    WELCOME,
    alive,
    python,
    read_exactly,
    record,
    recording,
    until,
)
from tests.integration.test_record_sessions import REPLAY, recording_muse, replay, script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and groups as POSIX has them")

GREETS = f"import os, sys; sys.stdin.readline(); os.write(1, {WELCOME!r}); "


# -- told to stop


@pytest.mark.parametrize("ends", [True, False], ids=["ended", "running"])
def test_a_client_that_does_not_read_cannot_hold_it(tmp_path: Path, ends: bool) -> None:
    program = (
        "import os, signal\n"
        f"signal.signal(signal.SIGTERM, signal.{'SIG_DFL' if ends else 'SIG_IGN'})\n"
        "while True: os.write(1, b'x' * 65536)"
    )
    with recording(tmp_path / "out", python(program)) as process:
        assert process.stdout is not None
        read_exactly(process.stdout.fileno(), 1 << 20)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == -(signal.SIGTERM if ends else signal.SIGKILL)


def test_a_client_that_does_not_read_is_waited_for_until_it_is_told_to_stop(tmp_path: Path) -> None:
    program = "import os; os.write(1, b'%d\\n' % os.getpid()); os.write(1, b'x' * (4 << 20))"
    with recording(tmp_path / "out", python(program)) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(3)
        os.kill(pid, signal.SIGKILL)
        until(lambda: not alive(pid), "the command was left")
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == -signal.SIGKILL


def test_a_client_that_reads_gets_all_that_was_said_after_it_was_told_to_stop(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "signal.signal(signal.SIGTERM, lambda *_: (os.write(1, b'y' * (1 << 20)), sys.exit(3)))\n"
        "os.write(1, b'.'); signal.pause()"
    )
    with recording(tmp_path / "out", python(program)) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"."
        process.send_signal(signal.SIGTERM)
        assert process.stdout.read() == b"y" * (1 << 20)
        assert process.wait(SECONDS) == 3


@pytest.mark.parametrize("name", ["SIGUSR1", "SIGUSR2", "SIGALRM", "SIGWINCH", "SIGCONT", "SIGURG"])
def test_other_signals_are_passed_on_and_end_nothing(tmp_path: Path, name: str) -> None:
    # A handler would run only when a read of stdin that has begun right before the signal has ended.
    program = (
        "import os, signal, sys, threading\n"
        f"signals = [signal.{name}]\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, signals)\n"
        "def tell():\n"
        "    while signal.sigwait(signals): os.write(1, b'signal\\n')\n"
        "threading.Thread(target=tell, daemon=True).start()\n"
        "os.write(1, b'ready\\n'); sys.stdin.buffer.read(); os._exit(4)"
    )
    with recording(tmp_path / "out", python(program)) as process:
        assert process.stdin is not None and process.stdout is not None
        assert read_exactly(process.stdout.fileno(), 6) == b"ready\n"
        for _ in range(2):
            process.send_signal(signal.Signals[name])
            assert read_exactly(process.stdout.fileno(), 7) == b"signal\n"
        process.stdin.close()
        assert process.wait(SECONDS) == 4


def test_a_signal_that_the_command_does_not_expect_ends_both(tmp_path: Path) -> None:
    with recording(tmp_path / "out", python("import os, time; os.write(1, b'.'); time.sleep(600)")) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"."
        process.send_signal(signal.SIGUSR1)
        assert process.wait(SECONDS) == -signal.SIGUSR1


def test_what_is_left_running_with_the_output_is_not_waited_for_and_that_is_said(tmp_path: Path) -> None:
    program = (
        "from subprocess import *\np = Popen(['sleep', '600'], start_new_session=True, stderr=DEVNULL); print(p.pid)"
    )
    done = record(tmp_path / "out", python(program))
    os.kill(int(done.stdout), signal.SIGKILL)

    assert done.returncode == 0 and b"is not waited for" in done.stderr


# -- what is known of it afterwards


@pytest.mark.parametrize(
    ("program", "ended"),
    [
        (GREETS + "sys.exit(7)", Ended(exit_code=7)),
        (GREETS + "sys.exit(0)", Ended(exit_code=0)),
        (GREETS + "os.kill(os.getpid(), 9)", Ended(signal=9)),
    ],
    ids=["code", "zero", "signal"],
)
def test_a_command_that_ended_by_itself_ends_when_it_is_played(tmp_path: Path, program: str, ended: Ended) -> None:
    with recording(tmp_path / "out", python(program)) as process:
        assert process.stdin is not None
        process.stdin.write(HELLO)
        assert process.wait(SECONDS) == ended.code
    assert load_script(tmp_path / "out").manifest.ended == ended

    words = [*RECORD[:-1], "replay", str(tmp_path / "out"), "serve"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as played:
        assert played.stdin is not None and played.stdout is not None
        played.stdin.write(HELLO)
        played.stdin.flush()
        # The client's end is still open.
        assert played.stdout.read() == WELCOME
        assert played.wait(SECONDS) == ended.code


def test_a_command_that_ended_with_its_input_is_played_to_its_end(tmp_path: Path) -> None:
    record(tmp_path / "out", python(GREETS + "sys.stdin.read(); sys.exit(7)"), HELLO)

    assert load_script(tmp_path / "out").manifest.ended is None
    done = replay(tmp_path / "out", stdin=HELLO)
    assert (done.returncode, done.stdout) == (0, WELCOME)


def test_a_command_that_was_told_to_end_did_not_end_by_itself(tmp_path: Path) -> None:
    with recording(tmp_path / "out", python(GREETS + "import time; time.sleep(600)")) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(HELLO)
        assert process.stdout.readline() == WELCOME
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == -signal.SIGTERM

    recorded = load_script(tmp_path / "out")
    assert recorded.manifest.ended is None and len(recorded.lines) == 2


# What is asked of the next host at once, after the death of one, comes in the order in which tasks are begun, which on
# trio is another each time; a recording is played in the order it has.
@pytest.mark.skipif("on_trio" in sys.modules, reason="trio begins tasks in any order")
def test_an_adapter_sees_a_recorded_host_die_as_it_saw_the_host(tmp_path: Path) -> None:
    def converse(muse: Path) -> dict[str, Any]:
        with running_adapter(tmp_path, muse=str(muse)) as adapter:
            adapter.initialize()
            session_id = adapter.new_session(tmp_path)
            prompt = [{"type": "text", "text": "hello"}]
            refused = adapter.refused("session/prompt", {"sessionId": session_id, "prompt": prompt})
            assert adapter.finish() == 0
        return refused

    dies = 'MUSE_SIMULATED_FAULTS=[{"at": "turn/start", "do": "die"}]'
    first = converse(script(tmp_path / "dying", "env", dies, recording_muse(tmp_path, "1.2.1")))
    assert first["data"]["reason"] == "hostDied"

    # It tries again once, with another host.
    replaying = tmp_path / "replaying"
    replaying.write_text(
        f"""#!/bin/sh
        played='{tmp_path}/out'
        case "$*" in
          *--help* | --version) ;;
          *) mkdir '{tmp_path}/one' 2> /dev/null || played='{tmp_path}/out-2' ;;
        esac
        exec {" ".join(REPLAY)} "$played" "$@"
        """
    )
    replaying.chmod(0o755)
    again = converse(replaying)
    # What was noticed first, its end or that of its output, and its last words are not recorded.
    for error in (first, again):
        del error["data"]["details"]
    assert again == first


@pytest.mark.parametrize("name", ["transcript.ndjson", "manifest.json"])
@pytest.mark.parametrize("kind", ["fifo", "endless", "folder"])
def test_what_is_no_file_is_not_read(tmp_path: Path, name: str, kind: str) -> None:
    record(tmp_path / "out", ["cat"], HELLO)
    path = tmp_path / "out" / name
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "endless":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    done = replay(tmp_path / "out")

    assert done.returncode == 3 and f"{name} in {tmp_path / 'out'} ".encode() in done.stderr
