"""What a client is shown of a session's items: a projection behind a fold, with a clock that a test sets."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

from adapter.acp.updates import TextChunk
from adapter.bridge.projection import Projection
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.bridge.tool_cards.diffs import Diffs
from adapter.msp.fold import SessionFold
from adapter.wire.background import Background
from adapter.wire.envelope import notification_object
from adapter.wire.peer import Peer
from tests.oracles.acp_schema import check_agent_frame

Json = dict[str, Any]

ROOT = "/srv/demo/orchard"
SHELL: Json = {"tool": "bash", "args": json.dumps({"command": "make"})}


class Screen:
    """The updates that were sent, each checked against the schema. `style` are members of the `CardStyle`."""

    def __init__(self, root: str = ROOT, **style: Any) -> None:
        self.updates: list[Json] = []
        self.bytes = 0
        """How long all updates were."""
        self.now = 0.0
        self.stored: list[Json] = []
        """What the host has stored of any item's changes, as content."""
        self.started: list[Callable[[], Awaitable[object]]] = []
        """Work that was begun beside; a test runs it when it wants it done."""
        self.fold = SessionFold("ses-1")
        self.tasks: Callable[[Any], Json | None] = lambda item: None
        diffs = Diffs(root, lambda: (root,), self.read_stored)
        self.projection = Projection(
            CardStyle("ses-1", root, **style),
            cast(Peer, self),
            cast(Background, self),
            diffs,
            lambda item: self.tasks(item),
        )
        self.board = self.projection._board
        self.board._clock = lambda: self.now
        self.diffs = diffs
        self.projection.in_turn = True

    # -- what the projection uses

    def notify(self, method: str, params: Json) -> None:
        frame = notification_object(method, params)
        check_agent_frame(frame)
        self.bytes += len(json.dumps(frame, ensure_ascii=False).encode())
        self.updates.append(json.loads(json.dumps(params["update"])))

    def notify_mergeable(self, chunk: TextChunk) -> None:
        self.notify("session/update", chunk.params())

    def start(self, function: Callable[..., Awaitable[object]], *arguments: Any) -> None:
        self.started.append(partial(function, *arguments))

    async def read_stored(self, item: Json) -> list[Json]:
        return self.stored

    # -- what a test does

    def item(
        self, item_id: str, revision: int = 1, status: str = "inProgress", turn: str | None = "t1", **raw: Any
    ) -> None:
        """A full item arrives."""
        members = {"itemId": item_id, "kind": "toolCall", "revision": revision, "status": status, "turnId": turn}
        stage = {"inProgress": "started"}.get(status, "completed")
        for change in self.fold.apply(f"item/{stage}", {"item": members | raw}):
            self.projection.show(change)

    def delta(self, item_id: str, text: str, field: str = "text") -> None:
        """A piece of text arrives."""
        for change in self.fold.apply("item/delta", {"itemId": item_id, "field": field, "delta": text}):
            self.projection.show(change)

    def pass_time(self, seconds: float) -> None:
        """So much later what was due is drawn, at its time."""
        end = self.now + seconds
        while self.board._due and min(self.board._due.values()) <= end:
            self.now = max(self.now, min(self.board._due.values()))
            self.board.draw_due()
        self.now = end

    async def work(self) -> None:
        """What was begun beside is done now."""
        started, self.started = self.started, []
        for function in started:
            await function()

    def take(self) -> list[Json]:
        """The updates since the last look."""
        taken, self.updates = self.updates, []
        return taken

    @property
    def texts(self) -> list[tuple[str, str]]:
        """The text of messages since the last look, by its kind."""
        return [(row["sessionUpdate"].split("_")[1], row["content"]["text"]) for row in self.take()]


def statuses(updates: list[Json]) -> list[str | None]:
    """The status each update tells."""
    return [update.get("status") for update in updates]


def text_of(update: Json) -> str:
    """The text a card shows after this update, empty if none."""
    texts = [item["content"]["text"] for item in update.get("content", []) if item["type"] == "content"]
    return "\n".join(texts)


def printed(updates: list[Json]) -> str:
    """What the terminals of these updates were told."""
    pieces = [
        update["_meta"]["terminal_output"]["data"] for update in updates if "terminal_output" in update.get("_meta", {})
    ]
    return "".join(pieces)
