"""The command line, up to the point where a command takes over."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from adapter import __version__
from adapter.cli.options import COMMANDS, OPTIONS, GlobalOptions, flag, told, wanted
from adapter.msp.budgets import STARTUP_TIMEOUT
from adapter.wire.framing import ACP_FRAME_CAP, MSP_FRAME_CAP

COMMAND_SECONDS = 30.0

PROGRAMS = {"replay", "simulate"}
"""Commands behind whose name everything is for another program."""


def muse_adapter(*args: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run the program to its end, without input."""
    return subprocess.run(
        [sys.executable, "-m", "adapter.cli.entry", *args],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS,
        check=False,
        env=os.environ | environ,
    )


# -- what asks to serve


def test_without_arguments_it_serves_with_the_usual_bounds() -> None:
    asked = wanted([])

    assert asked == ("serve", GlobalOptions())
    _, options = asked
    assert (options.muse, options.log_level, options.startup_timeout) == (None, "warning", STARTUP_TIMEOUT)
    assert (options.acp_frame_cap, options.msp_frame_cap) == (ACP_FRAME_CAP, MSP_FRAME_CAP)


@pytest.mark.parametrize(
    "argv",
    [
        ["--muse", "simulated", "--log-level", "debug"],
        ["--muse", "simulated", "--log-level", "debug", "serve"],
        ["--muse", "simulated", "serve", "--log-level", "debug"],
        ["serve", "--muse=simulated", "--log-level=debug"],
        ["--log-level=error", "--log-level=debug", "--muse", "simulated", "--"],
        ["--muse", "simulated", "--log-level=debug", "--", "serve"],
    ],
    ids=" ".join,
)
def test_options_may_stand_on_either_side_of_serve(argv: list[str]) -> None:
    assert wanted(argv) == ("serve", GlobalOptions(muse="simulated", log_level="debug"))


def test_a_level_of_logging_may_be_written_large() -> None:
    assert wanted(["--log-level", "DEBUG"]) == ("serve", GlobalOptions(log_level="debug"))


def test_every_option_is_taken_on_the_way_to_serving() -> None:
    numbers = {
        "--startup-timeout": "1.5",
        "--read-host-idle": "0",
        "--acp-frame-cap": "2048",
        "--msp-frame-cap": "4096",
    }
    words = [word for pair in numbers.items() for word in pair]

    asked = wanted(["--muse", "m", "--allow-all", "--log-level", "info", *words])

    assert asked is not None
    assert asked[1] == GlobalOptions("m", 1.5, 0, True, "info", 2048, 4096)
    assert not any(value == usual for value, usual in zip(asked[1], GlobalOptions(), strict=True))


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
    asked = wanted(argv)

    assert asked is not None
    assert asked[0] == "login"
    assert asked[1].muse == ("simulated" if any("simulated" in word for word in argv) else None)


# -- mistakes


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["outptu"], "Did you mean 'output'?"),
        (["--nonsense"], "--nonsense"),
        (["--mus", "x"], "No such option '--mus'. Did you mean '--muse'?"),
        (["--bogus"], "No such option '--bogus'."),
        (["--muse", ""], "'--muse': must be a path, a name on PATH or a stand-in, not ''"),
        (["serve", "--muse="], "'--muse': must be a path, a name on PATH or a stand-in, not ''"),
        (["serve", "--nonsense"], "--nonsense"),
        (["serve", "nonsense"], "nonsense"),
        (["serve", "serve"], "serve"),
        (["serve", "--muse", "x", "demo"], "demo"),
        (["login", "output", "s"], "output"),
        (["--muse", "x", "--", "--log-level"], "--log-level"),
        (["--startup-timeout", "0"], "'--startup-timeout': must be a positive number of seconds, not '0'"),
        (["--startup-timeout", "nan"], "must be a positive number of seconds"),
        (["--startup-timeout", "inf"], "must be a positive number of seconds"),
        (["--startup-timeout", "soon"], "must be a positive number of seconds, not 'soon'"),
        (["serve", "--startup-timeout=soon"], "must be a positive number of seconds, not 'soon'"),
        (["--read-host-idle", "-1"], "must be a number of seconds, not below 0"),
        (["--read-host-idle", "x"], "must be a number of seconds, not below 0"),
        (["--acp-frame-cap", "1023"], "must be a whole number of bytes, at least 1024"),
        (["--msp-frame-cap", "-1"], "must be a whole number of bytes, at least 1024"),
        (["--msp-frame-cap", "10M"], "must be a whole number of bytes, at least 1024"),
        (["--log-level", "loud"], "must be one of debug, info, warning, error, not 'loud'"),
        (["--allow-all=yes"], "--allow-all"),
        (["--muse"], "'--muse' requires an argument"),
        (["serve", "--muse"], "'--muse' requires an argument"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_mistake_is_one_line_and_where_to_look_and_starts_no_server(argv: list[str], said: str) -> None:
    assert wanted(argv) is None

    done = muse_adapter(*argv)

    assert (done.returncode, done.stdout) == (2, "")
    problem, where = done.stderr.splitlines()
    assert problem.startswith("muse-adapter: ") and said in problem
    assert where.startswith("Try `muse-adapter ") and where.endswith("--help`.")


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - PROGRAMS))
def test_a_command_refuses_what_it_does_not_know_without_a_traceback(command: str) -> None:
    done = muse_adapter(command, "--nonsense")

    assert (done.returncode, done.stdout) == (2, "")
    assert "--nonsense" in done.stderr
    assert done.stderr.endswith(f"Try `muse-adapter {command} --help`.\n")


@pytest.mark.parametrize(
    ("argv", "where"),
    [
        (["--muse"], "muse-adapter"),
        (["serve", "--muse"], "muse-adapter serve"),
        (["output", "s", "i", "-o"], "muse-adapter output"),
        (["output", "--nonsense"], "muse-adapter output"),
        (["output"], "muse-adapter output"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_where_to_look_is_the_help_of_the_command(argv: list[str], where: str) -> None:
    assert muse_adapter(*argv).stderr.endswith(f"\nTry `{where} --help`.\n")


@pytest.mark.parametrize(
    ("argv", "near"),
    [
        (["demo", "--log-leve", "x"], None),
        (["inspect", ".", "--startup-timeou=1"], None),
        (["output", "s", "--acp-frame-ca=1"], None),
        (["output", "s", "--startup-timeou=1"], "--startup-timeout"),
        (["serve", "--log-leve", "x"], "--log-level"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_only_what_the_help_of_the_command_shows_is_suggested(argv: list[str], near: str | None) -> None:
    problem = muse_adapter(*argv).stderr.splitlines()[0]

    assert problem.partition(" Did you mean ")[2] == (f"'{near}'?" if near else "")
    assert (f"{near} " in muse_adapter(argv[0], "--help").stdout) is (near is not None)


@pytest.mark.parametrize("command", ["", *sorted(set(COMMANDS) - PROGRAMS)])
def test_the_versions_are_shown_behind_every_command_whatever_else_it_needs(command: str) -> None:
    done = muse_adapter(*command.split(), "--version", "--muse", "simulated")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"muse-adapter {__version__}\n")
    assert "\nsimulated Muse " in done.stdout


@pytest.mark.parametrize("word", ["--help", "--version", "--bogus", "-h"])
def test_behind_two_dashes_nothing_is_an_option(word: str) -> None:
    done = muse_adapter("--", word)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"muse-adapter: No such command '{word}'.\n")


@pytest.mark.parametrize("option", ["--bogus", "--music", "--nonsense", "-x"])
def test_only_what_is_near_is_suggested(option: str) -> None:
    problem = muse_adapter(option).stderr.splitlines()[0]

    assert problem == f"muse-adapter: No such option '{option}'."


# -- options of all commands


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - PROGRAMS))
@pytest.mark.parametrize("behind", [False, True], ids=["before", "behind"])
def test_every_command_takes_the_global_options_on_either_side(command: str, behind: bool) -> None:
    option = ["--startup-timeout", "soon"]
    done = muse_adapter(*([command, *option] if behind else [*option, command]))

    assert (done.returncode, done.stdout) == (2, "")
    assert "'--startup-timeout': must be a positive number of seconds, not 'soon'" in done.stderr


@pytest.mark.parametrize(
    ("argv", "tried"),
    [
        (["--muse", "/no/a", "output", "s"], "/no/a"),
        (["output", "s", "--muse", "/no/b"], "/no/b"),
        (["--muse", "/no/a", "output", "--muse=/no/b", "s"], "/no/b"),
        (["output", "--muse", "/no/b", "--", "s"], "/no/b"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_the_option_that_stands_last_counts(argv: list[str], tried: str) -> None:
    done = muse_adapter(*argv)

    assert done.returncode == 3
    assert f"Tried --muse: {tried} (missing)" in done.stderr


@pytest.mark.parametrize("command", ["demo", "simulate"])
def test_a_command_that_has_a_host_of_its_own_takes_no_other(command: str) -> None:
    done = muse_adapter("--muse", "/no/muse", command)

    assert (done.returncode, done.stdout) == (2, "")
    assert "--muse" in done.stderr


# -- help


def shown(text: str) -> str:
    """A text without the line breaks that the width of the terminal makes."""
    return " ".join(text.split())


@pytest.mark.parametrize("argv", [["--help"], ["-h"], ["--muse", "x", "--help"], ["serve", "--help"]])
def test_help_tells_what_every_option_does_and_its_default(argv: list[str]) -> None:
    done = muse_adapter(*argv, COLUMNS="200")

    assert (done.returncode, done.stderr) == (0, "")
    for name in OPTIONS:
        assert f"{flag(name)} " in done.stdout
        assert told(name) in shown(done.stdout)
        assert "(default: " in told(name)
    assert "Example: muse-adapter " in done.stdout


def test_help_names_every_command() -> None:
    text = shown(muse_adapter("--help").stdout)

    assert all(f"{name} {what}" in text for name, what in COMMANDS.items())
    assert "--version" in text and "--install-completion" in text


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - PROGRAMS))
def test_a_command_explains_itself_with_an_example_that_is_right(command: str) -> None:
    done = muse_adapter(command, "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert COMMANDS[command] in shown(done.stdout)
    (example,) = [line.strip() for line in done.stdout.splitlines() if line.strip().startswith("Example: ")]
    assert example.startswith(f"Example: muse-adapter {command}")
    own = example.partition(" -- ")[0]
    assert muse_adapter(*own.split()[2:], "--help").returncode == 0


@pytest.mark.parametrize("command", ["", *sorted(set(COMMANDS) - PROGRAMS)])
def test_all_help_is_written_in_one_way(command: str) -> None:
    lines = muse_adapter(*command.split(), "--help", COLUMNS="300").stdout.splitlines()
    texts = [line.strip().split("  ")[-1].strip() for line in lines if line.startswith(("  -", "  --"))]

    assert len(texts) > 0
    for text in texts:
        assert text[0] in "0123456789" or text[0].islower(), text
        assert not text.endswith("."), text


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - PROGRAMS))
def test_help_tells_what_an_argument_is_and_not_of_which_type(command: str) -> None:
    text = muse_adapter(command, "--help").stdout
    usage = text.splitlines()[0].partition("[OPTIONS]")[2].split()
    named = re.findall(r"^  ([A-Z]+)  ", text.partition("Arguments:")[2].partition("Options:")[0], re.MULTILINE)

    assert not re.search(r"<\w|\[required|list\[|\{", text)
    assert [word.strip("[].") for word in usage] == named


def test_help_breaks_no_word_at_its_hyphen() -> None:
    texts = [muse_adapter(name, "--help", COLUMNS=str(width)).stdout for name in ("record", "") for width in (60, 80)]

    assert "or `muse-adapter`" in shown(texts[1])
    assert not [line for text in texts for line in text.splitlines() if line.endswith("-")]


@pytest.mark.parametrize("program", sorted(PROGRAMS))
def test_a_program_explains_itself_by_what_is_typed_and_with_an_example(program: str) -> None:
    done = muse_adapter(program, "--help")

    assert done.returncode == 0
    usages = re.findall(r"^(?:usage:|      ) (\S.+)$", done.stdout, re.MULTILINE)
    assert len(usages) > 2 and all(usage.startswith(f"muse-adapter {program} ") for usage in usages)
    assert f"\nExample: muse-adapter {program} " in done.stdout


@pytest.mark.parametrize("argv", [["replay"], ["replay", "-x"], ["simulate"], ["simulate", "--bogus"]], ids=" ".join)
def test_a_mistake_behind_a_program_is_one_line_and_where_to_look(argv: list[str]) -> None:
    done = muse_adapter(*argv)

    assert (done.returncode, done.stdout) == (2, "")
    _, where = done.stderr.splitlines()
    assert where == f"Try `muse-adapter {argv[0]} --help`."


# -- nobody reads it


@pytest.mark.skipif(os.name != "posix", reason="the exit code is that of a shell of POSIX")
@pytest.mark.parametrize(
    "argv",
    [["--help"], ["doctor", "--help"], ["--version"], ["--show-completion", "bash"], ["replay", "--help"], ["demo"]],
    ids=" ".join,
)
def test_what_nobody_reads_ends_it_quietly(argv: list[str], tmp_path: Path) -> None:
    read, written = os.pipe()
    os.close(read)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "adapter.cli.entry", *argv],
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.PIPE,
            timeout=COMMAND_SECONDS,
            check=False,
            env=os.environ | {"HOME": str(tmp_path)},
        )
    finally:
        os.close(written)

    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(os.name != "posix", reason="a pipe is closed")
def test_a_mistake_that_nobody_reads_is_still_one() -> None:
    read, written = os.pipe()
    os.close(read)
    try:
        command = [sys.executable, "-m", "adapter.cli.entry", "nonsense"]
        done = subprocess.run(command, stderr=written, stdout=subprocess.PIPE, timeout=COMMAND_SECONDS, check=False)
    finally:
        os.close(written)

    assert (done.returncode, done.stdout) == (2, b"")


def test_a_width_that_is_no_terminals_breaks_no_option() -> None:
    narrow = muse_adapter("output", "--help", COLUMNS="20")

    assert narrow.returncode == 0
    assert "--resume" in narrow.stdout


# -- serving is fast


def test_serving_imports_nothing_that_only_commands_need() -> None:
    unwanted = {"argparse", "typer", "click", "pydantic", "rich", "acp", "adapter.cli.commands", "adapter.cli.demo"}
    code = f"import sys; from adapter.cli import entry, serve; print(*sorted({unwanted!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=COMMAND_SECONDS, check=True
    )

    assert done.stdout.strip() == ""


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
