"""What an editor is shown of a session: Muse's items and deltas as session updates."""

from __future__ import annotations

import asyncio
import json
from collections import defaultdict
from collections.abc import AsyncIterator
from typing import Any, cast

from acp import text_block, tool_content, update_agent_message_text, update_agent_thought_text, update_user_message_text
from acp.contrib.tool_calls import ToolCallTracker
from acp.interfaces import Client
from acp.schema import (
    AgentMessageChunk,
    AgentThoughtChunk,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    ToolKind,
    UserMessageChunk,
)
from muse_code import Session, Turn, TurnOutcome
from muse_code.fold import FoldItems
from muse_code_msp import ApprovalRequestParams, Item, ItemDeltaParams

TOOL_KINDS: dict[str, ToolKind] = {
    "bash": "execute",
    "read_file": "read",
    "write_file": "edit",
    "edit_file": "edit",
    "grep": "search",
}

Update = UserMessageChunk | AgentMessageChunk | AgentThoughtChunk | ToolCallStart | ToolCallProgress

Field = tuple[str, str]
"""An item's id, and the field of it that is streamed."""


class Display:
    """Shows one session to the editor.

    The SDK gives a turn's items and its deltas by two iterators, which say nothing of the order between them. What they
    tell is put in order by the fold of the session, which has items in the order in which they were opened.
    """

    def __init__(self, conn: Client, session: Session[str]) -> None:
        self._conn, self._session = conn, session
        self._tools = ToolCallTracker()
        self._opening = asyncio.Lock()
        self._opened: set[str] = set()
        """Items whose beginning was shown: always the first ones of the fold."""
        self._finished: set[str] = set()
        self._running: set[str] = set()
        """Tool calls that were shown and have not ended."""
        self._writing: dict[str, str] = {}
        """Messages and thoughts that may have text the editor lacks, with their kind."""
        self._heard: defaultdict[Field, int] = defaultdict(int)
        """Characters of a field that came as deltas."""
        self._said: defaultdict[Field, int] = defaultdict(int)
        """Characters of a field that the editor has."""

    async def follow(self, turn: Turn) -> TurnOutcome:
        """Show a turn until it ends."""
        items, deltas = turn.items(), turn.deltas()
        # Deltas are not repeated: those that came together with the answer to `turn/start` are only in the fold.
        opened = [str(item["itemId"]) for item in self._fold.list() if item.get("turnId") == turn.turn_id]
        for item_id in opened:
            for field in self._fold.accumulated_fields(item_id):
                self._heard[item_id, field] = len(self._fold.accumulated(item_id, field) or "")
        if opened:
            await self._open(opened[-1])
            async with self._opening:
                await self._catch_up()
        await asyncio.gather(self._show_items(items), self._show_deltas(deltas))
        return await turn.completed

    async def say(self, text: str, kind: str = "agentMessage") -> None:
        """Show text of the agent."""
        await self._update(_chunk(kind, text))

    async def show_past(self, item: Item) -> None:
        """Show an item of before."""
        if item["kind"] == "userMessage":
            await self._update(update_user_message_text(item.get("text", "")))
        elif item["kind"] == "toolCall":
            await self._start_tool(item)
        if item["status"] != "inProgress":
            await self._finish(item)

    async def tool_call(self, request: ApprovalRequestParams) -> ToolCallUpdate:
        """The tool call that somebody has to allow."""
        item_id = request["itemId"]
        if self._fold.has(item_id):
            await self._open(item_id)
        if item_id in self._running:
            return self._tools.tool_call_model(item_id)
        return ToolCallUpdate(tool_call_id=item_id, title=request["toolName"], raw_input=_parsed(request["rawArgs"]))

    # -- a turn

    async def _show_items(self, items: AsyncIterator[Item]) -> None:
        async for item in items:
            await self._open(item["itemId"])
            if item["status"] != "inProgress":
                await self._finish(item)

    async def _show_deltas(self, deltas: AsyncIterator[ItemDeltaParams]) -> None:
        async for delta in deltas:
            item_id, text = delta["itemId"], delta["delta"]
            await self._open(item_id)
            if item_id in self._running:
                await self._update(self._tools.append_stream_text(item_id, text))
            elif item_id in self._writing:
                field = (item_id, delta.get("field", "text"))
                self._heard[field] += len(text)
                if self._heard[field] > self._said[field]:
                    self._said[field] = self._heard[field]
                    await self.say(text, self._writing[item_id])

    async def _open(self, item_id: str) -> None:
        """Show the beginning of an item, after everything that was opened before it."""
        if item_id in self._opened:
            return
        async with self._opening:
            while item_id not in self._opened:
                item = cast(Item, self._fold.list()[len(self._opened)])
                await self._catch_up()
                await self._start(item)
                self._opened.add(item["itemId"])

    async def _start(self, item: Item) -> None:
        if item["kind"] in ("agentMessage", "reasoning"):
            self._writing[item["itemId"]] = item["kind"]
        elif item["kind"] == "toolCall":
            await self._start_tool(item)
        if item["status"] != "inProgress":
            await self._finish(item)

    async def _catch_up(self) -> None:
        """Show all that the fold knows of what was opened so far: what comes now has to stand below it."""
        for item_id in list(self._running):
            item = cast(Item | None, self._fold.get(item_id))
            if item is not None and item["status"] != "inProgress":
                await self._finish(item)
        for item_id, kind in list(self._writing.items()):
            for name in self._fold.accumulated_fields(item_id):
                text = self._fold.accumulated(item_id, name) or ""
                rest = text[self._said[item_id, name] :]
                self._said[item_id, name] = len(text)
                if rest:
                    await self.say(rest, kind)
            if item_id in self._finished:
                self._writing.pop(item_id, None)

    async def _finish(self, item: Item) -> None:
        item_id = item["itemId"]
        if item_id in self._finished:
            return
        self._finished.add(item_id)
        if item["kind"] == "toolCall" and item_id in self._running:
            await self._finish_tool(item)
        elif item["kind"] in ("agentMessage", "reasoning") and not self._fold.accumulated_fields(item_id):
            await self.say(item.get("text") or "".join(item.get("summary", ())), item["kind"])

    async def _start_tool(self, item: Item) -> None:
        item_id = item["itemId"]
        self._running.add(item_id)
        start = self._tools.start(
            item_id,
            title=item["displayLabel"]["neutral"] if "displayLabel" in item else item.get("tool", "tool"),
            kind=TOOL_KINDS.get(item.get("tool", ""), "other"),
            raw_input=_parsed(item.get("args", "")),
        )
        await self._update(start)
        if heard := self._heard[item_id, "output"]:
            so_far = (self._fold.accumulated(item_id, "output") or "")[:heard]
            await self._update(self._tools.append_stream_text(item_id, so_far))

    async def _finish_tool(self, item: Item) -> None:
        item_id = item["itemId"]
        self._running.discard(item_id)
        output = item.get("visibleOutput") or self._fold.accumulated(item_id, "output") or item.get("failureReason", "")
        end = self._tools.progress(
            item_id,
            status="completed" if item["status"] == "completed" else "failed",
            content=[tool_content(text_block(output))],
        )
        self._tools.forget(item_id)
        await self._update(end)

    @property
    def _fold(self) -> FoldItems:
        return self._session.fold.items

    async def _update(self, update: Update) -> None:
        await self._conn.session_update(session_id=self._session.session_id, update=update)


def _chunk(kind: str, text: str) -> AgentMessageChunk | AgentThoughtChunk:
    return update_agent_thought_text(text) if kind == "reasoning" else update_agent_message_text(text)


def _parsed(args: str) -> Any:
    """The arguments of a tool call, which a model wrote and which may be no JSON."""
    try:
        return json.loads(args)
    except ValueError:
        return args
