"""How the help of a command is written: in words for people, whatever types its parameters have in Python."""

from __future__ import annotations

from typing import Any, Final

import typer.core

_UNBROKEN: Final = "\u2011"
"""A hyphen at which no line is broken: `muse-` at the end of one could not be copied."""


class _PlainHelp:
    """For a command or a group of typer."""

    def get_help(self, ctx: Any) -> str:
        """The whole of it."""
        text: str = super().get_help(ctx)  # type: ignore[misc]
        return text.replace(_UNBROKEN, "-")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """The arguments by the names they have in the help."""
        arguments = {one.name: one for one in self._parameters(ctx, "argument")}
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        kept = pieces[: 1 if arguments else len(pieces)]
        return [*kept, *map(_usage, arguments.values())]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The parameters with what each is for; a group has its commands behind them."""
        arguments = [(one.metavar, one.help) for one in self._parameters(ctx, "argument")]
        shown = (one.get_help_record(ctx) for one in self._parameters(ctx, "option"))
        for title, rows in (("Arguments", arguments), ("Options", [row for row in shown if row is not None])):
            if rows:
                with formatter.section(title):
                    formatter.write_dl([(name, text.replace("-", _UNBROKEN)) for name, text in rows])
        if isinstance(self, typer.core.TyperGroup):
            self.format_commands(ctx, formatter)

    def _parameters(self, ctx: Any, kind: str) -> list[Any]:
        return [one for one in self.get_params(ctx) if one.param_type_name == kind]  # type: ignore[attr-defined]


def _usage(argument: Any) -> str:
    name = f"{argument.metavar}..." if argument.nargs != 1 else str(argument.metavar)
    return name if argument.required else f"[{name}]"


class CommandHelp(_PlainHelp, typer.core.TyperCommand):
    """A command."""


class GroupHelp(_PlainHelp, typer.core.TyperGroup):
    """The program."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that a word names; behind `--` one that begins with a dash is no option either."""
        if args[0].startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"No such command {args[0]!r}.")
        return super().resolve_command(ctx, args)
