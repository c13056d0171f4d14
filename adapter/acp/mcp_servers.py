"""The MCP servers a client passes for a session (`acp.md §12`).

An entry that cannot be used fails the request: a tool that is missing without a word is worse than an error, and a
host refuses all of them for one that is malformed (`peers.md`, trap 38). Values of `env` and `headers` are secrets, so
they are never repeated, and do not show in a `repr` either.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias
from urllib.parse import urlsplit

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


_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token (RFC 9110, 5.1)."""


def read_mcp_servers(params: Fields, ours: AgentCapabilities) -> tuple[McpServer, ...]:
    """`mcpServers`; null and absent read as none.

    Raises:
        RpcError: -32602 that names the entry: malformed, a name that is used twice, or a transport that was not
            advertised.
    """
    servers: dict[str, McpServer] = {}
    for entry in params.objects("mcpServers"):
        server = _read_server(entry, ours)
        if server.name in servers:
            raise entry.refuse("name", "another server has this name")
        servers[server.name] = server
    return tuple(servers.values())


def _read_server(entry: Fields, ours: AgentCapabilities) -> McpServer:
    transport = entry.optional_string("type") or "stdio"
    if transport == "stdio":
        command = _filled(entry, "command")
        args = entry.strings("args")
        for index, argument in enumerate((command, *args)):
            if "\0" in argument:
                raise entry.refuse(f"args[{index - 1}]" if index else "command", "must not hold a NUL character")
        return StdioServer(_name(entry), command, args, _settings(entry, "env", _variable_problem))
    if transport == "http" and ours.mcp_http:
        return HttpServer(_name(entry), _url(entry), _settings(entry, "headers", _header_problem))
    if transport == "sse" and ours.mcp_sse:
        return SseServer(_name(entry), _url(entry), _settings(entry, "headers", _header_problem))
    raise entry.refuse("type", "this transport was not advertised")


def _name(entry: Fields) -> str:
    name = _filled(entry, "name")
    if _CONTROL.search(name):
        raise entry.refuse("name", "must not hold control characters")
    return name


def _url(entry: Fields) -> str:
    url = _filled(entry, "url")
    problem = _url_problem(url)
    if problem is not None:
        raise entry.refuse("url", problem)
    return url


def _url_problem(url: str) -> str | None:
    if _CONTROL.search(url) or " " in url:
        return "must not hold spaces or control characters"
    try:
        parts = urlsplit(url)
        host, _port = parts.hostname, parts.port
    except ValueError:
        return "is no URL"
    if parts.scheme.lower() not in ("http", "https") or not host:
        return "must be an absolute http or https URL"
    if "@" in parts.netloc:
        return "must not hold a user name or a password; use a header"
    return None


def _filled(entry: Fields, name: str) -> str:
    value = entry.string(name)
    if not value:
        raise entry.refuse(name, "must not be empty")
    return value


def _settings(
    entry: Fields, name: str, problem_of: Callable[[str, str], tuple[str, str] | None]
) -> tuple[Setting, ...]:
    """Pairs of name and value, each name once: a host takes them as a map."""
    settings: dict[str, Setting] = {}
    for pair in entry.objects(name):
        setting = Setting(_filled(pair, "name"), pair.string("value"))
        problem = problem_of(setting.name, setting.value)
        if problem is not None:
            raise pair.refuse(*problem)
        if setting.name in settings:
            raise pair.refuse("name", "is given twice")
        settings[setting.name] = setting
    return tuple(settings.values())


def _variable_problem(name: str, value: str) -> tuple[str, str] | None:
    if "=" in name or "\0" in name:
        return "name", "cannot be the name of an environment variable"
    return ("value", "must not hold a NUL character") if "\0" in value else None


def _header_problem(name: str, value: str) -> tuple[str, str] | None:
    if not _HEADER_NAME.fullmatch(name):
        return "name", "cannot be the name of a header"
    return ("value", "must not hold control characters") if _CONTROL.search(value.replace("\t", " ")) else None
