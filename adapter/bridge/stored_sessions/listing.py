"""`session/list`: pages of the sessions a client can open (`acp.md §4`, `msp.md §10.5`). Nothing is loaded or changed.

The host is not asked to filter by folder: it compares paths as text, and a folder has many spellings (`fault-cases.md
L7`). So its list is read through, and compared by where the paths lead to.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable
from typing import Any, Final

import msgspec
from anyio import to_thread

from adapter.acp import errors
from adapter.acp.params import ListSessions
from adapter.acp.workspace import real_path
from adapter.bridge.conversation import Conversation
from adapter.bridge.hosts.execution_hosts import ExecutionHosts
from adapter.bridge.outcomes import client_error
from adapter.bridge.sessions import Sessions
from adapter.bridge.stored_sessions.first_prompts import FirstPrompts
from adapter.bridge.stored_sessions.session_rows import is_listed, listed
from adapter.msp.errors import HostGone, MalformedResult, MspError
from adapter.msp.host import Host
from adapter.msp.ids import uuid7
from adapter.wire.envelope import Params, RpcError

PAGE_SIZE: Final = 50
"""Sessions on one page, beside the open ones."""

FILTERED_PAGE: Final = 200
"""Rows asked for at once when most are of other folders: the most a host serves."""

HOST_PAGES: Final = 100
"""Pages of the host's that one request looks through: 20,000 sessions of other folders."""

LONGEST_CURSOR: Final = 4096

_BAD_CURSORS: Final = frozenset({"invalidParams", "notFound"})
"""How hosts refuse a cursor that is none of theirs."""


class Cursor(msgspec.Struct, frozen=True):
    """Where the next page begins, and of which list: that of a folder, if its `mark` is there, without the sessions
    that were open when it began, by this connection's count of moments."""

    mark: str
    host: str
    run: str
    began: int
    version: int = 1

    def text(self) -> str:
        """As the client gets it."""
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")

    @classmethod
    def read(cls, text: str, cwd: str | None) -> Cursor:
        """What the client gave back.

        Raises:
            RpcError: it is none of ours, or belongs to another list.
        """
        if not 0 < len(text) <= LONGEST_CURSOR or not text.isascii():
            raise _refused("is not a cursor of this list")
        try:
            data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            cursor = msgspec.json.decode(data, type=cls)
        except (binascii.Error, ValueError, RecursionError, msgspec.ValidationError):
            raise _refused("is not a cursor of this list") from None
        if cursor.version != 1:
            raise _refused("is not a cursor of this list")
        if cursor.mark != folder_mark(cwd):
            raise _refused("belongs to the list of another folder")
        return cursor


def folder_mark(cwd: str | None) -> str:
    """A folder in a few characters; paths can be longer than a cursor."""
    return "" if cwd is None else hashlib.sha256(cwd.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _refused(problem: str) -> RpcError:
    return errors.invalid_params("cursor", problem)


class Listing:
    """The list of sessions of one connection."""

    def __init__(self, hosts: ExecutionHosts, sessions: Sessions) -> None:
        self._hosts = hosts
        self._sessions = sessions
        self._first_prompts = FirstPrompts()
        self._run = uuid7()

    async def page(self, asked: ListSessions) -> Params:
        """One page: what the host lists, in its order, and before the first page what is open and not on it.

        Raises:
            RpcError: the cursor is none, or the host did not list anything.
        """
        cursor = None if asked.cursor is None else Cursor.read(asked.cursor, asked.cwd)
        began = self._sessions.moment if cursor is None else cursor.began if cursor.run == self._run else 0
        folder = None if asked.cwd is None else await to_thread.run_sync(real_path, asked.cwd)
        walk = _Walk(asked.cwd, folder, None if cursor is None else cursor.host)
        if cursor is not None:
            walk.leave_out = lambda session_id: self._sessions.was_open(session_id, began)
        try:
            host = await self._hosts.host()
            await walk.run(host)
        except (MspError, HostGone) as error:
            if cursor is not None and isinstance(error, MspError) and error.kind in _BAD_CURSORS:
                raise _refused("is not a cursor of this list any more") from None
            raise client_error(error) from None
        rows = walk.rows
        if cursor is None:
            rows = [*await self._open_ones(folder, asked.cwd, {row["sessionId"] for row in rows}), *rows]
        titles = await self._first_prompts.titles(host, [row["sessionId"] for row in rows if "title" not in row])
        rows = [{"title": titles[row["sessionId"]]} | row if row["sessionId"] in titles else row for row in rows]
        result: Params = {"sessions": [self._as_spelled(row, asked.cwd) for row in rows]}
        if walk.following is not None:
            result["nextCursor"] = Cursor(folder_mark(asked.cwd), walk.following, self._run, began).text()
        return result

    async def _open_ones(self, folder: str | None, cwd: str | None, known: set[str]) -> list[Params]:
        """Open sessions that are not on the first page, newest first: a host lists some only after their first turn."""
        here = [one for one in reversed(self._sessions.all_open()) if one.lost is None]
        missing = [one for one in here if one.session_id not in known]
        if folder is not None:
            missing = await to_thread.run_sync(_in_folder, missing, folder)
        return [listed(one.row(), cwd or one.workspace) for one in missing]

    def _as_spelled(self, row: Params, cwd: str | None) -> Params:
        """A session that is open has the folder as the client wrote it."""
        conversation = self._sessions.find(row["sessionId"])
        return row if cwd is not None or conversation is None else row | {"cwd": conversation.workspace}


class _Walk:
    """The way through the host's list until a page is full, or the list ends.

    Attributes:
        rows: what is on the page.
        following: the host's cursor for the next page; None at the end.
        leave_out: sessions that have been shown already.
    """

    def __init__(self, cwd: str | None, folder: str | None, cursor: str | None) -> None:
        self.rows: list[Params] = []
        self.following = cursor
        self.leave_out: Callable[[str], bool] = lambda session_id: False
        self._cwd = cwd
        self._folder = folder
        self._known: dict[str, bool] = {}

    async def run(self, host: Host) -> None:
        """Read pages.

        Raises:
            MspError, HostGone: the host did not give one.
        """
        limit = most = PAGE_SIZE if self._folder is None else FILTERED_PAGE
        for _ in range(HOST_PAGES):
            asked: Params = {"limit": limit}
            if self.following is not None:
                asked["cursor"] = self.following
            page = await host.query("session/list", asked)
            sessions, following = page.get("sessions"), page.get("nextCursor")
            if not isinstance(sessions, list):
                # An empty list would look as if there were none.
                raise MalformedResult("session/list", "it has no list of sessions")
            found = await to_thread.run_sync(self._matching, sessions)
            room = PAGE_SIZE - len(self.rows)
            if len(found) > room and limit > 1:
                # Only the host can say where its next page begins: ask again for as much as fits.
                limit = min(found[room - 1][0] + 1, limit - 1)
                continue
            self.rows += [row for _, row in found]
            stuck = following == self.following
            self.following = following if isinstance(following, str) and not stuck else None
            if self.following is None or len(self.rows) >= PAGE_SIZE:
                return
            limit = most

    def _matching(self, sessions: list[Any]) -> list[tuple[int, Params]]:
        """The rows that belong on the page, each with its place among those of the host's page."""
        found = []
        for index, row in enumerate(sessions):
            if not isinstance(row, dict) or not is_listed(row) or self.leave_out(row["sessionId"]):
                continue
            root = row["workspaceRoot"]
            if self._folder is not None and not self._is_here(root):
                continue
            found.append((index, listed(row, self._cwd or root)))
        return found

    def _is_here(self, root: str) -> bool:
        if root not in self._known:
            self._known[root] = real_path(root) == self._folder
        return self._known[root]


def _in_folder(conversations: list[Conversation], folder: str) -> list[Conversation]:
    return [one for one in conversations if real_path(one.workspace) == folder]
