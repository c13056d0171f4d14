"""Text that grows, its bounds, and what of the final text is missing."""

from __future__ import annotations

import pytest

from adapter.msp.items import ItemStore
from adapter.msp.streams import StreamedText


@pytest.mark.parametrize(
    ("chunks", "final", "missing"),
    [([], "ab", "ab"), (["a", "b"], "ab", ""), (["a"], "ab", "b"), (["ab"], "a", None), (["x"], "ab", None)],
)
def test_missing_part_of_the_final_text(chunks: list[str], final: str, missing: str | None) -> None:
    stream = StreamedText()
    for chunk in chunks:
        stream.append(chunk)
    assert stream.missing_from(final) == missing
    assert stream.text() == "".join(chunks)


def test_kept_text_is_bounded_and_then_never_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.msp.streams.STREAMED_TEXT_LIMIT", 4)
    stream = StreamedText()
    for chunk in ("abc", "def", "g"):
        stream.append(chunk)
    assert stream.text() == "abc"
    assert stream.missing_from("abcdefgh") is None


def test_text_of_an_item_is_what_was_streamed_until_the_host_settles_it() -> None:
    store = ItemStore()
    applied = store.apply({"itemId": "i", "kind": "agentMessage", "revision": 1, "status": "inProgress"}, "inProgress")
    assert applied is not None
    item, first = applied
    assert first
    assert item.follow("text", "ab")
    assert item.text("text") == "ab"
    assert item.text("output") == ""
    store.apply(
        {"itemId": "i", "kind": "agentMessage", "revision": 2, "status": "cancelled", "text": "abX"}, "completed"
    )
    assert item.text("text") == "abX"
    assert not item.follow("text", "more")


def test_revisions_of_forgotten_items_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.msp.items.REMEMBERED_SETTLED_ITEMS", 1)
    monkeypatch.setattr("adapter.msp.items.REMEMBERED_REVISIONS", 1)
    store = ItemStore()
    for item_id in "abc":
        store.apply({"itemId": item_id, "revision": 1, "status": "completed"}, "completed")
    assert [store.is_forgotten(item_id) for item_id in "abc"] == [False, True, False]
    assert len(store) == 1
    assert "completed" in repr(store.get("c"))
    assert store.open_items() == []
