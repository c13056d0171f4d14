"""The global options, taken before a command's name and behind it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterator
from inspect import Parameter
from typing import Annotated, Any, Final, get_args

import typer

from adapter.cli.commands.values import Reads
from adapter.cli.options import LOG_LEVELS, OPTIONS, flag, told
from adapter.cli.stop_signals import EXIT_INTERRUPTED

Command = Callable[..., None]


EXIT_BROKEN_PIPE: Final = 141
"""What a shell says of a program that wrote to a pipe nobody reads."""

ALL: Final = frozenset({*OPTIONS, "version"})

FOR_MOST: Final = frozenset(name for name, option in OPTIONS.items() if option.everywhere)


def with_global_options(command: Command, shown: Collection[str]) -> Command:
    """The command, which has a parameter `context`, with the global options beside its own, `--version` and `--help`.

    The values of all of them are in `context.obj`; the help shows those that are `shown`.
    """
    own = inspect.signature(command, eval_str=True).parameters
    defaults = {name: one.default for name, one in own.items() if one.default is not Parameter.empty}

    @functools.wraps(command)
    def taking_them(**values: Any) -> None:
        context: typer.Context = values["context"]
        taken = {name: values[name] for name in OPTIONS}
        context.obj = context.obj._replace(
            **{name: value for name, value in taken.items() if value is not None and value is not False}
        )
        if values["version"]:
            from adapter.cli.versions import show_versions

            raise typer.Exit(show_versions(context.obj))
        given = {name: values[name] for name in own}
        quietly(command)(**{name: defaults.get(name) if value is None else value for name, value in given.items()})

    parameters = [*map(_as_written, own.values()), *_parameters(shown)]
    taking_them.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    taking_them.__annotations__ = {one.name: one.annotation for one in parameters}
    return taking_them


def quietly(command: Command) -> Command:
    """The command, without a word if it is interrupted, or if nobody reads what it says any more."""

    @functools.wraps(command)
    def ending_quietly(*arguments: Any, **values: Any) -> None:
        try:
            command(*arguments, **values)
        except KeyboardInterrupt:
            raise typer.Exit(EXIT_INTERRUPTED) from None
        except BrokenPipeError:
            # That of stderr; `run` knows what to do about stdout.
            raise typer.Exit(EXIT_BROKEN_PIPE) from None

    return ending_quietly


def _as_written(parameter: Parameter) -> Parameter:
    """A parameter of a command as it is written: text, of which typer has the value made if it says how (`Reads`)."""
    value, *more = get_args(parameter.annotation) or (parameter.annotation,)
    told = next((one for one in more if isinstance(one, Reads)), None)
    if told is None:
        return parameter
    (info,) = (one for one in more if one is not told)
    info.callback = told.taken
    required = parameter.default is Parameter.empty
    if told.each:
        return parameter.replace(annotation=Annotated[value, info])
    written = str if required else str | None
    return parameter.replace(annotation=Annotated[written, info], default=Parameter.empty if required else None)


def _parameters(shown: Collection[str]) -> Iterator[Parameter]:
    for name, option in OPTIONS.items():
        words: dict[str, Any] = {"help": told(name), "hidden": name not in shown}
        if option.metavar is None:
            yield _keyword(name, Annotated[bool, typer.Option(flag(name), **words)], default=False)
            continue
        completion = {"autocompletion": _COMPLETIONS.get(name)}
        words |= {"metavar": option.metavar, "callback": Reads(option.read).taken, **completion}
        yield _keyword(name, Annotated[str | None, typer.Option(flag(name), **words)], default=None)
    words = {
        "help": "show the versions of this program, of Python and of Muse",
        "hidden": "version" not in shown,
        "is_eager": True,
        "callback": _need_no_more,
    }
    yield _keyword("version", Annotated[bool, typer.Option("--version", **words)], default=False)
    words = {"help": "show this", "is_eager": True, "callback": _show_help}
    yield _keyword("help", Annotated[bool, typer.Option("--help", "-h", **words)], default=False)


def _need_no_more(context: typer.Context, value: bool) -> bool:
    """Whoever asks for the versions need not say what to do besides."""
    if value:
        for parameter in context.command.params:
            parameter.required = False
    return value


def _show_help(context: typer.Context, value: bool) -> bool:
    if value and not context.resilient_parsing:
        typer.echo(context.get_help())
        raise typer.Exit
    return value


def _keyword(name: str, annotation: object, *, default: object) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _stand_ins(incomplete: str) -> list[str]:
    from adapter.hosts.simulated.profiles import PROFILES

    names = ["simulated", *(f"simulated:{version}" for version in PROFILES), "recorded:"]
    return [name for name in names if name.startswith(incomplete)]


def _levels(incomplete: str) -> list[str]:
    return [level for level in LOG_LEVELS if level.startswith(incomplete)]


_COMPLETIONS: Final = {"muse": _stand_ins, "log_level": _levels}
