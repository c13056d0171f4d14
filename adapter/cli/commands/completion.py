"""Completion of the command line. Typer sets it up and finds what is offered; here is what it does not know: that the
name of a shell may be left out, that bash takes a word apart at `:` and `=`, and that what stands behind `--option=` is
to be completed with that before it."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
from collections.abc import Iterator, MutableMapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import typer
from typer.completion import get_completion_inspect_parameters, install_callback, show_callback

from adapter.cli.commands.values import one_of, wrong
from adapter.cli.options import OPTIONS, flag

SHELLS: Final = ("bash", "zsh", "fish", "powershell", "pwsh")

INSTALL: Final = "--install-completion"
SHOW: Final = "--show-completion"

_NO_PARAMETER: Final[Any] = None

_HERE: Final = "\0"
"""In the place of a name it is the shell this is called from: no word of a command line can be this one."""

_WIDE: Final = "100000"
"""Columns in which each description is one line: to fish every line is something that is offered."""

_BREAK: Final = re.compile("[:=]+")
"""A word of bash that is nothing but the place where it takes words apart."""

_ZSH_ITEM: Final = re.compile(r"""^(_arguments '\*: :\(\()?"(?=[^"])""", re.MULTILINE)
"""Where what zsh is offered begins."""


def with_shell(argv: Sequence[str]) -> list[str]:
    """The command line with a word for the shell behind the options that take one: it need not be written."""
    words = list(argv)
    at = 0
    # Behind a command everything is for that.
    while at < len(words) and words[at].startswith("-") and words[at] != "--":
        name, equals, _ = words[at].partition("=")
        follows = words[at + 1] if at + 1 < len(words) else "-"
        if name in (INSTALL, SHOW) and not equals and follows.startswith("-"):
            words[at] += f"={_HERE}"
        elif not equals and takes_value(name):
            at += 1
        at += 1
    return words


def takes_value(option: str) -> bool:
    """Whether a global option is given a value; that of an option that there is not does not matter."""
    return option in (INSTALL, SHOW) or any(flag(name) == option and one.metavar for name, one in OPTIONS.items())


def shell(text: str) -> str:
    """The name of a shell, or what stands for the one this is called from."""
    return text if text == _HERE else one_of(SHELLS)(text)


def matching_shells(incomplete: str) -> list[str]:
    """The shells the names of which begin like this."""
    return [name for name in SHELLS if name.startswith(incomplete)]


def set_up(context: typer.Context, install: str | None, show: str | None) -> NoReturn:
    """Set completion up, or print what would be."""
    (given, name), *more = [(option, name) for option, name in ((INSTALL, install), (SHOW, show)) if name is not None]
    if more:
        raise wrong(given, f"goes without {SHOW}")
    if context.invoked_subcommand is not None:
        raise wrong(given, "goes with no command")
    named: Any = True if name == _HERE else name
    try:
        (install_callback if given == INSTALL else show_callback)(context, _NO_PARAMETER, named)
    except OSError as error:
        typer.echo(f"muse-adapter: completion cannot be set up: {error.filename}: {error.strerror}", err=True)
    except (UnicodeError, subprocess.SubprocessError) as error:
        typer.echo(f"muse-adapter: completion cannot be set up: {error}", err=True)
    raise typer.Exit(1)


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
    if asked:
        # By this Typer gets to know the shells; its options are not used.
        get_completion_inspect_parameters()
        environ["COLUMNS"] = environ["TERMINAL_WIDTH"] = _WIDE
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
    if asked == "complete_bash":
        words, at = environ.get("COMP_WORDS", "").split("\n"), environ.get("COMP_CWORD", "")
        line = put_together(words, int(at) if at.isdecimal() else len(words))
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
