"""The recorder cuts what goes by into lines as they are, and keeps little of a line that does not end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from adapter.hosts.recorder.lines import LineCutter, RawLine
from adapter.wire.framing import PREFIX_BYTES

PIECES = st.lists(st.lists(st.sampled_from([b"\n", b"\r\n", b" ", b"{}", b"\xff", b"a" * 9]), max_size=6).map(b"".join))


def cut(pieces: list[bytes], cap: int = 1 << 20) -> list[RawLine]:
    cutter = LineCutter(cap)
    lines: list[RawLine] = []
    for piece in pieces:
        begun, block = cutter.feed(piece)
        lines += begun
        lines += cutter.lines_of(block) if block else []
    return lines + cutter.end()


@given(PIECES)
def test_however_it_comes_it_is_cut_at_lf_only(pieces: list[bytes]) -> None:
    expected = [line for line in b"".join(pieces).split(b"\n") if line.strip()]

    assert [line.data for line in cut(pieces)] == expected


@given(PIECES, st.integers(1, 20))
def test_of_a_long_line_the_beginning_is_kept_and_the_length(pieces: list[bytes], cap: int) -> None:
    whole, cut_off = cut(pieces), cut(pieces, cap)

    # Whether a line is blank can be told of what is kept only, so one that is long counts.
    said = [line for line in cut_off if line.data.strip()]
    assert [line for line in said if line.whole] == [line for line in whole if line.length <= cap]
    for line in cut_off:
        assert len(line.data) <= cap
        assert line.whole == (line.length <= cap)


def test_a_line_that_never_ends_takes_no_more_than_the_cap() -> None:
    cutter = LineCutter(100_000)
    for _ in range(1000):
        assert cutter.feed(b"x" * 1000) == ([], b"")
        assert len(cutter._held) <= 101_000

    (line,) = cutter.end()
    assert (line.length, len(line.data), line.whole) == (1_000_000, PREFIX_BYTES, False)
