"""What the settings of MCP servers hold that is nobody's business: values of `env` and `headers`, keys among the
arguments and in URLs (`msp.md §19`). A host that is told of them may repeat them in any word of its own."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from adapter.msp.secret_names import is_harmless, is_secret_name
from adapter.msp.secret_values import SHORTEST_SECRET

SHORTEST_VALUE: Final = 8
"""Shorter values of what is not named like a secret (`info`) are words that explain a failure."""

MOST_VALUES: Final = 1000
"""Values that are remembered of one host, the newest; every word of the host is compared with them."""


class ServerSecrets:
    """The values one host was told of. `learn` takes the `config` of a session that it is asked to open."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, None] = OrderedDict()

    @property
    def values(self) -> tuple[str, ...]:
        return tuple(self._values)

    def learn(self, config: Any) -> None:
        for value in _in_config(config):
            self._values[value] = None
            self._values.move_to_end(value)
        while len(self._values) > MOST_VALUES:
            self._values.popitem(last=False)


def _in_config(config: Any) -> Iterator[str]:
    servers = config.get("mcpServers") if isinstance(config, dict) else None
    for server in servers.values() if isinstance(servers, dict) else ():
        for settings in (server.get("env"), server.get("headers")):
            for name, value in (settings or {}).items():
                yield from _told(name, value)
        yield from _in_arguments(server.get("args") or [])
        yield from _in_url(server.get("url") or "")


def _told(name: str, value: str) -> Iterator[str]:
    """A value, and its last word: `Bearer KEY` may be repeated without the scheme."""
    shortest = SHORTEST_SECRET if is_secret_name(name) else SHORTEST_VALUE
    for one in (value, value.rpartition(" ")[2]):
        if len(one) >= shortest and not is_harmless(one):
            yield one


def _in_arguments(arguments: list[str]) -> Iterator[str]:
    for before, argument in pairwise(["", *arguments]):
        name, given, value = argument.partition("=")
        if given and is_secret_name(name):
            yield from _told(name, value)
        elif before.startswith("-") and "=" not in before and is_secret_name(before):
            yield from _told(before, argument)


def _in_url(url: str) -> Iterator[str]:
    """The password, or the user if there is none, and what stands behind `?` under the name of a secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return
    yield from _told("password", parts.password or parts.username or "")
    for name, value in parse_qsl(parts.query):
        if is_secret_name(name):
            yield from _told(name, value)
