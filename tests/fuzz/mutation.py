"""Damage to messages: to their bytes, and to what they say. One place for all that is fuzzed.

Everything is drawn from a `random.Random`, so that a seed makes the same damage again.
"""

from __future__ import annotations

import json
import random
from typing import Any, Final

import orjson

PIECES: Final = (
    *(b"{", b"}", b"[", b"]", b'"', b",", b":", b"\\", b"null", b"true", b"1e999", b"NaN", b"-0", b"1.5", b"\\ud800"),
    *(b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\x00", b"\r", b"\n", b"\r\n", b"9" * 400, b"[" * 600, b'"id":null,'),
    *(b" " * 99, b"\\u0000", b"\xe2\x80\xa8", b"\xf0\x9f\x8c\xb3", b"--", b"=", b"/", b"%", b"'"),
)
"""What is put somewhere into a line."""


def nested(depth: int, inner: Any = None) -> Any:
    """A value inside so many others."""
    for level in range(depth):
        inner = [inner] if level % 2 else {"a": inner}
    return inner


ODD: Final[tuple[str, ...]] = (
    *("null", "true", "false", "0", "1", "-1", "1.5", "-0.0", "1e308", "9007199254740993", "18446744073709551615"),
    *(
        '""',
        '"a"',
        '" "',
        '"\\n"',
        '"0"',
        '"null"',
        '"\\u0000"',
        '"温室🌳"',
        '"../.."',
        '"/"',
        '"\\ud800"',
        '"\\u202e"',
    ),
    *("[]", "{}", "[[]]", "[null]", '{"":null}', '[{"a":1}]', '{"kind":[]}', '["a","a"]'),
    json.dumps("x" * 1500),
    json.dumps(nested(40)),
    json.dumps(nested(300)),
    json.dumps(nested(700)),
)
"""Values, as text, that are put in the place of others."""


def damaged_bytes(chance: random.Random, data: bytes, times: int = 1) -> bytes:
    """The bytes with something put in, left out, changed, doubled, or turned around."""
    line = bytearray(data)
    for _ in range(times):
        at = chance.randrange(len(line) + 1)
        damage = chance.randrange(5)
        if damage == 0:
            line[at:at] = chance.choice(PIECES)
        elif damage == 1:
            del line[at : at + chance.randrange(1, 30)]
        elif damage == 2 and at < len(line):
            line[at] = chance.randrange(256)
        elif damage == 3:
            line[at:at] = line[at : at + chance.randrange(1, 30)]
        else:
            line = line[at:] + line[:at] if chance.random() < 0.2 else line
    return bytes(line)


def damaged_value(chance: random.Random, value: Any) -> Any:
    """The value with one of its parts replaced, left out, doubled, or put where another was. It may be changed in
    place."""
    slots = _slots(value)
    if not slots:
        return _odd(chance)
    holder, key = chance.choice(slots)
    damage = chance.randrange(8)
    if damage < 3:
        holder[key] = _odd(chance)
    elif damage == 3:
        del holder[key]
    elif damage == 4:
        other, place = chance.choice(slots)
        holder[key] = orjson.loads(orjson.dumps(other[place])) if _is_flat(other[place]) else _odd(chance)
    elif damage == 5:
        holder[key] = [holder[key]] if chance.random() < 0.5 else {"a": holder[key]}
    elif damage == 6:
        holder[key] = _nudged(chance, holder[key])
    elif isinstance(holder, dict):
        other, place = chance.choice(slots)
        holder[place if isinstance(place, str) else "a"] = holder.pop(key)
    else:
        holder.insert(key, holder[chance.randrange(len(holder))])
    return value


def _odd(chance: random.Random) -> Any:
    """One of `ODD`, made anew, since what holds it may be changed later."""
    return json.loads(chance.choice(ODD))


def _slots(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a value, as what holds it and where; of what is nested deep, the upper part."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting and len(found) < 500:
        holder = waiting.pop(0)
        keys = holder if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            found.append((holder, key))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return found


def _is_flat(value: Any) -> bool:
    """Whether it can be copied by writing it: orjson does not write what is nested deep."""
    try:
        orjson.dumps(value)
    except TypeError:
        return False
    return True


def _nudged(chance: random.Random, value: Any) -> Any:
    """Something near it."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return chance.choice((value + 1, value - 1, -value, 0, value * 2, str(value)))
    if isinstance(value, str):
        at = chance.randrange(len(value) + 1)
        piece = chance.choice(("", "x", "\n", " ", "\0", "温", value[at : at + 8], "`" * 3, "\u202e"))
        return value[:at] + piece + value[at + chance.randrange(3) :]
    return list(value) * 2 if isinstance(value, list) else dict(value)


def written(value: Any, ascii_only: bool) -> bytes:
    """The value as text; what is nested too deep for that is something else that is."""
    try:
        return json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "replace")
    except RecursionError:
        return b"[" * 1100 + b"]" * 1100


def mutated(chance: random.Random, message: dict[str, Any], number: int) -> bytes:
    """One damaged line with its LF; the id is `number` where the message has one of its own and the damage leaves
    it."""
    if message.get("id") == 0:
        message = message | {"id": number if chance.random() < 0.5 else f"id-{number}"}
    if chance.random() < 0.5:
        message = json.loads(json.dumps(message))
        for _ in range(chance.randrange(1, 4)):
            message = damaged_value(chance, message)
        return written(message, chance.random() < 0.5) + b"\n"
    line = json.dumps(message, ensure_ascii=chance.random() < 0.5).encode()
    return damaged_bytes(chance, line, chance.randrange(4)) + b"\n"


def mutated_lines(chance: random.Random, data: bytes) -> bytes:
    """Lines of JSON with one thing changed: a value in one of them, the lines themselves, or plain bytes."""
    lines = data.split(b"\n")
    at = chance.randrange(len(lines))
    way = chance.randrange(8)
    if way < 5:
        try:
            value = json.loads(lines[at])
        except (ValueError, RecursionError):
            return damaged_bytes(chance, data)
        lines[at] = written(damaged_value(chance, value), ascii_only=False)
    elif way == 5:
        lines.insert(chance.randrange(len(lines) + 1), lines[at])
    elif way == 6:
        lines.insert(chance.randrange(len(lines)), lines.pop(at))
        if chance.random() < 0.3:
            del lines[chance.randrange(len(lines))]
    else:
        return damaged_bytes(chance, data)
    return b"\n".join(lines)
