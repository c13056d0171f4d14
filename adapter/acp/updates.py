"""The params of `session/update`: one function per variant, strict in what it builds (`acp.md §6, §7`).

Optional members that are None are left out, never null: clients differ in what they take a null for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import UNSET, UnsetType

from adapter.acp.text import one_line
from adapter.wire.envelope import Params, notification_object

METHOD: Final = "session/update"

ChunkVariant: TypeAlias = Literal["agent_message_chunk", "agent_thought_chunk", "user_message_chunk"]
ToolKind: TypeAlias = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]
ToolStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]
PlanPriority: TypeAlias = Literal["high", "medium", "low"]
PlanStatus: TypeAlias = Literal["pending", "in_progress", "completed"]
Severity: TypeAlias = Literal["info", "warning", "error"]
CompactionStatus: TypeAlias = Literal["in_progress", "completed", "failed", "cancelled"]

_LISTS: Final = frozenset({"content", "locations"})

CHUNK_OVERHEAD = 200
"""About how many bytes a text chunk has beside its text."""


class TextChunk:
    """A piece of text of one message, which can take up the pieces that follow while it waits to be written
    (`adapter.wire.outbox.Mergeable`)."""

    __slots__ = ("_parts", "_weight", "message_id", "session_id", "variant")

    def __init__(self, session_id: str, variant: ChunkVariant, text: str, message_id: str | None = None) -> None:
        self.session_id = session_id
        self.variant = variant
        self.message_id = message_id
        self._parts = [text]
        # Both are constant time; encoding the text to count its bytes would cost as much as writing it.
        self._weight = len(text) if text.isascii() else 3 * len(text)

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._parts)

    def absorb(self, later: Any, limit: int) -> bool:
        """Take up `later` if it continues the same message and both together weigh less than `limit`."""
        if (
            type(later) is not TextChunk
            or later.message_id != self.message_id
            or later.variant != self.variant
            or later.session_id != self.session_id
            or self.weight() + later._weight >= limit
        ):
            return False
        self._parts.extend(later._parts)
        self._weight += later._weight
        return True

    def weight(self) -> int:
        """About how many bytes the frame will have."""
        return CHUNK_OVERHEAD + self._weight

    def params(self) -> Params:
        """The params of the notification: those of `chunk`, built at once, since there is one a piece of text."""
        update: Params = {"sessionUpdate": self.variant, "content": {"type": "text", "text": self.text}}
        if self.message_id is not None:
            update["messageId"] = self.message_id
        return {"sessionId": self.session_id, "update": update}

    def frame(self) -> dict[str, Any]:
        """The notification."""
        return notification_object(METHOD, self.params())


def chunk(session_id: str, variant: ChunkVariant, block: dict[str, Any], message_id: str | None = None) -> Params:
    """One content block of a message; blocks of one message share its id."""
    return _update(session_id, variant, None, content=block, messageId=message_id)


def tool_call(
    session_id: str, tool_call_id: str, members: Mapping[str, Any], *, meta: dict[str, Any] | None = None
) -> Params:
    """A new card; its members by their names in ACP, a title among them."""
    return _card(session_id, "tool_call", tool_call_id, members, meta)


def tool_call_update(
    session_id: str, tool_call_id: str, members: Mapping[str, Any], *, meta: dict[str, Any] | None = None
) -> Params:
    """A change of a card; what is not given stays as it was. Lists replace the earlier ones as a whole."""
    return _card(session_id, "tool_call_update", tool_call_id, members, meta)


def _card(
    session_id: str, variant: str, tool_call_id: str, members: Mapping[str, Any], meta: dict[str, Any] | None
) -> Params:
    """None is left out, and so are an empty `content` and empty `locations`: as a whole replacement they would wipe
    what the card shows (`fault-cases.md J3`)."""
    update: Params = {"sessionUpdate": variant, "toolCallId": tool_call_id}
    for name, value in members.items():
        if value is not None and (value or name not in _LISTS):
            update[name] = one_line(value) if name == "title" else value
    if meta is not None:
        update["_meta"] = meta
    return {"sessionId": session_id, "update": update}


def location(path: str, line: int | None = None) -> dict[str, Any]:
    """A place in a file: absolute path, line from 1."""
    return _present(path=path, line=line)


def plan(session_id: str, entries: Sequence[dict[str, Any]]) -> Params:
    """The whole plan; an empty one clears it."""
    return _update(session_id, "plan", None, entries=list(entries))


def plan_entry(content: str, priority: PlanPriority, status: PlanStatus) -> dict[str, Any]:
    """One step of a plan."""
    return {"content": content, "priority": priority, "status": status}


def available_commands(session_id: str, commands: Sequence[dict[str, Any]]) -> Params:
    """All slash commands of the session."""
    return _update(session_id, "available_commands_update", None, availableCommands=list(commands))


def command(name: str, description: str, hint: str | None = None) -> dict[str, Any]:
    """A slash command; `name` goes out without its slash, `hint` says what may follow it."""
    return _present(
        name=name.removeprefix("/"), description=description, input=None if hint is None else {"hint": hint}
    )


def current_mode(session_id: str, mode_id: str) -> Params:
    """The mode has changed."""
    return _update(session_id, "current_mode_update", None, currentModeId=mode_id)


def config_options(session_id: str, options: Sequence[dict[str, Any]]) -> Params:
    """All options of the session with their values."""
    return _update(session_id, "config_option_update", None, configOptions=list(options))


def session_info(
    session_id: str,
    *,
    title: str | UnsetType | None = UNSET,
    updated_at: str | UnsetType | None = UNSET,
    meta: dict[str, Any] | None = None,
) -> Params:
    """What has changed about the session; None clears a member. `updated_at` is ISO 8601."""
    params = _update(session_id, "session_info_update", meta)
    if title is not UNSET:
        params["update"]["title"] = None if title is None else one_line(title)
    if updated_at is not UNSET:
        params["update"]["updatedAt"] = updated_at
    return params


def usage(
    session_id: str,
    used: int,
    size: int,
    *,
    cost: float | None = None,
    currency: str = "USD",
    meta: dict[str, Any] | None = None,
) -> Params:
    """The context window in tokens, and the cost of the session so far. Not sent without a real `size`."""
    spent = None if cost is None else {"amount": cost, "currency": currency}
    return _update(session_id, "usage_update", meta, used=used, size=size, cost=spent)


def notice(session_id: str, severity: Severity, title: str, description: str | None = None) -> Params:
    """A remark beside the conversation, only for clients with `notices`. `title` must not be empty."""
    return _update(session_id, "notice", None, severity=severity, title=one_line(title), description=description)


def compaction(
    session_id: str,
    compaction_id: str,
    status: CompactionStatus,
    *,
    summary: Sequence[dict[str, Any]] | None = None,
    error: str | None = None,
) -> Params:
    """The context is being shortened, only for clients with `compaction`. `summary` (content blocks) goes with
    `completed`, `error` with `failed`."""
    return _update(
        session_id,
        "compaction_update",
        None,
        compactionId=compaction_id,
        status=status,
        summary=list(summary) if summary else None,
        error=error,
    )


def _update(session_id: str, variant: str, meta: dict[str, Any] | None, **members: Any) -> Params:
    return {"sessionId": session_id, "update": {"sessionUpdate": variant, **_present(**members, _meta=meta)}}


def _present(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
