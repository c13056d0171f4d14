"""The client's MCP servers as a host's session configuration (`msp.md §19`, `acp.md §12`)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

from adapter.acp import errors
from adapter.acp.mcp_servers import HttpServer, McpServer, StdioServer

UNSUPPORTED: Final = (
    "this Muse host does not take MCP servers from a client; Muse 1.3.0 and newer do. "
    "Update Muse, or let the editor pass none and set them up in Muse"
)


def session_config(servers: Sequence[McpServer], granted: frozenset[str]) -> dict[str, Any] | None:
    """The `config` member for these servers, None if there are none. Each is optional: a broken one must not cost the
    session.

    Raises:
        RpcError: this host cannot take servers, and leaving them out silently would be worse.
    """
    if not servers:
        return None
    if not takes_servers(granted):
        raise errors.invalid_params("mcpServers", UNSUPPORTED)
    return {"mcpServers": {server.name: _server(server) for server in servers}}


def takes_servers(granted: frozenset[str]) -> bool:
    """Whether a host that granted these capabilities takes MCP servers from a client."""
    return "sessionMcp" in granted


def unstartable(servers: Sequence[McpServer], cwd: str, environ: Mapping[str, str]) -> list[str]:
    """Names of the servers whose command is not there. A host leaves them out without a word, since they are optional.
    Touches the disk."""
    return [one.name for one in servers if isinstance(one, StdioServer) and not _is_there(one, cwd, environ)]


def _is_there(server: StdioServer, cwd: str, environ: Mapping[str, str]) -> bool:
    """Whether its command is found as a host finds it: in the session's folder, or on the PATH it is given."""
    if os.sep in server.command:
        return os.access(os.path.join(cwd, server.command), os.X_OK)  # noqa: PTH118 (keeps an absolute path as it is)
    import shutil  # here, because it is slow to import and most sessions have no servers

    path = next((setting.value for setting in server.env if setting.name == "PATH"), environ.get("PATH", os.defpath))
    return shutil.which(server.command, path=path) is not None


def _server(server: McpServer) -> dict[str, Any]:
    if isinstance(server, StdioServer):
        return {
            "transport": "stdio",
            "command": server.command,
            "args": list(server.args),
            "env": {setting.name: setting.value for setting in server.env},
            "mode": "optional",
        }
    assert isinstance(server, HttpServer), "other transports are refused when the request is read"
    headers = {setting.name: setting.value for setting in server.headers}
    return {"transport": "streamableHttp", "url": server.url, "headers": headers, "mode": "optional"}
