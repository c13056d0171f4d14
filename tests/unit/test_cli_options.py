"""The command line, up to the point where a command takes over."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from adapter import __version__
from adapter.cli.options import COMMANDS, read_arguments
from adapter.msp.budgets import STARTUP_TIMEOUT
from adapter.wire.framing import ACP_FRAME_CAP, MSP_FRAME_CAP

COMMAND_SECONDS = 30.0


def muse_adapter(*args: str) -> subprocess.CompletedProcess[str]:
    """Run the program to its end, without input."""
    return subprocess.run(
        [sys.executable, "-m", "adapter.cli.entry", *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )


def test_without_arguments_it_serves_with_the_usual_bounds() -> None:
    arguments = read_arguments([])

    assert arguments.command == "serve"
    assert arguments.muse is None
    assert arguments.log_level == "warning"
    assert arguments.startup_timeout == STARTUP_TIMEOUT
    assert (arguments.acp_frame_cap, arguments.msp_frame_cap) == (ACP_FRAME_CAP, MSP_FRAME_CAP)


@pytest.mark.parametrize(
    "argv",
    [
        ["--muse", "simulated", "--log-level", "debug"],
        ["--muse", "simulated", "--log-level", "debug", "serve"],
        ["--muse", "simulated", "serve", "--log-level", "debug"],
        ["serve", "--muse=simulated", "--log-level=debug"],
    ],
)
def test_options_may_stand_on_either_side_of_serve(argv: list[str]) -> None:
    arguments = read_arguments(argv)

    assert (arguments.command, arguments.muse, arguments.log_level) == ("serve", "simulated", "debug")


@pytest.mark.acp(39)
@pytest.mark.parametrize(
    "argv",
    [
        ["login"],
        ["--muse", "simulated", "login"],
        ["--muse", "simulated", "serve", "login"],
        ["serve", "--muse", "simulated", "login"],
        ["serve", "--log-level", "debug", "login"],
        ["login", "--muse", "simulated", "serve"],
        ["login", "--muse=simulated", "--log-level", "debug"],
        ["login", "serve"],
    ],
    ids=" ".join,
)
def test_login_is_the_command_wherever_it_stands(argv: list[str]) -> None:
    arguments = read_arguments(argv)

    assert arguments.command == "login"
    assert arguments.muse == ("simulated" if any("simulated" in word for word in argv) else None)


def test_what_follows_another_command_is_its_own() -> None:
    arguments = read_arguments(["--muse", "x", "simulate", "--profile", "1.1.1", "serve", "--disable-write"])

    assert (arguments.command, arguments.muse) == ("simulate", "x")
    assert arguments.rest == ["--profile", "1.1.1", "serve", "--disable-write"]


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["--nonsense"], "--nonsense"),
        (["serve", "--nonsense"], "--nonsense"),
        (["serve", "nonsense"], "invalid choice: 'nonsense'"),
        (["serve", "--muse", "x", "demo"], "invalid choice: 'demo'"),
        (["login", "output", "s"], "invalid choice: 'output'"),
        (["--startup-timeout", "0"], "must be a positive number of seconds"),
        (["--startup-timeout", "nan"], "must be a positive number of seconds"),
        (["--startup-timeout", "inf"], "must be a positive number of seconds"),
        (["--startup-timeout", "soon"], "--startup-timeout"),
        (["--acp-frame-cap", "1023"], "must be at least 1024 bytes"),
        (["--msp-frame-cap", "-1"], "must be at least 1024 bytes"),
        (["--log-level", "loud"], "invalid choice: 'loud'"),
        (["--muse"], "expected one argument"),
    ],
)
def test_a_mistake_is_named_and_exits_with_two(argv: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read_arguments(argv)

    assert ended.value.code == 2
    written = capsys.readouterr()
    assert said in written.err
    assert written.out == ""


def test_help_names_every_command_and_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read_arguments(["--help"])

    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in COMMANDS)
    for option in ("--version", "--muse", "--startup-timeout", "--log-level", "--acp-frame-cap", "--msp-frame-cap"):
        assert option in shown


def test_version_is_the_packages(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        read_arguments(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out == f"muse-adapter {__version__}\n"


def test_serving_imports_nothing_that_only_commands_need() -> None:
    unwanted = {"typer", "click", "rich", "acp", "adapter.cli.commands", "adapter.cli.demo"}
    code = f"import sys; from adapter.cli import entry, serve; print(*sorted({unwanted!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=COMMAND_SECONDS, check=True
    )

    assert done.stdout.strip() == ""


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"serve", "simulate"}))
def test_a_command_refuses_what_it_does_not_know_without_a_traceback(command: str) -> None:
    done = muse_adapter(command, "--nonsense")

    assert done.returncode == 2
    assert "--nonsense" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"serve", "simulate"}))
def test_a_command_explains_itself(command: str) -> None:
    done = muse_adapter(command, "--help")

    assert done.returncode == 0
    assert COMMANDS[command] in " ".join(done.stdout.split())


@pytest.mark.skipif(os.name != "posix", reason="a shell closes them")
@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&-", "<&- >&- 2>&-", "<&- 2>&-"])
def test_without_stdin_or_stdout_nothing_is_served(closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'exec "$0" -m adapter.cli.entry {closed}', sys.executable],
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert ("2>&-" in closed) or done.stderr.startswith("muse-adapter: stdin and stdout must be open")
