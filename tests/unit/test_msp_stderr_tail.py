"""The kept end of a host's stderr: bounded, whole characters, no secrets."""

from __future__ import annotations

import tracemalloc

import pytest

from adapter.msp.secrets import HIDDEN, scrub
from adapter.msp.stderr_tail import KEPT_LINES, TAIL_BYTES, TAIL_LINES, StderrTail


def tail_of(*pieces: bytes) -> str:
    tail = StderrTail()
    for piece in pieces:
        tail.feed(piece)
    return tail.text()


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_it_does_not_matter_where_reads_are_cut(size: int) -> None:
    data = "eins ✓\nzwei 温室🌳\n\n  \ndrei".encode()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    assert tail_of(*pieces) == "eins ✓\nzwei 温室🌳\ndrei"


def test_only_the_last_lines_are_kept() -> None:
    text = tail_of(b"".join(b"line %d\n" % number for number in range(1000)))
    assert text.splitlines() == [f"line {number}" for number in range(1000 - TAIL_LINES, 1000)]


@pytest.mark.parametrize("end", [b"", b"\n"], ids=["open", "ended"])
def test_an_endless_line_is_bounded_and_cut_between_characters(end: bytes) -> None:
    text = tail_of(*["温".encode() * 1000] * 100, end)
    assert set(text) == {"温"}
    assert TAIL_BYTES - 3 <= len(text.encode()) <= TAIL_BYTES


@pytest.mark.parametrize("length", [89, 90, 91, 127])
def test_no_part_of_a_line_that_is_cut_is_kept_before_others(length: int) -> None:
    lines = [f"{number:03} {'x' * (length - 4)}" for number in range(TAIL_LINES)]
    kept = tail_of("\n".join(lines).encode()).splitlines()
    assert kept == lines[-len(kept) :]
    assert TAIL_BYTES - length <= sum(map(len, kept)) + len(kept) - 1 <= TAIL_BYTES


def test_bytes_that_are_no_text_do_no_harm() -> None:
    assert tail_of(b"before\n\xff\xfe\x00\nafter\n").splitlines()[0] == "before"
    assert tail_of() == ""


@pytest.mark.parametrize("before", range(0, 60, 7))
def test_q2_a_secret_at_the_cut_is_hidden(before: int) -> None:
    """Of which only the rest would be told, without the name that says what it is."""
    tail = StderrTail()
    secret = "quince-medlar-" * 4
    tail.feed(b"x" * 20_000 + f" token={secret} ".encode() + b"y" * (TAIL_BYTES - before))
    text = tail.text(lambda said: scrub(said, {}))
    assert "quince" not in text and "medlar" not in text
    assert text.endswith("y" * (TAIL_BYTES - before))
    assert len(text) <= TAIL_BYTES


def test_q2_a_key_of_which_only_the_last_lines_are_kept_is_hidden() -> None:
    lines = [f"MIIE{number:04}" for number in range(300)]
    tail = StderrTail()
    tail.feed(
        "\n".join(["-----BEGIN " + "PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----", "and so on"]).encode()
    )
    assert tail.text(lambda said: scrub(said, {})) == f"{HIDDEN}\nand so on"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the key is sesame-open", f"the key is {HIDDEN}"),
        ("sesame-open and sesame-open", f"{HIDDEN} and {HIDDEN}"),
        ("Authorization: Bearer abc.DEF-123", f"Authorization: Bearer {HIDDEN}"),
        ("GET https://user:pass@example.com/x", f"GET https://{HIDDEN}@example.com/x"),
        ("OTHER_API_KEY=zzz next", f"OTHER_API_KEY={HIDDEN} next"),
        ("password: hunter2, user: x", f"password: {HIDDEN}, user: x"),
        ("cannot open /srv/demo/orchard", "cannot open /srv/demo/orchard"),
        ("the word true stays", "the word true stays"),
        ("the path /home/demo stays", "the path /home/demo stays"),
    ],
)
def test_q2_secrets_are_hidden_and_nothing_else(text: str, expected: str) -> None:
    environ = {"DEMO_API_KEY": "sesame-open", "USE_TOKEN": "true", "HOME": "/home/demo"}
    assert scrub(text, environ) == expected


def test_memory_does_not_grow_with_what_a_host_writes() -> None:
    tail = StderrTail()
    line = b"x" * 1000 + b"\n"
    tail.feed(KEPT_LINES * line)
    tracemalloc.start()
    try:
        for _ in range(100):
            tail.feed(100 * line)
        grown, _peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # What is kept is about as much as before, in new objects; all of it would be 10 MB.
    assert grown < 2 * KEPT_LINES * len(line)
