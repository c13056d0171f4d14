"""Every command line in README and `docs/` is one that is taken: the command is there, and so are its options."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from adapter.cli.commands import app
from adapter.cli.options import wanted
from adapter.hosts.simulated import options as simulated
from tests.documents import DOCUMENTS, command_lines

ROOT_COMMAND: Any = typer.main.get_command(app)

OF_THEIR_OWN = {
    "simulate": {*simulated.SERVE_FLAGS, "--version", "--help", "--profile", "--data-dir", "--faults"},
    "replay": {*simulated.SERVE_FLAGS, "--version", "--help"},
}
"""Commands that stand for a program of their own, and what that takes."""


def flags(command: Any) -> dict[str, bool]:
    """The options of a command, and whether each takes a value."""
    return {name: not one.is_flag for one in command.params for name in one.opts if name.startswith("-")}


def mistakes(line: str) -> Iterator[str]:
    """What is wrong with the words behind `muse-adapter`. Words in brackets stand for others."""
    words = [word for word in shlex.split(line, comments=True) if not word.startswith("[")]
    command, known, own = ROOT_COMMAND, flags(ROOT_COMMAND), set[str]()
    while words and (word := words.pop(0)) != "--":
        name = word.partition("=")[0]
        if name.startswith("-"):
            if name not in known and name not in own:
                yield f"{command.name or 'muse-adapter'} has no {name}"
            elif known.get(name) and "=" not in word:
                del words[:1]
        elif command is ROOT_COMMAND:
            if word not in ROOT_COMMAND.commands:
                yield f"there is no command {word}"
                return
            command, own = ROOT_COMMAND.commands[word], OF_THEIR_OWN.get(word, set())
            known = flags(command)


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_command_lines_are_taken(path: Path) -> None:
    for line in command_lines(path.read_text("utf-8")):
        assert list(mistakes(line)) == [], line


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_arguments_for_an_editor_are_taken(path: Path) -> None:
    for words in re.findall(r"`(\[\"(?:--)?[a-z].*?\])`", path.read_text("utf-8")):
        arguments = json.loads(words)
        if arguments[0].startswith("-"):
            asked = wanted(arguments)
            assert asked is not None and asked[0] == "serve", words
        elif any(word.endswith("muse-adapter") for word in arguments):
            assert list(mistakes(shlex.join(arguments))) == [], words


def test_command_lines_are_found() -> None:
    text = (
        "Say `muse-adapter demo` or `X=1 /a/b/muse-adapter\nlogin`; `muse-adapter` alone is none.\n\n"
        "```console\n$ muse-adapter output A B\nnot muse-adapter this\n$ tool 'muse-adapter --muse simulated'\n```\n"
    )

    assert command_lines(text) == ["output A B", "--muse simulated", "demo", "login"]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("demo", []),
        ("--muse X output S I -o F", []),
        ("output S --length=5", []),
        ("simulate --profile 1.3 serve --disable-write", []),
        ("[OPTIONS] [COMMAND]", []),
        ("outputs S", ["there is no command outputs"]),
        ("--mus X demo", ["muse-adapter has no --mus", "there is no command X"]),
        ("demo --resume", ["demo has no --resume"]),
        ("simulate --nothing", ["simulate has no --nothing"]),
    ],
)
def test_what_is_wrong_with_a_command_line_is_found(line: str, found: list[str]) -> None:
    assert list(mistakes(line)) == found
