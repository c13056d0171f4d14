"""What people and programs write on the command line: it is taken as what it says, or refused in words; nothing else is
raised, and serving is asked for by nothing but itself."""

from __future__ import annotations

from typing import Any, Final

import typer

from adapter.acp.elicitation import bounded
from adapter.acp.text import TITLE_LENGTH, fenced, one_line
from adapter.cli.commands import values
from adapter.cli.commands.values import Reads
from adapter.cli.options import OPTIONS, decimal, wanted, whole

READERS: Final[dict[str, Any]] = {
    "path": values.path,
    "written_file": values.written_file,
    "new_folder": values.new_folder,
    "some_text": values.some_text,
    "identifier": values.identifier(20),
    "one_of": values.one_of(("a", "b")),
    "whole_number": values.whole_number(1, 100),
    "seconds": values.seconds(60.0),
    **{name: option.read for name, option in OPTIONS.items() if option.metavar is not None},
}


def one(data: bytes) -> None:
    """The lines are the words of a command line; each is also taken for every value there is."""
    words = data.decode("utf-8", "replace").split("\n")[:20]
    asked = wanted(words)
    assert asked is None or asked[0] in ("serve", "login")
    if asked is not None:
        options = asked[1]
        assert options.startup_timeout > 0 and options.read_host_idle >= 0
        assert options.acp_frame_cap >= 1024 and options.msp_frame_cap >= 1024
        assert asked[0] != "login" or "login" in words, "nobody is logged in unasked"
        assert options.allow_all == ("--allow-all" in words[: _end(words)]) or not options.allow_all
    for word in words:
        _values(word)
        _texts(word)


def _end(words: list[str]) -> int:
    return words.index("--") if "--" in words else len(words)


def _values(word: str) -> None:
    for read in READERS.values():
        try:
            Reads(read).taken(word)
        except typer.BadParameter as error:
            assert error.message and len(error.message) < 500
    number, fraction = whole(word), decimal(word)
    assert number is None or (number >= 0 and fraction == float(number))
    assert fraction is None or fraction >= 0


def _texts(word: str) -> None:
    line = one_line(word)
    assert len(line) <= TITLE_LENGTH and "\n" not in line and "\x1b" not in line and "\u202e" not in line
    assert one_line(line) == line
    block = fenced(word, word[:10]).split("\n")
    fence = block[-1]
    assert set(fence) == {"`"} and len(fence) >= 3
    assert all(not row.startswith(fence) for row in block[1:-1]), "the fence holds"
    bounded(word)
