"""Hosts that answer the questions about their abilities in odd ways."""

from __future__ import annotations

import os
import sys

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


class Flagged(Probed):
    """Tells in its help which flags `serve` has, and dies at `session/start` in its first `deaths` runs."""

    flags: tuple[str, ...] = ("--disable-write", "--disable-shell")
    deaths = 0
    durable = True

    def main(self) -> None:
        if "--help" not in sys.argv:
            return super().main()
        with (self.directory / "help.pids").open("a") as pids:
            pids.write(f"{os.getpid()}\n")
        print("usage: muse serve", *(f"[{flag}]" for flag in self.flags))
        return None

    def on_initialize(self, request: Json) -> None:
        self.answer(
            request,
            serverInfo={"name": "scripted-host", "version": self.version},
            schema={"version": 1, "fingerprint": self.fingerprint},
            grantedCapabilities=[],
            sessionDurability="durable" if self.durable else "ephemeral",
        )

    def on_session_start(self, request: Json) -> None:
        runs = len((self.directory / "serve.pids").read_text().split())
        if runs <= self.deaths:
            os._exit(9)
        super().on_session_start(request)
