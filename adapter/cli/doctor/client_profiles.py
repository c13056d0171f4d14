"""Clients whose `initialize` is played: what each of them says, as far as that is known, and what a file says.

None of the editors is run to find out. Versions change what they say; the answer for one that says something else is
got by `--client-capabilities` with what its log shows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from adapter.acp import params
from adapter.acp.capabilities import ASYNC_TASKS, EXTENSION_VERSION, STEERING, STORED_OUTPUT, ClientCapabilities
from adapter.acp.text import one_line
from adapter.wire.envelope import Params, RpcError

MOST_BYTES: Final = 1024 * 1024
"""Of a file with capabilities; those of all known clients have a few hundred."""

NAME_LENGTH: Final = 24

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
    """The client that a file describes: JSON, either its `clientCapabilities`, the params of its `initialize`, or that
    request as a log shows it.

    Raises:
        ValueError: there is no such file or it holds something else, in a sentence.
    """
    members = _object_in(path)
    if members.get("method") == "initialize" and isinstance(members.get("params"), dict):
        members = members["params"]
    if not {"protocolVersion", "clientCapabilities"} & members.keys():
        members = {"clientCapabilities": members}
    profile = ClientProfile(one_line(path.stem, NAME_LENGTH) or "file", {"protocolVersion": 1, **members})
    try:
        profile.capabilities()
    except RpcError as error:
        details = (error.data or {}).get("details", error.message)
        raise ValueError(f"the adapter would refuse the initialize in {path}: {details}") from None
    return profile


def _object_in(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(data) > MOST_BYTES:
        raise ValueError(f"{path} is longer than {MOST_BYTES} bytes, which no client's capabilities are")
    try:
        members = msgspec.json.decode(data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} is not JSON: {error}") from None
    if not isinstance(members, dict):
        raise ValueError(f"{path} does not hold a JSON object")
    return members
