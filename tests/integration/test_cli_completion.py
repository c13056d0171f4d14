"""Completion of the command line: what is offered, in the words of each shell, and once in a real one."""

from __future__ import annotations

import contextlib
import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from adapter.cli.options import COMMANDS, LOG_LEVELS, OPTIONS, flag
from adapter.hosts.simulated.profiles import PROFILES
from tests.output_command import SECONDS
from tests.unit.test_cli_options import muse_adapter

VARIABLE: Final = "_MUSE_ADAPTER_COMPLETE"

SHELLS: Final = ("bash", "zsh", "fish")


def completed(line: str) -> list[str]:
    """What bash is offered at the end of a line."""
    words = line.split()
    at = len(words) if line.endswith(" ") else len(words) - 1
    done = muse_adapter(COMP_WORDS=line, COMP_CWORD=str(at), **{VARIABLE: "complete_bash"})
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


# -- what is offered


def test_the_commands_are_offered_first() -> None:
    assert completed("muse-adapter ") == list(COMMANDS)
    assert completed("muse-adapter --muse simulated d") == ["demo", "doctor"]


def test_the_global_options_are_offered_before_a_command_and_behind_it() -> None:
    options = {flag(name) for name in OPTIONS}

    assert options < set(completed("muse-adapter --"))
    assert options < set(completed("muse-adapter serve --"))
    assert set(completed("muse-adapter output --")) >= {"--ref", "--offset", "--length", "--resume", "--muse"}


@pytest.mark.parametrize("before", ["muse-adapter --log-level ", "muse-adapter output s i --log-level "])
def test_the_values_of_an_option_are_offered(before: str) -> None:
    assert completed(before) == list(LOG_LEVELS)


def test_the_stand_ins_for_muse_are_offered() -> None:
    assert completed("muse-adapter --muse ") == ["simulated", *(f"simulated:{one}" for one in PROFILES), "recorded:"]
    assert completed("muse-adapter --muse rec") == ["recorded:"]


def test_where_files_belong_they_are_left_to_the_shell() -> None:
    assert completed("muse-adapter output s i -o ") == []


def test_other_shells_are_offered_the_same_with_what_it_does() -> None:
    asked = {"_TYPER_COMPLETE_ARGS": "muse-adapter si", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    fish = muse_adapter(**asked, **{VARIABLE: "complete_fish"})
    zsh = muse_adapter(**asked, **{VARIABLE: "complete_zsh"})

    assert fish.stdout == f"simulate\t{COMMANDS['simulate']}\n"
    assert f'"simulate":"{COMMANDS["simulate"]}"' in zsh.stdout
    assert (fish.stderr, zsh.stderr) == ("", "")


@pytest.mark.parametrize("asked", ["nonsense", "complete_nonsense", "nonsense_bash"])
@pytest.mark.parametrize("argv", [[], ["serve"], ["--muse", "simulated"], ["login"]], ids=" ".join)
def test_who_asks_for_completion_never_gets_a_server(asked: str, argv: list[str]) -> None:
    done = muse_adapter(*argv, **{VARIABLE: asked})

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1


def test_an_empty_variable_asks_for_nothing() -> None:
    frame = b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n'
    done = subprocess.run(
        [sys.executable, "-m", "adapter.cli.entry", "--muse", "simulated"],
        input=frame,
        capture_output=True,
        timeout=SECONDS,
        check=True,
        env=os.environ | {VARIABLE: ""},
    )

    assert b'"protocolVersion":1' in done.stdout


# -- setting it up


@pytest.mark.parametrize("shell", SHELLS)
def test_what_sets_it_up_is_printed_for_the_shell_that_is_named(shell: str) -> None:
    done = muse_adapter("--show-completion", shell)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"{VARIABLE}=complete_{shell}" in done.stdout


@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
def test_a_shell_that_is_not_known_is_refused(tmp_path: Path, option: str) -> None:
    done = muse_adapter(option, "nosh", HOME=str(tmp_path))

    assert (done.returncode, done.stdout) == (2, "")
    assert "nosh" in done.stderr and "fish" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("shell", "files"),
    [
        ("bash", {".bashrc", ".bash_completions/muse-adapter.sh"}),
        ("zsh", {".zshrc", ".zfunc/_muse-adapter"}),
        ("fish", {".config/fish/completions/muse-adapter.fish"}),
    ],
)
def test_it_is_set_up_in_the_files_of_the_shell_only(tmp_path: Path, shell: str, files: set[str]) -> None:
    done = muse_adapter("--install-completion", shell, HOME=str(tmp_path))

    assert done.returncode == 0
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()} == files


# -- a real shell


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_a_line(tmp_path: Path) -> None:
    program = Path(sys.executable).parent / "muse-adapter"
    if not program.exists():
        pytest.skip("the script is not installed")
    (tmp_path / "rc").write_text(
        f"PS1='ready> '\nPATH={program.parent}:$PATH\nbind 'set bell-style none'\n"
        + muse_adapter("--show-completion", "bash").stdout
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"HOME": str(tmp_path), "TERM": "dumb", "HISTFILE": "", "INPUTRC": "/dev/null"}
        os.execvp("bash", ["bash", "--noprofile", "--rcfile", str(tmp_path / "rc"), "-i"])
    try:
        read_until(terminal, b"ready> ")
        os.write(terminal, b"muse-adapter simu\t")
        read_until(terminal, b"simulate ")
        os.write(terminal, b"\x15muse-adapter output s i --res\t")
        read_until(terminal, b"--resume ")
    finally:
        os.close(terminal)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
        os.waitpid(pid, 0)


def read_until(terminal: int, end: bytes) -> None:
    """Read what is shown until it ends like this; a terminal that is closed raises."""
    shown = b""
    while not shown.endswith(end):
        shown += os.read(terminal, 1024)
