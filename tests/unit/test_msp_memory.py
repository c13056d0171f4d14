"""What a session remembers is bounded by what it takes, not by how many there are of it."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from adapter.msp.changes import TextAppended, TextRestated
from adapter.msp.fold import SessionFold
from adapter.msp.items import REMEMBERED_SETTLED_BYTES, ItemStore
from adapter.msp.weight import weight
from tests.folding import completed, delta, item, run, started

MIB = 1024 * 1024


def kept(work: Callable[[], Any]) -> int:
    """Bytes that are still allocated after `work`, for as long as what it answers is there."""
    tracemalloc.start()
    try:
        result = work()
        size = tracemalloc.get_traced_memory()[0]
        del result
        return size
    finally:
        tracemalloc.stop()


def settled(item_id: str, text: str, **members: Any) -> dict[str, Any]:
    return {
        "itemId": item_id,
        "kind": "userShell",
        "revision": 2,
        "status": "completed",
        "visibleOutput": text,
    } | members


def test_small_pieces_of_a_long_text_take_about_what_the_text_takes() -> None:
    def stream() -> SessionFold:
        fold = SessionFold("s")
        run(fold, started(item()))
        for number in range(200_000):
            fold.apply("item/delta", {"itemId": "i", "field": "text", "delta": f"{number % 1000:03}"})
        assert fold.items.get("i") is not None
        return fold

    assert kept(stream) < 2 * 600_000


def test_text_that_was_streamed_is_kept_once_when_it_is_settled() -> None:
    # Pieces of their own, as from a wire; the final text is counted too.
    def stream() -> SessionFold:
        fold = SessionFold("s")
        run(fold, started(item()))
        for number in range(256):
            run(fold, delta(chr(65 + number % 26) * 8192))
        run(fold, completed(item(revision=2, text="".join(chr(65 + number % 26) * 8192 for number in range(256)))))
        return fold

    assert kept(stream) < 1.5 * 2 * MIB


def test_outputs_that_differ_from_what_was_streamed_are_kept_once() -> None:
    def stream() -> SessionFold:
        fold = SessionFold("s")
        for number in range(40):
            run(fold, started(item(f"i{number}", kind="userShell")))
            run(fold, delta(str(number) * 200_000, f"i{number}", field="output"))
            run(fold, completed(settled(f"i{number}", "the ends of it")))
        assert len(fold.items) == 40
        return fold

    assert kept(stream) < MIB


def test_settled_items_are_remembered_as_far_as_there_is_room() -> None:
    store = ItemStore()
    for number in range(100):
        store.apply(settled(f"i{number}", "x" * (MIB // 4)), "completed")
    remembered = [known.item_id for known in store]
    assert remembered == [f"i{number}" for number in range(100 - len(remembered), 100)]
    assert len(remembered) == REMEMBERED_SETTLED_BYTES // (MIB // 4) - 1
    assert store.is_forgotten("i0")


def test_the_newest_item_is_remembered_whatever_it_takes() -> None:
    store = ItemStore()
    store.apply(settled("small", "x"), "completed")
    store.apply(settled("large", "x" * (REMEMBERED_SETTLED_BYTES + 1)), "completed")
    assert [known.item_id for known in store] == ["large"]
    store.apply(settled("next", "x"), "completed")
    assert [known.item_id for known in store] == ["next"]


def test_an_item_that_is_told_again_is_counted_once() -> None:
    store = ItemStore()
    for revision in range(2, 50):
        store.apply(settled("i", "x" * (MIB // 4), revision=revision), "completed")
        store.apply(settled("other", "x", revision=revision), "completed")
    assert {known.item_id for known in store} == {"i", "other"}


def test_what_differs_is_remembered_as_far_as_there_is_room() -> None:
    fold = SessionFold("s")
    for number in range(12):
        run(fold, started(item(f"i{number}")), delta("a" * MIB, f"i{number}"))
        run(fold, completed(item(f"i{number}", revision=2, text="b" * (MIB // 2))))
    changes = run(fold, ("view/gap", {"after": "v:1", "next": "v:2"})) + fold.restate()
    again = [change.item.item_id for change in changes if isinstance(change, TextRestated)]
    assert again == ["i10", "i11"]


def test_of_a_forgotten_item_only_what_is_new_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.msp.items.REMEMBERED_SETTLED_BYTES", 1)
    fold = SessionFold("s")
    run(fold, started(item()), delta("ab"), completed(item(revision=2, text="ab")), completed(item("j", revision=2)))
    changes = run(fold, completed(item(revision=3, text="abc")))
    assert [change for change in changes if isinstance(change, TextAppended)] == []


def test_weighing_ends_where_it_is_too_much() -> None:
    assert weight({"a": ["x" * 100, {"b": "y" * 100}, 1, None]}, MIB) in range(200, 1000)
    assert weight([["x"] for _ in range(10_000)], 1000) < 100_000


def test_deep_nesting_is_weighed() -> None:
    value: Any = "x"
    for _ in range(50_000):
        value = [value]
    assert weight(value, 100 * MIB) > 50_000
