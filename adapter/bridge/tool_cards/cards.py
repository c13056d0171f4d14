"""What an item looks like as a card: title, kind, status, content, input and places. Pure: an item in, the card's
members out.

The recipe is `msp.md §13.5`: the host's own label first, then what the tool's arguments say, then the fallback text; a
tool we do not know is a card like any other, only plainer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from adapter.acp import updates
from adapter.acp.text import one_line
from adapter.acp.tool_content import terminal_content, text_content
from adapter.acp.updates import ToolKind, ToolStatus
from adapter.bridge.stored_output.references import card_meta, has_reference
from adapter.bridge.tool_cards.card_notes import described
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.bridge.tool_cards.card_text import TRUNCATED_KEY, card_text
from adapter.bridge.tool_cards.tool_arguments import bounded_input, hint, parsed, places
from adapter.bridge.tool_cards.tool_table import UNKNOWN, Tool, shown_name, tool_named
from adapter.msp.items import ItemState
from adapter.msp.vocabulary import OPEN_STATUS

MESSAGE_KINDS: Final = frozenset({"userMessage", "agentMessage", "reasoning"})
"""Item kinds that are conversation, not cards."""

CARD_KINDS: Final = frozenset({"toolCall", "userShell", "subagent", "workflow", "compaction", "hookRun", "webSearch"})
"""Item kinds that are always a card. Any other is one if the host gives it a text to show, or stores bytes of it."""

_ITEM_TOOLS: Final[dict[str, Tool]] = {
    "userShell": Tool(kind="execute", hints=("command",), bare=True, places=()),
    "webSearch": Tool(kind="search"),
    "compaction": Tool(kind="think"),
    # Nine in ten children of a session are the host's own reminders (`peers.md §7`).
    "reminderChild": Tool(hidden=True),
}

_STATUS: Final[dict[str, ToolStatus]] = {OPEN_STATUS: "in_progress", "completed": "completed"}
_NOTHING_WRONG: Final = frozenset({OPEN_STATUS, "completed", "cancelled"})

_TITLES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "subagent": ("Subagent", ("objective", "role")),
    "workflow": ("Workflow", ("entryId", "scriptId")),
    "hookRun": ("Hook", ("label", "hookKey")),
    "webSearch": ("Web search", ("query", "url", "pattern")),
    "monitorFeed": ("Monitor", ("monitorDescription", "monitorId")),
    "reminderChild": ("Reminder", ("reminderAgentId",)),
}
"""What an item is called, and the members that say what it is about: the first that is there."""

_TRIGGERS: Final = {"auto": "automatic", "manual": "asked for"}


class Card(msgspec.Struct, frozen=True):
    """The members of a `tool_call`; None means there is nothing to say.

    `printed` is the output of a command so far, for a client that shows it in a terminal; None for all others.
    """

    title: str
    kind: ToolKind
    status: ToolStatus
    content: list[dict[str, Any]]
    raw_input: Any
    raw_output: Any
    places: tuple[tuple[str, int | None], ...]
    meta: dict[str, Any]
    name: str | None = None
    printed: str | None = None

    def members(self) -> dict[str, Any]:
        """The ACP members, without `_meta` and those that say nothing."""
        members: dict[str, Any] = {"title": self.title, "kind": self.kind, "status": self.status}
        if self.content:
            members["content"] = self.content
        if self.places:
            members["locations"] = [updates.location(path, line) for path, line in self.places]
        if self.raw_input is not None:
            members["rawInput"] = self.raw_input
        if self.raw_output is not None:
            members["rawOutput"] = self.raw_output
        return members


def is_card(item: ItemState) -> bool:
    """Whether the item is shown as a card."""
    if item.kind in MESSAGE_KINDS:
        return False
    if tool_of(item).hidden:
        return item.status not in _NOTHING_WRONG
    return item.kind in CARD_KINDS or bool(item.raw.get("fallbackText")) or has_reference(item.raw)


def outlives_turn(item: ItemState) -> bool:
    """Whether the item goes on by itself when its turn is over, or has none (`msp.md §13.1, §13.2`)."""
    if item.kind == "userShell":
        return item.turn_id is None
    return item.kind in {"subagent", "workflow"} or item.raw.get("background") is True


def tool_of(item: ItemState) -> Tool:
    """What is known of the item's tool, or of its kind if it is no tool's."""
    name = item.raw.get("tool")
    return tool_named(name) if isinstance(name, str) else _ITEM_TOOLS.get(item.kind, UNKNOWN)


def arguments_of(item: ItemState) -> Any:
    """The parsed arguments of a call, or the model's text if it is no JSON."""
    command = item.raw.get("commandText")
    if isinstance(command, str) and not isinstance(item.raw.get("args"), str):
        return {"command": command}
    return parsed(item.raw.get("args"))


def is_command(item: ItemState) -> bool:
    """Whether the item runs a command, whose output is shown as it was printed."""
    return tool_of(item).kind == "execute"


def card_of(
    item: ItemState, style: CardStyle, *, changes: Sequence[dict[str, Any]] = (), terminal: str | None = None
) -> Card:
    """The card of an item as it is now. `changes` are the diffs it shows, `terminal` is the id of the terminal that
    shows its output, None if the card does."""
    raw = item.raw
    tool, arguments = tool_of(item), arguments_of(item)
    shown = card_text(item, style, is_command=tool.kind == "execute", in_terminal=terminal is not None)
    meta = card_meta(style.session_id, item.item_id, raw) if style.output_offered else {}
    if shown.truncated is not None:
        meta[TRUNCATED_KEY] = shown.truncated
    content = [] if terminal is None else [terminal_content(terminal)]
    content += changes
    content += [] if shown.text is None else [text_content(shown.text)]
    name = raw.get("tool")
    return Card(
        title=_title(item, tool, arguments, style.workspace),
        kind=tool.kind,
        status=_STATUS.get(item.status, "failed"),
        content=content,
        raw_input=bounded_input(raw.get("args"), arguments),
        raw_output=shown.raw_output and bounded_input(repr(shown.raw_output), shown.raw_output),
        places=tuple(places(tool, arguments, style.workspace)),
        meta=meta,
        name=one_line(name) if isinstance(name, str) and name else None,
        printed=None if terminal is None else shown.printed,
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


def _title(item: ItemState, tool: Tool, arguments: Any, workspace: str) -> str:
    return label_of(item) or _subject(item) or _call(item, tool, arguments, workspace)


def label_of(item: ItemState) -> str | None:
    """The host's own words, in the form that fits the status."""
    label = item.raw.get("displayLabel")
    if not isinstance(label, dict):
        return None
    form = {OPEN_STATUS: "active", "completed": "done"}.get(item.status, "neutral")
    return _line(label.get(form)) or _line(label.get("neutral"))


def _subject(item: ItemState) -> str | None:
    """What an item that is no tool's is about."""
    if item.kind == "compaction":
        trigger = _line(item.raw.get("trigger"))
        return one_line(f"Context compaction ({_TRIGGERS.get(trigger, trigger)})" if trigger else "Context compaction")
    if item.kind not in _TITLES:
        return None
    name, members = _TITLES[item.kind]
    told = (_line(item.raw.get(member)) for member in members)
    about = next((words for words in told if words), None)
    event = _line(item.raw.get("event")) if item.kind == "hookRun" else None
    named = f"{name} {event}" if event else name
    return one_line(f"{named}: {about}") if about else event and one_line(named)


def _call(item: ItemState, tool: Tool, arguments: Any, workspace: str) -> str:
    about = hint(tool, arguments, workspace)
    if about is not None and tool.bare:
        return about
    name = item.raw.get("tool")
    named = shown_name(name) if isinstance(name, str) and name else item.kind
    if about is not None:
        return one_line(f"{named}: {about}")
    return _line(item.raw.get("fallbackText")) or one_line(named)


def _line(words: Any) -> str | None:
    return (one_line(words) or None) if isinstance(words, str) else None
