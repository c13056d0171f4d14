"""The parts of a setting that are secrets by themselves: a host may repeat only those. Pure.

A part is known by its name (`Password=`, `X-Api-Key:`, a member of JSON), by its place (in a URL), or since it looks as
if it was drawn by lot. Where all of a setting is nobody's business, its lines and the members of a list are parts too.
"""

from __future__ import annotations

import contextlib
import json
import re
from base64 import b64decode
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from adapter.msp.secret_names import is_harmless, is_secret_name
from adapter.msp.secret_values import LONGEST_REMEMBERED, SHORTEST_SECRET

SHORTEST_VALUE: Final = 8
"""Shorter values of what is not named like a secret (`info`) are words that explain a failure."""

MOST_PARTS: Final = 100
"""Of one setting: the lines of a long key."""

MOST_SEEN: Final = 1000
"""Of one setting: what could be a part."""

_SHORTEST_RANDOM: Final = 12
_FEWEST_CHANGES: Final = 4
_LETTERS_A_CHANGE: Final = 6

_ITEM: Final = re.compile(r"[^,;&\r\n]+")
_LABEL: Final = re.compile(r"(?<![\w.\-/\\@])([\w.-]{1,200}+)[\"']?[ \t]*+[=:](?!//)[ \t]*+")
_SCHEME: Final = r"[A-Za-z][A-Za-z0-9+.-]{0,40}://"
_URL: Final = re.compile(rf"(?<![A-Za-z0-9+.-]){_SCHEME}((?:(?!,{_SCHEME})[^\s\"'<>])+)")
_USER: Final = re.compile(r"([^/]*)@|([^/:@]*:(?!\d{1,5}/).*)@")
_BASIC: Final = re.compile(r"(?i)\bbasic[ \t]++([A-Za-z0-9+/]{4,2000}={0,2})")
_RUN: Final = re.compile(rf"[\w+~.-]{{{_SHORTEST_RANDOM},}}")
_CHANGE: Final = re.compile(r"[a-z](?=[A-Z0-9])|[A-Z](?=[0-9])|[0-9](?=[A-Za-z])")
_MARK: Final = re.compile(r"[^A-Za-z0-9]")
_AROUND: Final = " \t\"'`{}[]()<>"


def whole(name: str, value: str) -> Iterator[str]:
    """A value, and its last word: `Bearer KEY` may be repeated without the scheme. What explains a failure is none."""
    shortest = SHORTEST_SECRET if is_named(name) else SHORTEST_VALUE
    for one in (value, value.rpartition(" ")[2]):
        if len(one) >= shortest and not is_harmless(one):
            yield one


def parts(name: str, text: str, *, private: bool) -> Iterator[str]:
    """What of `text` is one by itself; `private`: all of it is nobody's business."""
    return islice((one for one in _parts(name, text, private) if len(one) <= LONGEST_REMEMBERED), MOST_PARTS)


def is_named(name: str) -> bool:
    """Whether what has this name is a secret; the header that others have to be told from by its place is too."""
    return is_secret_name(name) or name.lower().endswith("authorization")


def _parts(name: str, text: str, private: bool) -> Iterator[str]:
    if "://" in text:
        for url in islice(_URL.finditer(text), MOST_PARTS):
            yield from _in_url(url[1])
    for coded in islice(_BASIC.finditer(text), MOST_PARTS):
        yield from _in_basic(coded[1])
    for known, member in islice(_members(name, text), MOST_SEEN):
        if not member.startswith("-----") and (private or is_named(known)):
            yield from whole(known, member)
    yield from _random(text)


def _members(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Members of JSON, lines, members of lists, and what stands behind a label, under the name that tells most."""
    leaves = _leaves(name, text)
    for known, leaf in [(name, text)] if leaves is None else leaves:
        if leaves is not None:
            yield known, leaf
        for item in _ITEM.finditer(leaf):
            if item[0] != leaf:
                yield known, item[0].strip(_AROUND)
            inner = known
            for label in _LABEL.finditer(item[0]):
                inner = label[1] if is_named(label[1]) else inner
                yield inner, item[0][label.end() : label.end() + LONGEST_REMEMBERED + 1].strip(_AROUND)


def _leaves(name: str, text: str) -> list[tuple[str, str]] | None:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        waiting: list[tuple[str, Any]] = [(name, json.loads(text))]
    except (ValueError, RecursionError):
        return None
    leaves = []
    while waiting:
        known, value = waiting.pop()
        if isinstance(value, str):
            leaves.append((known, value))
        elif isinstance(value, dict):
            waiting += [(key if is_named(key) else known, member) for key, member in value.items()]
        elif isinstance(value, list):
            waiting += [(known, member) for member in value]
    return leaves


def _in_url(url: str) -> Iterator[str]:
    """Of what stands behind `://`: the password, or the user if there is none; and behind `?` and `#` what has the name
    of a secret or looks like one. A password with a slash in it stands before the last `@`."""
    if found := _USER.match(url):
        user, _, password = (found[1] or found[2] or "").partition(":")
        for one in (password or user, unquote(password or user)):
            yield from whole("password", one)
    try:
        asked = urlsplit(f"//{url}")
    except ValueError:
        return
    for name, value in [*parse_qsl(asked.query), *parse_qsl(asked.fragment)]:
        if is_named(name):
            yield from whole(name, value)
        else:
            yield from _random(value)


def _in_basic(coded: str) -> Iterator[str]:
    """The password of basic authentication."""
    with contextlib.suppress(ValueError):
        yield from whole("password", b64decode(coded, validate=True).decode().partition(":")[2])


def _random(text: str) -> Iterator[str]:
    """What looks as if it was drawn by lot: letters and digits change places more often than in words and versions."""
    for run in islice(_RUN.finditer(text), MOST_SEEN):
        one = run[0].strip("-.~")
        size = len(_MARK.sub("", one))
        needed = _FEWEST_CHANGES + max(0, size - _SHORTEST_RANDOM) // _LETTERS_A_CHANGE
        if size >= _SHORTEST_RANDOM and len(_CHANGE.findall(one)) >= needed:
            yield one
