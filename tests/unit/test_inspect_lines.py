"""Lines of a terminal: broken where people would, never too wide, nothing lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from adapter.cli.inspect.lines import Piece, wrapped
from adapter.cli.inspect.table_lines import table_lines
from adapter.cli.inspect.tables import Row, Summary


def texts(lines: list[list[Piece]]) -> list[str]:
    return ["".join(text for text, _ in line) for line in lines]


def test_lines_are_broken_at_blanks_then_at_slashes_then_at_dots_then_anywhere() -> None:
    assert texts(wrapped([("one two three", "")], 9)) == ["one two", "three"]
    assert texts(wrapped([("/farm/orchard/trees/oak.txt", "")], 16)) == ["/farm/orchard/", "trees/oak.txt"]
    assert texts(wrapped([("a.very.long.name", "")], 10)) == ["a.very.", "long.name"]
    assert texts(wrapped([("x" * 25, "")], 10)) == ["x" * 10, "x" * 10, "x" * 5]
    assert texts(wrapped([("a " + "x" * 12, "")], 10)) == ["a " + "x" * 8, "x" * 4], "no line is left half empty"


def test_pieces_keep_their_styles_over_the_breaks() -> None:
    assert wrapped([("turn/start", "bold"), ("  two trees", "red")], 14) == [
        [("turn/start", "bold")],
        [("two trees", "red")],
    ]
    assert wrapped([("ab", "bold"), ("cd", "")], 3) == [[("ab", "bold"), ("c", "")], [("d", "")]]


@given(
    st.lists(st.tuples(st.text("ab /.東\u0301", max_size=30), st.sampled_from(["", "red"])), max_size=4),
    st.integers(2, 20),
)
def test_nothing_is_lost_but_blanks_and_no_line_is_too_wide(pieces: list[Piece], width: int) -> None:
    lines = texts(wrapped(pieces, width))

    assert "".join(lines).replace(" ", "") == "".join(text for text, _ in pieces).replace(" ", "")
    assert max(map(cell_len, lines), default=0) <= width


PATH = "/farm/orchard/trees/oaks/oak.txt"
FAILURES = Summary("Failures", ("method", "what"), [Row(7, ("turn/start", PATH)), Row(None, ("", "ended by SIGKILL"))])


def test_a_table_is_as_wide_as_what_is_in_it() -> None:
    assert texts(list(table_lines(FAILURES, 4096))) == [
        "Failures",
        "line  method      what",
        f"   7  turn/start  {PATH}",
        "                  ended by SIGKILL",
    ]


def test_where_a_table_does_not_fit_its_widest_column_is_broken() -> None:
    summary = Summary("Reads", ("wanted", "output"), [Row(7, ("from byte 0", f"{PATH}{PATH}"))])

    assert texts(list(table_lines(summary, 65))) == [
        "Reads",
        "line  wanted       output",
        "   7  from byte 0  /farm/orchard/trees/oaks/oak.txt/farm/orchard/",
        "                   trees/oaks/oak.txt",
    ]


def test_where_it_is_narrow_the_cells_of_a_row_follow_each_other() -> None:
    assert texts(list(table_lines(FAILURES, 30))) == [
        "Failures",
        "7  turn/start  /farm/orchard/",
        "   trees/oaks/oak.txt",
        "   ended by SIGKILL",
    ]
