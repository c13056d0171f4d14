"""How often a card is drawn: no faster than eyes follow, no more than its output is worth, and never late for good."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from adapter.bridge.bounded_text import CARD_TEXT_BYTES
from adapter.bridge.tool_cards.throttle import FRESH_SECONDS, INTERVAL, MOST_CREDIT, Throttle

TINY = 1e-9


def test_the_first_drawing_is_at_once_and_the_next_an_interval_later() -> None:
    throttle = Throttle()
    assert throttle.due(5.0, 100) == 5.0
    throttle.drawn(5.0, 100)
    assert throttle.due(5.0, 100) == throttle.due(5.02, 100) == 5.0 + INTERVAL
    assert throttle.due(6.0, 100) == 6.0


def test_a_large_card_with_little_news_waits_and_one_with_much_does_not() -> None:
    spent = Throttle()
    spent.drawn(0.0, MOST_CREDIT)
    assert INTERVAL < spent.due(0.0, CARD_TEXT_BYTES) <= FRESH_SECONDS
    spent.earn(CARD_TEXT_BYTES // 2)
    assert spent.due(0.0, CARD_TEXT_BYTES) == INTERVAL


news = st.lists(
    st.tuples(st.floats(0.0, 5.0), st.integers(1, 200_000)) | st.tuples(st.just(0.0), st.integers(1, 2000)),
    min_size=1,
    max_size=60,
)


@given(news)
def test_p1_what_is_drawn_is_about_twice_the_output_and_never_stale(steps: list[tuple[float, int]]) -> None:
    throttle, now, output, drawn = Throttle(), 0.0, 0, 0
    due: float | None = None
    times: list[float] = []
    waiting_since = 0.0
    for seconds, size in [*steps, (10.0, 0)]:
        end = now + seconds
        if due is not None and due <= end:
            cost = min(output, CARD_TEXT_BYTES)
            throttle.drawn(due, cost)
            times.append(due)
            drawn += cost
            assert due - waiting_since <= FRESH_SECONDS + TINY
            due = None
        now = end
        if size:
            output += size
            throttle.earn(size)
            if due is None:
                waiting_since = now
                due = throttle.due(now, min(output, CARD_TEXT_BYTES))
                assert due >= now
    assert due is None, "the last of it is drawn"
    assert all(later - earlier >= INTERVAL - TINY for earlier, later in pairwise(times))
    # One full card for each drawing that was only made to be fresh.
    assert drawn <= 2 * output + MOST_CREDIT + CARD_TEXT_BYTES * (now / FRESH_SECONDS + 1)
