"""The items of one session: full objects by revision, text by deltas (`msp.md §13.1`)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Final

from adapter.msp.streams import MESSAGE_FIELD, OUTPUT_FIELD, StreamedText, is_streamable, whole_texts
from adapter.msp.vocabulary import OPEN_STATUS
from adapter.msp.weight import weight

# Settled items kept whole, for cards and stored output that are asked for later. Open ones are always kept.
REMEMBERED_SETTLED_ITEMS: Final = 2000

# What they may take together; the newest is kept whatever it takes. Two thousand items of usual size need less, and
# what is long in them has been shown.
REMEMBERED_SETTLED_BYTES: Final = 4 * 1024 * 1024

# Of older items only the revision is kept, so that a late copy is not taken for a new item.
REMEMBERED_REVISIONS: Final = 50_000


class ItemState:
    """One item as known now.

    Attributes:
        raw: the latest full object the host sent, unknown members included.
        frozen: part of the text may have been lost on the way, so deltas of it are no longer followed; the next full
            object brings the whole text. Output is followed all the same: it is shown by redrawing, and heals.
        ahead: the full object was read from a page, which may be ahead of the live stream: deltas that come before
            the stream has caught up are in it already.
        holed: a gap was told, so that text which was shown may have a hole.
        differs: fields whose text in the latest full object does not continue what was shown.
        weight: about how many bytes it takes, known when it is settled.
    """

    __slots__ = (
        "_restated",
        "_streams",
        "ahead",
        "differs",
        "frozen",
        "holed",
        "item_id",
        "kind",
        "raw",
        "revision",
        "status",
        "turn_id",
        "weight",
    )

    def __init__(self, item_id: str) -> None:
        self.item_id = item_id
        self.kind = "unknown"
        self.turn_id: str | None = None
        self.revision = 0
        self.status = OPEN_STATUS
        self.raw: dict[str, Any] = {}
        self.frozen = False
        self.ahead = False
        self.holed = False
        self.differs: tuple[str, ...] = ()
        self.weight = 0
        self._restated: tuple[tuple[str, str], ...] = ()
        self._streams: dict[str, StreamedText] = {}

    @property
    def is_open(self) -> bool:
        return self.status == OPEN_STATUS

    def take(self, raw: dict[str, Any], revision: int, default_status: str) -> None:
        """Become what this full object says; its texts are not shown yet."""
        self.raw, self.revision = raw, revision
        kind, status, turn_id = raw.get("kind"), raw.get("status"), raw.get("turnId")
        if isinstance(kind, str) and kind:
            self.kind = kind
        self.status = status if isinstance(status, str) and status else default_status
        if isinstance(turn_id, str):
            self.turn_id = turn_id

    def text(self, field: str) -> str:
        """The text of a streamable field: the host's own once the item is settled, what was streamed until then."""
        if not self.is_open:
            for name, whole in whole_texts(self.kind, self.raw):
                if name == field:
                    return whole
        stream = self._streams.get(field)
        return stream.text() if stream else ""

    def is_full(self, field: str) -> bool:
        """Whether so much was streamed of a field that more of it changes nothing."""
        stream = self._streams.get(field)
        return stream is not None and stream.is_full

    def follow(self, field: str, text: str) -> bool:
        """Appends a delta; False if it has no place here."""
        if self.status != OPEN_STATUS or self.ahead or (self.frozen and field != OUTPUT_FIELD):
            return False
        stream = self._streams.get(field)
        if stream is None:
            if not is_streamable(self.kind, field):
                return False
            stream = self._streams[field] = StreamedText()
        stream.append(text)
        return True

    def catch_up(self) -> list[tuple[str, str]]:
        """Takes the full object's texts as shown and answers what of them was not, as (field, suffix).

        A text that does not continue what was shown answers nothing: text once shown cannot be taken back, and
        showing it a second time would be worse. `restate` is for text that is known to have a hole.
        """
        missing = []
        self.differs = ()
        for field, whole in self._whole_texts():
            stream = self._streams.get(field)
            if stream is None:
                self._streams[field] = StreamedText(whole)
                if whole:
                    missing.append((field, whole))
                continue
            suffix = stream.missing_from(whole)
            if suffix is None:
                self.differs += (field,)
            elif suffix:
                stream.append(suffix)
                missing.append((field, suffix))
            if suffix is not None or (field == OUTPUT_FIELD and not self.is_open):
                stream.become(whole)
        return missing

    def restate(self) -> list[tuple[str, str]]:
        """The texts that differ from what was shown, whole, as (field, text); each once. Output is not among them: it
        is shown by redrawing."""
        differing = [(field, whole) for field, whole in self._whole_texts() if whole and field in self.differs]
        texts = [text for text in differing if text[0] != OUTPUT_FIELD and text not in self._restated]
        self._restated += (*texts,)
        return texts

    def continues(self, deltas: list[tuple[str, str]]) -> bool:
        """Whether deltas that came before this first full object fit to the text it brought along."""
        for field, whole in whole_texts(self.kind, self.raw):
            streamed = "".join(text for name, text in deltas if name == field)
            if not (streamed.startswith(whole) or whole.startswith(streamed)):
                return False
        return True

    def weigh(self) -> None:
        """Find out how much it takes: its full object, and text that is not in that."""
        self.weight = weight(self.raw, REMEMBERED_SETTLED_BYTES)
        if self._streams:
            whole = dict(self._whole_texts())
            self.weight += sum(
                stream.length
                for field, stream in self._streams.items()
                if stream.missing_from(whole.get(field, "")) is None and (field != OUTPUT_FIELD or field not in whole)
            )

    def _whole_texts(self) -> list[tuple[str, str]]:
        texts = whole_texts(self.kind, self.raw)
        if self.kind == "reasoning" and not self.is_open and not texts and not self._streams.keys() - {MESSAGE_FIELD}:
            # Without a summary the unabridged text is all there is; it is never streamed.
            thought = self.raw.get("text")
            if isinstance(thought, str):
                texts.append((MESSAGE_FIELD, thought))
        return texts

    def __repr__(self) -> str:
        return f"ItemState({self.item_id!r}, {self.kind}, revision {self.revision}, {self.status})"


class ItemStore:
    """Items in the order they were first seen."""

    def __init__(self) -> None:
        self._items: dict[str, ItemState] = {}
        self._settled: OrderedDict[str, None] = OrderedDict()
        self._settled_bytes = 0
        self._revisions: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[ItemState]:
        return iter(self._items.values())

    def get(self, item_id: str) -> ItemState | None:
        return self._items.get(item_id)

    def is_forgotten(self, item_id: str) -> bool:
        """Whether the item was seen, settled, and dropped."""
        return item_id in self._revisions

    def open_items(self) -> list[ItemState]:
        return [item for item in self._items.values() if item.is_open]

    def apply(self, raw: dict[str, Any], default_status: str) -> tuple[ItemState, bool] | None:
        """Takes a full item if its revision is higher than the known one; answers it and whether it is new.

        None: not an item, or one we have. `default_status` stands in for a missing `status`; an item without a usable
        `revision` counts as newer than what is known.
        """
        item_id = raw.get("itemId")
        if not isinstance(item_id, str) or not item_id:
            return None
        item = self._items.get(item_id)
        known = self._revisions.get(item_id) if item is None else item.revision
        revision = raw.get("revision")
        if type(revision) is not int:
            revision = (known or 0) + 1
        if known is not None and revision <= known:
            return None
        if item is None:
            item = self._items[item_id] = ItemState(item_id)
        item.take(raw, revision, default_status)
        if known is not None and self._revisions.pop(item_id, None) is not None:
            # It comes back changed. Its text was shown when we still had it, so none of it is news.
            item.catch_up()
            item.frozen = True
        self._keep(item)
        return item, known is None

    def _keep(self, item: ItemState) -> None:
        if item.item_id in self._settled:
            del self._settled[item.item_id]
            self._settled_bytes -= item.weight
        if item.status == OPEN_STATUS:
            return
        item.weigh()
        self._settled[item.item_id] = None
        self._settled_bytes += item.weight
        while self._keeps_too_much and len(self._settled) > 1:
            self._forget(next(iter(self._settled)))

    @property
    def _keeps_too_much(self) -> bool:
        return len(self._settled) > REMEMBERED_SETTLED_ITEMS or self._settled_bytes > REMEMBERED_SETTLED_BYTES

    def _forget(self, item_id: str) -> None:
        """Keep the revision of an item, and nothing else of it."""
        del self._settled[item_id]
        item = self._items.pop(item_id)
        self._settled_bytes -= item.weight
        self._revisions[item_id] = item.revision
        if len(self._revisions) > REMEMBERED_REVISIONS:
            self._revisions.popitem(last=False)
