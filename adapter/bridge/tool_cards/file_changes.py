"""What a tool call is about to do to a file, told from its arguments and the file as it was before. Pure.

A diff needs the whole text before and after (`acp.md §7`). Both are claimed only where they are certain: a file that
was there is never shown as a new one, and a text that may have been changed already not as the old one (`peers.md §18`,
12). Where that cannot be told, what the arguments say is shown as it is.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import Any, Final

import msgspec

from adapter.acp.text import fenced
from adapter.bridge.bounded_text import bound_text
from adapter.bridge.tool_cards.tool_table import CONTENTS, EVERYWHERE, NEW_TEXTS, OLD_TEXTS, PATCHES, PATHS, tool_named

FILE_BYTES: Final = 256 * 1024
"""How large a text before or after may be to be shown whole; a card's update then stays below a MiB."""

LONGEST_PATH: Final = 4096
"""Characters of a path; no system has longer ones."""

FENCE_BYTES: Final = 16 * 1024
"""How much of a change is shown where it is shown as text."""

MOST_REPLACEMENTS: Final = 200


class Replacement(msgspec.Struct, frozen=True):
    """A piece of text and what takes its place, once or `everywhere`."""

    old: str
    new: str
    everywhere: bool = False


class FileChange(msgspec.Struct, frozen=True):
    """A change by one of three recipes: a whole `content`, `replacements` in order, or the text of a `patch`. `path` is
    absolute, empty if only the patch names its files."""

    path: str
    content: str | None = None
    replacements: tuple[Replacement, ...] = ()
    patch: str | None = None


class Before(msgspec.Struct, frozen=True):
    """A file before a change: its text, or None if it was not there. `certain`: read while the change could not have
    been made yet, because it waited for a decision."""

    text: str | None
    certain: bool = False


class Diff(msgspec.Struct, frozen=True):
    """A whole text before and after; `old` is None for a new file."""

    path: str
    old: str | None
    new: str

    @property
    def size(self) -> int:
        """Bytes of both texts on the wire, where a control character takes six."""
        return sum(len(msgspec.json.encode(text)) - 2 for text in (self.old or "", self.new))


def absolute(path: str, workspace: str) -> str:
    """`path` as the host means it."""
    return str(PurePath(workspace) / path)


def inside(path: str, workspace: str) -> str:
    """`path` from the workspace on, if it is absolute and leads into it; for people."""
    named = PurePath(path)
    within = named.is_absolute() and ".." not in named.parts and named.is_relative_to(workspace)
    return str(named.relative_to(workspace)) if within else path


def change_of(tool: str, arguments: Any, workspace: str) -> FileChange | None:
    """What the arguments of a call say it changes, None if they do not."""
    recipe = tool_named(tool).change
    if recipe is None or not isinstance(arguments, dict):
        return None
    named = _first(arguments, PATHS)
    path = absolute(named, workspace) if named and len(named) <= LONGEST_PATH else ""
    if recipe == "patch":
        patch = _first(arguments, PATCHES)
        return FileChange(path, patch=patch) if patch else None
    if not path:
        return None
    if recipe == "write":
        content = _first(arguments, CONTENTS)
        return None if content is None else FileChange(path, content)
    replacements = _replacements(arguments)
    return FileChange(path, replacements=replacements) if replacements else None


def diff_of(change: FileChange, before: Before | None) -> Diff | None:
    """The whole text before and after, None if either is not certain or too large. `before` is None if it is not
    known."""
    if before is None or change.patch is not None:
        return None
    new = change.content if change.content is not None else _replaced(before, change.replacements)
    if new is None or (before.text is not None and _may_be_after(before, change)):
        return None
    diff = Diff(change.path, before.text, new)
    return diff if before.text != new and diff.size <= 2 * FILE_BYTES else None


def change_text(change: FileChange) -> str:
    """What the arguments say, as a block of Markdown in the way of a diff."""
    if change.patch is not None:
        lines = change.patch.splitlines()
    elif change.content is not None:
        lines = [f"+{line}" for line in change.content.splitlines()]
    else:
        lines = []
        for replacement in change.replacements:
            lines += [f"-{line}" for line in replacement.old.splitlines()]
            lines += [f"+{line}" for line in replacement.new.splitlines()]
    return diff_fence("\n".join(lines))


def diff_fence(text: str) -> str:
    """A diff as a block of Markdown, with a note if it was cut."""
    bounded = bound_text(text, FENCE_BYTES)
    if not bounded.truncated:
        return fenced(text, "diff")
    shown = bounded.head_bytes + bounded.tail_bytes
    notice = f"[muse-adapter shows {shown} of {bounded.total_bytes} bytes of the change]"
    return "\n".join([fenced(bounded.head, "diff"), notice, fenced(bounded.tail, "diff")])


def _may_be_after(before: Before, change: FileChange) -> bool:
    """Whether the text may be what the call has made of the file already, whole or in part."""
    if before.certain or before.text is None:
        return False
    if change.content is not None:
        return change.content.startswith(before.text)
    return any(replacement.new and replacement.new in before.text for replacement in change.replacements)


def _replaced(before: Before, replacements: tuple[Replacement, ...]) -> str | None:
    """The text with each piece replaced; None if it is not certain which piece is meant."""
    text = before.text
    if text is None:
        # An empty piece of a file that is not there: it is made.
        return replacements[0].new if len(replacements) == 1 and not replacements[0].old else None
    for replacement in replacements:
        found = text.count(replacement.old) if replacement.old else 0
        if found == 0 or (found > 1 and not replacement.everywhere):
            return None
        text = text.replace(replacement.old, replacement.new)
        if len(text) > FILE_BYTES:
            return None
    return text


def _replacements(arguments: dict[str, Any]) -> tuple[Replacement, ...]:
    edits = arguments.get("edits")
    listed = edits if isinstance(edits, list) else [arguments]
    found = [_replacement(edit) for edit in listed[: MOST_REPLACEMENTS + 1]]
    usable = tuple(replacement for replacement in found if replacement is not None)
    return usable if len(usable) == len(found) <= MOST_REPLACEMENTS else ()


def _replacement(edit: Any) -> Replacement | None:
    if not isinstance(edit, dict):
        return None
    old, new = _first(edit, OLD_TEXTS), _first(edit, NEW_TEXTS)
    if old is None or new is None:
        return None
    return Replacement(old, new, any(edit.get(name) is True for name in EVERYWHERE))


def _first(arguments: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next((arguments[name] for name in names if isinstance(arguments.get(name), str)), None)
