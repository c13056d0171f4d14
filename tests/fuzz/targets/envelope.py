"""The envelope (`acp.md §1`, `msp.md §3, §4`): a line is one of six things, is answered once or not at all, and under
its own id, typed; of a line that was cut, no id is told that it does not have."""

from __future__ import annotations

from typing import Any

import orjson

from adapter.wire.envelope import (
    BadResponse,
    Failure,
    Notification,
    Reject,
    Request,
    Success,
    failure_object,
    read_line,
    success_object,
)
from adapter.wire.framing import MSP_FRAME_CAP, Oversize, encode_frame
from tests.fuzz.owed import Nothing, answered_as, key_of, strictly

DEEP = 240


def one(data: bytes) -> None:
    """Each line is a frame; each is also looked at as the beginning of one that was too long."""
    for line in data.split(b"\n"):
        if not line.strip() or line.count(b"[") + line.count(b"{") > DEEP:
            continue
        frame = read_line(line)
        assert type(frame) in (Request, Notification, Success, Failure, BadResponse, Reject)
        owed = answered_as(line)
        given: Any = Nothing
        if isinstance(frame, Request):
            given = frame.id
            answer = success_object(frame.id, {})
        elif isinstance(frame, Reject):
            given = frame.id
            answer = failure_object(frame.id, frame.error())
        if given is not Nothing:
            written = orjson.loads(encode_frame(answer, MSP_FRAME_CAP))
            assert key_of(written["id"]) == key_of(given), "an answer has the id of what it answers"
        assert key_of(given) == key_of(owed), f"answered as {given!r}, not as {owed!r}"
        _cut(line)


def _cut(line: bytes) -> None:
    """Any beginning of the line."""
    try:
        value = strictly(line)
    except ValueError:
        return
    # Of two members of one name the last counts, which a beginning does not have.
    if not isinstance(value, dict) or line.count(b'"id"') > 1 or b"\\" in line:
        return
    for end in {len(line) // 3, len(line) // 2, len(line) - 1, len(line)}:
        frame = read_line(Oversize(line[:end], 10))
        assert isinstance(frame, BadResponse | Reject)
        whole = read_line(line)
        if frame.id is not None and not isinstance(whole, Notification):
            assert key_of(frame.id) == key_of(value.get("id")), "the id of a line that was cut is its own"
