"""The blocks of an ACP prompt as the input parts of a turn (`msp.md §12.1`, `acp.md §5`)."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import unquote, urlsplit

import anyio
import orjson

from adapter.acp import errors
from adapter.acp.content import Block, EmbeddedText, Image, ResourceLink, Text
from adapter.acp.text import fenced
from adapter.wire.envelope import Params

ENVELOPE_BYTES: Final = 16 * 1024
"""What a `turn/start` holds at most beside its input: ids, folders, a trace, an instruction."""

_PART_BYTES: Final = 100
"""What a part has beside its text or its picture."""

_DRIVE: Final = re.compile(r"/[A-Za-z]:")
_WORD_END: Final = re.compile(r"[\w)]\Z")
_WORD_START: Final = re.compile(r"[\w@\[]")
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f]")


def input_parts(blocks: Iterable[Block], mentions: Mapping[str, str] | None = None) -> list[Params]:
    """One part a block, in order; blocks without text are left out.

    A link is a mention: by its path, as `mentions` has it for its URI, else by the URI. Whether to read it is the
    host's business. Embedded text stands below its URI as it was given, unsaved edits included. The host joins texts
    as they are, so such a block gets lines of its own, and a mention is kept from the words beside it.
    """
    parts: list[Params] = []
    apart = linked = False
    for block in blocks:
        if isinstance(block, Image):
            if block.uri and block.uri.startswith("file:"):
                # A picture of the project is known by its name.
                parts.append({"type": "text", "text": f"{block.uri}\n"})
            parts.append({"type": "image", "mediaType": block.mime_type, "base64Data": block.data})
        elif text := _text_of(block, mentions or {}):
            before = parts[-1] if parts and parts[-1]["type"] == "text" else None
            alone, links = isinstance(block, EmbeddedText), isinstance(block, ResourceLink)
            if before is not None:
                before["text"] += _between(before["text"], text, lines=alone or apart, mentioned=links or linked)
            apart, linked = alone, links
            parts.append({"type": "text", "text": text})
    return parts


def _between(before: str, text: str, *, lines: bool, mentioned: bool) -> str:
    if lines:
        return "" if before.endswith("\n") or text.startswith("\n") else "\n"
    return " " if mentioned and _WORD_END.search(before) and _WORD_START.match(text) else ""


def _text_of(block: Block, mentions: Mapping[str, str]) -> str:
    if isinstance(block, Text):
        return block.text
    if isinstance(block, ResourceLink):
        return mentions.get(block.uri) or f"[{block.title or block.name}]({block.uri})"
    assert isinstance(block, EmbeddedText), "other kinds are refused when the prompt is read"
    return f"{block.uri}\n{fenced(block.text)}"


def text_of(parts: Iterable[Params]) -> str:
    """The parts as a person reads them in a transcript."""
    return "".join(_shown(part) for part in parts)


def _shown(part: Params) -> str:
    if part["type"] == "skill":
        return f"/{part['selector']} {part.get('arguments', '')}".strip()
    return str(part.get("text", ""))


def instructed(parts: list[Params], instruction: str) -> list[Params]:
    """The parts with an instruction before them, but behind the skill they begin with."""
    at = 1 if parts[0]["type"] == "skill" else 0
    return [*parts[:at], {"type": "text", "text": f"{instruction}\n\n"}, *parts[at:]]


# -- size


def require_fit(blocks: Iterable[Block], frame_cap: int) -> None:
    """Check that a turn with this input fits one line to the host (`msp.md §24`).

    Raises:
        RpcError: -32602 that names the block with which it no longer fits, and the limit.
    """
    left = frame_cap - ENVELOPE_BYTES
    for index, block in enumerate(blocks):
        left -= sum(_PART_BYTES + _weight(part) for part in input_parts([block]))
        if left < 0:
            limit = f"a prompt may have about {max(0, frame_cap - ENVELOPE_BYTES)} bytes, pictures counted as base64"
            raise errors.invalid_params(f"prompt[{index}]", f"is too large: {limit}")


def _weight(part: Params) -> int:
    if part["type"] == "image":
        return len(part["base64Data"])
    return len(orjson.dumps(part["text"]))


# -- mentions


async def file_mentions(blocks: Iterable[Block], workspace: str) -> dict[str, str]:
    """How links to files in the workspace are mentioned so that the host can read them: `@` and the relative path, by
    URI. Files elsewhere are not among them, links in the workspace that lead out of it neither; nothing is read."""
    uris = {block.uri for block in blocks if isinstance(block, ResourceLink)}
    local = {uri: found for uri in uris if (found := _local_file(uri)) is not None}
    if not local:
        return {}
    return await anyio.to_thread.run_sync(_mentions, local, workspace)


def _mentions(local: dict[str, tuple[str, str]], workspace: str) -> dict[str, str]:
    root = os.path.realpath(workspace)
    mentions: dict[str, str] = {}
    for uri, (path, place) in local.items():
        try:
            relative = os.path.relpath(os.path.realpath(path), root)
        except (OSError, ValueError):
            continue
        if relative.split(os.sep, 1)[0] not in (os.pardir, os.curdir):
            mentions[uri] = f"@{relative}" + (f" ({place})" if place else "")
    return mentions


def _local_file(uri: str) -> tuple[str, str] | None:
    """The path a `file:` URI means here, and the place in it that its fragment names; None for any other URI."""
    try:
        split = urlsplit(uri)
        path = unquote(split.path, errors="strict")
    except ValueError:
        return None
    if split.scheme != "file" or split.netloc not in ("", "localhost") or not path.startswith("/"):
        return None
    if sys.platform == "win32" and _DRIVE.match(path):
        path = path[1:]
    place = unquote(split.fragment)
    return None if _CONTROLS.search(path + place) else (path, place)
