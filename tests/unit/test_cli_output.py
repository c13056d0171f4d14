"""The parts of `muse-adapter output` that need no host: pieces, digests, rows, and what the document says."""

from __future__ import annotations

import base64
import hashlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from adapter.bridge.stored_output.contract import HISTORY_PAGE_EVENTS, HISTORY_PAGES, MAX_LENGTH
from adapter.cli import output
from adapter.cli.commands.global_options import EXIT_BROKEN_PIPE
from adapter.cli.options import OPTIONS, flag
from adapter.cli.output_list import COLUMNS, rows
from adapter.cli.output_pieces import Checksum, Pieces, WrongLength, page_bytes, unfinished_character
from adapter.cli.stop_signals import EXIT_INTERRUPTED
from tests.unit.test_cli_options import muse_adapter

DOCUMENT = (Path(__file__).resolve().parents[2] / "docs" / "output.md").read_text("utf-8")

Json = dict[str, Any]


def page(data: bytes, *, binary: bool = False, eof: bool = False) -> Json:
    content = base64.b64encode(data).decode() if binary else data.decode()
    return {"content": content, "encoding": "base64" if binary else "utf8", "eof": eof}


# -- pieces


def test_pieces_are_as_long_as_one_read_may_be_and_the_last_a_little_longer_than_wanted() -> None:
    pieces = Pieces(0, MAX_LENGTH + 10, 2 * MAX_LENGTH)

    assert pieces.length() == MAX_LENGTH
    assert pieces.take(page(b"x" * MAX_LENGTH)) == b"x" * MAX_LENGTH
    assert (pieces.at, pieces.length(), pieces.over) == (MAX_LENGTH, 13, False)
    assert pieces.take(page(b"y" * 13)) == b"y" * 10
    assert pieces.over


def test_the_next_piece_begins_where_the_last_one_ended_also_if_it_was_short() -> None:
    pieces = Pieces(5, 50, 50)

    assert pieces.take(page(b"abc")) == b"abc"
    assert pieces.at == 8


def test_a_character_across_the_end_of_the_range_is_cut_to_the_byte() -> None:
    pieces = Pieces(0, 2, 4)

    assert pieces.length() == 5
    assert pieces.take(page("東a".encode())) == "東".encode()[:2]
    assert pieces.over


def test_an_end_before_the_end_of_the_range_is_noticed() -> None:
    with pytest.raises(WrongLength, match="ends before"):
        Pieces(0, 10, 10).take(page(b"nine byte", eof=True))
    assert Pieces(0, 9, 9).take(page(b"nine byte", eof=True)) == b"nine byte"


@pytest.mark.parametrize(("data", "eof"), [(b"nine bytes", True), (b"nine bytes", False), (b"nine byte", False)])
def test_what_goes_on_behind_the_end_is_noticed_if_all_was_asked_for(data: bytes, eof: bool) -> None:
    pieces = Pieces(0, 9, 9)
    with pytest.raises(WrongLength, match="goes on behind"):
        pieces.take(page(data, eof=eof))
    assert pieces.at == 0

    assert Pieces(0, 9, 12).take(page(data, eof=eof)) == b"nine byte"


def test_an_empty_range_is_over_at_once() -> None:
    assert Pieces(7, 7, 7).over


@pytest.mark.parametrize("binary", [False, True])
def test_a_page_has_the_bytes_of_its_encoding(binary: bool) -> None:
    data = "Grüße 東京\r\n\0".encode()

    assert page_bytes(page(data, binary=binary)) == data


@pytest.mark.parametrize(
    ("tail", "unfinished"),
    [
        (b"", 0),
        (b"a", 0),
        ("ü".encode(), 0),
        ("東".encode(), 0),
        ("😀".encode()[1:], 0),
        (b"a" + "ü".encode()[:1], 1),
        (b"a" + "東".encode()[:1], 1),
        (b"a" + "東".encode()[:2], 2),
        ("😀".encode()[:1], 1),
        ("😀".encode()[:2], 2),
        ("😀".encode()[:3], 3),
        (b"\x80\x80\x80", 0),
        (b"\xff\x00\x01", 0),
    ],
)
def test_what_is_unfinished_at_the_end_of_a_part_is_read_again(tail: bytes, unfinished: int) -> None:
    assert unfinished_character(tail) == unfinished


# -- digests


@pytest.mark.parametrize("spelled", [str.lower, str.upper])
def test_a_digest_that_is_understood_is_compared(spelled: Any) -> None:
    digest = "sha256:" + spelled(hashlib.sha256(b"both parts").hexdigest())
    right, wrong = Checksum(digest), Checksum(digest)
    for part in (b"both ", b"parts"):
        right.feed(part)
    wrong.feed(b"other parts")

    assert right.known
    assert (right.holds(), wrong.holds()) == (True, False)


@pytest.mark.parametrize(
    "digest", [None, "", "sha256:", "sha256:12", "md5:" + "0" * 32, "0" * 64, "sha256:" + "g" * 64]
)
def test_a_digest_that_is_not_understood_proves_nothing(digest: str | None) -> None:
    checksum = Checksum(digest)
    checksum.feed(b"anything")

    assert not checksum.known
    assert checksum.holds()


# -- rows


def test_a_row_for_each_output_and_each_patch() -> None:
    reference = {"id": "out-1", "byteLen": 5, "availability": "available", "mediaType": "text/plain"}
    items: list[Json] = [
        {"itemId": "i1", "kind": "toolCall", "tool": "bash", "outputRef": reference},
        {
            "itemId": "i2",
            "kind": "toolCall",
            "tool": "edit",
            "outputRef": reference,
            "patchRef": {**reference, "id": "p"},
        },
        {"itemId": "i3", "kind": "userShell", "tool": 5, "outputRef": {**reference, "mediaType": None}},
        {"itemId": "i4", "kind": "agentMessage", "text": "hello"},
        {"itemId": "i5", "kind": "toolCall", "outputRef": {**reference, "byteLen": -1}},
    ]

    assert [list(row.cells()) for row in rows(items)] == [
        ["i1", "bash", "out-1", "5", "available", "text/plain"],
        ["i2", "edit", "out-1", "5", "available", "text/plain"],
        ["i2", "edit", "p", "5", "available", "text/plain"],
        ["i3", "userShell", "out-1", "5", "available", ""],
    ]


def test_no_cell_breaks_the_lines() -> None:
    reference = {"id": "out\t1\n", "byteLen": 5, "availability": "avail\x1b[2Jable"}
    (row,) = rows([{"itemId": "i\r\n1", "kind": "toolCall", "outputRef": reference}])

    assert all(cell.isprintable() for cell in row.cells())


# -- the document


def first_cells(title: str) -> list[str]:
    """The first cells of a section's tables, without their heads."""
    section = DOCUMENT.split(f"## {title}\n")[1].split("\n## ")[0]
    cells = re.findall(r"^\| ([^|]+?) \|", section, re.MULTILINE)
    return [cell.strip("`") for cell in cells if cell not in ("column", "option", "exit code", "reason")]


def test_the_options_in_the_document_are_the_real_ones() -> None:
    shown = muse_adapter("output", "--help").stdout

    listed = {cell.split()[0].strip("`,") for cell in first_cells("The bytes")}
    own = set(re.findall(r"^  (--?[a-z-]+)", shown, re.MULTILINE)) - {flag(name) for name in OPTIONS}
    assert listed == own


def test_the_columns_in_the_document_are_the_real_ones() -> None:
    assert tuple(first_cells("The list")) == COLUMNS


OF_THE_EXTENSION = ("outputNotAdvertised", "outputNotFound", "offsetInsideCharacter")
"""Words that `docs/errors.md` has, which the command says in sentences of its own too."""


def test_the_exit_codes_and_words_in_the_document_are_the_real_ones() -> None:
    listed = first_cells("When it fails")
    words = set(re.findall(r'Failed\(\s*"(\w+)"', inspect.getsource(output)))

    codes = {0, output.EXIT_FAILED, 2, *output.EXITS.values(), EXIT_INTERRUPTED, EXIT_BROKEN_PIPE}
    assert {int(word) for word in listed if word.isdigit()} == codes
    told = {
        int(code): set(re.findall(r"`(\w+)`", what)) for code, what in re.findall(r"^\| (\d) \| (.*)", DOCUMENT, re.M)
    }
    for code in set(output.EXITS.values()):
        assert told[code] == {reason for reason, exit_code in output.EXITS.items() if exit_code == code}
    assert {word for word in listed if not word.isdigit()} == words - set(OF_THE_EXTENSION)


def test_the_bounds_in_the_document_are_the_real_ones() -> None:
    assert f"newest {HISTORY_PAGES * HISTORY_PAGE_EVENTS:,} events" in DOCUMENT
    assert f"piece of {MAX_LENGTH >> 20} MiB" in DOCUMENT


# -- usage


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "SESSION"),
        (["s", "i", "more"], "more"),
        (["s", "--ref", "r"], "ITEM"),
        (["s", "-o", "file"], "ITEM"),
        (["s", "--offset", "1"], "ITEM"),
        (["s", "--length", "1"], "ITEM"),
        (["s", "--resume"], "ITEM"),
        (["s", "i", "--resume"], "-o"),
        (["s", "i", "--offset", "-1"], "--offset"),
        (["s", "i", "--offset", "1.5"], "--offset"),
        (["s", "i", "--offset", str(2**53)], "--offset"),
        (["s", "i", "--length", "0"], "--length"),
        (["", "i"], "SESSION"),
        (["s", ""], "ITEM"),
        (["s", "i" * 1025], "ITEM"),
        (["s", "i", "--ref", ""], "--ref"),
    ],
)
def test_a_wrong_command_line_is_named_and_starts_nothing(arguments: list[str], said: str) -> None:
    done = muse_adapter("--muse", "/nowhere/muse", "output", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
    assert "museNotFound" not in done.stderr
