"""What waits to be written: order, size, and frames that grow."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapter.wire.framing import FrameTooLarge
from adapter.wire.outbox import MERGED_BYTES, Outbox

CAP = 100_000


class Delta:
    """A text delta of one message."""

    def __init__(self, text: str, message: str = "msg-1", *, spoil: Any = None) -> None:
        self.text = text
        self.message = message
        self.spoil = spoil

    def absorb(self, later: Any, limit: int) -> bool:
        if not isinstance(later, Delta) or later.message != self.message or len(self.text) + len(later.text) > limit:
            return False
        self.text += later.text
        return True

    def weight(self) -> int:
        return len(self.text) + 60

    def frame(self) -> dict[str, Any]:
        frame: dict[str, Any] = {"message": self.message, "text": self.text}
        if self.spoil is not None:
            frame["spoil"] = self.spoil
        return frame


class Box(Outbox):
    """An outbox that keeps what it lost."""

    def __init__(self, cap: int = CAP) -> None:
        self.lost: list[Exception] = []
        super().__init__(cap, self.lost.append)

    def frames(self) -> list[Any]:
        return [json.loads(line) for line in self.take().splitlines()]


def test_frames_leave_in_order_and_once() -> None:
    box = Box()
    assert (box.size, box.take()) == (0, b"")
    for number in range(3):
        box.put({"n": number})
    assert box.size == len(b'{"n":0}\n') * 3
    assert box.take() == b'{"n":0}\n{"n":1}\n{"n":2}\n'
    assert (box.size, box.take()) == (0, b"")


def test_deltas_of_one_message_merge_while_they_wait() -> None:
    box = Box()
    for text in ("a", "b", "c"):
        box.put_mergeable(Delta(text))
    assert box.size == 63
    assert box.frames() == [{"message": "msg-1", "text": "abc"}]
    assert box.size == 0


def test_nothing_merges_across_another_frame() -> None:
    box = Box()
    box.put_mergeable(Delta("a"))
    box.put({"n": 1})
    box.put_mergeable(Delta("b"))
    box.put_mergeable(Delta("c", "msg-2"))
    box.put_mergeable(Delta("d"))
    assert [frame.get("text", frame.get("n")) for frame in box.frames()] == ["a", 1, "b", "c", "d"]


def test_nothing_merges_into_what_has_been_taken() -> None:
    box = Box()
    box.put_mergeable(Delta("a"))
    assert box.frames() == [{"message": "msg-1", "text": "a"}]
    box.put_mergeable(Delta("b"))
    assert box.frames() == [{"message": "msg-1", "text": "b"}]


def test_merged_entries_stay_short_and_lose_nothing() -> None:
    box = Box()
    pieces = [str(number % 10) * 1000 for number in range(100)]
    for piece in pieces:
        box.put_mergeable(Delta(piece))
    texts = [frame["text"] for frame in box.frames()]
    assert "".join(texts) == "".join(pieces)
    assert 1 < len(texts) < len(pieces)
    assert max(map(len, texts)) <= MERGED_BYTES


def test_the_size_follows_what_waits() -> None:
    box = Box()
    box.put_mergeable(Delta("a" * 100))
    box.put({"n": 1})
    box.put_mergeable(Delta("b" * 100))
    estimate = box.size
    assert abs(estimate - len(box.take())) < 100


@pytest.mark.parametrize(
    ("frame", "error"),
    [({"text": "x" * CAP}, FrameTooLarge), ({"text": object()}, TypeError), ({"n": 2**70}, TypeError)],
)
def test_a_refused_frame_leaves_the_buffer_as_it_was(frame: dict[str, Any], error: type[Exception]) -> None:
    box = Box()
    box.put({"n": 1})
    box.put_mergeable(Delta("a"))
    size = box.size
    with pytest.raises(error):
        box.put(frame)
    assert box.size == size
    box.put_mergeable(Delta("b"))
    assert box.frames() == [{"n": 1}, {"message": "msg-1", "text": "ab"}]


def test_a_long_delta_is_refused_at_once() -> None:
    box = Box()
    box.put_mergeable(Delta("a"))
    with pytest.raises(FrameTooLarge):
        box.put_mergeable(Delta("x" * CAP))
    assert box.frames() == [{"message": "msg-1", "text": "a"}]
    assert box.lost == []


def test_a_long_delta_keeps_its_place() -> None:
    box = Box()
    box.put_mergeable(Delta("a"))
    box.put_mergeable(Delta("x" * (MERGED_BYTES + 1)))
    box.put_mergeable(Delta("b"))
    assert [frame["text"][0] for frame in box.frames()] == ["a", "x", "b"]


@pytest.mark.parametrize("spoiled", [Delta("\x01" * 30_000), Delta("a", spoil=object())], ids=["too large", "no JSON"])
@pytest.mark.parametrize("what_next", ["take", "put", "put_mergeable"])
def test_a_growing_frame_that_cannot_be_written_costs_only_itself(spoiled: Delta, what_next: str) -> None:
    box = Box()
    box.put({"n": 1})
    box.put_mergeable(spoiled)
    if what_next == "put":
        box.put({"n": 2})
    elif what_next == "put_mergeable":
        box.put_mergeable(Delta("b", "msg-2"))
    rest: dict[str, list[Any]] = {
        "take": [],
        "put": [{"n": 2}],
        "put_mergeable": [{"message": "msg-2", "text": "b"}],
    }
    assert box.frames() == [{"n": 1}, *rest[what_next]]
    assert box.size == 0
    assert len(box.lost) == 1
    assert isinstance(box.lost[0], FrameTooLarge | TypeError)
