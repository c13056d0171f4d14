"""`muse-adapter demo`: what a newcomer sees, that it can fail, and that it leaves nothing behind."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapter.cli import demo
from adapter.cli.demo_client import STEP_SECONDS
from adapter.cli.stop_signals import EXIT_INTERRUPTED
from tests.processes import proc
from tests.write_docs import DEMO as DOCUMENT
from tests.write_docs import DEMO_SECONDS, README, as_always, demo_in, some_of

DEMO = (sys.executable, "-m", "adapter.cli.entry", "demo")
MARK = "MUSE_ADAPTER_TEST_MARK"


class Place:
    """A home and a temporary directory for one demo, and a mark in the environment of everything it starts."""

    def __init__(self, path: Path) -> None:
        self.home, self.scratch = path / "home", path / "scratch"
        self.home.mkdir()
        self.scratch.mkdir()
        self.mark = uuid.uuid4().hex
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
        self.environ |= {"HOME": str(self.home), "TMPDIR": str(self.scratch), MARK: self.mark}
        self.environ |= {"PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            DEMO,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=DEMO_SECONDS,
            env=self.environ | more,
            cwd=self.home,
            check=False,
        )

    def processes(self) -> list[int]:
        """Living processes that were started by the demo, at any distance."""
        wanted = f"{MARK}={self.mark}".encode()
        return [pid for pid in _pids() if wanted in _environ(pid).split(b"\0")]

    def is_clean(self) -> bool:
        """Whether no process and no file is left; a killed adapter's host may need a moment to see that it is alone."""
        deadline = time.monotonic() + 5
        while self.processes() and time.monotonic() < deadline:
            time.sleep(0.02)
        return not self.processes() and not list(self.home.iterdir()) and not list(self.scratch.iterdir())


def _pids() -> Iterator[int]:
    return (int(path.name) for path in proc().iterdir() if path.name.isdigit())


def _environ(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


# -- a sound adapter


def test_the_demo_shows_what_the_documents_show_and_leaves_nothing(place: Place) -> None:
    done = place.run()

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    shown = as_always(done.stdout)
    assert demo_in(DOCUMENT.read_text("utf-8")) == shown, "run `make docs`"
    assert demo_in(README.read_text("utf-8")) == some_of(shown), "run `make docs`"
    assert place.is_clean()


def test_the_demo_is_coloured_on_a_terminal(place: Place) -> None:
    ours, theirs = pty.openpty()
    environ = place.environ | {"TERM": "xterm-256color"}
    environ.pop("NO_COLOR", None)
    with subprocess.Popen(DEMO, stdin=theirs, stdout=theirs, stderr=theirs, env=environ, cwd=place.home) as process:
        os.close(theirs)
        shown = b""
        try:
            while data := _read(ours):
                shown += data
            assert process.wait(DEMO_SECONDS) == 0, shown
        finally:
            os.close(ours)
            process.kill()
    assert b"\x1b[" in shown


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 65536)
    except OSError:  # a terminal whose last user has gone
        return b""


def test_a_terminal_without_unicode_still_gets_the_demo(place: Place) -> None:
    done = place.run(PYTHONIOENCODING="ascii", PYTHONUTF8="0")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "? session/prompt" in done.stdout


def test_the_users_muse_is_not_touched(place: Place) -> None:
    done = place.run(MUSE_EXECUTABLE=str(place.home / "not-there"))

    assert done.returncode == 0, done.stdout + done.stderr


def test_another_muse_is_refused() -> None:
    done = subprocess.run(
        [*DEMO[:-1], "--muse", "simulated", "demo"], capture_output=True, text=True, timeout=DEMO_SECONDS, check=False
    )

    assert done.returncode == 2
    assert "the demo always uses the simulated host" in done.stderr


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_interrupting_the_demo_leaves_nothing(place: Place, signum: signal.Signals) -> None:
    with subprocess.Popen(
        DEMO,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=place.environ,
        cwd=place.home,
    ) as process:
        try:
            assert process.stdout is not None and process.stderr is not None
            while "Hello, Muse" not in process.stdout.readline():
                assert process.poll() is None
            process.send_signal(signum)
            rest = process.stdout.read()
            complaints = process.stderr.read()
            assert process.wait(DEMO_SECONDS) == EXIT_INTERRUPTED
        finally:
            process.kill()
    assert "interrupted" not in rest and complaints == ""
    assert place.is_clean()


# -- a broken host


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ('{"at": "handshake", "do": "exit", "code": 3}', "Expected a result of session/new, but came: error -32603"),
        ('{"at": "item/readOutput", "do": "error"}', "Expected a result of _muse/readOutput, but came: error -32603"),
        (
            '{"at": "item/readOutput", "do": "result", "set": {"content": "x", "byteLen": 1}}',
            "Expected the 300000 bytes the command wrote, but came: '300000 bytes, not the same'",
        ),
        ('{"at": "session/resume", "do": "error"}', "Expected a result of session/load, but came: error -32603"),
        ('{"at": "session/start", "do": "error"}', "Expected a result of session/new, but came: error -32603"),
        ('{"at": "turn/start", "do": "die"}', "Expected a result of session/prompt, but came: error -32603"),
        ('{"at": "item/delta", "do": "die", "after": 4}', "The Muse host ended"),
        (
            '{"at": "item/completed", "do": "drop", "times": null}',
            "Expected the tool card to end as 'completed', but came: ",
        ),
        (
            '{"at": "approval/decide", "do": "params", "set": {"choiceId": "abort"}}',
            "Expected the text 'It is done ✓', but came: 'Then I leave it",
        ),
    ],
)
def test_a_broken_host_fails_the_demo_with_a_sentence(place: Place, fault: str, said: str) -> None:
    done = place.run(MUSE_SIMULATED_FAULTS=f"[{fault}]")

    assert done.returncode == 1, done.stdout
    assert "The demo failed." in done.stdout
    assert said in done.stdout
    assert "should be (" not in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert place.is_clean()


# -- a broken adapter

ANSWER = """
import json, sys
asked = json.loads(sys.stdin.readline())
print(json.dumps({{"jsonrpc": "2.0", "id": asked["id"], {}}}), flush=True)
sys.stdin.read()
"""
"""A program that answers the first request with these members, and no other."""

HELLO = (
    "'result': {'protocolVersion': 1, 'agentInfo': {'name': 'muse-adapter', 'version': '0'}, 'authMethods': [{}], "
    "'_meta': {'muse/output': {}}}"
)
FOLLOWED_BY_A_FAILURE = f"import subprocess, sys; subprocess.run({list(demo.ADAPTER)!r}); sys.exit(3)"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("input()", "Expected the adapter to answer, but it closed its output."),
        (
            "print('ready', flush=True); input()",
            "Expected updates, questions and answers, but came: The line is not valid JSON",
        ),
        (ANSWER.format("'error': {'code': -32603, 'message': 'No'}"), "but came: error -32603, No"),
        (ANSWER.format("'result': {}"), "missing required field `protocolVersion`"),
        (ANSWER.format(HELLO.replace("1", "2", 1)), "Expected protocol version 1, but came: 2"),
        (ANSWER.format(HELLO.replace("muse-", "")), "Expected to meet muse-adapter, but came: 'adapter'"),
        (ANSWER.format(HELLO.replace("[{}]", "[]")), "Expected a way to log in, but came: []"),
        (ANSWER.format(HELLO.replace("'muse/output'", "'x'")), "Expected stored output to be offered, but came: "),
        (ANSWER.format(HELLO), "Expected an answer to session/new within 1 s, but none came."),
        ("import sys; sys.stdin.read()", "Expected an answer to initialize within 1 s, but none came."),
        (FOLLOWED_BY_A_FAILURE, "Expected the adapter to end with exit code 0, but came: 3"),
    ],
)
def test_a_broken_adapter_fails_the_demo_with_a_sentence(
    program: str, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo, "ADAPTER", (sys.executable, "-c", program))
    # Enough for a conversation that is sound up to its end.
    step_seconds = STEP_SECONDS if program == FOLLOWED_BY_A_FAILURE else 1.0

    assert demo.main(step_seconds) == demo.EXIT_UNEXPECTED
    shown = capsys.readouterr().out
    assert "The demo failed." in shown
    assert said in shown
