"""The ways to log in that a client is offered (`acp.md §3`)."""

from __future__ import annotations

import sys
from typing import Final

from adapter.acp.capabilities import ClientCapabilities
from adapter.wire.envelope import Params

LOGIN_METHOD: Final = "muse-login"
TERMINAL_LOGIN_METHOD: Final = "muse-login-terminal"

# -P: a folder named like ours where the client starts it must not be run in our place.
_SELF: Final = ("-P", "-m", "adapter.cli.entry")


def login_methods(client: ClientCapabilities, muse: str | None) -> list[Params]:
    """Always one that the client calls by `authenticate`; one to be run in a terminal where the client has one.
    `muse` is which Muse the user has chosen."""
    methods: list[Params] = [
        {
            "id": LOGIN_METHOD,
            "name": "Muse login",
            "description": "Uses the login of Muse Code; run `muse-adapter login` in a terminal if there is none",
        }
    ]
    if client.auth_terminal:
        choice = ["--muse", muse] if muse is not None else []
        # The older convention wants a whole command line; the newer one adds `args` to ours.
        command = {"command": sys.executable, "args": [*_SELF, *choice, "login"], "label": "muse login"}
        methods.append(
            {
                "type": "terminal",
                "id": TERMINAL_LOGIN_METHOD,
                "name": "Log in to Muse",
                "description": "Runs `muse login` in a terminal",
                "args": ["login"],
                "env": {},
                "_meta": {"terminal-auth": command},
            }
        )
    return methods
