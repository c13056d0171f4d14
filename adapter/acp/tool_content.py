"""What a card shows: the items of a tool call's `content` (`acp.md §7`)."""

from __future__ import annotations

from typing import Any


def text_content(text: str) -> dict[str, Any]:
    """Markdown text."""
    return block_content({"type": "text", "text": text})


def block_content(block: dict[str, Any]) -> dict[str, Any]:
    """Any content block."""
    return {"type": "content", "content": block}


def diff_content(path: str, old: str | None, new: str) -> dict[str, Any]:
    """The full text of a file before and after; `path` is absolute, `old` None for a new file."""
    diff: dict[str, Any] = {"type": "diff", "path": path, "newText": new}
    if old is not None:
        diff["oldText"] = old
    return diff


def terminal_content(terminal_id: str) -> dict[str, Any]:
    """A terminal, whose output the client shows by itself or gets by `_meta.terminal_output`."""
    return {"type": "terminal", "terminalId": terminal_id}
