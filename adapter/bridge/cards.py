"""What a tool item looks like as a card: title, kind, status, text, input and places. Pure: an item in, the card's
members out.

The recipe is `msp.md §13.5`: the host's own label first, then the arguments, then the fallback text; a tool we do not
know is a card like any other, only plainer.
"""

from __future__ import annotations

from itertools import islice
from pathlib import PurePath
from typing import Any, Final

import msgspec

from adapter.acp.text import one_line
from adapter.acp.tool_content import text_content
from adapter.bridge.bounded_text import bound_text, with_notice
from adapter.bridge.card_style import CardStyle
from adapter.bridge.card_text import TRUNCATED_KEY, card_text, described
from adapter.bridge.stored_output.references import card_meta, has_reference
from adapter.msp.items import ItemState
from adapter.wire.framing import decode_json

MESSAGE_KINDS: Final = frozenset({"userMessage", "agentMessage", "reasoning"})
"""Item kinds that are conversation, not cards."""

CARD_KINDS: Final = frozenset(
    {"toolCall", "userShell", "subagent", "workflow", "compaction", "hookRun", "webSearch", "reminderChild"}
)
"""Item kinds that are always a card. Any other is one if the host gives it a text to show, or stores bytes of it."""

_TOOL_KINDS: Final[dict[str, str]] = {
    "bash": "execute",
    "shell": "execute",
    "read_file": "read",
    "list_files": "read",
    "list_dir": "read",
    "read_skill": "other",
    "search": "search",
    "grep": "search",
    "glob": "search",
    "web_search": "search",
    "web_fetch": "fetch",
    "write_file": "edit",
    "edit_file": "edit",
    "apply_patch": "edit",
    "delete_file": "delete",
    "move_file": "move",
    "write_todos": "think",
}
_ITEM_KINDS: Final[dict[str, str]] = {"userShell": "execute", "webSearch": "search", "compaction": "think"}
_STATUS: Final[dict[str, str]] = {"inProgress": "in_progress", "completed": "completed"}

_HINT_ARGUMENTS: Final = ("path", "file_path", "command", "pattern", "query", "url", "name", "description")
_PATH_ARGUMENTS: Final = ("path", "file_path")

RAW_INPUT_BYTES: Final = 64 * 1024
"""How long `rawInput` may be before its long strings are shortened: it is for looking at, not for reading files from.
"""


INPUT_MEMBERS: Final = 100
"""How many members of a long `rawInput` are shown."""

LONGEST_PATH: Final = 4096
"""Characters of a path; no system has longer ones."""


class Card(msgspec.Struct, frozen=True):
    """The members of a `tool_call`; None means there is nothing to say."""

    title: str
    kind: str
    status: str
    text: str | None
    raw_input: Any
    raw_output: Any
    locations: tuple[str, ...]
    meta: dict[str, Any]

    def members(self) -> dict[str, Any]:
        """The ACP members, without `_meta` and those that say nothing."""
        members: dict[str, Any] = {"title": self.title, "kind": self.kind, "status": self.status}
        if self.text is not None:
            members["content"] = [text_content(self.text)]
        if self.raw_input is not None:
            members["rawInput"] = self.raw_input
        if self.raw_output is not None:
            members["rawOutput"] = self.raw_output
        if self.locations:
            members["locations"] = [{"path": path} for path in self.locations]
        return members


def is_card(item: ItemState) -> bool:
    """Whether the item is shown as a card."""
    if item.kind in CARD_KINDS:
        return True
    return item.kind not in MESSAGE_KINDS and (bool(item.raw.get("fallbackText")) or has_reference(item.raw))


def outlives_turn(item: ItemState) -> bool:
    """Whether the item goes on by itself when its turn is over, or has none (`msp.md §13.1, §13.2`)."""
    if item.kind == "userShell":
        return item.turn_id is None
    return item.kind in {"subagent", "workflow"} or item.raw.get("background") is True


def card_of(item: ItemState, style: CardStyle) -> Card:
    """The card of an item as it is now."""
    raw = item.raw
    arguments = _arguments(raw)
    kind = _kind(item)
    shown = card_text(item, style, is_command=kind == "execute")
    meta = card_meta(style.session_id, item.item_id, raw) if style.output_offered else {}
    if shown.truncated is not None:
        meta[TRUNCATED_KEY] = shown.truncated
    return Card(
        title=_title(item, arguments),
        kind=kind,
        status=_STATUS.get(item.status, "failed"),
        text=shown.text,
        raw_input=bounded_input(raw.get("args"), arguments),
        raw_output=shown.raw_output,
        locations=_locations(arguments, style.workspace),
        meta=meta,
    )


def user_text(item: ItemState) -> str:
    """What the user wrote, as shown in a replayed conversation; attachments are described, their bytes are not
    stored."""
    raw = item.raw
    text = raw.get("displayText") or raw.get("text")
    attachments = raw.get("attachments")
    lines = [text] if isinstance(text, str) and text else []
    if isinstance(attachments, list):
        lines += [described(entry) for entry in attachments if isinstance(entry, dict)]
    return "\n".join(lines)


def output_text(item: ItemState) -> str:
    """What a tool printed so far, or at the end."""
    return item.text("output")


def _arguments(raw: dict[str, Any]) -> Any:
    """The parsed arguments, or the model's text as it is: it may be no JSON at all (`msp.md §13.4`)."""
    text = raw.get("args")
    if not isinstance(text, str):
        command = raw.get("commandText")
        return {"command": command} if isinstance(command, str) else None
    try:
        return decode_json(text.encode("utf-8", "replace"))
    except ValueError:
        return text or None


def _title(item: ItemState, arguments: Any) -> str:
    raw = item.raw
    label = raw.get("displayLabel")
    if isinstance(label, dict):
        form = {"inProgress": "active", "completed": "done"}.get(item.status, "neutral")
        words = label.get(form) or label.get("neutral")
        if isinstance(words, str) and words.strip():
            return one_line(words)
    for member in ("commandText", "objective", "entryId", "trigger", "label"):
        words = raw.get(member)
        if isinstance(words, str) and words.strip():
            return one_line(words if member == "commandText" else f"{item.kind}: {words}")
    tool = raw.get("tool")
    name = tool if isinstance(tool, str) and tool else item.kind
    if isinstance(arguments, dict):
        for member in _HINT_ARGUMENTS:
            hint = arguments.get(member)
            if isinstance(hint, str) and hint.strip():
                return one_line(hint if member == "command" else f"{name}: {hint}")
    fallback = raw.get("fallbackText")
    return one_line(fallback) if isinstance(fallback, str) and fallback.strip() else one_line(name)


def tool_kind(tool: str) -> str:
    """The ACP kind of a Muse tool, by its exact name: guessing from parts of names calls `thread` a read."""
    return _TOOL_KINDS.get(tool, "other")


def _kind(item: ItemState) -> str:
    tool = item.raw.get("tool")
    if isinstance(tool, str):
        return tool_kind(tool)
    return _ITEM_KINDS.get(item.kind, "other")


def bounded_input(text: Any, arguments: Any, limit: int = RAW_INPUT_BYTES) -> Any:
    """`arguments`, parsed from `text`, with its long members shortened if `text` has more than `limit` characters."""
    if not isinstance(text, str) or len(text) <= limit:
        return arguments
    if not isinstance(arguments, dict):
        return _shortened(arguments)
    members = {one_line(name): _shortened(value) for name, value in islice(arguments.items(), INPUT_MEMBERS)}
    if len(arguments) > INPUT_MEMBERS:
        members["…"] = f"[{len(arguments) - INPUT_MEMBERS} more left out]"
    return members


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        bounded = bound_text(value, 4096)
        return with_notice(bounded, f"[{bounded.total_bytes} bytes]") if bounded.truncated else value
    if isinstance(value, dict | list):
        return "[left out: too long to show]"
    return value


def _locations(arguments: Any, workspace: str) -> tuple[str, ...]:
    if not isinstance(arguments, dict):
        return ()
    paths = (arguments.get(member) for member in _PATH_ARGUMENTS)
    usable = (path for path in paths if isinstance(path, str) and 0 < len(path) <= LONGEST_PATH)
    return tuple(str(PurePath(workspace) / path) for path in usable)
