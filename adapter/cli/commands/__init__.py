"""The commands, each declared in a module of its name; what one does is imported when it runs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Collection, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Final, NoReturn

import typer

from adapter.cli.commands import completion
from adapter.cli.commands.demo import demo
from adapter.cli.commands.doctor import doctor
from adapter.cli.commands.global_options import (
    ALL,
    EXIT_BROKEN_PIPE,
    FOR_MOST,
    Command,
    quietly,
    with_global_options,
)
from adapter.cli.commands.help_text import CommandHelp, GroupHelp
from adapter.cli.commands.inspect import inspect
from adapter.cli.commands.login import login
from adapter.cli.commands.output import output
from adapter.cli.commands.record import record
from adapter.cli.commands.replay import replay
from adapter.cli.commands.serve import serve
from adapter.cli.commands.simulate import simulate
from adapter.cli.commands.values import Reads
from adapter.cli.entry import COMPLETION
from adapter.cli.options import COMMANDS, GlobalOptions
from adapter.cli.stdout import Unwritable, claim_stdout, let_go_of_stdout
from adapter.cli.stop_signals import EXIT_INTERRUPTED, end_unasked

PROGRAM: Final = "muse-adapter"

UsageError: Final[type[Exception]] = typer.BadParameter.__mro__[1]
"""Everything that can be wrong with a command line. Typer exports only this kind of it by name."""

EXIT_UNTOLD: Final = 1
"""stdout is closed, or cannot be written to."""

_NEAR: Final = 0.7
"""How much of two options must be the same, from 0 to 1, for one to be a slip of the other."""

app = typer.Typer(
    cls=GroupHelp,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    subcommand_metavar="[COMMAND] [ARGS]...",
    # Our own say it in the words of all the others.
    context_settings={"help_option_names": []},
    add_completion=False,
)


def run(argv: Sequence[str], options: GlobalOptions = GlobalOptions()) -> NoReturn:  # noqa: B008 (it is immutable)
    """Run one command line and exit with its code; `options` hold where it says nothing else."""
    asked = os.environ.get(COMPLETION, "")
    claim_stdout()
    try:
        with completion.in_words_of_the_shell(asked, os.environ):
            root: Any = typer.main.get_command(app)
            code = root.main(completion.with_shell(argv), PROGRAM, standalone_mode=False, obj=options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except UsageError as error:
        code = _refuse(error, argv)
    except Unwritable as error:
        let_go_of_stdout()
        code = _untold(error)
    finally:
        end_unasked()
    sys.exit(code)


def _untold(error: Unwritable) -> int:
    """Quiet if what reads the pipe has seen enough."""
    if error.nobody_reads:
        return EXIT_BROKEN_PIPE
    with contextlib.suppress(BrokenPipeError):
        typer.echo(f"{PROGRAM}: {error}", err=True)
    return EXIT_UNTOLD


def _refuse(error: Any, argv: Sequence[str]) -> int:
    """One line that says what is wrong with the command line, and one that says where to look."""
    # Not every kind of mistake knows the command it was made in.
    named = next((word for word in argv if word in COMMANDS), "") if error.ctx is None else ""
    where = error.ctx.command_path if error.ctx is not None else f"{PROGRAM} {named}".strip()
    with contextlib.suppress(BrokenPipeError):
        typer.echo(f"{PROGRAM}: {_problem(error)}\nTry `{where} --help`.", err=True)
    code: int = error.exit_code
    return code


def _problem(error: Any) -> str:
    """What is wrong; typer compares an option with others by its dashes too, and finds any that is short alike."""
    if not hasattr(error, "option_name") or not hasattr(error, "possibilities"):
        return str(error.format_message())
    shown = {name for one in error.ctx.command.params if not getattr(one, "hidden", False) for name in one.opts}
    known = {name.lstrip("-"): name for name in error.possibilities or () if name in shown}
    near = get_close_matches(error.option_name.lstrip("-"), known, cutoff=_NEAR)
    sentence = f"No such option '{error.option_name}'."
    return f"{sentence} Did you mean {', '.join(repr(known[name]) for name in near)}?" if near else sentence


def _root(
    context: typer.Context,
    install: Annotated[
        str | None,
        typer.Option(
            completion.INSTALL,
            metavar="[SHELL]",
            help="set up completion in the shell this is called from, or in the one that is named",
            autocompletion=completion.matching_shells,
        ),
        Reads(completion.shell),
    ] = None,
    show: Annotated[
        str | None,
        typer.Option(
            completion.SHOW,
            metavar="[SHELL]",
            help="print what does that",
            autocompletion=completion.matching_shells,
        ),
        Reads(completion.shell),
    ] = None,
) -> None:
    """ACP adapter for Muse Code: editors speak ACP to it, it drives Muse hosts. Without a command it serves."""
    if install is not None or show is not None:
        completion.set_up(context, install, show)
    if context.invoked_subcommand is None:
        serve(context)


def _add(command: Command, *, example: str, shown: Collection[str] = FOR_MOST) -> None:
    """Add a command, with an example; of the global options, all of which it takes, its help shows `shown`."""
    what, epilog = COMMANDS[command.__name__], f"Example: muse-adapter {example}"
    taking_options = with_global_options(command, shown)
    app.command(command.__name__, cls=CommandHelp, help=what, short_help=what, epilog=epilog)(taking_options)


def _add_program(command: Command) -> None:
    """Add a command that stands for a program of its own: everything behind its name is for that, `--help` included."""
    what = COMMANDS[command.__name__]
    settings = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command(command.__name__, help=what, short_help=what, context_settings=settings)(quietly(command))


app.callback(invoke_without_command=True, epilog="Example: muse-adapter --muse simulated")(
    with_global_options(_root, ALL)
)
_add(serve, example="serve --muse simulated", shown=ALL)
_add(demo, example="demo", shown=())
_add(doctor, example="doctor --json")
_add(inspect, example="inspect DIR --html page.html", shown=())
_add(login, example="login")
_add(output, example="output SESSION ITEM -o build.log")
_add(record, example="record DIR -- muse-adapter", shown=())
_add_program(replay)
_add_program(simulate)
