"""Clients described by a file: `--client-capabilities`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from adapter.acp.capabilities import ClientCapabilities
from adapter.cli.doctor.client_profiles import MOST_BYTES, PROFILES, read_profile
from tests.integration.test_editors import EDITORS

INITIALIZE = {"jsonrpc": "2.0", "id": 0, "method": "initialize"}
CAPABILITIES = {"auth": {"terminal": True}, "_meta": {"muse/output": 1}}
READ_AS = ClientCapabilities(auth_terminal=True, stored_output=True)


def written(tmp_path: Path, text: str | bytes) -> Path:
    path = tmp_path / "pear.json"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    "content",
    [
        CAPABILITIES,
        {"clientCapabilities": CAPABILITIES},
        {"protocolVersion": 1, "clientCapabilities": CAPABILITIES},
        {**INITIALIZE, "params": {"protocolVersion": 1, "clientCapabilities": CAPABILITIES}},
        {
            "dir": "client",
            "raw": json.dumps({**INITIALIZE, "params": {"clientCapabilities": CAPABILITIES}}),
            "atMs": 0,
        },
        {**CAPABILITIES, "ofTomorrow": {}},
        {"clientCapabilities": CAPABILITIES, "ofTomorrow": {}},
    ],
    ids=["capabilities", "half", "params", "request", "recorded", "capabilities and more", "params and more"],
)
def test_a_file_may_hold_as_much_of_it_as_there_is(tmp_path: Path, content: Any) -> None:
    profile = read_profile(written(tmp_path, json.dumps(content)))
    assert profile.name == "pear"
    assert profile.capabilities() == READ_AS


def test_the_client_says_its_own_name_to_the_adapter(tmp_path: Path) -> None:
    said = {"protocolVersion": 1, "clientInfo": {"name": "quince", "version": "2"}}
    assert read_profile(written(tmp_path, json.dumps(said))).capabilities().client_name == "quince"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"\xff\xfe", "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"[]", "does not hold a JSON object"),
        (b"1", "does not hold a JSON object"),
        (b"null", "does not hold a JSON object"),
        (b'{"protocolVersion": "1"}', "the adapter would refuse"),
        (b'{"protocolVersion": -1, "clientCapabilities": {}}', "protocolVersion: must be from 0"),
        (b" " * (MOST_BYTES + 1), "is longer than 1048576 bytes"),
        (b'{"clientCapabilties": {"fs": {}}}', "it has clientCapabilties. It must be a JSON object: the client"),
        (b'{"protocolVersion": 1, "clientCapabilties": {}}', "it has clientCapabilties and no clientCapabilities"),
        (b'{"jsonrpc": "2.0", "method": "session/new", "params": {"terminal": true}}', "it is another message"),
        (b'{"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": 1}}', "it is another message"),
        (b'{"method": "initialize", "params": []}', "it is another message"),
        (b'{"dir": "client", "raw": "{"}', "is not JSON"),
        (b'{"dir": "client", "raw": "[]"}', "does not hold a JSON object"),
        (b'{"dir": "client", "raw": "{\\"method\\": \\"initialized\\"}"}', "it is another message"),
        (b'{"a\\nb": 1, "c": 2}', "it has a b, c"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_file_that_is_none_is_refused_in_a_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    path = written(tmp_path, content)
    with pytest.raises(ValueError, match=says) as refused:
        read_profile(path)
    assert str(path) in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["nowhere.json", "."])
def test_a_file_that_cannot_be_read_is_refused_in_a_sentence(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        read_profile(tmp_path / name)


@pytest.mark.skipif(os.name != "posix", reason="there are none")
@pytest.mark.parametrize("kind", ["fifo", "device"])
def test_what_may_never_end_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = Path("/dev/zero")
    if kind == "fifo":
        path = tmp_path / "pipe"
        os.mkfifo(path)
    with pytest.raises(ValueError, match=f"{path} cannot be read: it is no regular file"):
        read_profile(path)


def test_nothing_is_said_by_an_empty_object(tmp_path: Path) -> None:
    assert read_profile(written(tmp_path, "{}")).capabilities() == ClientCapabilities()


def test_an_odd_client_counts_as_one_that_says_nothing(tmp_path: Path) -> None:
    said = read_profile(written(tmp_path, '{"clientCapabilities": 7}')).capabilities()
    assert said == ClientCapabilities()


def test_the_editors_are_those_that_the_adapter_is_tried_with() -> None:
    ours = {profile.name: profile.params["clientCapabilities"] for profile in PROFILES}
    assert ours["zed"] == EDITORS["Zed"].capabilities
    assert ours["jetbrains"] == EDITORS["JetBrains"].capabilities
