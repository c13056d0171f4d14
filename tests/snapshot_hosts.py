"""Hosts that serve the state of a session as a snapshot, and only that: pages have no word of it. Light, since they
start often: see `tests/scripted_hosts.py`."""

from __future__ import annotations

from typing import Any

from tests.output_hosts import SESSION
from tests.storing_hosts import StoringHost

Json = dict[str, Any]


class SnapshotHost(StoringHost):
    """Has one stored session, whose present state is `state`."""

    state: Json = {}  # noqa: RUF012 - settings replace it as a whole
    row: Json = {}  # noqa: RUF012
    models: list[Json] = []  # noqa: RUF012

    def on_session_resume(self, request: Json) -> None:
        snapshot = {"schemaVersion": 1, "viewCursor": "v:0", "state": {"items": [], **self.state}}
        history = {"mode": "snapshot", "items": None, "snapshot": snapshot}
        session = {"sessionId": SESSION, "status": "idle", **self.row}
        self.answer(request, session=session, viewCursor="v:0", history=history, pendingRequests=[])

    def on_model_list(self, request: Json) -> None:
        self.answer(request, models=self.models, providerId="muse", profileId=None, source="providerCatalog")
