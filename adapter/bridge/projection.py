"""What the client is shown of a session: its changes as `session/update` notifications, in order and at once.

Here is whether something is shown at all, and the text of messages; the cards are the board's.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Collection
from typing import Any, Final

from adapter.acp import updates
from adapter.bridge.stored_output.contract import KEY as OUTPUT_KEY
from adapter.bridge.tool_cards.card_board import CardBoard
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.bridge.tool_cards.cards import MESSAGE_KINDS, outlives_turn, user_text
from adapter.bridge.tool_cards.diffs import Diffs
from adapter.bridge.turns.held_text import HeldText
from adapter.msp.changes import Change, ItemChanged, TextAppended, TextRestated
from adapter.msp.ids import uuid7
from adapter.msp.items import ItemState
from adapter.wire.background import Background
from adapter.wire.peer import Peer

log = logging.getLogger("adapter.bridge")

REMEMBERED_TURNS: Final = 200
"""Ended turns remembered so that their late text does not show up in the next one (`fault-cases.md G9`)."""

RESTATED: Final = "[Some of the text above was lost on the way. This is all of it:]"

LONGEST_CHUNK: Final = 128 * 1024
"""Characters of text in one update; a message that comes all at once is sent in pieces, so that no line gets too long
for a client."""


class Projection:
    """The outgoing view of one session."""

    def __init__(
        self,
        style: CardStyle,
        peer: Peer,
        background: Background,
        diffs: Diffs,
        task_meta: Callable[[ItemState], dict[str, Any] | None] = lambda item: None,
        is_reading_back: Callable[[], bool] = lambda: False,
    ) -> None:
        self.session_id = style.session_id
        self._in_turn = self._replaying = False
        self._style = style
        self._is_reading_back = is_reading_back
        self._peer = peer
        self._board = CardBoard(style, peer, background, diffs, task_meta)
        self._ended_turns: OrderedDict[str, None] = OrderedDict()
        self._silenced: OrderedDict[str, None] = OrderedDict()
        self._thought: tuple[str, str] | None = None
        self._unshown: str | None = None
        self._holding: OrderedDict[str, None] = OrderedDict()
        self._held = HeldText()
        self._show: dict[type, Callable[[Any], None]] = {
            TextAppended: self.show_text,
            TextRestated: self._text_anew,
            ItemChanged: self._item,
        }

    @property
    def workspace(self) -> str:
        """The folder of the session."""
        return self._style.workspace

    @property
    def in_turn(self) -> bool:
        """Whether a prompt is being answered; message text outside of one is not shown (`fault-cases.md H5`), that of a
        turn that was put on hold is shown with the next."""
        return self._in_turn

    @in_turn.setter
    def in_turn(self, begins: bool) -> None:
        self._in_turn = begins
        if begins:
            for piece in self._held.take(self.session_id):
                self._peer.notify_mergeable(piece)

    @property
    def replaying(self) -> bool:
        """Whether stored history is being shown: then the user's own messages are part of it."""
        return self._replaying

    @replaying.setter
    def replaying(self, begins: bool) -> None:
        self._replaying = self._board.replaying = begins

    def hold(self, turn_id: str) -> None:
        """Keep the text of this turn for the next prompt while there is none."""
        _keep(self._holding, turn_id)

    def show(self, change: Change) -> None:
        """Tell the client about a change, if it is something to see."""
        show = self._show.get(type(change))
        if show is not None:
            show(change)

    def silence(self, turn_id: str) -> None:
        """Show nothing of this turn from now on: its prompt has been answered without it."""
        self.close_turn(turn_id, at_once=True)
        _keep(self._silenced, turn_id)

    def stop(self) -> None:
        """Tell nothing more of cards: the session is closed, or somebody else shows it now."""
        self._board.stop()

    def is_silenced(self, turn_id: Any) -> bool:
        """Whether nothing of this turn is shown any more."""
        return turn_id in self._silenced

    def close_turn(self, turn_id: str | None, *, tasks_go_on: bool = False, at_once: bool = False) -> None:
        """End the cards of a turn that did not end with it, except those that go on, and those that name no turn. None
        means every card there is; `tasks_go_on`: but for those that outlive turns. `at_once`: without waiting for
        diffs, as `settled` does."""
        if turn_id is not None:
            _keep(self._ended_turns, turn_id)
        self._board.close_turn(turn_id, tasks_go_on=tasks_go_on, at_once=at_once)

    async def settled(self, turn_ids: Collection[str] | None = None) -> None:
        """Wait until the calls of these turns that have ended are shown so, which waits for their diffs; of all turns,
        if none are named. Takes no longer than a diff may take."""
        await self._board.settled(turn_ids)

    def settle(self, turn_id: str) -> None:
        """Show the calls of this turn that have ended as they are, without what is being read about them."""
        self._board.settle(turn_id)

    def ask(self, item_id: str, turn_id: str | None, fields: dict[str, Any]) -> None:
        """Put the card of a call that waits for a decision on screen, as pending (`fault-cases.md I6`)."""
        self._board.ask(item_id, turn_id, fields)

    def card_id(self, item_id: str) -> str:
        """What the client knows the card of an item by."""
        return self._board.card_id(item_id)

    def has_ended(self, item_id: str) -> bool:
        """Whether the card of an item has ended, so that nothing gives it a status any more (`acp.md §7`)."""
        return self._board.has_ended(item_id)

    def label(self, item_id: str) -> str | None:
        """The host's own words for an item, if its card has them for a title."""
        return self._board.label(item_id)

    def refresh_tasks(self) -> None:
        """What can be stopped has changed."""
        self._board.refresh_tasks()

    def say(self, text: str) -> None:
        """A remark of the adapter itself, as a message of its own."""
        self._send_text("agent_message_chunk", text, uuid7())

    def settle_asked(self, item_id: str, status: updates.ToolStatus) -> None:
        """End the card of a call that was asked about and is shown nowhere else: a subagent's."""
        self._board.settle_asked(item_id, status)

    def decided(self, item_id: str) -> None:
        """The call no longer waits; its item says what it does now."""
        self._board.decided(item_id)

    def restore(self, raw: dict[str, Any]) -> None:
        """Tell what can be read of an item whose card is not shown again."""
        self._board.restore(raw)

    def history_incomplete(self, events: int) -> None:
        """Tell a client that reads stored output that some of it may not have been announced."""
        if self._style.output_offered:
            meta = {OUTPUT_KEY: {"historyIncomplete": True, "eventsScanned": events}}
            self._send(updates.session_info(self.session_id, meta=meta))

    def show_text(self, change: TextAppended) -> None:
        """Tell the client of more text, if it may see it."""
        item = change.item
        if item.turn_id in self._silenced:
            return
        if item.kind == "agentMessage":
            self._chunk("agent_message_chunk", item, change.text)
        elif item.kind == "reasoning":
            self._chunk("agent_thought_chunk", item, self._paragraph(change) + change.text)
        elif change.field == "output":
            self._board.append_output(item, change.text)

    def _text_anew(self, change: TextRestated) -> None:
        """All of a text of which some was lost: as a message of its own, since what is on screen cannot be taken
        back."""
        item = change.item
        if item.turn_id not in self._silenced:
            variant: updates.ChunkVariant = "agent_thought_chunk" if item.kind == "reasoning" else "agent_message_chunk"
            self._chunk(variant, item, f"{RESTATED}\n\n{change.text}", uuid7())

    def _chunk(self, variant: updates.ChunkVariant, item: ItemState, text: str, message_id: str | None = None) -> None:
        message_id = message_id or item.item_id
        is_late = item.turn_id in self._ended_turns
        if (self._in_turn and not is_late) or self._replaying:
            return self._send_text(variant, text, message_id)
        # Late text that is read back belongs to an answer that was given before the host could be asked for all of it.
        reading_back = is_late and self._is_reading_back()
        if not self._in_turn and (reading_back or item.turn_id in self._holding):
            self._held.add(variant, message_id, text)
        elif reading_back:
            self._send_text(variant, text, message_id)
        elif item.item_id != self._unshown:
            # Once an item: a line for each delta could fill a disk (`fault-cases.md E5`).
            self._unshown = item.item_id
            log.debug("text that belongs to no open prompt is not shown")
        return None

    def _send_text(self, variant: updates.ChunkVariant, text: str, message_id: str) -> None:
        if len(text) <= LONGEST_CHUNK:
            return self._peer.notify_mergeable(updates.TextChunk(self.session_id, variant, text, message_id))
        for at in range(0, len(text), LONGEST_CHUNK):
            piece = text[at : at + LONGEST_CHUNK]
            self._peer.notify_mergeable(updates.TextChunk(self.session_id, variant, piece, message_id))
        return None

    def _paragraph(self, change: TextAppended) -> str:
        """A blank line where a thought goes on to its next summary."""
        before, self._thought = self._thought, (change.item.item_id, change.field)
        return "\n\n" if before is not None and before != self._thought and before[0] == change.item.item_id else ""

    def _item(self, change: ItemChanged) -> None:
        item = change.item
        if item.kind in MESSAGE_KINDS:
            # Their text is told as it comes; what the user said is known to the client but for that of the past.
            if self._replaying and item.kind == "userMessage":
                self._chunk("user_message_chunk", item, user_text(item))
            return
        # Work that outlives turns still ends: its card has stayed open.
        if item.turn_id not in self._silenced or self._board.is_open(item.item_id):
            self._board.show(item, is_late=item.turn_id in self._ended_turns and not outlives_turn(item))

    def _send(self, params: dict[str, Any]) -> None:
        self._peer.notify(updates.METHOD, params)


def _keep(turns: OrderedDict[str, None], turn_id: str) -> None:
    turns[turn_id] = None
    if len(turns) > REMEMBERED_TURNS:
        turns.popitem(last=False)
