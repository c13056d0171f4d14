"""The cards of one session on the client's screen: each opened once, told of what has changed, and ended once.

A card goes out when its item appears and afterwards only with what has changed about it. A change of what it shows
waits until the card may be drawn again (`throttle`), a change of anything else does not and takes the rest along. A
card that has ended keeps what it shows, whatever the host still says about the item (`acp.md §7`); only the handles in
its `_meta` follow the host. So a call whose diff is still being read ends when that is there, or soon without it.

A call whose card was ended because its host had died, and which the next host goes on with, has another card: it begins
when that host asks about the call, or says that it is done.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection
from functools import partial
from typing import Any, Final

import anyio
import msgspec

from adapter.acp import updates
from adapter.acp.tool_content import terminal_content
from adapter.bridge.stored_output.references import card_meta, unusable_references
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.bridge.tool_cards.cards import (
    MESSAGE_KINDS,
    Card,
    arguments_of,
    card_of,
    is_card,
    is_command,
    label_of,
    outlives_turn,
    tool_of,
)
from adapter.bridge.tool_cards.compactions import Compactions
from adapter.bridge.tool_cards.diffs import READ_SECONDS, Content, Diffs
from adapter.bridge.tool_cards.patches import has_patch
from adapter.bridge.tool_cards.shown_card import ENDED, OVERHEAD, ShownCard
from adapter.bridge.tool_cards.terminal_cards import TerminalCard
from adapter.bridge.tool_cards.throttle import INTERVAL
from adapter.msp.items import ItemState
from adapter.msp.streams import OUTPUT_FIELD
from adapter.wire.background import Background
from adapter.wire.peer import Peer

log = logging.getLogger("adapter.bridge")
log_output = logging.getLogger("adapter.output")

REMEMBERED_CARDS: Final = 4000
"""Ended cards remembered so that a late event does not open them again."""

Read = Callable[[], Awaitable[Content]]


class CardBoard:
    """`task_meta` is what the client is told of work that outlives turns, None for all other items (`tasks`)."""

    def __init__(
        self,
        style: CardStyle,
        peer: Peer,
        background: Background,
        diffs: Diffs,
        task_meta: Callable[[ItemState], dict[str, Any] | None] = lambda item: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.replaying = False
        """Whether stored history is being shown: the files are not what they were then."""
        self._style = style
        self._peer = peer
        self._background = background
        self._diffs = diffs
        self._task_meta = task_meta
        self._clock = clock
        self._cards: OrderedDict[str, ShownCard] = OrderedDict()
        """The newest card of each item."""
        self._open_ones: dict[str, ShownCard] = {}
        """Those that have not ended, and some that have since the last look: all are too many to look at at
        the end of each turn."""
        self._compactions = Compactions(style.session_id)
        self._settling: dict[str, ShownCard] = {}
        """Cards that are held open until what is being read about them is there."""
        self._due: dict[str, float] = {}
        """When which card may be drawn again."""
        self._drawing = False
        """Whether somebody waits for that."""
        self._reads_patches = True

    # -- what the host says

    def show(self, item: ItemState, *, is_late: bool) -> None:
        """Tell the client about an item. `is_late`: its turn is over, so nothing begins for it any more."""
        shown = self._cards.get(item.item_id)
        if item.kind == "compaction" and self._style.compactions and not is_late:
            return self._send_if(self._compactions.show(item))
        if shown is None and (is_late or not is_card(item)):
            return None
        if self._style.output_offered and unusable_references(item.raw):
            log_output.warning("what the host says is stored of an item cannot be used, and is not announced")
        if shown is None:
            return self._open(item)
        if shown.cut_off and not is_late and (item.status == "completed" or (item.is_open and outlives_turn(item))):
            return self._open(item)
        if shown.ended:
            return self._follow_handles(shown, item)
        was_asked_about = not shown.item.raw
        shown.item, shown.turn_id = item, item.turn_id or shown.turn_id
        if was_asked_about:
            self._read_changes(shown)
        elif not item.is_open:
            self._read_patch(shown)
        return self._update(shown)

    def append_output(self, item: ItemState, text: str) -> None:
        """More output of a call that runs."""
        shown = self._cards.get(item.item_id)
        if shown is None or shown.ended or not item.is_open:
            return
        shown.printed += len(text)
        shown.throttle.earn(len(text))
        if shown.terminal is not None:
            shown.terminal.append(text)
        elif item.is_full(OUTPUT_FIELD):
            return
        self._want(shown)

    def _open(self, item: ItemState) -> None:
        shown = self._new_card(item)
        self._read_changes(shown)
        if self._style.terminals and is_command(item):
            shown.terminal = TerminalCard(shown.card_id, self._style.workspace)
        card = self._card(shown)
        members = self._held_open(shown, card)
        if shown.terminal is not None and members["status"] in ENDED:
            # The output comes after the terminal, the end after both.
            members["status"] = "in_progress"
        shown.take(members)
        meta = (shown.take_meta(card.meta | self._tasks_meta(item)) or {}) | shown.terminal_info()
        members["name"] = card.name
        self._send(updates.tool_call(self._style.session_id, shown.card_id, members, meta=meta or None))
        if shown.terminal is not None:
            self._update(shown)
        elif members["status"] in ENDED:
            shown.end()

    def _follow_handles(self, shown: ShownCard, item: ItemState) -> None:
        meta = card_of(item, self._style).meta | self._tasks_meta(item)
        whole = shown.take_meta(meta)
        if whole is not None:
            self._tell(shown, {}, whole)

    # -- drawing

    def _card(self, shown: ShownCard) -> Card:
        terminal = None if shown.terminal is None else shown.terminal.terminal_id
        card = card_of(shown.item, self._style, changes=shown.changes, terminal=terminal)
        if card.printed is None or shown.terminal is None or shown.item.is_open:
            return card
        if shown.terminal.complete(card.printed):
            return card
        # What has been printed cannot be taken back: what the host says instead stands beside it.
        plain = card_of(shown.item, self._style, changes=shown.changes)
        return msgspec.structs.replace(plain, content=[card.content[0], *plain.content])

    def _held_open(self, shown: ShownCard, card: Card) -> dict[str, Any]:
        """The members of a card that shows the call as it is for the client: pending while it waits for a decision, and
        running while something about it is being read."""
        members = card.members()
        if shown.waits and members["status"] == "in_progress":
            members["status"] = "pending"
        if shown.reading and members["status"] in ENDED:
            shown.settled = shown.settled or anyio.Event()
            self._settling[shown.item_id] = shown
            members["status"] = shown.members.get("status", "in_progress")
        return members

    def _update(self, shown: ShownCard, *, drawing: bool = False, status: updates.ToolStatus | None = None) -> None:
        """Tell what has changed about an open card. If that is only what it shows, it waits until it may be drawn, and
        is drawn if it is `drawing`. `status`: it ends like this, whatever its item says."""
        card = self._card(shown)
        members = self._held_open(shown, card) | ({} if status is None else {"status": status})
        meta = card.meta | self._tasks_meta(shown.item)
        ends = members["status"] in ENDED
        if not (drawing or ends) and shown.lacks_only_content(members, meta):
            return self._want(shown) if shown.members.get("content") != members.get("content") else None
        self._due.pop(shown.item_id, None)
        whole = shown.take_meta(meta)
        sent = self._print(shown)
        changed = shown.take(members)
        if ends and shown.terminal is not None:
            whole = (whole or shown.meta) | shown.terminal.exit(card.raw_output)
        if changed or whole:
            self._tell(shown, changed, whole)
            sent += shown.cost if "content" in changed else OVERHEAD
        if sent:
            shown.throttle.drawn(self._clock(), sent)
        if ends:
            self._settling.pop(shown.item_id, None)
            shown.end()
        return None

    def _print(self, shown: ShownCard) -> int:
        """Hand the terminal of a card what waits for it; how much that was."""
        sent = 0
        for piece in shown.terminal.pieces() if shown.terminal is not None else ():
            sent += OVERHEAD + len(piece["terminal_output"]["data"])
            self._tell(shown, {}, shown.meta | piece)
        return sent

    def _want(self, shown: ShownCard) -> None:
        """Draw a card as soon as it may be."""
        if shown.item_id in self._due:
            return
        now = self._clock()
        due = shown.throttle.due(now, shown.cost)
        if due <= now:
            return self._update(shown, drawing=True)
        self._due[shown.item_id] = due
        if not self._drawing:
            self._drawing = True
            self._background.start(self._draw_when_due)
        return None

    async def _draw_when_due(self) -> None:
        """Draw what waits, also when the host says nothing more; over when nothing waits."""
        try:
            while self._due:
                # Another card may be due before the first of those that wait now.
                await anyio.sleep(min(max(min(self._due.values()) - self._clock(), 0.0), INTERVAL))
                self.draw_due()
        finally:
            self._drawing = False

    def draw_due(self) -> None:
        """Draw every card whose time has come."""
        now = self._clock()
        for item_id in [item_id for item_id, due in self._due.items() if due <= now]:
            del self._due[item_id]
            if self.is_open(item_id):
                self._update(self._cards[item_id], drawing=True)

    # -- diffs

    def _read_changes(self, shown: ShownCard) -> None:
        """Find out what a call changes, as soon as it is seen: before it is made, or it cannot be told any more."""
        item = shown.item
        makes_changes = tool_of(item).change is not None
        change = self._diffs.change(item.raw.get("tool"), arguments_of(item)) if makes_changes else None
        previewed = self._diffs.previewed(item.item_id)
        if previewed is not None:
            shown.changes = previewed
        elif change is not None and item.is_open and not self.replaying and change.patch is None:
            self._read(shown, partial(self._diffs.content, change))
        elif change is not None:
            shown.changes = self._diffs.stated(change)
        if not item.is_open:
            self._read_patch(shown)

    def _read_patch(self, shown: ShownCard) -> None:
        """Read the diff the host has stored of a call that has ended: it knows best what was changed."""
        if self._reads_patches and shown.item.status == "completed" and has_patch(shown.item.raw):
            self._read(shown, partial(self._diffs.patch, shown.item.raw), stored=True)

    def _read(self, shown: ShownCard, read: Read, *, stored: bool = False) -> None:
        shown.reading += 1
        self._background.start(self._take_changes, shown, read, stored)

    async def _take_changes(self, shown: ShownCard, read: Read, stored: bool) -> None:
        content: Content = []
        try:
            with anyio.move_on_after(READ_SECONDS) as patience:
                content = await read()
            # A replay has many of them: it waits for a host that does not answer once.
            self._reads_patches = self._reads_patches and not patience.cancelled_caught
        except Exception:
            log.exception("what a call has changed could not be read")
        shown.reading -= 1
        if content and (stored or not shown.has_stored_changes):
            # What the host has stored may be there before the file has been read.
            shown.changes, shown.has_stored_changes = content, stored
        is_there = self._cards.get(shown.item_id) is shown and not shown.ended
        if is_there and (shown.item.is_open or not shown.reading):
            self._update(shown, drawing=True)

    async def settled(self, turn_ids: Collection[str] | None) -> None:
        """Wait until the calls of these turns, or of all, that have ended are shown so; at most `READ_SECONDS`."""
        if not self._settling:
            return
        with anyio.move_on_after(READ_SECONDS):
            for shown in list(self._settling.values()):
                if shown.settled is not None and (turn_ids is None or shown.turn_id in turn_ids):
                    await shown.settled.wait()

    def settle(self, turn_id: str | None) -> None:
        """End the cards of this turn, or all, that are only held open by what is being read about them."""
        for shown in list(self._settling.values()):
            if turn_id in (shown.turn_id, None):
                shown.reading = 0
                self._update(shown)

    # -- ends

    def close_turn(self, turn_id: str | None, *, tasks_go_on: bool = False, at_once: bool = False) -> None:
        """End the cards of a turn that did not end with it, except those that go on, and those that name no turn. None
        means every card there is; `tasks_go_on`: but for those that outlive turns. `at_once`: without waiting for what
        is being read about those that have ended."""
        for params in self._compactions.close(turn_id):
            self._send(params)
        for shown in self._open_cards():
            if turn_id is None:
                goes_on = tasks_go_on and outlives_turn(shown.item)
            else:
                goes_on = shown.turn_id not in (turn_id, None) or outlives_turn(shown.item)
            if not goes_on and (shown.item.is_open or shown.settled is None):
                shown.cut_off = turn_id is None
                self._end(shown, "failed")
        if at_once or turn_id is None:
            self.settle(turn_id)

    def _end(self, shown: ShownCard, status: updates.ToolStatus) -> None:
        """End a card whose item has not."""
        if shown.item.raw:
            return self._update(shown, status=status)
        shown.members["status"] = status
        self._tell(shown, {"status": status})
        return shown.end()

    def refresh_tasks(self) -> None:
        """Tell anew what can be done with the work that outlives turns."""
        for shown in [shown for shown in self._open_cards() if outlives_turn(shown.item)]:
            self._update(shown)

    # -- approvals

    def ask(self, item_id: str, turn_id: str | None, fields: dict[str, Any]) -> None:
        """Put the card of a call that waits for a decision on screen, as pending (`fault-cases.md I6`). One that was
        ended because its host had died is not taken up again: the call has another."""
        shown = self._cards.get(item_id)
        if shown is None or shown.cut_off:
            item = ItemState(item_id)
            item.turn_id = turn_id
            shown = self._new_card(item)
            content = list(fields.get("content") or ())
            if self._style.terminals and fields.get("kind") == "execute":
                shown.terminal = TerminalCard(shown.card_id, self._style.workspace)
                content.insert(0, terminal_content(shown.card_id))
            members = shown.take({**fields, "status": "pending", **({"content": content} if content else {})})
            meta = shown.terminal_info() or None
            self._send(updates.tool_call(self._style.session_id, shown.card_id, members, meta=meta))
        elif not shown.ended and shown.members.get("status") != "pending":
            shown.members["status"] = "pending"
            self._tell(shown, {"status": "pending"})
        shown.waits = True

    def decided(self, item_id: str) -> None:
        """The call no longer waits; its item says what it does now."""
        shown = self._cards.get(item_id)
        if shown is not None and not shown.ended:
            shown.waits = False
            # Read while the change could not have been made yet, so it is the better one.
            shown.changes = self._diffs.previewed(item_id) or shown.changes

    def card_id(self, item_id: str) -> str:
        """What the client knows the newest card of the item by."""
        shown = self._cards.get(item_id)
        return item_id if shown is None else shown.card_id

    def label(self, item_id: str) -> str | None:
        """The host's own words for the item, if its card has them for a title."""
        shown = self._cards.get(item_id)
        return None if shown is None else label_of(shown.item)

    def has_ended(self, item_id: str) -> bool:
        """Whether the newest card of the item has ended."""
        return item_id in self._cards and self._cards[item_id].ended

    def is_open(self, item_id: str) -> bool:
        """Whether the item has a card that has not ended."""
        shown = self._cards.get(item_id)
        return shown is not None and not shown.ended

    def settle_asked(self, item_id: str, status: updates.ToolStatus) -> None:
        """End the card of a call that was asked about and is shown nowhere else: a subagent's."""
        shown = self._cards.get(item_id)
        if shown is not None and not shown.ended and not shown.item.raw:
            self._end(shown, status)

    # -- the end of it all

    def stop(self) -> None:
        """Tell nothing more: the session is closed, or somebody else shows it now."""
        self._due.clear()
        self._cards.clear()
        self._open_ones.clear()
        self._settling.clear()

    # -- history

    def restore(self, raw: dict[str, Any]) -> None:
        """Tell what can be read of an item whose card is not shown again."""
        item_id = raw["itemId"]
        meta = card_meta(self._style.session_id, item_id, raw)
        if meta and item_id not in self._cards and raw.get("kind") not in MESSAGE_KINDS:
            shown = ShownCard(ItemState(item_id))
            shown.members["status"] = "completed"
            self._tell(shown, {}, shown.take_meta(meta))
            shown.end()
            self._remember(shown)

    def _tasks_meta(self, item: ItemState) -> dict[str, Any]:
        return (self._task_meta(item) or {}) if self._style.tasks else {}

    def _new_card(self, item: ItemState) -> ShownCard:
        """A card for the item, under an id of its own if it had one that has ended."""
        before = self._cards.get(item.item_id)
        shown = ShownCard(item, 1 if before is None else before.number + 1)
        self._remember(shown)
        return shown

    def _remember(self, shown: ShownCard) -> None:
        self._cards[shown.item_id] = self._open_ones[shown.item_id] = shown
        if len(self._cards) > REMEMBERED_CARDS:
            oldest = next((key for key, card in self._cards.items() if card.ended), None)
            if oldest is not None:
                del self._cards[oldest]
                self._open_ones.pop(oldest, None)

    def _open_cards(self) -> list[ShownCard]:
        self._open_ones = {item_id: shown for item_id, shown in self._open_ones.items() if not shown.ended}
        return list(self._open_ones.values())

    def _tell(self, shown: ShownCard, changed: dict[str, Any], meta: dict[str, Any] | None = None) -> None:
        self._send(updates.tool_call_update(self._style.session_id, shown.card_id, changed, meta=meta))

    def _send(self, params: dict[str, Any]) -> None:
        self._peer.notify(updates.METHOD, params)

    def _send_if(self, params: dict[str, Any] | None) -> None:
        if params is not None:
            self._send(params)
