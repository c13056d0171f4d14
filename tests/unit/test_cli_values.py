"""What a value on the command line must be is said in one way by every option and argument of every command."""

from __future__ import annotations

import re
from typing import Any

import pytest
import typer

from adapter.bridge.stored_output.contract import MAX_BYTES
from adapter.cli.commands import app
from adapter.cli.options import OPTIONS, decimal, wanted, whole
from tests.unit.test_cli_options import PROGRAMS, muse_adapter

NEEDED = {"inspect": ["."], "output": ["s", "i"], "record": ["out"]}
"""What a command must be given beside its options."""

LAST = {"record": ["--", "true"]}


def options_with_values() -> list[tuple[str, str, int]]:
    """Every option of every command that takes words, and how many; those of all commands once."""
    root: Any = typer.main.get_command(app)
    commands = {"serve": root.commands["serve"]} | root.commands
    found: dict[tuple[str, str], int] = {}
    for name in sorted(set(commands) - PROGRAMS):
        for one in commands[name].params:
            if one.param_type_name == "option" and not one.is_flag:
                command = "serve" if one.name in OPTIONS else name
                found[command, one.opts[0]] = one.nargs
    return [(*option, count) for option, count in found.items()]


@pytest.mark.parametrize(("command", "option", "count"), options_with_values())
def test_an_empty_value_is_refused_with_what_it_must_be(command: str, option: str, count: int) -> None:
    done = muse_adapter(command, *NEEDED.get(command, []), option, *[""] * count, *LAST.get(command, []))

    assert (done.returncode, done.stdout) == (2, "")
    assert re.match(f"muse-adapter: Invalid value for '{option}': must be .+, not ''\n", done.stderr), done.stderr


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["doctor", "--wait", "x"], "'--wait': must be a positive number of seconds, at most 600, not 'x'"),
        (["doctor", "--wait", "0"], "'--wait': must be a positive number of seconds, at most 600, not '0'"),
        (["doctor", "--wait", "nan"], "'--wait': must be a positive number of seconds, at most 600, not 'nan'"),
        (["doctor", "--client", "vim"], "'--client': must be one of baseline, zed, "),
        (["inspect", ".", "--frame", "x"], "'--frame': must be a whole number, at least 1, not 'x'"),
        (["inspect", ".", "--frame", "0"], "'--frame': must be a whole number, at least 1, not '0'"),
        (["inspect", ""], "'DIR': must be a path, not ''"),
        (["output", "s", "i", "-o", "new/"], "'-o': must be the path of a file, not 'new/'"),
        (["inspect", ".", "--html", "new/"], "'--html': must be the path of a file, not 'new/'"),
        (["doctor", "--support", "-o", "new/"], "'-o': must be the path of a file, not 'new/'"),
        (["output", ""], "'SESSION': must be an id of 1 to 1024 characters, not ''"),
        (["output", "s", "i" * 1025], f"'ITEM': must be an id of 1 to 1024 characters, not '{'i' * 60}…'"),
        (["output", "s", "i", "--offset", "-1"], f"'--offset': must be a whole number from 0 to {MAX_BYTES}, not '-1'"),
        (["output", "s", "i", "--length", "1k"], f"'--length': must be a whole number from 1 to {MAX_BYTES}, not '1k'"),
        (["output", "s", "i", "--resume"], "'--resume': there is nothing to go on with"),
        (["output", "s", "i", "--length", "3.0"], "'--length': must be a whole number from 1 to "),
        (["inspect", ".", "--frame", "1_0"], "'--frame': must be a whole number, at least 1, not '1_0'"),
        (["doctor", "--wait", "１０"], "'--wait': must be a positive number of seconds, at most 600, not '１０'"),
        (["record", "..", "--", "true"], "'OUT': must be a folder that can be made, not '..'"),
        (["--show-completion", "tcsh"], "'--show-completion': must be one of bash, zsh, fish, "),
        (["--install-completion="], "'--install-completion': must be one of bash, zsh, fish, "),
    ],
    ids=lambda value: " ".join(value)[:40] if isinstance(value, list) else "",
)
def test_a_wrong_value_is_named_with_what_it_must_be(argv: list[str], said: str) -> None:
    done = muse_adapter(*argv)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"muse-adapter: Invalid value for {said}")
    assert len(done.stderr.splitlines()) == 2


@pytest.mark.parametrize("text", ["1_0", "１０", "+1", "-1", " 1", "1 ", "0x10", "", "1" * 19, "²", "1\n"])
def test_a_number_is_decimal_digits_and_nothing_else_that_python_takes(text: str) -> None:
    assert whole(text) is None
    assert decimal(text) is None
    assert wanted(["--startup-timeout", text]) is None
    assert wanted(["--acp-frame-cap", text]) is None


@pytest.mark.parametrize("text", ["1e3", "inf", "nan", ".5", "5.", "1.2.3", "1,5", "1._5"])
def test_a_fraction_stands_behind_a_point_and_nowhere_else(text: str) -> None:
    assert decimal(text) is None


def test_a_plain_number_is_taken() -> None:
    assert [whole(text) for text in ("0", "007", "1024")] == [0, 7, 1024]
    assert [decimal(text) for text in ("0", "3.0", "0.25", "10")] == [0, 3, 0.25, 10]
