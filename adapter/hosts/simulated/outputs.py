"""Stored outputs: kept as recipes, so 64 MiB cost a record of a hundred bytes and any range is made on demand.

An output's record is plain data and lives in the journal: `id`, `itemId`, `kind`, `mediaType`, `byteLen`,
`availability`, and the recipe: `lines` (numbered text lines with characters of several bytes), `bytes` (no text) or
`text` with the text itself. A later record with the same id replaces the earlier one: availability can change.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any, Final

from adapter.hosts.simulated.errors import invalid, refusal

Json = dict[str, Any]

MAX_LENGTH: Final = 6 * 1024 * 1024
"""Default and maximum of `lengthBytes` (`msp.md §14`)."""

MAX_OUTPUT: Final = 64 * 1024 * 1024
DIGEST_LIMIT: Final = 1024 * 1024
"""Outputs up to this size carry a digest; a larger one would take noticeable time to make."""

AVAILABILITIES: Final = ("available", "missing", "unsupported", "accessFailed")

LINE_BYTES: Final = 64
_LINE_TAIL: Final = " Grüße aus 東京 ✓ ".encode().ljust(LINE_BYTES - 10, b"=") + b"\n"
_BINARY_TAIL: Final = bytes(range(256))[:: 256 // (LINE_BYTES - 9)][: LINE_BYTES - 9]
"""Contains zero bytes and bytes above 127, which are no UTF-8 in this order."""


def new_output(item_id: str, recipe: str, byte_len: int, text: str = "", kind: str = "tool_output") -> Json:
    """The record of an output of that many bytes; for the recipe `text`, of that text."""
    media = {"lines": "text/plain", "bytes": "application/octet-stream", "text": "text/plain"}[recipe]
    if kind == "tool_patch":
        media = "application/json"
    record: Json = {
        "id": f"out-{item_id}-{kind}",
        "itemId": item_id,
        "kind": kind,
        "mediaType": media,
        "byteLen": len(text.encode()) if recipe == "text" else min(byte_len, MAX_OUTPUT),
        "availability": "available",
        "recipe": recipe,
    }
    if recipe == "text":
        record["text"] = text
    return record


def reference(session_id: str, record: Json) -> Json:
    """The OutputRef an item carries (`msp.md §13.4`)."""
    ref = {key: record[key] for key in ("id", "kind", "byteLen", "availability", "mediaType")}
    ref["uri"] = f"muse-output://{session_id}/{record['id']}"
    if record["byteLen"] <= DIGEST_LIMIT:
        ref["digest"] = "sha256:" + hashlib.sha256(stored_bytes(record, 0, record["byteLen"])).hexdigest()
    return ref


def stored_bytes(record: Json, offset: int, length: int) -> bytes:
    """The bytes of a range that lies inside the output."""
    end = min(offset + length, record["byteLen"])
    if record["recipe"] == "text":
        return str(record["text"]).encode()[offset:end]
    first, last = offset // LINE_BYTES, -(-end // LINE_BYTES)
    if record["recipe"] == "bytes":
        made = b"".join([b"%09d" % index + _BINARY_TAIL for index in range(first, last)])
    else:
        whole = record["byteLen"] // LINE_BYTES
        made = b"".join([b"%09d" % index + _LINE_TAIL for index in range(first, min(last, whole))])
        if last > whole:
            made += b"." * (record["byteLen"] % LINE_BYTES - 1) + b"\n"
    return made[offset - first * LINE_BYTES : end - first * LINE_BYTES]


def read_output(record: Json, offset: int, length: int) -> Json:
    """The result of `item/readOutput`.

    Raises:
        RpcError: the output cannot be served, or the offset is not one that can be read from.
    """
    availability, size = record["availability"], record["byteLen"]
    if availability != "available":
        raise refusal("outputUnavailable", f"stored output is {availability}", availability=availability)
    if offset > size:
        raise invalid("offsetBytes", f"the output has {size} bytes")
    binary = record["recipe"] == "bytes"
    data = stored_bytes(record, offset, length)
    content = base64.b64encode(data).decode() if binary else ""
    if not binary:
        data = _whole_characters(record, data, offset)
        content = data.decode()
    return {
        "content": content,
        "encoding": "base64" if binary else "utf8",
        "mediaType": record["mediaType"],
        "offsetBytes": offset,
        "byteLen": len(data),
        "eof": offset + len(data) >= size,
    }


def _whole_characters(record: Json, data: bytes, offset: int) -> bytes:
    """`data` without a character cut in two at its end.

    Raises:
        RpcError: it begins inside a character, or is too short for one.
    """
    if data and data[0] & 0xC0 == 0x80:
        following = stored_bytes(record, offset, 4)
        inside = next((at for at, byte in enumerate(following) if byte & 0xC0 != 0x80), len(following))
        message = "offsetBytes is inside a character"
        raise refusal("invalidParams", message, alignedNextOffset=offset + inside)
    whole = data.decode("utf-8", "ignore").encode()
    if data and not whole:
        raise invalid("lengthBytes", "the next character is longer than that")
    return whole
