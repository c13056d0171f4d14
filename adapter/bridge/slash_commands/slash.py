"""Slash commands as they are written (`acp.md §11`): only the start of the first text of a prompt counts, so a leading
space, a quote or a word before it lets everything through to the model. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal, TypeAlias

import msgspec

from adapter.acp.content import Block, Text

_COMMAND: Final = re.compile(r"/(\S+)(?:\s+|\Z)")


class Slash(msgspec.Struct, frozen=True):
    """A prompt that begins with `/name`. `rest` are the other blocks, as mentions beside the words of the command."""

    name: str
    written: str
    """What stands behind the name in the same text, as it was written."""
    rest: tuple[Block, ...] = ()

    @property
    def arguments(self) -> str:
        """The same without blanks at the ends."""
        return self.written.strip()


def read_slash(blocks: Iterable[Block]) -> Slash | None:
    """The command a prompt may be, whether or not there is one of that name; None for an ordinary prompt."""
    blocks = tuple(blocks)
    at = next((index for index, block in enumerate(blocks) if isinstance(block, Text)), None)
    if at is None:
        return None
    first = blocks[at]
    assert isinstance(first, Text)
    match = _COMMAND.match(first.text)
    if match is None:
        return None
    return Slash(match[1], first.text[match.end() :], blocks[:at] + blocks[at + 1 :])


GoalVerb: TypeAlias = Literal["show", "set", "edit", "pause", "resume", "clear", "refuse"]

GOAL_HINT: Final = "[objective | edit objective | pause | resume | clear]"

_VERBS: Final[dict[str, GoalVerb]] = {"pause": "pause", "resume": "resume", "clear": "clear"}
_CONTROL_WORDS: Final = frozenset(
    {"stop", "cancel", "end", "abort", "quit", "start", "continue", "delete", "remove", "reset", "off", "on"}
    | {"done", "finish", "show", "status", "list", "help", "edit", "set", "unpause"}
)
"""Single words that somebody means as an order and not as something to reach (`peers.md §17`, trap 30)."""


def read_goal(arguments: str) -> tuple[GoalVerb, str]:
    """What `/goal` is told to do, and the objective if it takes one. One of the verbs followed by more words is an
    objective: "clear the warnings"."""
    words = arguments.split(None, 1)
    if not words:
        return "show", ""
    verb = words[0].lower()
    if len(words) == 2:
        return ("edit", words[1]) if verb == "edit" else ("set", arguments)
    if verb in _VERBS:
        return _VERBS[verb], ""
    return ("refuse", verb) if verb in _CONTROL_WORDS else ("set", arguments)
