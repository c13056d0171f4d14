"""The MCP servers a client passes for a session (`acp.md §12`).

An entry that cannot be used fails the request: a tool that is missing without a word is worse than an error. Values
of `env` and `headers` are secrets, so they are never repeated, and do not show in a `repr` either.
"""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from adapter.acp.capabilities import AgentCapabilities
from adapter.acp.fields import Fields


class Setting(msgspec.Struct, frozen=True):
    """An environment variable or a header."""

    name: str
    value: str

    def __repr__(self) -> str:
        return f"Setting({self.name!r}, …)"


class StdioServer(msgspec.Struct, frozen=True):
    """A server to start as a child process."""

    name: str
    command: str
    args: tuple[str, ...]
    env: tuple[Setting, ...]


class HttpServer(msgspec.Struct, frozen=True):
    """A server to reach by streamable HTTP."""

    name: str
    url: str
    headers: tuple[Setting, ...]


class SseServer(msgspec.Struct, frozen=True):
    """A server to reach by HTTP with server-sent events."""

    name: str
    url: str
    headers: tuple[Setting, ...]


McpServer: TypeAlias = StdioServer | HttpServer | SseServer


def read_mcp_servers(params: Fields, ours: AgentCapabilities) -> tuple[McpServer, ...]:
    """`mcpServers`; null and absent read as none.

    Raises:
        RpcError: -32602 that names the entry: malformed, or a transport that was not advertised.
    """
    return tuple(_read_server(entry, ours) for entry in params.objects("mcpServers"))


def _read_server(entry: Fields, ours: AgentCapabilities) -> McpServer:
    transport = entry.optional_string("type") or "stdio"
    if transport == "stdio":
        return StdioServer(
            _filled(entry, "name"), _filled(entry, "command"), entry.strings("args"), _settings(entry, "env")
        )
    if transport == "http" and ours.mcp_http:
        return HttpServer(_filled(entry, "name"), _filled(entry, "url"), _settings(entry, "headers"))
    if transport == "sse" and ours.mcp_sse:
        return SseServer(_filled(entry, "name"), _filled(entry, "url"), _settings(entry, "headers"))
    raise entry.refuse("type", "this transport was not advertised")


def _filled(entry: Fields, name: str) -> str:
    value = entry.string(name)
    if not value:
        raise entry.refuse(name, "must not be empty")
    return value


def _settings(entry: Fields, name: str) -> tuple[Setting, ...]:
    return tuple(Setting(_filled(pair, "name"), pair.string("value")) for pair in entry.objects(name))
