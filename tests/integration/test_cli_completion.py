"""Completion of the command line: what is offered, in the words of each shell, and once in a real one."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from adapter.cli.commands.completion import SHELLS as ALL_SHELLS
from adapter.cli.commands.completion import Line, put_together
from adapter.cli.doctor.client_profiles import PROFILES as CLIENTS
from adapter.cli.options import COMMANDS, LOG_LEVELS, OPTIONS, flag
from adapter.hosts.simulated.profiles import PROFILES
from tests.output_command import SECONDS
from tests.unit.test_cli_options import muse_adapter

VARIABLE: Final = "_MUSE_ADAPTER_COMPLETE"

SHELLS: Final = ("bash", "zsh", "fish")

PROGRAM: Final = Path(sys.executable).parent / "muse-adapter"


def completed(line: str) -> list[str]:
    """What bash is offered at the end of a line, which it takes apart at `:` and `=` as well."""
    words = [part for word in line.split() for part in re.split("([:=]+)", word) if part]
    words += [""] if line.endswith(" ") else []
    asked = {"COMP_WORDS": "\n".join(words), "COMP_CWORD": str(len(words) - 1), VARIABLE: "complete_bash"}
    done = muse_adapter(**asked)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


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


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("muse-adapter --muse simulated:", list(PROFILES)),
        ("muse-adapter --muse simulated:1.3", ["1.3.0"]),
        ("muse-adapter --muse=sim", ["simulated", *(f"simulated:{one}" for one in PROFILES)]),
        ("muse-adapter --muse=simulated:1.3", ["1.3.0"]),
        ("muse-adapter --muse=simulated:1.3.0 dem", ["demo"]),
        ("muse-adapter doctor --log-level=d", ["debug"]),
        ("muse-adapter --log-level=", list(LOG_LEVELS)),
    ],
)
def test_a_word_that_bash_takes_apart_goes_on_where_bash_does(line: str, offered: list[str]) -> None:
    assert completed(line) == offered


@pytest.mark.parametrize(
    ("words", "whole", "before"),
    [
        (["m", "--muse", "simulated:1"], ["m", "--muse", "simulated:1"], ""),
        (["m", "--muse", "simulated", ":", "1"], ["m", "--muse", "simulated:1"], "simulated:"),
        (["m", "--muse", "simulated", ":"], ["m", "--muse", "simulated:"], "simulated:"),
        (["m", "--muse", "=", "a", ":", "b"], ["m", "--muse=a:b"], "--muse=a:"),
        (["m", "--muse", "=", ""], ["m", "--muse=", ""], ""),
        (["m", "--muse=a"], ["m", "--muse=a"], ""),
        (["m", "a", "b"], ["m", "a", "b"], ""),
        (["m", ""], ["m", ""], ""),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, list) else "",
)
def test_words_are_put_together_as_they_were_written(words: list[str], whole: list[str], before: str) -> None:
    assert put_together(words, len(words) - 1) == Line(whole, before)


def test_bash_that_takes_nothing_apart_gets_the_option_with_its_value() -> None:
    asked = {"COMP_WORDS": "muse-adapter\n--log-level=d", "COMP_CWORD": "1", VARIABLE: "complete_bash"}

    assert muse_adapter(**asked).stdout == "--log-level=debug\n"


def test_the_clients_that_the_doctor_knows_are_offered() -> None:
    assert completed("muse-adapter doctor --client ") == [profile.name for profile in CLIENTS]
    assert completed("muse-adapter doctor --client=z") == ["zed"]


@pytest.mark.parametrize("option", ["--show-completion", "--install-completion"])
def test_the_shells_are_offered(option: str) -> None:
    assert completed(f"muse-adapter {option} ") == list(ALL_SHELLS)


def test_where_files_belong_they_are_left_to_the_shell() -> None:
    assert completed("muse-adapter output s i -o ") == []


def test_other_shells_are_offered_the_same_with_what_it_does() -> None:
    asked = {"_TYPER_COMPLETE_ARGS": "muse-adapter si", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    fish = muse_adapter(**asked, **{VARIABLE: "complete_fish"})
    zsh = muse_adapter(**asked, **{VARIABLE: "complete_zsh"})

    assert fish.stdout == f"simulate\t{COMMANDS['simulate']}\n"
    assert f'"simulate":"{COMMANDS["simulate"]}"' in zsh.stdout
    assert (fish.stderr, zsh.stderr) == ("", "")


def test_other_shells_are_offered_the_value_of_an_option_with_the_option() -> None:
    asked = {"_TYPER_COMPLETE_ARGS": "muse-adapter --log-level=de", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}

    assert muse_adapter(**asked, **{VARIABLE: "complete_fish"}).stdout == "--log-level=debug\n"
    assert '(("--log-level=debug"))' in muse_adapter(**asked, **{VARIABLE: "complete_zsh"}).stdout


@pytest.mark.parametrize("columns", ["1", "40", "200"])
@pytest.mark.parametrize("line", ["", "output --", "--"])
def test_each_thing_that_is_offered_is_one_line_however_wide_the_terminal_is(columns: str, line: str) -> None:
    asked = {"_TYPER_COMPLETE_ARGS": f"muse-adapter {line}", "COLUMNS": columns, "TERMINAL_WIDTH": columns}
    fish = muse_adapter(**asked, **{VARIABLE: "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}).stdout
    zsh = muse_adapter(**asked, **{VARIABLE: "complete_zsh"}).stdout

    offered = [each.partition("\t")[0] for each in fish.splitlines()]
    assert offered == completed(f"muse-adapter {line}")
    items = zsh.removeprefix("_arguments '*: :((").removesuffix("))'\n").splitlines()
    assert [item.split('"')[1] for item in items] == offered


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"COMP_WORDS": "muse-adapter"},
        {"COMP_CWORD": "1"},
        {"COMP_WORDS": "muse-adapter\nd", "COMP_CWORD": "-1"},
        {"COMP_WORDS": "muse-adapter\nd", "COMP_CWORD": "x"},
        {"COMP_WORDS": "muse-adapter\nd", "COMP_CWORD": "99"},
        {"COMP_WORDS": "", "COMP_CWORD": "0"},
    ],
    ids=str,
)
@pytest.mark.parametrize("shell", ALL_SHELLS)
def test_a_shell_that_tells_half_of_the_line_gets_no_traceback(shell: str, environ: dict[str, str]) -> None:
    done = muse_adapter(**environ, **{VARIABLE: f"complete_{shell}"})

    assert done.returncode in (0, 1)
    assert done.stderr == ""
    assert "jsonrpc" not in done.stdout


@pytest.mark.parametrize("asked", ["1", "nonsense", "complete_nonsense", "nonsense_bash"])
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


@pytest.mark.parametrize(
    "argv",
    [
        ["--show-completion=zsh"],
        ["--muse", "x", "--show-completion", "zsh"],
        ["--show-completion", "zsh", "--muse", "--show-completion"],
        ["--muse=x", "--allow-all", "--show-completion", "zsh"],
        ["--muse", "--install-completion", "--show-completion", "zsh"],
    ],
    ids=" ".join,
)
def test_the_name_of_a_shell_is_taken_wherever_the_option_stands(argv: list[str]) -> None:
    done = muse_adapter(*argv)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"{VARIABLE}=complete_zsh" in done.stdout


@pytest.mark.parametrize("argv", [["--show-completion"], ["--show-completion", "--muse", "x"]], ids=" ".join)
def test_without_a_name_it_is_the_shell_this_is_called_from(argv: list[str]) -> None:
    line = " ".join([f"'{sys.executable}' -m adapter.cli.entry", *argv])
    done = subprocess.run(["bash", "-c", f"{line}; true"], capture_output=True, text=True, timeout=SECONDS, check=True)

    assert f"{VARIABLE}=complete_bash" in done.stdout


@pytest.mark.parametrize(
    ("argv", "problem"),
    [
        (["--show-completion", "zsh", "extra"], "No such command 'extra'."),
        (["--show-completion", "doctor"], "'--show-completion': must be one of bash, "),
        (["--show-completion", "zsh", "doctor"], "'--show-completion': goes with no command"),
        (["--install-completion", "bash", "serve"], "'--install-completion': goes with no command"),
        (["--show-completion", "zsh", "--install-completion"], "'--install-completion': goes without --show-"),
        (["doctor", "--show-completion"], "No such option '--show-completion'."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_else_is_written_beside_it_is_refused(tmp_path: Path, argv: list[str], problem: str) -> None:
    done = muse_adapter(*argv, HOME=str(tmp_path))

    assert (done.returncode, done.stdout) == (2, "")
    assert problem in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_help_says_that_a_shell_may_be_named() -> None:
    text = muse_adapter("--help").stdout

    assert "--install-completion [SHELL]" in text and "--show-completion [SHELL]" in text


@pytest.mark.parametrize("shell", SHELLS)
def test_a_file_that_cannot_be_written_is_named(tmp_path: Path, shell: str) -> None:
    place = tmp_path / "file"
    place.touch()
    done = muse_adapter("--install-completion", shell, HOME=str(place / "home"))

    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(rf"muse-adapter: completion cannot be set up: {place}/home.*: .+\n", done.stderr)


def test_settings_of_a_shell_that_cannot_be_read_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".zshrc").write_bytes(b"\xff\n")
    done = muse_adapter("--install-completion", "zsh", HOME=str(tmp_path))

    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"muse-adapter: completion cannot be set up: .+\n", done.stderr)
    assert (tmp_path / ".zshrc").read_bytes() == b"\xff\n"


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


# -- real shells


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
@pytest.mark.parametrize("columns", ["30", "200"])
def test_fish_completes_a_line(tmp_path: Path, columns: str) -> None:
    def offered(line: str) -> list[str]:
        script = f"{muse_adapter('--show-completion', 'fish').stdout}\ncomplete --do-complete '{line}'"
        environ = {"HOME": str(tmp_path), "COLUMNS": columns, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
        done = subprocess.run(
            ["fish", "--no-config", "-c", script],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=environ,
            check=True,
        )
        return [each.partition("\t")[0] for each in done.stdout.splitlines()]

    assert sorted(offered("muse-adapter ")) == sorted(COMMANDS)
    assert offered("muse-adapter --muse=simulated:1.3") == ["--muse=simulated:1.3.0"]
    assert sorted(offered("muse-adapter doctor --client ")) == sorted(profile.name for profile in CLIENTS)


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
def test_zsh_completes_a_line(tmp_path: Path) -> None:
    (tmp_path / ".zshrc").write_text(
        f"PS1='ready> '\nPATH={PROGRAM.parent}:$PATH\nunsetopt beep list_beep\n"
        "autoload -Uz compinit; compinit -u\n" + muse_adapter("--show-completion", "zsh").stdout
    )
    with at_a_terminal(tmp_path, ["zsh", "-i"], ZDOTDIR=str(tmp_path)) as terminal:
        read_past(terminal, b"ready> ")
        for typed, shown in (
            (b"simu", b"muse-adapter simulate "),
            (b"output s i --res", b"muse-adapter output s i --resume "),
            (b"--muse=simulated:1.3", b"muse-adapter --muse=simulated:1.3.0 "),
            (b"d", b"doctor  -- say whether it works here"),
        ):
            os.write(terminal, b"\x15muse-adapter " + typed + b"\t")
            read_past(terminal, shown)


# -- bash


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_completes_a_line(tmp_path: Path) -> None:
    (tmp_path / "rc").write_text(
        f"PS1='ready> '\nPATH={PROGRAM.parent}:$PATH\nbind 'set bell-style none'\n"
        + muse_adapter("--show-completion", "bash").stdout
    )
    (tmp_path / "a-file").touch()
    with at_a_terminal(tmp_path, ["bash", "--noprofile", "--rcfile", str(tmp_path / "rc"), "-i"]) as terminal:
        read_until(terminal, b"ready> ")
        os.write(terminal, b"muse-adapter simu\t")
        read_until(terminal, b"simulate ")
        for typed, shown in (
            (b"output s i --res", b"--resume "),
            (b"--muse simulated:1.3", b"--muse simulated:1.3.0 "),
            (b"--muse=simulated:1.3", b"--muse=simulated:1.3.0 "),
            (b"--muse=reco", b"--muse=recorded: "),
            (b"doctor --client z", b"--client zed "),
            (b"doctor --client=muse", b"--client=muse/output "),
            (b"--log-level=w", b"--log-level=warning "),
            (b"doctor --support -o a-f", b"-o a-file "),
        ):
            os.write(terminal, b"\x15muse-adapter " + typed + b"\t")
            read_until(terminal, shown)


@contextlib.contextmanager
def at_a_terminal(folder: Path, shell: list[str], **environ: str) -> Iterator[int]:
    """A shell that runs in a folder, which is its home, as our end of its terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.environ |= {"HOME": str(folder), "TERM": "dumb", "HISTFILE": "", "INPUTRC": "/dev/null", **environ}
        os.execvp(shell[0], shell)
    try:
        yield terminal
    finally:
        os.close(terminal)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
        os.waitpid(pid, 0)


def read_past(terminal: int, words: bytes) -> None:
    """Read until something is shown."""
    shown = b""
    while words not in shown:
        shown += os.read(terminal, 1024)


def read_until(terminal: int, end: bytes) -> None:
    """Read what is shown until it ends like this; a terminal that is closed raises."""
    shown = b""
    while not shown.endswith(end):
        shown += os.read(terminal, 1024)
