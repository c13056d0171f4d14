"""Which answer a line deserves, told from the rules by other means than ours (`acp.md §1`, `msp.md §3, §4`)."""

from __future__ import annotations

import json
import math
import re
from typing import Any

LONGEST_ID = 1024

DEEPEST = 1024
"""Levels up to which a line is read as JSON; deeper, it is none."""

_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


class Nothing:
    """The line is not answered."""


def answered_as(line: bytes) -> Any:
    """Under which id a line is answered: `Nothing` if not at all, None for an answer without id."""
    if not line.strip():
        return Nothing
    try:
        value = strictly(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    usable = value.get("id")
    if isinstance(usable, str):
        # Half a character cannot be written back; it is answered as what readers make of it.
        usable = usable.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if (
        isinstance(usable, bool)
        or not isinstance(usable, int | str)
        or (isinstance(usable, str) and len(usable) > LONGEST_ID)
    ):
        usable = None
    if "method" not in value and ("result" in value or "error" in value):
        return Nothing
    sound = value.get("jsonrpc") == "2.0" and isinstance(value.get("method"), str)
    return Nothing if sound and "id" not in value else usable


def allows(lines: bytes, question: dict[str, Any]) -> bool:
    """Whether one of these lines answers a permission request by selecting what allows something."""
    allowing = {one["optionId"] for one in question["params"].get("options", []) if one["kind"].startswith("allow")}
    for line in lines.split(b"\n"):
        try:
            value = strictly(line)
            outcome = value["result"]["outcome"]
            selects = outcome["outcome"] == "selected" and outcome["optionId"] in allowing
        except (ValueError, RecursionError, LookupError, TypeError):
            continue
        if selects and "method" not in value and key_of(value.get("id")) == key_of(question["id"]):
            return True
    return False


def strictly(line: bytes) -> Any:
    """The value of a line, by the standard library.

    Raises:
        ValueError, RecursionError: it is no JSON that both sides of a wire can write.
    """
    if _depth(line) > DEEPEST:
        # How deep the standard library reads is another with each Python.
        raise ValueError("nested too deep")
    return json.loads(line.decode(), parse_constant=_refuse, parse_float=_finite, parse_int=_integer)


def _depth(line: bytes) -> int:
    """How deep the values of a line are nested, if it is JSON; where too little is opened for that to matter, 0."""
    if line.count(b"[") + line.count(b"{") <= DEEPEST:
        return 0
    level = deepest = 0
    for byte in _STRING.sub(b"", line):
        level += (byte in b"[{") - (byte in b"]}")
        deepest = max(deepest, level)
    return deepest


def key_of(request_id: Any) -> str:
    """`1`, `"1"` and no id are three things."""
    return repr(request_id)


def _refuse(word: str) -> float:
    raise ValueError(word)


def _finite(word: str) -> float:
    return float(word) if math.isfinite(float(word)) else _refuse(word)


def _integer(word: str) -> int | float:
    return int(word) if len(word) < 25 and -(2**63) <= int(word) < 2**64 else _finite(word)
