"""The diffs of one session's tool calls: read before a change is made, shown when it is asked about and when made."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, Final

import anyio
import anyio.to_thread

from adapter.acp.tool_content import diff_content, text_content
from adapter.bridge.tool_cards.file_before import read_before
from adapter.bridge.tool_cards.file_changes import FileChange, change_of, change_text, diff_of
from adapter.bridge.tool_cards.tool_arguments import parsed

READ_SECONDS: Final = 2.0
"""How long a card or a question waits for the file it is about; a local one takes a millisecond."""

AT_ONCE: Final = 4
"""How many stored diffs are read from the host at once."""

REMEMBERED: Final = 20
"""Calls whose diff is kept from the question until the card is drawn."""

Content = list[dict[str, Any]]
"""Items of a card's content."""


class Diffs:
    """`roots` are the folders the session may work in: nothing outside of them is read. `read_stored` reads what the
    host has stored of an item's changes."""

    def __init__(
        self,
        workspace: str,
        roots: Callable[[], Sequence[str]],
        read_stored: Callable[[dict[str, Any]], Awaitable[Content]],
    ) -> None:
        self._workspace = workspace
        self._roots = roots
        self._read_stored = read_stored
        self._reading = anyio.Semaphore(AT_ONCE)
        self._previewed: OrderedDict[str, Content] = OrderedDict()

    async def preview(self, params: dict[str, Any]) -> Content:
        """What an approval's call would change, for the question about it (`msp.md §15`); empty if it changes no file
        or does not say how. Takes at most `READ_SECONDS`."""
        tool, item_id = params.get("toolName"), params.get("itemId")
        change = self.change(tool, parsed(params.get("rawArgs")))
        if change is None:
            return []
        content = await self.content(change, certain=True)
        if isinstance(item_id, str):
            self._previewed[item_id] = content
            if len(self._previewed) > REMEMBERED:
                self._previewed.popitem(last=False)
        return content

    def previewed(self, item_id: str) -> Content | None:
        """What was shown when the call was asked about, None if it was not."""
        return self._previewed.get(item_id)

    def change(self, tool: Any, arguments: Any) -> FileChange | None:
        """What a call changes, None if its arguments do not say."""
        return change_of(tool, arguments, self._workspace) if isinstance(tool, str) else None

    async def content(self, change: FileChange, *, certain: bool = False) -> Content:
        """A change as a card shows it: a diff, or what its arguments say where the text before or after is not
        certain. `certain`: the change cannot have been made yet."""
        before = None
        if change.patch is None:
            read = partial(read_before, change.path, tuple(self._roots()), certain=certain)
            with anyio.move_on_after(READ_SECONDS):
                before = await anyio.to_thread.run_sync(read, abandon_on_cancel=True)
        diff = diff_of(change, before)
        return self.stated(change) if diff is None else [diff_content(diff.path, diff.old, diff.new)]

    def stated(self, change: FileChange) -> Content:
        """A change as its arguments tell it."""
        return [text_content(change_text(change))]

    async def patch(self, item: dict[str, Any]) -> Content:
        """What the host has stored of an item's changes."""
        async with self._reading:
            return await self._read_stored(item)
