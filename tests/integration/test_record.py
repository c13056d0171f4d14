"""`muse-adapter record` in the place of a command: nobody on either side can tell that it is there."""

from __future__ import annotations

import contextlib
import hashlib
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adapter.hosts.recorded import load_script
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

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

ODD = b"no JSON\r\n\xff\xfe\n\n" + b"y" * 100_000 + b"\n{}\n" + HELLO + "half a line: ä".encode()[:-1]


def test_bytes_pass_as_they_are_both_ways(tmp_path: Path) -> None:
    done = record(tmp_path / "out", ["cat"], ODD)

    assert (done.returncode, done.stdout, done.stderr) == (0, ODD, b"")
    said = {"client": b"", "server": b""}
    for line in load_script(tmp_path / "out").lines:
        said[line.direction] += line.written() + b"\n"
    kept = ODD.replace(b"\n\n", b"\n") + b"\n"
    assert said == {"client": kept, "server": kept}


def test_a_line_beyond_every_limit_passes(tmp_path: Path) -> None:
    program = "import sys, hashlib; d = sys.stdin.buffer.read(); print(len(d), hashlib.sha256(d).hexdigest())"
    sent = HELLO + b"z" * (40 << 20) + b"\n" + HELLO
    done = record(tmp_path / "out", python(program), sent)

    assert done.stdout == f"{len(sent)} {hashlib.sha256(sent).hexdigest()}\n".encode()
    assert [line.length for line in load_script(tmp_path / "out").lines] == [None, 40 << 20, None, None]


def test_half_a_line_is_passed_on_at_once(tmp_path: Path) -> None:
    with recording(tmp_path / "out", ["cat"]) as process:
        assert process.stdin is not None and process.stdout is not None
        for piece in (b"{", b'"jsonrpc"', HELLO[10:15], b"\xc3", b"\n"):
            process.stdin.write(piece)
            assert read_exactly(process.stdout.fileno(), len(piece)) == piece
        process.stdin.close()
        assert process.wait(SECONDS) == 0


def test_stderr_is_the_commands_own(tmp_path: Path) -> None:
    done = record(tmp_path / "out", python("import os; os.write(2, b'\\xffhalf'); os.write(1, b'out')"))

    assert (done.stdout, done.stderr) == (b"out", b"\xffhalf")


@pytest.mark.parametrize("code", [0, 1, 3, 77, 255])
def test_it_ends_with_the_same_code(tmp_path: Path, code: int) -> None:
    assert record(tmp_path / "out", python(f"import sys; sys.exit({code})"), HELLO).returncode == code


@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM", "SIGSEGV", "SIGINT"])
def test_it_dies_by_the_same_signal(tmp_path: Path, name: str) -> None:
    program = f"import os, signal; signal.signal(signal.SIGINT, signal.SIG_DFL); os.kill(os.getpid(), signal.{name})"
    done = record(tmp_path / "out", python(program))

    assert (done.returncode, done.stderr) == (-signal.Signals[name], b"")
    shell = [*RECORD, str(tmp_path / "out"), "--", *python(program)]
    told = subprocess.run(
        ["sh", "-c", '"$@"; echo $?', "sh", *shell], capture_output=True, timeout=SECONDS, check=False
    )
    assert told.stdout.split()[-1] == str(128 + signal.Signals[name]).encode()


def test_the_end_of_output_is_passed_on_while_the_command_runs(tmp_path: Path) -> None:
    program = "import os, sys; os.write(1, b'bye'); os.close(1); sys.exit(len(sys.stdin.buffer.read()))"
    with recording(tmp_path / "out", python(program)) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.read() == b"bye"
        assert process.poll() is None
        process.stdin.write(b"12345")
        process.stdin.close()
        assert process.wait(SECONDS) == 5


def test_a_client_that_stops_reading_is_noticed_by_the_command(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\nsignal.signal(signal.SIGPIPE, signal.SIG_IGN)\n"
        "try:\n  while True: os.write(1, b'x' * 65536)\nexcept BrokenPipeError: sys.exit(9)"
    )
    with recording(tmp_path / "out", python(program)) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.wait(SECONDS) == 9


def test_a_command_that_stops_reading_is_noticed_by_the_client(tmp_path: Path) -> None:
    program = "import os, time; os.close(0); os.write(1, b'.'); time.sleep(100)"
    with recording(tmp_path / "out", python(program)) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.read(1) == b"."
        with pytest.raises(BrokenPipeError):
            for _ in range(1000):
                process.stdin.write(b"x" * 65536)


@pytest.mark.parametrize("slow", ["client", "command"])
def test_who_reads_slowly_stops_who_writes_and_memory_stays(tmp_path: Path, slow: str) -> None:
    program = (
        f"import os\nwhile True: os.write(1, {HELLO!r} * 1000)" if slow == "client" else "import time; time.sleep(600)"
    )
    transcript = tmp_path / "out" / "transcript.ndjson"
    with recording(tmp_path / "out", python(program)) as process:
        assert process.stdin is not None
        process.stdin.write(HELLO)
        until(transcript.exists, "nothing was recorded")
        os.set_blocking(process.stdin.fileno(), False)
        sizes = [0, 1]
        # What the pipes hold is taken; then nothing more is.
        while sizes[-1] != sizes[-2]:
            if slow == "command":
                with contextlib.suppress(BlockingIOError):
                    while process.stdin.write(HELLO * 1000) and transcript.stat().st_size < 100 << 20:
                        pass
            time.sleep(1)
            sizes.append(transcript.stat().st_size)
            assert sizes[-1] < 50 << 20
        status = Path(f"/proc/{process.pid}/status").read_text()
        (resident,) = [int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")]
        assert resident < 100 << 10


# -- signals and ends


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP"])
def test_a_signal_is_passed_on_with_the_end_of_input(tmp_path: Path, name: str) -> None:
    program = (
        "import os, signal, sys\n"
        f"signal.signal(signal.{name}, lambda *_: os.write(1, b'signal\\n'))\n"
        "os.write(1, b'ready\\n'); sys.stdin.buffer.read(); os.write(1, b'end\\n'); sys.exit(4)"
    )
    with recording(tmp_path / "out", python(program)) as process:
        assert process.stdout is not None
        assert read_exactly(process.stdout.fileno(), 6) == b"ready\n"
        process.send_signal(signal.Signals[name])
        assert process.stdout.read() == b"signal\nend\n"
        assert process.wait(SECONDS) == 4


def test_a_signal_is_noticed_whichever_thread_gets_it(tmp_path: Path) -> None:
    # The kernel may give it to any, or to the main thread in the moment before that begins to wait.
    program = (
        "import signal, sys, threading, time\nfrom pathlib import Path\nfrom adapter.hosts.recorder import relay\n"
        "def send():\n"
        "  time.sleep(1)\n"
        "  signal.pthread_kill(threading.get_ident(), signal.SIGTERM)\n"
        "  time.sleep(600)\n"
        "threading.Thread(target=send, daemon=True).start()\n"
        "relay.leave(relay.record(Path(sys.argv[1]), ['sleep', '600'], redact=False))"
    )
    done = subprocess.run(
        python(program, str(tmp_path / "out")), stdin=subprocess.PIPE, capture_output=True, timeout=SECONDS, check=False
    )
    assert done.returncode == -signal.SIGTERM


@pytest.mark.parametrize("delay", [0.0, 0.02, 0.05, 0.1, 0.2, 0.4])
def test_ctrl_c_is_quiet_whenever_it_comes(tmp_path: Path, delay: float) -> None:
    with recording(tmp_path / "out", ["sleep", "600"]) as process:
        assert process.stdout is not None and process.stderr is not None
        until(lambda: begun(process.pid), "the recorder did not begin")
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        assert process.wait(SECONDS) in (-signal.SIGINT, 130)
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")


def begun(pid: int) -> bool:
    """Whether the recorder has come as far as its imports. Before, Python itself answers, with a traceback."""
    return "orjson" in Path(f"/proc/{pid}/maps").read_text()


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; os.write(1, b'ready\\n'); sys.exit(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    )
    words = [*RECORD, str(tmp_path / "out"), "--", *python(program)]
    for ignored, code in ((b"'' HUP", 1), (b"- HUP", 0)):
        done = subprocess.run(
            ["sh", "-c", f'trap {ignored.decode()}; "$@"', "sh", *words],
            timeout=SECONDS,
            check=False,
            capture_output=True,
        )
        assert (done.returncode, done.stdout) == (code, b"ready\n")


@pytest.mark.parametrize(("closed", "seen"), [("<&-", b"0\n"), (">&-", b""), ("2>&-", b"0\n")])
def test_it_works_with_a_closed_descriptor(tmp_path: Path, closed: str, seen: bytes) -> None:
    words = [*RECORD, str(tmp_path / "out"), "--", *python("import sys; print(len(sys.stdin.read()))")]
    done = subprocess.run(
        ["sh", "-c", f'"$@" {closed}', "sh", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )

    assert (done.returncode, done.stdout) == (0, seen)


def test_what_was_opened_for_the_command_is_there(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    words = [*RECORD, str(tmp_path / "out"), "--", *python(f"import os; os.write({writing}, b'here')")]
    with subprocess.Popen(words, stdin=subprocess.DEVNULL, pass_fds=[writing]) as process:
        os.close(writing)
        assert read_exactly(reading, 5) == b"here"
        assert process.wait(SECONDS) == 0
    os.close(reading)


def test_a_command_that_does_not_care_is_killed_with_all_it_started(tmp_path: Path) -> None:
    program = (
        "import os, signal, subprocess, sys, time\n"
        "for s in (signal.SIGTERM, signal.SIGINT): signal.signal(s, signal.SIG_IGN)\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "os.write(1, f'{os.getpid()} {child.pid}\\n'.encode()); time.sleep(600)"
    )
    with recording(tmp_path / "out", python(program)) as process:
        assert process.stdout is not None
        pids = [int(word) for word in process.stdout.readline().split()]
        process.send_signal(signal.SIGINT)
        process.send_signal(signal.SIGTERM)
        assert process.wait(SECONDS) == -signal.SIGKILL
        until(lambda: not any(map(alive, pids)), "something was left")


def test_what_a_command_leaves_running_is_ended(tmp_path: Path) -> None:
    program = (
        "import os, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "os.write(1, f'{child.pid}\\n'.encode())"
    )
    done = record(tmp_path / "out", python(program))

    assert done.returncode == 0
    until(lambda: not alive(int(done.stdout)), "the grandchild was left")


def test_killing_the_recorder_kills_the_command_and_loses_no_frame(tmp_path: Path) -> None:
    program = (
        f"import os, sys, time\nsys.stdin.readline(); os.write(1, {WELCOME!r})\n"
        f"os.write(1, str(os.getpid()).encode() + b'\\n' + {WELCOME!r} * 2000); time.sleep(600)"
    )
    with recording(tmp_path / "out", python(program)) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(HELLO)
        assert process.stdout.readline() == WELCOME
        pid = int(process.stdout.readline())
        seen = read_exactly(process.stdout.fileno(), 2000 * len(WELCOME))
        process.kill()
        process.wait(SECONDS)
        until(lambda: not alive(pid), "the command was left")

    script = load_script(tmp_path / "out")
    written = b"".join(line.written() + b"\n" for line in script.lines if line.direction == "server")
    assert seen == WELCOME * 2000 and written == WELCOME + f"{pid}\n".encode() + seen
    assert script.manifest.protocol == "msp" and script.note is None


# -- what cannot be done


def test_a_command_that_cannot_be_started_is_said_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    missing, text = record(tmp_path / "out", ["./nowhere"], HELLO), record(tmp_path / "out", [str(tmp_path / "text")])

    assert (missing.returncode, missing.stdout) == (127, b"") and b"./nowhere cannot be started" in missing.stderr
    assert (text.returncode, text.stdout) == (126, b"")
    assert not (tmp_path / "out").exists()


def test_a_recording_that_cannot_be_written_disturbs_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = record(tmp_path / "file" / "out", ["cat"], HELLO * 5000)

    assert (done.returncode, done.stdout) == (0, HELLO * 5000)
    assert done.stderr.count(b"\n") == 1 and b"muse-adapter record: the recording ends here" in done.stderr


@pytest.mark.parametrize("redact", [[], ["--redact"]], ids=["plain", "redacted"])
def test_a_disk_that_fills_up_disturbs_nobody(tmp_path: Path, redact: list[str]) -> None:
    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_001, 100_001))

    words = [*RECORD, str(tmp_path / "out"), *redact, "--", "cat"]
    done = subprocess.run(
        words, input=HELLO * 5000, capture_output=True, timeout=SECONDS, check=False, preexec_fn=small_disk
    )

    assert (done.returncode, done.stdout) == (0, HELLO * 5000)
    assert done.stderr.count(b"\n") == 1 and b"File too large" in done.stderr
    # Whole lines are left, and play.
    assert load_script(tmp_path / "out").note is None


@pytest.mark.parametrize(
    "words", [[], ["out"], ["out", "--"], ["--", "cat"], ["out", "--nonsense", "--", "cat"], ["/", "--", "cat"]]
)
def test_a_wrong_command_line_is_a_usage_error(tmp_path: Path, words: list[str]) -> None:
    done = subprocess.run(
        [*RECORD, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False, cwd=tmp_path
    )

    assert (done.returncode, done.stdout) == (2, b"") and b"muse-adapter" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_run_without_a_conversation_leaves_no_recording(tmp_path: Path) -> None:
    done = record(tmp_path / "out", python("print('Muse Code 1.2.1 (1.2.1-R2847.1)')"))

    assert done.stdout == b"Muse Code 1.2.1 (1.2.1-R2847.1)\n"
    assert not list(tmp_path.iterdir())
