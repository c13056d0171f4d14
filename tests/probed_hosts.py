"""Hosts that answer the questions about their abilities in odd ways."""

from __future__ import annotations

import os

from tests.scripted_hosts import Json, ScriptedHost


class Probed(ScriptedHost):
    """Has the methods in `has`, which refuse every session; `odd` gets a method `kind` and `code`, `garbage` an answer
    that is none. What is in `silent` is never answered; at `dies_at` it ends."""

    has: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    garbage: tuple[str, ...] = ()
    odd: tuple[str, str, int] = ("", "", 0)
    dies_at = ""
    filters = False

    def receive(self, frame: Json) -> None:
        method = frame.get("method", "")
        if method == self.dies_at:
            os._exit(9)
        if method in self.silent:
            return None
        if method in self.garbage:
            return self.send({"jsonrpc": "2.0", "id": frame["id"], "result": ["no", "object"]})
        if method == self.odd[0]:
            return self.refuse(frame, self.odd[1], "not like this", code=self.odd[2])
        if method in self.has:
            return self.refuse(frame, "sessionNotLoaded", "the session is not loaded", code=-32024)
        return super().receive(frame)

    def on_session_list(self, request: Json) -> None:
        applied = {"appliedFilter": request["params"]["filter"]} if self.filters else {}
        self.answer(request, sessions=[], nextCursor=None, **applied)
