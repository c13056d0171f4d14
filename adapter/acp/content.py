"""The blocks of a prompt (`acp.md §5`).

Text and links are always accepted, other kinds if they were advertised. Embedded text is the exception: clients in
the field send it unasked, it is only text, and refusing it would lose the user's mention of a file.

A picture is what its bytes are: clients name types by the ending of a file, and a model that is told the wrong one
fails later and says less.
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
    """A picture; `data` is base64 as it came, known to be one of `IMAGE_TYPES`, and `mime_type` says which."""

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


Block: TypeAlias = Text | ResourceLink | Image | Audio | EmbeddedText

IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""What models look at."""

_TEXT_TYPES: Final = frozenset({"application/json", "application/xml"})
_TEXT_ENDINGS: Final = ("+json", "+xml")


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
    _image_type(block)
    return _image(block, "data", block.label("uri"))


def _read_audio(block: Fields, accepted: PromptCapabilities) -> Audio:
    if not accepted.audio:
        raise block.refuse("type", "audio blocks are not supported")
    if not block.string("mimeType").lower().startswith("audio/"):
        raise block.refuse("mimeType", "must begin with audio/")
    _base64(block, "data")
    return Audio(block.string("data"), block.string("mimeType"))


def _read_resource(block: Fields, accepted: PromptCapabilities) -> EmbeddedText | Image:
    resource = block.object("resource")
    uri = resource.string("uri")
    if resource.has("text"):
        return EmbeddedText(uri, resource.string("text"), resource.label("mimeType"))
    if not resource.has("blob"):
        raise resource.refuse("text", "is required, or blob")
    if not accepted.embedded_context:
        raise resource.refuse("blob", "binary resources are not supported")
    kind = _type_of(resource)
    if kind.startswith("text/") or kind in _TEXT_TYPES or kind.endswith(_TEXT_ENDINGS):
        return EmbeddedText(uri, _decoded_text(resource, "blob"), kind)
    if not accepted.image:
        raise resource.refuse("mimeType", "must be a kind of text")
    _image_type(resource)
    return _image(resource, "blob", uri)


_READERS: Final[dict[str, Callable[[Fields, PromptCapabilities], Block]]] = {
    "text": _read_text,
    "resource_link": _read_link,
    "image": _read_image,
    "audio": _read_audio,
    "resource": _read_resource,
}


def _type_of(block: Fields) -> str:
    """The declared type without its parameters, in lower case."""
    return block.string("mimeType").partition(";")[0].strip().lower()


def _image_type(block: Fields) -> None:
    if _type_of(block) not in (*IMAGE_TYPES, "image/jpg"):
        raise block.refuse("mimeType", f"must be one of {', '.join(IMAGE_TYPES)}")


def _image(block: Fields, name: str, uri: str | None) -> Image:
    kind = _kind_of_image(_base64(block, name))
    if kind is None:
        raise block.refuse(name, "is no PNG, JPEG, GIF or WebP image")
    return Image(block.string(name), kind, uri)


def _kind_of_image(data: bytes) -> str | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data[:4] == b"RIFF" and data[8:12] == b"WEBP" else None


def _decoded_text(block: Fields, name: str) -> str:
    try:
        return _base64(block, name).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise block.refuse(name, "is not UTF-8 text") from None


def _base64(block: Fields, name: str) -> bytes:
    try:
        return base64.b64decode(block.string(name), validate=True)
    except (binascii.Error, ValueError):
        raise block.refuse(name, "is not base64") from None
