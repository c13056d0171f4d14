"""What is said in the handshake and what came of it (`msp.md §5`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import msgspec

from adapter.msp.members import object_in

CLIENT_NAME: Final = "muse_adapter"
UNUSED_NOTIFICATIONS: Final = ("usage/changed", "plugin/changed", "plugin/marketplaceChanged", "session/listChanged")
"""Opted out of: nothing here reads them."""

SESSION_CAPABILITIES: Final[dict[str, Any]] = {
    "requestedCapabilities": ["sessionMcp", "sessionRename"],
    "optOutNotificationMethods": list(UNUSED_NOTIFICATIONS),
}
"""What a client that runs turns asks for. That it shows a host's questions to the user goes without saying."""


class Handshake(msgspec.Struct, frozen=True):
    """A host's answer to `initialize`. Only what is used is read, and nothing missing is an error: hosts differ."""

    server_name: str
    server_version: str
    fingerprint: str
    granted: frozenset[str]
    durable: bool
    sandbox_problem: str | None
    durability: str = "durable"
    """The host's word for it; what is not known is not durable."""

    @classmethod
    def read(cls, result: dict[str, Any]) -> Handshake:
        """The view of an `initialize` result."""
        server = object_in(result.get("serverInfo"))
        granted = result.get("grantedCapabilities")
        durability = result.get("sessionDurability", "durable")
        problem = None
        if result.get("sandboxAvailability") == "unavailable":
            problem = _text(result.get("sandboxUnavailableReason")) or "unknown reason"
        return cls(
            server_name=_text(server.get("name")),
            server_version=_text(server.get("version")),
            fingerprint=_text(object_in(result.get("schema")).get("fingerprint")),
            granted=frozenset(name for name in granted if isinstance(name, str))
            if isinstance(granted, list)
            else frozenset(),
            durable=durability == "durable",
            sandbox_problem=problem,
            durability=_text(durability),
        )

    def scrubbed(self, scrub: Callable[[str], str]) -> Handshake:
        """The view with every word of the host without secrets."""
        return msgspec.structs.replace(
            self,
            server_name=scrub(self.server_name),
            server_version=scrub(self.server_version),
            fingerprint=scrub(self.fingerprint),
            granted=frozenset(map(scrub, self.granted)),
            sandbox_problem=scrub(self.sandbox_problem) if self.sandbox_problem else None,
            durability=scrub(self.durability),
        )


def initialize_params(client_version: str, capabilities: dict[str, Any]) -> dict[str, Any]:
    """The params of `initialize`; without capabilities the member is left out, and the host's defaults hold."""
    params: dict[str, Any] = {"clientInfo": {"name": CLIENT_NAME, "version": client_version, "title": "muse-adapter"}}
    if capabilities:
        params["capabilities"] = capabilities
    return params


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
