"""The diffs a host has stored of a tool call (`patchRef`, `msp.md §13.4`): read from it, and shown as they are.

Nobody says what is in them, so several shapes are understood; any other shows nothing.
"""

from __future__ import annotations

import base64
import binascii
import logging
from typing import Any, Final

from adapter.acp.text import one_line
from adapter.acp.tool_content import diff_content, text_content
from adapter.bridge.stored_output.references import AVAILABLE, PATCH_MEMBER, read_reference
from adapter.bridge.tool_cards.file_changes import FILE_BYTES, LONGEST_PATH, Diff, absolute, diff_fence
from adapter.msp.errors import HostGone, MspError
from adapter.msp.host import Host
from adapter.wire.framing import decode_json

log = logging.getLogger("adapter.bridge")

PATCH_BYTES: Final = 256 * 1024
"""How long a stored patch may be to be read for a card; longer ones a person reads by the command the card names."""

PAGES: Final = 20
MOST_FILES: Final = 50

CARD_DIFF_BYTES: Final = 2 * FILE_BYTES
"""Bytes of all diffs of one card; an update with them stays below a MiB."""

_PATH_NAMES: Final = ("path", "filePath", "file_path", "newPath", "file")
_OLD_NAMES: Final = ("oldText", "old", "before", "oldContent")
_NEW_NAMES: Final = ("newText", "new", "after", "newContent")
_DIFF_NAMES: Final = ("diff", "patch", "unifiedDiff", "unified_diff")
_LIST_NAMES: Final = ("files", "changes", "edits", "patches")


def has_patch(raw: dict[str, Any]) -> bool:
    """Whether there is a patch that can be read for the card."""
    reference = read_reference(raw.get(PATCH_MEMBER))
    return reference is not None and reference.availability == AVAILABLE and reference.byte_len <= PATCH_BYTES


async def read_patch(host: Host, session_id: str, raw: dict[str, Any], workspace: str) -> list[dict[str, Any]]:
    """The content a card has of its item's patch; empty if it cannot be read or understood."""
    reference = read_reference(raw.get(PATCH_MEMBER))
    if reference is None:
        return []
    asked = {"sessionId": session_id, "itemId": raw.get("itemId"), "outputRef": reference.id}
    data = b""
    try:
        for _ in range(PAGES):
            page = await host.query("item/readOutput", {**asked, "offsetBytes": len(data), "lengthBytes": PATCH_BYTES})
            piece = _bytes(page)
            data += piece
            if page.get("eof") is True:
                return patch_content(decode_json(data), workspace)
            if not piece or len(data) > PATCH_BYTES:
                return []
    except (MspError, HostGone, ValueError) as error:
        log.info("the diff the host has stored of an edit could not be read: %s", one_line(str(error)))
    return []


def patch_content(patch: Any, workspace: str) -> list[dict[str, Any]]:
    """The content for a patch in any of the shapes that are understood. Pure."""
    files = _files(patch)
    content: list[dict[str, Any]] = []
    room = CARD_DIFF_BYTES
    for file in files[:MOST_FILES]:
        shown, size = _file_content(file, workspace, room)
        content += shown
        room -= size
    left_out = len(files) - MOST_FILES
    return [*content, text_content(f"[{left_out} more files]")] if left_out > 0 else content


def _file_content(file: dict[str, Any], workspace: str, room: int) -> tuple[list[dict[str, Any]], int]:
    path = _text(file, _PATH_NAMES)
    old, new, patch = _text(file, _OLD_NAMES), _text(file, _NEW_NAMES), _text(file, _DIFF_NAMES)
    if path and len(path) <= LONGEST_PATH and new is not None and (old is not None or _is_new(file, patch)):
        diff = Diff(absolute(path, workspace), old, new)
        if old == new:
            return [], 0
        if diff.size <= room:
            return [diff_content(diff.path, diff.old, diff.new)], diff.size
        if not patch:
            return [text_content(f"[{one_line(path)}: {diff.size} bytes of a diff are too many to show]")], 0
    if not patch:
        return [], 0
    return [text_content(diff_fence(patch))], 0


def _is_new(file: dict[str, Any], patch: str | None) -> bool:
    """Whether the host says that the file was not there before; saying nothing of it is not saying so."""
    said = any(name in file and file[name] is None for name in _OLD_NAMES)
    return said or (patch is not None and patch.startswith("--- /dev/null"))


def _files(patch: Any) -> list[dict[str, Any]]:
    if isinstance(patch, dict):
        listed = next((patch[name] for name in _LIST_NAMES if isinstance(patch.get(name), list)), [patch])
    else:
        listed = patch if isinstance(patch, list) else []
    return [file for file in listed if isinstance(file, dict)]


def _text(file: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((file[name] for name in names if isinstance(file.get(name), str)), None)


def _bytes(page: dict[str, Any]) -> bytes:
    content = page.get("content")
    if not isinstance(content, str):
        raise ValueError("a page without content")
    if page.get("encoding") != "base64":
        return content.encode()
    try:
        return base64.b64decode(content, validate=True)
    except binascii.Error:
        raise ValueError("a page that is no base64") from None
