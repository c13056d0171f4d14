"""Clients whose `initialize` is played: what each of them says, as far as that is known, and what a file says.

None of the editors is run to find out. Versions change what they say; the answer for one that says something else is
got by `--client-capabilities` with what its log shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from adapter.acp import params
from adapter.acp.capabilities import ASYNC_TASKS, EXTENSION_VERSION, STEERING, STORED_OUTPUT, ClientCapabilities
from adapter.acp.text import one_line
from adapter.wire.envelope import Params, RpcError
from adapter.wire.regular_files import open_regular

MOST_BYTES: Final = 1024 * 1024
"""Of a file with capabilities; those of all known clients have a few hundred."""

NAME_LENGTH: Final = 24
MOST_NAMES: Final = 5
LONGEST_PATH: Final = 4096

FORMS: Final = (
    "It must be a JSON object: the clientCapabilities of a client, the params of its initialize, that request, "
    "or the line of a recording that holds it"
)
"""What a file may hold."""

_PARAMS: Final = frozenset({"protocolVersion", "clientCapabilities", "clientInfo"})
_CAPABILITIES: Final = frozenset(
    {"fs", "terminal", "auth", "elicitation", "session", "plan", "subagents", "nes", "positionEncodings", "_meta"}
)
"""Members of either, as far as the protocol knows them (`acp.md §2`); `_meta` may stand in both."""

_FILES: Final[Params] = {"fs": {"readTextFile": True, "writeTextFile": True}}


class ClientProfile(msgspec.Struct, frozen=True):
    """A client by the params of its `initialize`."""

    name: str
    params: Params

    def capabilities(self) -> ClientCapabilities:
        """How the adapter reads them.

        Raises:
            RpcError: the adapter would refuse them.
        """
        return params.read_initialize(self.params).client


def _client(name: str, capabilities: Params, info: Params | None = None) -> ClientProfile:
    more: Params = {} if info is None else {"clientInfo": info}
    return ClientProfile(name, {"protocolVersion": 1, "clientCapabilities": capabilities, **more})


PROFILES: Final = (
    # What any client of the protocol is, and what counts for whatever a client does not say (`acp.md §2`).
    _client("baseline", {}),
    # It runs logins by starting the agent's command again (`peers.md §6.9`) and draws terminals from `_meta`
    # (`peers.md §17`, `acp.md §20`).
    _client(
        "zed",
        _FILES
        | {"terminal": True, "auth": {"terminal": True}, "_meta": {"terminal_output": True, "terminal-auth": True}},
        {"name": "zed", "title": "Zed", "version": "0.210.0"},
    ),
    # Not seen on the wire: files and terminals as editors have them, and nothing that none of its documents names
    # (`acp.md §19`).
    _client("jetbrains", _FILES | {"terminal": True}, {"name": "JetBrains.IDE", "version": "2025.3"}),
    # Seen on the wire (`acp.md §2, §22`).
    _client("acpx", _FILES | {"terminal": True}, {"name": "acpx", "version": "0.19.1"}),
    # One that is written for this adapter: everything of ours that can be asked for (`docs/stored-output.md`).
    _client(
        "muse/output",
        {"_meta": {STORED_OUTPUT: EXTENSION_VERSION, STEERING: EXTENSION_VERSION, ASYNC_TASKS: EXTENSION_VERSION}},
        {"name": "output-client", "version": "1"},
    ),
)


def read_profile(path: Path) -> ClientProfile:
    """The client that a file describes, in one of the `FORMS`.

    Raises:
        ValueError: there is no such file or it holds something else, in a sentence.
    """
    where = one_line(str(path), LONGEST_PATH)
    said = _params_of(_object_of(_contents(path, where), where), where)
    profile = ClientProfile(one_line(path.stem, NAME_LENGTH) or "file", {"protocolVersion": 1, **said})
    try:
        profile.capabilities()
    except RpcError as error:
        details = (error.data or {}).get("details", error.message)
        raise ValueError(f"the adapter would refuse the initialize in {where}: {details}") from None
    return profile


def _params_of(members: dict[str, Any], where: str) -> Params:
    """The params of the `initialize` in it."""
    if isinstance(members.get("raw"), str) and "dir" in members:
        members = _object_of(members["raw"].encode("utf-8", "replace"), where)
    if "method" in members or "jsonrpc" in members:
        said = members.get("params")
        if members.get("method") != "initialize" or not isinstance(said, dict):
            raise _other(where, "it is another message")
        members = said
    elif not _PARAMS & members.keys():
        if members and not _CAPABILITIES & members.keys():
            raise _other(where, f"it has {_names(members)}")
        return {"clientCapabilities": members}
    strange = members.keys() - _PARAMS - {"_meta"}
    if strange and "clientCapabilities" not in members:
        raise _other(where, f"it has {_names(strange)} and no clientCapabilities")
    return members


def _other(where: str, why: str) -> ValueError:
    return ValueError(f"{where} does not say what a client can do: {why}. {FORMS}")


def _names(names: Iterable[str]) -> str:
    first = sorted(names)[:MOST_NAMES]
    return one_line(", ".join(first), NAME_LENGTH * MOST_NAMES)


def _contents(path: Path, where: str) -> bytes:
    """The bytes of a regular file; whatever else could keep its reader waiting."""
    try:
        with open_regular(path) as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{where} cannot be read: {error.strerror or error}") from None
    if len(data) > MOST_BYTES:
        raise ValueError(f"{where} is longer than {MOST_BYTES} bytes, which no client's capabilities are")
    return data


def _object_of(data: bytes, where: str) -> dict[str, Any]:
    try:
        members = msgspec.json.decode(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{where} is not JSON: {error}. {FORMS}") from None
    if not isinstance(members, dict):
        raise ValueError(f"{where} does not hold a JSON object. {FORMS}")
    return members
