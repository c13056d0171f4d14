"""The commands that the adapter carries out itself, each offered where the host has what it needs (`msp.md §10.8,
§18`).

Each answers in words and ends its prompt; what the host refuses is said in words too, since nothing is wrong with the
request.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio
import msgspec

from adapter.acp import updates
from adapter.acp.text import one_line
from adapter.bridge.session_state.settings import Settings
from adapter.bridge.slash_commands.slash import GOAL_HINT, Slash, read_goal
from adapter.bridge.slash_commands.status_text import goal_text, outputs_text, status_text
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.bridge.turns.prompt_input import text_of
from adapter.bridge.turns.prompt_run import DONE, PromptRun
from adapter.bridge.turns.prompts import Prompts
from adapter.msp.errors import MspError
from adapter.msp.items import ItemState
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.peer import Peer

SKILL: Final = "skill"
COMPACT: Final = "compact"

COMPACTION_SECONDS: Final = 600.0
"""How long a prompt waits for a compaction, which asks a model for a summary of everything; it goes on by itself after
that."""

LONGEST_NAME: Final = 4000
"""Characters of a name that go to the host, which has its own limit."""

_REASONS: Final[dict[str, str]] = {
    "compaction_unavailable": "This session cannot be compacted now.",
    "no_compactable_history": "There is nothing to compact yet.",
    "missing_run": "There is nothing to compact yet.",
    "missing_goal": "There is no goal. Set one with /goal OBJECTIVE.",
    "invalid_goal_state": "The goal is not in a state for that.",
    "runtime_busy": "Muse is busy; try again when the turn has ended.",
    "summarizer_failed": "The summary could not be made.",
    "install_rejected": "The summary could not be put in place.",
}
"""What a host's words for a refusal mean to a person."""

_IN_WORDS: Final = frozenset({"commandRejected", "invalidParams", "methodNotFound", "capabilityRequired"})
"""Refusals of the command itself; others are failures of the host or of the session."""


class Builtins:
    """Carries out the commands of one session. `settings` answers what is set in it."""

    def __init__(
        self,
        session: Session,
        style: CardStyle,
        peer: Peer,
        background: Background,
        prompts: Prompts,
        settings: Callable[[], Settings],
    ) -> None:
        self._session = session
        self._style = style
        self._peer = peer
        self._background = background
        self._prompts = prompts
        self._settings = settings
        self._compactions: list[tuple[PromptRun, frozenset[str]]] = []
        self.withdrawn: set[str] = set()
        """Commands that the host has just said it cannot carry out in this session."""

    async def run(self, slash: Slash, rest: list[Params], run: PromptRun) -> None:
        """Carry out the command of this name; `rest` is what stood beside it in the prompt.

        Raises:
            MspError, HostGone: the host failed.
        """
        if any(part["type"] == "image" for part in rest):
            return self.say(run, f"/{slash.name} takes no pictures; nothing was done.")
        said = (slash.written + text_of(rest)).strip()
        return await _BY_NAME[slash.name].run(self, said, run)

    def say(self, run: PromptRun, text: str) -> None:
        """Answer a prompt in words."""
        chunk = updates.TextChunk(self._session.session_id, "agent_message_chunk", text, f"command-{run.command_id}")
        self._peer.notify_mergeable(chunk)
        run.settle(DONE)

    # -- one by one

    async def status(self, said: str, run: PromptRun) -> None:
        """`/status`: what is known here, without a question to the host."""
        handshake = self._session.host.handshake
        version = handshake.server_version if handshake is not None else ""
        self.say(run, status_text(self._session.session_id, version, self._settings(), self._session.fold.facts))

    async def output(self, said: str, run: PromptRun) -> None:
        """`/output`: what is stored, for clients that cannot read it."""
        self.say(run, outputs_text(self._session.fold.items, self._style))

    async def rename(self, name: str, run: PromptRun) -> None:
        """`/rename NAME`; the title follows by the host's news."""
        wanted = one_line(name, LONGEST_NAME)
        if not wanted:
            return self.say(run, "Say what to call the session: /rename NAME")
        ack = await self._ask(run, "session/rename", {"name": wanted})
        if ack is not None:
            got = ack.get("name")
            self.say(run, f"The session is called “{one_line(got) if isinstance(got, str) else one_line(wanted)}” now.")
        return None

    async def compact(self, said: str, run: PromptRun) -> None:
        """`/compact`: ends when the compaction does."""
        known = frozenset(item.item_id for item in self._session.fold.items if _is_compacted(item))
        self._compactions = [waiting for waiting in self._compactions if not waiting[0].settled.is_set()]
        self._compactions.append((run, known))
        ack = await self._ask(run, "session/compact", {})
        if ack is None:
            return None
        if ack.get("status") == "noop":
            return self.say(run, _in_words(ack.get("reason"), "There was nothing to compact."))
        run.expects_host = True
        self._background.start(self._await_compaction, run)
        return None

    async def goal(self, said: str, run: PromptRun) -> None:
        """`/goal`: a goal that wakes the session up is worked at in this prompt; beside a running turn it ends at once
        (`peers.md §6.2`)."""
        verb, objective = read_goal(said)
        if verb == "show":
            goal = goal_text(self._session.fold.facts.get("goal", {}).get("goal"))
            return self.say(run, f"Goal: {goal}" if goal else f"There is no goal. /goal {GOAL_HINT}")
        if verb == "refuse":
            return self.say(run, f"/goal does not know that word; nothing was changed. /goal {GOAL_HINT}")
        running = frozenset(self._session.fold.turns.running)
        params = {"objective": objective} if objective else {}

        async def send() -> Params:
            ack = await self._ask(run, f"goal/{verb}", params, command_id=run.command_id)
            if ack is None:
                return {}
            if isinstance(ack.get("turnId"), str) and ack["turnId"] not in running:
                # The session has woken up, and its turn says the rest.
                return ack
            self.say(run, _GOAL_DONE[verb])
            return {}

        return self._prompts.submit(run, send)

    # -- the host

    async def _ask(
        self, run: PromptRun, method: str, params: Params, *, command_id: str | None = None
    ) -> Params | None:
        """The ack of a command; None if the host refused, which has been said then."""
        try:
            return await self._session.command(method, params, command_id=command_id, wanted=lambda: run.is_wanted)
        except MspError as error:
            if error.kind not in _IN_WORDS:
                raise
            if error.reason == "compaction_unavailable":
                self.withdrawn.add(COMPACT)
            self.say(run, _in_words(error.reason, f"Muse refused: {one_line(error.message, 500)}"))
            return None

    def item_changed(self, item: ItemState) -> None:
        """A compaction may have ended."""
        if item.kind != "compaction" or item.is_open:
            return
        for run, known in self._compactions:
            if item.item_id not in known and not run.settled.is_set():
                self.say(run, _compacted(item))
        self._compactions = [waiting for waiting in self._compactions if not waiting[0].settled.is_set()]

    async def _await_compaction(self, run: PromptRun) -> None:
        with anyio.move_on_after(COMPACTION_SECONDS):
            await run.settled.wait()
        if not run.settled.is_set():
            self.say(run, "The compaction goes on; Muse has not said yet that it is over.")
        self._compactions = [waiting for waiting in self._compactions if waiting[0] is not run]


class Builtin(msgspec.Struct, frozen=True):
    """A command: how it is offered, and the method a host must have for it."""

    name: str
    description: str
    run: Callable[[Builtins, str, PromptRun], Awaitable[None]]
    hint: str | None = None
    needs: str | None = None


BUILTINS: Final = (
    Builtin(COMPACT, "Shorten the context by a summary of it", Builtins.compact, needs="session/compact"),
    Builtin("goal", "Show, set or change what the session works towards", Builtins.goal, GOAL_HINT, "goal/set"),
    Builtin("rename", "Give the session a name", Builtins.rename, "name", "session/rename"),
    Builtin("status", "Show what is set and used in this session", Builtins.status),
    Builtin("output", "List the stored outputs of this session", Builtins.output),
)
_BY_NAME: Final = {builtin.name: builtin for builtin in BUILTINS}

_GOAL_DONE: Final[dict[str, str]] = {
    "set": "The goal is set.",
    "edit": "The goal is changed.",
    "pause": "The goal is paused.",
    "resume": "The goal is taken up again.",
    "clear": "The goal is cleared.",
}


def _in_words(reason: Any, otherwise: str) -> str:
    return _REASONS.get(reason, otherwise) if isinstance(reason, str) else otherwise


def _is_compacted(item: ItemState) -> bool:
    return item.kind == "compaction" and not item.is_open


def _compacted(item: ItemState) -> str:
    before, after = item.raw.get("tokensBefore"), item.raw.get("tokensAfter")
    if item.status != "completed" or item.raw.get("outcome", "compacted") != "compacted":
        why = next((item.raw[name] for name in ("failureReason", "outcome") if item.raw.get(name)), item.status)
        return f"The context was not compacted: {_in_words(why, one_line(str(why), 500))}"
    if isinstance(before, int) and isinstance(after, int):
        return f"The context is compacted: {before} tokens have become {after}."
    return "The context is compacted."
