"""One turn as its script sees it: the prompt, the ids of its items, and what it has used."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from adapter.hosts.simulated.servers import told
from adapter.hosts.simulated.steps import Draft, Json

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host
    from adapter.hosts.simulated.session import Session


MAX_DIGITS: Final = 15


class Turn:
    """The prompt of a turn and what belongs to it."""

    def __init__(self, prompt: Json, session: Session, host: Host) -> None:
        self.id: str = prompt["turnId"]
        self.command_id: str = prompt["commandId"]
        self.text: str = prompt["text"]
        self.wakes: bool = prompt.get("wakes", False)
        """Whether the host itself started the turn, for a goal; nobody said anything then."""
        self.skill: Json | None = prompt.get("skill")
        """Selector and arguments, if the prompt begins with a skill."""
        self.seen: list[str] = prompt.get("seen", [])
        """A line for each part of the input."""
        self.session_id = session.id
        self.workspace: str = session.facts["workspaceRoot"] or "/"
        self.roots: list[str] = session.roots
        self.servers = told(session)
        """A line for each MCP server."""
        self.can_write = not host.options.disable_write
        self.can_run = not host.options.disable_shell
        self.profile = host.profile
        self.view = session.view
        self.answered_by: str | None = None
        """The model that answers, if it is not the session's."""
        self.context: Json | None = None
        """How full the context is after the turn, if the script says so."""
        self.steered: list[str] = []
        self.first_token_ms: int | None = None
        self._began = time.monotonic()
        # The first item is the prompt itself.
        self._items = 1

    @property
    def words(self) -> list[str]:
        """The words of the prompt's first line."""
        return self.first_line.split()

    @property
    def first_line(self) -> str:
        """The prompt's first line."""
        return self.text.strip().split("\n", 1)[0]

    def item(self, kind: str, **members: Any) -> Draft:
        """A new item of this turn."""
        self._items += 1
        return Draft(f"{self.id}-i{self._items}", kind, self.id, members)

    def tool(self, name: str, args: str, **members: Any) -> Draft:
        """A new tool call of this turn; `args` is the JSON text the model wrote."""
        draft = self.item("toolCall", tool=name, args=args, **members)
        draft.members["callId"] = f"call_{self._items}"
        return draft

    def number(self, at: int, default: int) -> int:
        """The word at that place, if it is a number that a frame can carry."""
        word = self.words[at] if len(self.words) > at else ""
        return int(word) if word.isdecimal() and len(word) <= MAX_DIGITS else default

    def rest(self, at: int) -> str:
        """What follows that many words, as it was written."""
        return (self.text.strip().split(None, at) + [""] * (at + 1))[at]

    def seconds(self, at: int, default: float) -> float:
        """The word at that place, if it is a number of seconds."""
        try:
            return max(0.0, float(self.words[at]))
        except (IndexError, ValueError):
            return default

    def saw_token(self) -> None:
        """The first piece of the answer leaves now."""
        if self.first_token_ms is None:
            self.first_token_ms = self.elapsed_ms()

    def elapsed_ms(self) -> int:
        """How long the turn has been running."""
        return int((time.monotonic() - self._began) * 1000)

    def usage(self) -> Json:
        """Made-up token numbers that depend on the prompt only."""
        return {"inputTokens": 100 + len(self.text), "outputTokens": 40, "cachedTokens": 0, "reasoningTokens": 0}
