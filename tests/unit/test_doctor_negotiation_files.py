"""Clients described by a file: `--client-capabilities`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adapter.acp.capabilities import ClientCapabilities
from adapter.cli.doctor.client_profiles import MOST_BYTES, PROFILES, read_profile
from tests.integration.test_editors import EDITORS

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
        {
            "jsonrpc": "2.0",
            "id": 0,
            "method": "initialize",
            "params": {"protocolVersion": 1, "clientCapabilities": CAPABILITIES},
        },
    ],
    ids=["capabilities", "half", "params", "request"],
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


def test_an_odd_client_counts_as_one_that_says_nothing(tmp_path: Path) -> None:
    said = read_profile(written(tmp_path, '{"clientCapabilities": 7}')).capabilities()
    assert said == ClientCapabilities()


def test_the_editors_are_those_that_the_adapter_is_tried_with() -> None:
    ours = {profile.name: profile.params["clientCapabilities"] for profile in PROFILES}
    assert ours["zed"] == EDITORS["Zed"].capabilities
    assert ours["jetbrains"] == EDITORS["JetBrains"].capabilities
