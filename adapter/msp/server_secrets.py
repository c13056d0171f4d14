"""What the settings of MCP servers hold that is nobody's business: values of `env` and `headers`, keys among the
arguments and in URLs (`msp.md §19`). A host that is told of them may repeat them in any word of its own."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

from adapter.msp.secret_parts import is_named, parts, whole

MOST_VALUES: Final = 1000
"""Values and parts of them that are remembered of one host, values before parts and then the newest; every word of the
host is compared with them."""

MOST_LOOKED_INTO: Final = 128 * 1024
"""Characters of all settings of a session that are looked through for parts, which holds everybody up meanwhile."""

_COST: Final = 64
"""That many characters are looked through in the time that each setting takes besides."""

_USER_OPTIONS: Final = ("-u", "--user")


class ServerSecrets:
    """The values one host was told of. `learn` takes the `config` of a session that it is asked to open."""

    def __init__(self) -> None:
        self._values: OrderedDict[str, None] = OrderedDict()
        self._parts: OrderedDict[str, None] = OrderedDict()

    @property
    def values(self) -> tuple[str, ...]:
        return (*self._values, *self._parts)

    def learn(self, config: Any) -> None:
        left = MOST_LOOKED_INTO
        for name, text, private in _settings(config):
            if private:
                _renew(self._values, whole(name, text))
            if len(text) <= left:
                left -= len(text) + _COST
                _renew(self._parts, (part for part in parts(name, text, private=private) if part not in self._values))
        while len(self._values) > MOST_VALUES:
            self._values.popitem(last=False)
        while self._parts and len(self._values) + len(self._parts) > MOST_VALUES:
            self._parts.popitem(last=False)


def _renew(remembered: OrderedDict[str, None], values: Iterator[str]) -> None:
    for value in values:
        remembered[value] = None
        remembered.move_to_end(value)


def _settings(config: Any) -> Iterator[tuple[str, str, bool]]:
    """Name and text of each, and whether all of the text is nobody's business."""
    servers = config.get("mcpServers") if isinstance(config, dict) else None
    for server in servers.values() if isinstance(servers, dict) else ():
        for settings in (server.get("env"), server.get("headers")):
            for name, value in (settings or {}).items():
                yield name, value, True
        yield from _arguments(server.get("args") or [])
        yield "", server.get("url") or "", False


def _arguments(arguments: list[str]) -> Iterator[tuple[str, str, bool]]:
    for before, argument in pairwise(["", *arguments]):
        name, given, value = argument.partition("=")
        if given and is_named(name):
            yield name, value, True
        elif before.startswith("-") and "=" not in before and is_named(before):
            yield before, argument, True
        elif before in _USER_OPTIONS and ":" in argument:
            yield "password", argument.partition(":")[2], True
        else:
            yield "", argument, False
