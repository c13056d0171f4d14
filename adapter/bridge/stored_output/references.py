"""Output references of an item: what of them is believed, and what a card says about them. Pure."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from adapter.bridge.stored_output.contract import KEY, MAX_BYTES, MAX_LENGTH, METHOD

MAX_ID_LENGTH: Final = 1024
MAX_MEDIA_TYPE_LENGTH: Final = 256
AVAILABLE: Final = "available"

OUTPUT_MEMBER: Final = "outputRef"
PATCH_MEMBER: Final = "patchRef"

PATCH_KEY: Final = "muse/patch"
"""The `_meta` key of an item's structured diff; its members are those of `muse/output`, and it is read the same way."""

_META_KEYS: Final = {OUTPUT_MEMBER: KEY, PATCH_MEMBER: PATCH_KEY}


class OutputRef(msgspec.Struct, frozen=True):
    """A reference as the host gave it: `byte_len` in stored bytes, `availability` and `digest` in the host's words."""

    id: str
    byte_len: int
    availability: str
    media_type: str | None = None
    digest: str | None = None


def read_reference(value: Any) -> OutputRef | None:
    """The reference in an item's member, None if it is absent or not to be believed (`docs/stored-output.md`)."""
    if not isinstance(value, dict):
        return None
    ref_id, byte_len, availability = value.get("id"), value.get("byteLen"), value.get("availability")
    media_type, digest = value.get("mediaType"), value.get("digest")
    if type(ref_id) is not str or not 1 <= len(ref_id) <= MAX_ID_LENGTH:
        return None
    if type(byte_len) is not int or not 0 <= byte_len <= MAX_BYTES:
        return None
    if type(availability) is not str or not availability:
        return None
    believed = type(media_type) is str and 1 <= len(media_type) <= MAX_MEDIA_TYPE_LENGTH
    return OutputRef(
        ref_id,
        byte_len,
        availability,
        media_type=media_type if believed else None,
        digest=digest if type(digest) is str else None,
    )


def references_of(item: dict[str, Any]) -> list[OutputRef]:
    """What can be read of an item: its output, its patch."""
    found = [read_reference(item.get(member)) for member in (OUTPUT_MEMBER, PATCH_MEMBER)]
    return [reference for reference in found if reference is not None]


def find_reference(item: dict[str, Any], ref_id: str) -> OutputRef | None:
    """The item's reference with exactly this id."""
    return next((reference for reference in references_of(item) if reference.id == ref_id), None)


def has_reference(item: dict[str, Any]) -> bool:
    """Whether the host stores bytes of the item."""
    return any(read_reference(item.get(member)) is not None for member in _META_KEYS)


def unusable_references(item: dict[str, Any]) -> int:
    """How many references of the item are not believed, and not announced."""
    return sum(item.get(member) is not None and read_reference(item[member]) is None for member in _META_KEYS)


def card_meta(session_id: str, item_id: str, item: dict[str, Any]) -> dict[str, Any]:
    """The `_meta` members of the item's card: a handle per reference, which says how to read it if that can work."""
    meta = {}
    for member, key in _META_KEYS.items():
        reference = read_reference(item.get(member))
        if reference is not None:
            meta[key] = _handle(session_id, item_id, reference)
    return meta


def _handle(session_id: str, item_id: str, reference: OutputRef) -> dict[str, Any]:
    handle: dict[str, Any] = {
        "sessionId": session_id,
        "itemId": item_id,
        "outputRef": reference.id,
        "byteLen": reference.byte_len,
        "availability": reference.availability,
    }
    if reference.media_type is not None:
        handle["mediaType"] = reference.media_type
    if reference.availability == AVAILABLE:
        handle |= {"method": METHOD, "maxLengthBytes": MAX_LENGTH}
    return handle
