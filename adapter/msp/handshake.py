"""What is said in the handshake and what came of it (`msp.md §5`)."""

from __future__ import annotations

from typing import Any, Final

import msgspec

CLIENT_NAME: Final = "muse_adapter"
WANTED_CAPABILITIES: Final = ("sessionMcp", "sessionRename")

UNUSED_NOTIFICATIONS: Final = ("usage/changed", "plugin/changed", "plugin/marketplaceChanged", "session/listChanged")
"""Opted out of: nothing here reads them."""


class Handshake(msgspec.Struct, frozen=True):
    """A host's answer to `initialize`. Only what is used is read, and nothing missing is an error: hosts differ."""

    server_name: str
    server_version: str
    fingerprint: str
    granted: frozenset[str]
    durable: bool
    sandbox_problem: str | None

    @classmethod
    def read(cls, result: dict[str, Any]) -> Handshake:
        """The view of an `initialize` result."""
        server = _object(result.get("serverInfo"))
        granted = result.get("grantedCapabilities")
        problem = None
        if result.get("sandboxAvailability") == "unavailable":
            problem = _text(result.get("sandboxUnavailableReason")) or "unknown reason"
        return cls(
            server_name=_text(server.get("name")),
            server_version=_text(server.get("version")),
            fingerprint=_text(_object(result.get("schema")).get("fingerprint")),
            granted=frozenset(name for name in granted if isinstance(name, str))
            if isinstance(granted, list)
            else frozenset(),
            durable=result.get("sessionDurability", "durable") == "durable",
            sandbox_problem=problem,
        )


def initialize_params(version: str) -> dict[str, Any]:
    """The params of `initialize`. Questions to the user are declined until there is somebody to show them to."""
    return {
        "clientInfo": {"name": CLIENT_NAME, "version": version, "title": "muse-adapter"},
        "capabilities": {
            "requestedCapabilities": list(WANTED_CAPABILITIES),
            "optOutNotificationMethods": list(UNUSED_NOTIFICATIONS),
            "userInputDialogs": False,
        },
    }


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
