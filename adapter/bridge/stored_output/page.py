"""Whether a host's output page may be handed on: it is whole, and agrees with itself and with the request. Pure."""

from __future__ import annotations

import binascii
from typing import Final

import msgspec

from adapter.bridge.stored_output.references import MAX_MEDIA_TYPE_LENGTH
from adapter.bridge.stored_output.request import ReadRequest
from adapter.wire.envelope import Params

_WRONG_LENGTH: Final = "byteLen is not the length of the content"
_NOT_BASE64: Final = "content is not canonical base64"


def page_problem(page: Params, request: ReadRequest, total: int) -> str | None:
    """What is wrong with the page of an output of `total` bytes, None if nothing is (check 12)."""
    content, encoding, media_type = page.get("content"), page.get("encoding"), page.get("mediaType")
    offset, byte_len, eof = page.get("offsetBytes"), page.get("byteLen"), page.get("eof")
    if type(content) is not str:
        return "content is not text"
    if encoding not in ("utf8", "base64"):
        return "the encoding is unknown"
    if type(media_type) is not str or not 1 <= len(media_type) <= MAX_MEDIA_TYPE_LENGTH:
        return "mediaType is missing or too long"
    if type(offset) is not int or offset != request.offset:
        return "offsetBytes is not the one asked for"
    if type(byte_len) is not int or not 0 <= byte_len <= request.length:
        return "byteLen is not within the length asked for"
    if type(eof) is not bool:
        return "eof is not a boolean"
    if byte_len == 0 and not eof:
        return "an empty page before the end"
    if eof and offset + byte_len < total:
        return "the end comes too early"
    return _utf8_problem(content, byte_len) if encoding == "utf8" else _base64_problem(content, byte_len)


def result_of(page: Params, request: ReadRequest) -> Params:
    """The result of the read: the request's ids, the host's page."""
    names = ("content", "encoding", "mediaType", "offsetBytes", "byteLen", "eof")
    ids = {"sessionId": request.session_id, "itemId": request.item_id, "outputRef": request.ref_id}
    return ids | {name: page[name] for name in names}


def _utf8_problem(content: str, byte_len: int) -> str | None:
    try:
        size = len(content) if content.isascii() else len(content.encode())
    except UnicodeEncodeError:
        return "content is not UTF-8"
    return None if size == byte_len else _WRONG_LENGTH


def _base64_problem(content: str, byte_len: int) -> str | None:
    if len(content) != (byte_len + 2) // 3 * 4:
        return _WRONG_LENGTH
    try:
        # Three times faster than `binascii`, and as strict.
        data = msgspec.convert(content, bytes)
    except msgspec.ValidationError:
        return _NOT_BASE64
    if len(data) != byte_len:
        return _WRONG_LENGTH
    # Strict decoding does not look at the bits behind the last byte; encoding the end again does.
    end = binascii.b2a_base64(data[(byte_len - 1) // 3 * 3 :], newline=False).decode()
    return None if content.endswith(end) else _NOT_BASE64
