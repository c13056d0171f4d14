"""The MCP servers of a session (`msp.md §19`, `peers.md §7`): checked as a host checks them, and never started.

They belong to the session as long as it is loaded and are not kept. What a server was given (arguments, environment,
headers) is never told.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from adapter.hosts.simulated.errors import invalid, refusal, rejected
from adapter.hosts.simulated.params import table, word
from adapter.hosts.simulated.view import Json

if TYPE_CHECKING:
    from adapter.hosts.simulated.host import Host
    from adapter.hosts.simulated.session import Session

MODES: Final = ("required", "optional")
FRAMINGS: Final = ("auto", "contentLength", "lineDelimitedJson")


def asked_servers(host: Host, params: Json) -> dict[str, Json]:
    """The servers a request names, by name; none on a version that does not know of them.

    Raises:
        RpcError: they need a grant that is not there, or one of them cannot be used.
    """
    if "config" not in params or "config" in host.profile.withheld.get("start", ()):
        return {}
    servers = table(params, "config").get("mcpServers")
    if not servers:
        return {}
    if "sessionMcp" not in host.granted:
        message = "config.mcpServers requires the sessionMcp capability"
        raise refusal("capabilityRequired", message, capability="sessionMcp")
    if type(servers) is not dict:
        raise invalid("config.mcpServers", "an object is required")
    for name, server in servers.items():
        transport = server.get("transport") if type(server) is dict else None
        needed = {"stdio": "command", "streamableHttp": "url"}.get(str(transport))
        if not name or needed is None or type(server.get(needed)) is not str:
            raise invalid(f"config.mcpServers.{name}", "no server of a known transport")
        word(server, "mode", MODES, "required")
        word(server, "framing", FRAMINGS, "auto")
        for field in ("env", "headers"):
            if any(type(value) is not str for value in table({field: {}, **server}, field).values()):
                raise invalid(f"config.mcpServers.{name}", f"{field} holds strings")
    return dict(servers)


def check_conflict(session: Session, command_id: str, servers: dict[str, Json]) -> None:
    """Refuse to change the servers of a session that is loaded.

    Raises:
        RpcError: other servers are named than it has.
    """
    if servers and servers != session.servers:
        raise rejected(command_id, "configuration_conflict")


def told(session: Session) -> list[str]:
    """A line for each server of a session: name, transport and mode, or that it is left out."""
    return [
        f"{name} left out: its command does not exist"
        if _missing(session, server)
        else f"{name} {server['transport']} {server.get('mode', 'required')}"
        for name, server in session.servers.items()
    ]


def unstartable(session: Session) -> str | None:
    """The name of a required server whose command does not exist; no turn of the session works then."""
    for name, server in session.servers.items():
        if server.get("mode", "required") == "required" and _missing(session, server):
            return name
    return None


def _missing(session: Session, server: Json) -> bool:
    if server["transport"] != "stdio":
        return False
    command = str(server["command"])
    if os.sep in command:
        command = str(Path(session.facts["workspaceRoot"] or os.sep, command))
    return shutil.which(command, path=server.get("env", {}).get("PATH")) is None
