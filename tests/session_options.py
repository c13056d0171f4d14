"""The options of a session with a host and a client that are made up."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

import anyio

from adapter.bridge.hosts.attachment import Attachment
from adapter.bridge.hosts.launch_profile import LaunchProfile
from adapter.bridge.session_state.notices import Notices
from adapter.bridge.session_state.session_options import SessionOptions
from adapter.msp.abilities import NOBODY
from adapter.msp.changes import Change, SessionFactChanged, TokenUsageChanged
from adapter.msp.errors import HostGone, HostStartError, MspError
from adapter.msp.handshake import Handshake
from adapter.msp.host import Host
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.peer import Peer
from tests.wired import PATIENCE

Json = dict[str, Any]

LARGE = {"modelId": "large", "providerId": "muse", "displayLabel": "Large", "variants": ["low", "high"]}
SMALL = {"modelId": "small", "providerId": "muse", "displayLabel": "Small", "variants": ["low"]}
ROW = {"sessionId": "ses", "modelId": "large", "providerId": "muse", "approvalMode": {"mode": "onRequest"}}


class FakeHost:
    """Takes every command; `refusal` is raised instead, `acks` adds to an answer, `before_ack` runs first."""

    def __init__(self) -> None:
        self.gone: HostGone | None = None
        self.loads = True
        self.handshake = Handshake("m", "1", "", frozenset(), True, None)
        self.models: Json | Exception = {"models": [LARGE, SMALL]}
        self.listing = anyio.Event()
        self.listing.set()
        self.refusal: Exception | None = None
        self.acks: Json = {}
        self.before_ack: Callable[[], None] = lambda: None
        self.commands: list[tuple[str, Json]] = []
        self.lists = 0

    async def query(self, method: str, params: Json, **more: Any) -> Json:
        assert (method, params) == ("model/list", {"sessionId": "ses"})
        self.lists += 1
        await self.listing.wait()
        if isinstance(self.models, Exception):
            raise self.models
        return self.models

    async def command(self, method: str, params: Json, **more: Any) -> Json:
        if params["sessionId"] == NOBODY:
            lacking = MspError(-32601, "methodNotFound", "there is no such method")
            raise MspError(-32020, "sessionNotFound", "there is none") if self.loads else lacking
        self.commands.append((method, {name: value for name, value in params.items() if name != "sessionId"}))
        if self.refusal is not None:
            raise self.refusal
        self.before_ack()
        return {"status": "accepted", **self.acks}


class FakeAttachment:
    def __init__(self) -> None:
        self.wanted: list[bool] = []

    def want(self, profile: LaunchProfile) -> None:
        self.wanted.append(profile.restricted)


class Opened:
    """Options of an open session, and what its client is told."""

    def __init__(self, background: Background, *, notices: bool, allow_all: bool, restricts: bool | None) -> None:
        self.host = FakeHost()
        self.attachment = FakeAttachment()
        self.told: list[Json] = []
        peer = cast(Peer, self)
        self.session = Session(cast(Host, self.host), "ses", self._changed, background)
        remarks = Notices("ses", peer, shown=notices, in_turn=lambda: False)

        async def can_restrict() -> bool:
            if restricts is None:
                raise HostStartError("museNotFound", "there is none")
            return restricts

        self.options = SessionOptions(
            self.session,
            cast(Attachment, self.attachment),
            peer,
            background,
            remarks,
            allow_all=allow_all,
            can_restrict=can_restrict,
        )

    def _changed(self, change: Change) -> None:
        if isinstance(change, SessionFactChanged):
            self.options.take(change.name, change.params)
        elif isinstance(change, TokenUsageChanged):
            self.options.take_usage(change.params)

    def notify(self, method: str, params: Json) -> None:
        assert method == "session/update"
        self.told.append(params["update"])

    def event(self, method: str, **params: Any) -> None:
        self.session.receive(method, {"sessionId": "ses", **params})

    async def begin(self, row: Json | None = None) -> Json:
        self.options.begin(ROW if row is None else row)
        await self.options.settled()
        return self.options.result()

    async def set(self, option: str, value: str | bool) -> dict[str, str]:
        return values((await self.options.set_option(option, value))["configOptions"])

    def kinds(self) -> list[str]:
        return [update["sessionUpdate"] for update in self.told]


def values(options: list[Json]) -> dict[str, str]:
    return {option["id"]: option["currentValue"] for option in options}


@asynccontextmanager
async def opened(
    *, notices: bool = True, allow_all: bool = False, restricts: bool | None = True
) -> AsyncIterator[Opened]:
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            background = Background(tasks, logging.getLogger("tests"))
            yield Opened(background, notices=notices, allow_all=allow_all, restricts=restricts)
            tasks.cancel_scope.cancel()


FIRST = {"mode": "default", "model": "large", "reasoning_effort": "default", "approval_mode": "onRequest"}
