"""What the client is shown of a session: its changes as `session/update` notifications, in order and at once.

Text goes out as it comes; a card goes out when its item appears and afterwards only with what has changed about it. A
card that has been shown as ended is never touched again, whatever the host still says about the item (`acp.md §7`).
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from adapter.acp import updates
from adapter.bridge.cards import Card, card_of, is_card, outlives_turn, output_text
from adapter.msp.changes import Change, ItemChanged, TextAppended
from adapter.msp.items import ItemState
from adapter.wire.peer import Peer

log = logging.getLogger("adapter.bridge")

REMEMBERED_CARDS: Final = 4000
"""Ended cards remembered so that a late event does not open them again."""

REMEMBERED_TURNS: Final = 200
"""Ended turns remembered so that their late text does not show up in the next one (`fault-cases.md G9`)."""

LONGEST_CHUNK: Final = 128 * 1024
"""Characters of text in one update; a message that comes all at once is sent in pieces, so that no line gets too long
for a client."""

FIRST_OUTPUT_STEP: Final = 1024
"""Characters of output after which a running card is drawn again; each next time it has doubled, so that a card is
never sent more than about twice its output, although ACP can only replace its text as a whole (`fault-cases.md P1`)."""


class _Shown:
    """What the client has been told about a card."""

    __slots__ = ("ended", "item", "members", "next_draw", "waits")

    def __init__(self, item: ItemState, members: dict[str, Any]) -> None:
        self.item = item
        self.members = members
        self.ended = members.get("status") in {"completed", "failed"}
        self.next_draw = 0
        self.waits = False


class Projection:
    """The outgoing view of one session."""

    def __init__(self, session_id: str, workspace: str, peer: Peer) -> None:
        self.session_id = session_id
        self.in_turn = False
        """Whether a prompt is being answered; message text outside of one is not shown (`fault-cases.md H5`)."""
        self._workspace = workspace
        self._peer = peer
        self._cards: OrderedDict[str, _Shown] = OrderedDict()
        self._ended_turns: OrderedDict[str, None] = OrderedDict()
        self._silenced: set[str] = set()
        self._thought: tuple[str, str] | None = None
        self._unshown: str | None = None
        self._show: dict[type, Callable[[Any], None]] = {TextAppended: self._text, ItemChanged: self._item}

    def show(self, change: Change) -> None:
        """Tell the client about a change, if it is something to see."""
        show = self._show.get(type(change))
        if show is not None:
            show(change)

    def silence(self, turn_id: str) -> None:
        """Show nothing of this turn from now on: its prompt has been answered without it."""
        self.close_turn(turn_id)
        self._silenced.add(turn_id)

    def is_silenced(self, turn_id: Any) -> bool:
        """Whether nothing of this turn is shown any more."""
        return turn_id in self._silenced

    def close_turn(self, turn_id: str | None) -> None:
        """End the cards of a turn that did not end with it, except those that go on; None means every card there is."""
        if turn_id is not None:
            self._ended_turns[turn_id] = None
            if len(self._ended_turns) > REMEMBERED_TURNS:
                self._ended_turns.popitem(last=False)
        for item_id, shown in list(self._cards.items()):
            goes_on = turn_id is not None and (shown.item.turn_id != turn_id or outlives_turn(shown.item))
            if not shown.ended and not goes_on:
                shown.ended = True
                self._send(updates.tool_call_update(self.session_id, item_id, status="failed"))

    def ask(self, item_id: str, turn_id: str | None, fields: dict[str, Any]) -> None:
        """Put the card of a call that waits for a decision on screen, as pending (`fault-cases.md I6`)."""
        shown = self._cards.get(item_id)
        if shown is None:
            item = ItemState(item_id)
            item.turn_id = turn_id
            members = {**fields, "status": "pending"}
            shown = _Shown(item, members)
            self._remember(item_id, shown)
            self._send(updates.tool_call(self.session_id, item_id, **_arguments(members)))
        elif not shown.ended and shown.members.get("status") != "pending":
            shown.members["status"] = "pending"
            self._send(updates.tool_call_update(self.session_id, item_id, status="pending"))
        shown.waits = True

    def decided(self, item_id: str) -> None:
        """The call no longer waits; its item says what it does now."""
        shown = self._cards.get(item_id)
        if shown is not None:
            shown.waits = False

    def _text(self, change: TextAppended) -> None:
        item = change.item
        if item.turn_id in self._silenced:
            return
        if item.kind == "agentMessage":
            self._chunk("agent_message_chunk", item, change.text)
        elif item.kind == "reasoning":
            self._chunk("agent_thought_chunk", item, self._paragraph(change) + change.text)
        elif change.field == "output":
            self._output(item)

    def _chunk(self, variant: updates.ChunkVariant, item: ItemState, text: str) -> None:
        if not self.in_turn or item.turn_id in self._ended_turns:
            if item.item_id != self._unshown:
                # Once an item: a line for each delta could fill a disk (`fault-cases.md E5`).
                self._unshown = item.item_id
                log.debug("text that belongs to no open prompt is not shown")
            return
        for at in range(0, len(text), LONGEST_CHUNK):
            piece = text[at : at + LONGEST_CHUNK]
            self._peer.notify_mergeable(updates.TextChunk(self.session_id, variant, piece, item.item_id))

    def _paragraph(self, change: TextAppended) -> str:
        """A blank line where a thought goes on to its next summary."""
        before, self._thought = self._thought, (change.item.item_id, change.field)
        return "\n\n" if before is not None and before != self._thought and before[0] == change.item.item_id else ""

    def _output(self, item: ItemState) -> None:
        shown = self._cards.get(item.item_id)
        if shown is None or shown.ended:
            return
        length = len(output_text(item))
        if length >= shown.next_draw:
            shown.next_draw = max(2 * length, FIRST_OUTPUT_STEP)
            self._update(shown, card_of(item, self._workspace))

    def _item(self, change: ItemChanged) -> None:
        item = change.item
        if item.turn_id in self._silenced or not is_card(item):
            return
        shown = self._cards.get(item.item_id)
        if shown is None and item.turn_id in self._ended_turns and not outlives_turn(item):
            return
        card = card_of(item, self._workspace)
        if shown is None:
            members = card.members()
            self._remember(item.item_id, _Shown(item, members))
            tool = item.raw.get("tool")
            name = tool if isinstance(tool, str) and tool else None
            self._send(updates.tool_call(self.session_id, item.item_id, name=name, **_arguments(members)))
        elif not shown.ended:
            shown.item = item
            self._update(shown, card)

    def _update(self, shown: _Shown, card: Card) -> None:
        members = card.members()
        if shown.waits and members["status"] == "in_progress":
            members["status"] = "pending"
        changed = {name: value for name, value in members.items() if shown.members.get(name) != value}
        if not changed:
            return
        shown.members |= changed
        shown.ended = members["status"] in {"completed", "failed"}
        self._send(updates.tool_call_update(self.session_id, shown.item.item_id, **_arguments(changed)))

    def _remember(self, item_id: str, shown: _Shown) -> None:
        self._cards[item_id] = shown
        if len(self._cards) > REMEMBERED_CARDS:
            oldest = next((key for key, card in self._cards.items() if card.ended), None)
            if oldest is not None:
                del self._cards[oldest]

    def _send(self, params: dict[str, Any]) -> None:
        self._peer.notify(updates.METHOD, params)


def _arguments(members: dict[str, Any]) -> dict[str, Any]:
    """Card members as keyword arguments of the update builders."""
    return {"raw_input" if name == "rawInput" else name: value for name, value in members.items()}
