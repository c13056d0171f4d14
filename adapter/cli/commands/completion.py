"""Completion of the command line. Typer sets it up and finds what is offered; here is what it does not know: that bash
takes a word apart at `:` and `=`, and that what stands behind `--option=` is to be completed with that before it."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Final, NamedTuple

import typer

from adapter.cli.commands.values import Reads, one_of
from adapter.cli.options import flag

HELP: Final = {
    "install_completion": "set up completion in the shell this is called from, or in the one that is named",
    "show_completion": "print what does that",
}
"""What the options that Typer adds are for, in the words of all the others."""

SHELLS: Final = ("bash", "zsh", "fish", "powershell", "pwsh")

_NO_DETECTION: Final = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"
"""With this in the environment Typer's options take the name of a shell, without it they never do."""

_BREAK: Final = re.compile("[:=]+")
"""A word of bash that is nothing but the place where it takes words apart."""

_ZSH_ITEM: Final = re.compile(r"""^(_arguments '\*: :\(\()?"(?=[^"])""", re.MULTILINE)
"""Where what zsh is offered begins."""


def prepare(argv: Sequence[str], environ: MutableMapping[str, str], *, completing: bool) -> None:
    """Let the options take the name of a shell if one is written, or may be asked for.

    Raises:
        typer.BadParameter: it is the name of none.
    """
    option, equals, shell = (argv[0] if argv else "").partition("=")
    if option in map(flag, HELP) and not equals and len(argv) > 1 and not argv[1].startswith("-"):
        equals, shell = "=", argv[1]
    named = option in map(flag, HELP) and bool(equals)
    if named:
        try:
            Reads(one_of(SHELLS)).taken(shell)
        except typer.BadParameter as error:
            error.param_hint = f"'{option}'"
            raise
    if named or completing:
        environ[_NO_DETECTION] = "1"


class Line(NamedTuple):
    """A command line up to the word that is completed; `before` is what of that stands there already for the shell."""

    words: list[str]
    before: str

    @property
    def option(self) -> str:
        """`--option=` if the word begins with it: Typer completes what follows alone."""
        name, equals, _ = self.words[-1].partition("=")
        return name + equals if equals and name.startswith("-") else ""


def put_together(words: Sequence[str], at: int) -> Line:
    """The line of bash whose word `at` is completed, with the words as they were written."""
    whole: list[str] = []
    before, glued = "", False
    for index, word in enumerate(words[: at + 1]):
        is_break = _BREAK.fullmatch(word) is not None
        if index > 1 and (is_break or (glued and word)):
            before = whole[-1] + (word if is_break else "")
            whole[-1] += word
        else:
            before = ""
            whole.append(word)
        glued = is_break
    return Line(whole, before)


@contextlib.contextmanager
def in_words_of_the_shell(asked: str, environ: MutableMapping[str, str]) -> Iterator[None]:
    """Inside, Typer answers what a shell has `asked`; the shell is told that in the words it can use."""
    line = _line(asked, environ)
    if line is None:
        yield
        return
    answer = io.StringIO()
    try:
        with contextlib.redirect_stdout(answer):
            yield
    finally:
        typer.echo(_told(asked, answer.getvalue(), line), nl=False)


def _line(asked: str, environ: MutableMapping[str, str]) -> Line | None:
    """The line to be completed, if its last word needs care; that of bash is put together for Typer as well."""
    if asked == "complete_bash" and environ.get("COMP_CWORD", "").isdecimal():
        line = put_together(environ.get("COMP_WORDS", "").split("\n"), int(environ["COMP_CWORD"]))
        environ["COMP_WORDS"], environ["COMP_CWORD"] = "\n".join(line.words), str(len(line.words) - 1)
        return line
    if asked in ("complete_zsh", "complete_fish"):
        return Line(re.split(r"\s", environ.get("_TYPER_COMPLETE_ARGS", "")), "")
    return None


def _told(asked: str, answer: str, line: Line) -> str:
    if asked == "complete_zsh":
        return _ZSH_ITEM.sub(lambda begin: begin.group() + line.option, answer) if line.option else answer
    offered = [line.option + word for word in answer.splitlines() if word]
    return "".join(f"{word.removeprefix(line.before)}\n" for word in offered)
