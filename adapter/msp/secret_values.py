"""Secrets that are known, since the environment holds them: which those are, and finding them in any spelling."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import quote, quote_plus, unquote

from adapter.msp.secret_names import counts_something, is_harmless, is_secret_name
from adapter.msp.secrets import HIDDEN

SHORTEST_SECRET: Final = 4
"""Shorter values are hidden where they stand beside their name only: they are parts of too many words."""

SHORTEST_LINE: Final = 12
SHORTEST_CODED: Final = 8
LONGEST_WORD: Final = 12
LONGEST_NUMBER: Final = 8
"""A value of letters or digits alone that is shorter is looked for as a whole word."""

MOST_REMEMBERED: Final = 2000
"""Values whose spellings are remembered: those of some hosts."""

LONGEST_REMEMBERED: Final = 1000
"""Longer values have more characters in their spellings than are worth keeping."""

_LOWER: Final = {ord(letter): letter.lower() for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_FILE: Final = re.compile(r"(?:~|[A-Za-z]:)?(?:[/\\][\w.@ -]+)+\.[A-Za-z]{1,6}")


def secret_values(environ: Mapping[str, str]) -> Iterator[str]:
    """What of an environment is secret: values of variables that are named so, and passwords in URLs."""
    for name, value in environ.items():
        if "://" in value:
            yield from _passwords(value)
        if is_secret(name, value):
            yield value
            if "\n" in value:
                yield from (line for line in map(str.strip, value.splitlines()) if _is_long_line(line))


def is_secret(name: str, value: str) -> bool:
    """Whether the value of a variable is a secret by the variable's name, and is no word like `true`."""
    if len(value) < SHORTEST_SECRET or not is_secret_name(name):
        return False
    if is_harmless(value) or _FILE.fullmatch(value):
        return False
    return not (value.isdigit() and counts_something(name))


def spellings(values: Iterable[str]) -> set[str]:
    """The values, and as they may stand in what was made of them: a text of JSON, Python's way to quote, a URL, base64
    whatever stands before them, hexadecimal digits."""
    found: set[str] = set()
    for value in values:
        found |= _remembered_spellings(value) if len(value) <= LONGEST_REMEMBERED else _spellings_of(value)
    return found - {"", HIDDEN}


def _spellings_of(value: str) -> frozenset[str]:
    data = value.encode("utf-8", "surrogateescape")
    found = {value, repr(value)[1:-1], json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    found |= {quote(data, safe=""), quote(data), quote_plus(data)}
    coded = {data.hex(), *(part for before in range(3) for part in _in_base64(data, before))}
    return frozenset(found | {one for one in coded if len(one) >= SHORTEST_CODED})


_remembered_spellings: Final = lru_cache(MOST_REMEMBERED)(_spellings_of)
"""Every word of a host is compared with them, and they take far longer to find out than that."""


def hide(text: str, values: Iterable[str]) -> str:
    """`text` without the values, in upper or lower case. A short word is hidden where it is not a part of another."""
    folded = _folded(text)
    spans: list[tuple[int, int]] = []
    for value in values:
        wanted = _folded(value)
        at = folded.find(wanted) if wanted else -1
        while at >= 0:
            end = at + len(wanted)
            if _is_whole(folded, at, end, wanted):
                spans.append((at, end))
            at = folded.find(wanted, end)
    return _without(text, spans)


def _folded(text: str) -> str:
    """In lower case, with each character where it was: of letters like `İ` more than one is made otherwise."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


def _is_whole(text: str, at: int, end: int, value: str) -> bool:
    before, behind = text[at - 1 : at], text[end : end + 1]
    if value.isalpha() and len(value) < LONGEST_WORD:
        return not before.isalpha() and not behind.isalpha()
    if value.isdigit() and len(value) < LONGEST_NUMBER:
        return not before.isdigit() and not behind.isdigit()
    return True


def _without(text: str, spans: list[tuple[int, int]]) -> str:
    """Spans that touch or overlap are one."""
    pieces: list[str] = []
    kept = 0
    for at, end in sorted(spans):
        if at > kept or not pieces:
            pieces += [text[kept:at], HIDDEN]
        kept = max(kept, end)
    return "".join([*pieces, text[kept:]])


def _in_base64(data: bytes, before: int) -> Iterator[str]:
    """The characters that depend on `data` alone if so many bytes stand before it; all of them if nothing does."""
    coded = base64.b64encode(bytes(before) + data).decode()
    sure = coded[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
    for one in (sure, sure if before else coded):
        yield from (one, one.replace("+", "-").replace("/", "_"))


def _passwords(value: str) -> Iterator[str]:
    for user in re.findall(r"://([^\s/]*)@", value):
        password = user.partition(":")[2] or user
        yield from (one for one in (password, unquote(password)) if len(one) >= SHORTEST_SECRET)


def _is_long_line(line: str) -> bool:
    return len(line) >= SHORTEST_LINE and not line.startswith("-----")
