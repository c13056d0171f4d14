"""What the client is shown of a session: its changes as `session/update` notifications, in order and at once.

Text goes out as it comes; a card goes out when its item appears and afterwards only with what has changed about it. A
card that has been shown as ended keeps what it shows, whatever the host still says about the item (`acp.md §7`); only
the handles to its stored output follow the host.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Final

from adapter.acp import updates
from adapter.acp.text import one_line
from adapter.bridge.card_style import CardStyle
from adapter.bridge.card_text import TRUNCATED_KEY
from adapter.bridge.cards import (
    MESSAGE_KINDS,
    Card,
    card_of,
    is_card,
    outlives_turn,
    output_text,
    user_text,
)
from adapter.bridge.held_text import HeldText
from adapter.bridge.stored_output.contract import KEY as OUTPUT_KEY
from adapter.bridge.stored_output.references import card_meta, has_unusable_reference
from adapter.msp.changes import Change, ItemChanged, TextAppended
from adapter.msp.items import ItemState
from adapter.wire.peer import Peer

log = logging.getLogger("adapter.bridge")
log_output = logging.getLogger("adapter.output")

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

_KEYWORDS: Final = {"rawInput": "raw_input", "rawOutput": "raw_output"}


class _Shown:
    """What the client has been told about a card."""

    __slots__ = ("ended", "item", "members", "meta", "next_draw", "waits")

    def __init__(self, item: ItemState, members: dict[str, Any], meta: dict[str, Any]) -> None:
        self.item = item
        self.members = members
        self.meta = meta
        self.ended = members.get("status") in {"completed", "failed"}
        self.next_draw = 0
        self.waits = False


class Projection:
    """The outgoing view of one session."""

    def __init__(self, style: CardStyle, peer: Peer) -> None:
        self.session_id = style.session_id
        self._in_turn = False
        self.replaying = False
        """Whether stored history is being shown: then the user's own messages are part of it."""
        self._style = style
        self._peer = peer
        self._cards: OrderedDict[str, _Shown] = OrderedDict()
        self._ended_turns: OrderedDict[str, None] = OrderedDict()
        self._silenced: OrderedDict[str, None] = OrderedDict()
        self._thought: tuple[str, str] | None = None
        self._unshown: str | None = None
        self._holding: OrderedDict[str, None] = OrderedDict()
        self._held = HeldText()
        self._show: dict[type, Callable[[Any], None]] = {TextAppended: self._text, ItemChanged: self._item}

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
        self.close_turn(turn_id)
        _keep(self._silenced, turn_id)

    def is_silenced(self, turn_id: Any) -> bool:
        """Whether nothing of this turn is shown any more."""
        return turn_id in self._silenced

    def close_turn(self, turn_id: str | None, *, tasks_go_on: bool = False) -> None:
        """End the cards of a turn that did not end with it, except those that go on, and those that name no turn. None
        means every card there is; `tasks_go_on`: but for those that outlive turns."""
        if turn_id is not None:
            _keep(self._ended_turns, turn_id)
        for item_id, shown in list(self._cards.items()):
            if turn_id is None:
                goes_on = tasks_go_on and outlives_turn(shown.item)
            else:
                goes_on = shown.item.turn_id not in (turn_id, None) or outlives_turn(shown.item)
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
            shown = _Shown(item, members, {})
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

    def restore(self, raw: dict[str, Any]) -> None:
        """Tell what can be read of an item whose card is not shown again."""
        item_id = raw["itemId"]
        meta = card_meta(self.session_id, item_id, raw)
        if meta and item_id not in self._cards and raw.get("kind") not in MESSAGE_KINDS:
            item = ItemState(item_id)
            item.raw = raw
            self._remember(item_id, _Shown(item, {"status": "completed"}, meta))
            self._send(updates.tool_call_update(self.session_id, item_id, meta=meta))

    def history_incomplete(self, events: int) -> None:
        """Tell a client that reads stored output that some of it may not have been announced."""
        if self._style.output_offered:
            meta = {OUTPUT_KEY: {"historyIncomplete": True, "eventsScanned": events}}
            self._send(updates.session_info(self.session_id, meta=meta))

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
        if not self.replaying and not self._in_turn and item.turn_id in self._holding:
            return self._held.add(variant, item.item_id, text)
        if not self.replaying and (not self._in_turn or item.turn_id in self._ended_turns):
            if item.item_id != self._unshown:
                # Once an item: a line for each delta could fill a disk (`fault-cases.md E5`).
                self._unshown = item.item_id
                log.debug("text that belongs to no open prompt is not shown")
            return
        for at in range(0, len(text), LONGEST_CHUNK):
            piece = text[at : at + LONGEST_CHUNK]
            self._peer.notify_mergeable(updates.TextChunk(self.session_id, variant, piece, item.item_id))
        return None

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
            self._update(shown, card_of(item, self._style))

    def _item(self, change: ItemChanged) -> None:
        item = change.item
        if self.replaying and item.kind == "userMessage":
            self._chunk("user_message_chunk", item, user_text(item))
        if item.turn_id in self._silenced or not is_card(item):
            return
        shown = self._cards.get(item.item_id)
        if shown is None and item.turn_id in self._ended_turns and not outlives_turn(item):
            return
        if self._style.output_offered and has_unusable_reference(item.raw):
            log_output.warning("what the host says is stored of an item cannot be used, and is not announced")
        card = card_of(item, self._style)
        if shown is None:
            members = card.members()
            self._remember(item.item_id, _Shown(item, members, card.meta))
            tool = item.raw.get("tool")
            name = one_line(tool) if isinstance(tool, str) and tool else None
            meta = card.meta or None
            self._send(updates.tool_call(self.session_id, item.item_id, name=name, meta=meta, **_arguments(members)))
        else:
            shown.item = item
            self._update(shown, card)

    def _update(self, shown: _Shown, card: Card) -> None:
        changed: dict[str, Any] = {}
        meta = _changed_meta(shown.meta, card.meta, only_handles=shown.ended)
        if not shown.ended:
            members = card.members()
            if shown.waits and members["status"] == "in_progress":
                members["status"] = "pending"
            changed = {name: value for name, value in members.items() if shown.members.get(name) != value}
            shown.members |= changed
            shown.ended = members["status"] in {"completed", "failed"}
        if changed or meta:
            # All of it, if any: some clients merge `_meta`, others put it in the place of what they had.
            whole = shown.meta | meta if meta else None
            shown.meta = {name: value for name, value in (shown.meta | meta).items() if value is not None}
            arguments = _arguments(changed)
            self._send(updates.tool_call_update(self.session_id, shown.item.item_id, meta=whole, **arguments))

    def _remember(self, item_id: str, shown: _Shown) -> None:
        self._cards[item_id] = shown
        if len(self._cards) > REMEMBERED_CARDS:
            oldest = next((key for key, card in self._cards.items() if card.ended), None)
            if oldest is not None:
                del self._cards[oldest]

    def _send(self, params: dict[str, Any]) -> None:
        self._peer.notify(updates.METHOD, params)


def _changed_meta(before: dict[str, Any], now: dict[str, Any], *, only_handles: bool) -> dict[str, Any]:
    """What has to be said about `_meta`: new and changed members, and null for those that are gone."""
    changed = {name: value for name, value in now.items() if before.get(name) != value}
    changed |= {name: None for name in before if name not in now}
    return {name: value for name, value in changed.items() if not only_handles or name != TRUNCATED_KEY}


def _keep(turns: OrderedDict[str, None], turn_id: str) -> None:
    turns[turn_id] = None
    if len(turns) > REMEMBERED_TURNS:
        turns.popitem(last=False)


def _arguments(members: dict[str, Any]) -> dict[str, Any]:
    """Card members as keyword arguments of the update builders."""
    return {_KEYWORDS.get(name, name): value for name, value in members.items()}
