"""`docs/command-line.md` says what the program does."""

from __future__ import annotations

import os
import re

import pytest

from adapter.cli.commands.completion import INSTALL, SHOW
from adapter.cli.options import COMMANDS
from host_probe.probe import VERSION_TIMEOUT
from tests.command_line_page import with_commands
from tests.unit.test_cli_options import PROGRAMS, muse_adapter
from tests.write_docs import COMMAND_LINE

TEXT = COMMAND_LINE.read_text("utf-8")


def test_the_help_of_every_command_is_that_of_the_code() -> None:
    assert with_commands(TEXT) == TEXT, "run `make docs`"


def test_every_command_has_a_section() -> None:
    assert re.findall(r"^### (\w+)$", TEXT, re.MULTILINE) == list(COMMANDS)


def test_each_mistake_that_is_shown_is_what_comes_of_it() -> None:
    blocks = re.findall(r"```text\n(muse-adapter: .*?)```", TEXT, re.DOTALL)

    assert [muse_adapter("outptu").stderr, muse_adapter("doctor", "--wait", "x").stderr] == blocks


def test_what_is_told_is_so() -> None:
    assert f"at most {VERSION_TIMEOUT:g} seconds" in TEXT
    assert all(f"`{name}`" in TEXT or f" {name}\n" in TEXT for name in (INSTALL, SHOW))
    assert all(f"`{name}`" in TEXT for name in PROGRAMS)


@pytest.mark.skipif(os.name != "posix", reason="the files are those of POSIX")
def test_a_command_line_that_is_shown_is_taken() -> None:
    lines = re.findall(r"^\$ muse-adapter (.*)$", TEXT.partition("## Commands")[0], re.MULTILINE)
    harmless = [line for line in lines if "completion" not in line]

    assert len(harmless) > 3
    for line in harmless:
        words = line.split()
        assert muse_adapter(*words, *(() if "--help" in words or "--version" in words else ("--help",))).returncode == 0
