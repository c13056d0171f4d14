"""The blocks of a prompt (`acp.md §5`).

Text and links are always accepted, other kinds if they were advertised. Embedded text is the exception: clients in
the field send it unasked, it is only text, and refusing it would lose the user's mention of a file.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Final, TypeAlias

import msgspec

from adapter.acp.capabilities import PromptCapabilities
from adapter.acp.fields import Fields


class Text(msgspec.Struct, frozen=True):
    """Plain or Markdown text."""

    text: str


class ResourceLink(msgspec.Struct, frozen=True):
    """A mention of something the agent may read by itself."""

    uri: str
    name: str
    mime_type: str | None = None
    title: str | None = None
    description: str | None = None


class Image(msgspec.Struct, frozen=True):
    """A picture; `data` is base64 as it came, known to decode."""

    data: str
    mime_type: str
    uri: str | None = None


class Audio(msgspec.Struct, frozen=True):
    """A recording; `data` is base64 as it came, known to decode."""

    data: str
    mime_type: str


class EmbeddedText(msgspec.Struct, frozen=True):
    """A text resource with its contents, unsaved edits included."""

    uri: str
    text: str
    mime_type: str | None = None


class EmbeddedBlob(msgspec.Struct, frozen=True):
    """A binary resource with its contents; `blob` is base64 as it came, known to decode."""

    uri: str
    blob: str
    mime_type: str | None = None


Block: TypeAlias = Text | ResourceLink | Image | Audio | EmbeddedText | EmbeddedBlob


def read_prompt(params: Fields, accepted: PromptCapabilities) -> tuple[Block, ...]:
    """The member `prompt`, which is required and may be empty.

    Raises:
        RpcError: -32602 that names the block, or the member of it that is wrong.
    """
    if not params.has("prompt"):
        raise params.refuse("prompt", "is required")
    return tuple(_read_block(block, accepted) for block in params.objects("prompt"))


def _read_block(block: Fields, accepted: PromptCapabilities) -> Block:
    reader = _READERS.get(block.string("type"))
    if reader is None:
        raise block.refuse("type", "this kind of block is unknown")
    return reader(block, accepted)


def _read_text(block: Fields, _accepted: PromptCapabilities) -> Text:
    return Text(block.string("text"))


def _read_link(block: Fields, _accepted: PromptCapabilities) -> ResourceLink:
    return ResourceLink(
        uri=block.string("uri"),
        name=block.string("name"),
        mime_type=block.label("mimeType"),
        title=block.label("title"),
        description=block.label("description"),
    )


def _read_image(block: Fields, accepted: PromptCapabilities) -> Image:
    if not accepted.image:
        raise block.refuse("type", "image blocks are not supported")
    return Image(_base64(block, "data"), _mime_type(block, "image/"), block.label("uri"))


def _read_audio(block: Fields, accepted: PromptCapabilities) -> Audio:
    if not accepted.audio:
        raise block.refuse("type", "audio blocks are not supported")
    return Audio(_base64(block, "data"), _mime_type(block, "audio/"))


def _read_resource(block: Fields, accepted: PromptCapabilities) -> EmbeddedText | EmbeddedBlob:
    resource = block.object("resource")
    uri = resource.string("uri")
    if resource.has("text"):
        return EmbeddedText(uri, resource.string("text"), resource.label("mimeType"))
    if not resource.has("blob"):
        raise resource.refuse("text", "is required, or blob")
    if not accepted.embedded_context:
        raise resource.refuse("blob", "binary resources are not supported")
    return EmbeddedBlob(uri, _base64(resource, "blob"), resource.label("mimeType"))


_READERS: Final[dict[str, Callable[[Fields, PromptCapabilities], Block]]] = {
    "text": _read_text,
    "resource_link": _read_link,
    "image": _read_image,
    "audio": _read_audio,
    "resource": _read_resource,
}


def _mime_type(block: Fields, family: str) -> str:
    value = block.string("mimeType")
    if not value.lower().startswith(family):
        raise block.refuse("mimeType", f"must begin with {family}")
    return value


def _base64(block: Fields, name: str) -> str:
    value = block.string(name)
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise block.refuse(name, "is not base64") from None
    return value
