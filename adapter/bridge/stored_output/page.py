"""Whether a host's output page may be handed on: it is whole, and agrees with itself and with the request. Pure."""

from __future__ import annotations

import base64
import binascii

from adapter.bridge.stored_output.references import MAX_MEDIA_TYPE_LENGTH
from adapter.bridge.stored_output.request import ReadRequest
from adapter.wire.envelope import Params


def page_problem(page: Params, request: ReadRequest) -> str | None:
    """What is wrong with the page, None if nothing is (check 12)."""
    content, encoding, media_type = page.get("content"), page.get("encoding"), page.get("mediaType")
    offset, byte_len, eof = page.get("offsetBytes"), page.get("byteLen"), page.get("eof")
    if type(content) is not str:
        return "content is not text"
    if encoding not in {"utf8", "base64"}:
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
    size = _utf8_size(content) if encoding == "utf8" else _base64_size(content)
    if size is None:
        return "content is not canonical base64" if encoding == "base64" else "content is not UTF-8"
    if size != byte_len:
        return "byteLen is not the length of the content"
    return None


def result_of(page: Params, request: ReadRequest) -> Params:
    """The result of the read: the request's ids, the host's page."""
    names = ("content", "encoding", "mediaType", "offsetBytes", "byteLen", "eof")
    ids = {"sessionId": request.session_id, "itemId": request.item_id, "outputRef": request.ref_id}
    return ids | {name: page[name] for name in names}


def _utf8_size(content: str) -> int | None:
    try:
        return len(content.encode())
    except UnicodeEncodeError:
        return None


def _base64_size(content: str) -> int | None:
    """Bytes behind the base64 text; None unless it is exactly what encoding those bytes gives."""
    try:
        data = base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError):
        return None
    return len(data) if base64.b64encode(data).decode() == content else None
