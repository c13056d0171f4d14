"""Stored outputs of the simulated host (`msp.md §14`)."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapter.hosts.simulated.outputs import new_output, stored_bytes
from tests.sim_driver import Refused, SimHost, items_of, sim_host

Json = dict[str, Any]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SimHost]:
    """A host of the version whose stored outputs are proven, with a session."""
    with sim_host(tmp_path, "1.2.1") as running:
        running.handshake()
        yield running


def tool_of(host: SimHost, session: str, prompt: str) -> Json:
    """The tool call of a turn at its last revision."""
    return items_of(host.turn(session, prompt), "toolCall")[-1]


def reading(session: str, tool: Json, member: str = "outputRef") -> Json:
    """The params that read an item's output."""
    return {"sessionId": session, "itemId": tool["itemId"], "outputRef": tool[member]["id"]}


def read_all(host: SimHost, params: Json, length: int) -> bytes:
    """The whole output, page by page."""
    parts: list[bytes] = []
    offset = 0
    while True:
        page = host.ask("item/readOutput", {**params, "offsetBytes": offset, "lengthBytes": length})
        text = page["content"]
        data = base64.b64decode(text, validate=True) if page["encoding"] == "base64" else text.encode()
        assert (len(data), page["offsetBytes"]) == (page["byteLen"], offset)
        assert page["byteLen"] <= length
        parts.append(data)
        offset += page["byteLen"]
        if page["eof"]:
            return b"".join(parts)
        assert page["byteLen"] > 0


@pytest.mark.parametrize(("kind", "encoding"), [("", "utf8"), ("binary ", "base64")])
def test_a_large_output_is_cut_on_the_card_and_whole_in_the_store(host: SimHost, kind: str, encoding: str) -> None:
    session = host.start()
    tool = tool_of(host, session, f"shell {kind}300000")
    assert tool["truncated"] is True
    assert len(tool["visibleOutput"].encode()) <= 16 * 1024
    ref = tool["outputRef"]
    assert (ref["byteLen"], ref["availability"]) == (300_000, "available")
    params = reading(session, tool)
    assert host.ask("item/readOutput", params)["encoding"] == encoding
    whole = read_all(host, params, 65_536)
    assert whole == read_all(host, params, 7_001)
    assert len(whole) == 300_000
    assert ref["digest"] == "sha256:" + hashlib.sha256(whole).hexdigest()
    assert whole == stored_bytes(new_output(tool["itemId"], "bytes" if kind else "lines", 300_000), 0, 300_000)
    if not kind:
        assert whole.startswith(tool["visibleOutput"].encode())
    else:
        with pytest.raises(UnicodeDecodeError):
            whole.decode()


def test_a_small_output_is_whole_on_the_card(host: SimHost) -> None:
    session = host.start()
    tool = tool_of(host, session, "shell 1000")
    assert tool["truncated"] is False
    assert read_all(host, reading(session, tool), 64).decode() == tool["visibleOutput"]


def test_an_empty_output_reads_as_nothing(host: SimHost) -> None:
    session = host.start()
    tool = tool_of(host, session, "shell 0")
    page = host.ask("item/readOutput", reading(session, tool))
    assert (page["content"], page["byteLen"], page["eof"]) == ("", 0, True)


def test_reading_needs_no_loaded_session_and_outlives_the_host(tmp_path: Path) -> None:
    with sim_host(tmp_path, "1.2.1") as first:
        first.handshake()
        session = first.start()
        tool = tool_of(first, session, "shell 70000")
        whole = read_all(first, reading(session, tool), 1 << 20)
        first.kill()
    with sim_host(tmp_path, "1.2.1") as second:
        second.handshake()
        assert read_all(second, reading(session, tool), 30_000) == whole
        assert second.ask("session/read", {"sessionId": session})["session"]["status"] == "notLoaded"


def test_an_offset_inside_a_character_is_told_where_to_go_on(host: SimHost) -> None:
    session = host.start()
    tool = tool_of(host, session, "shell 100000")
    params = reading(session, tool)
    line = stored_bytes(new_output(tool["itemId"], "lines", 100_000), 0, 64)
    inside = line.index("東".encode()) + 1
    with pytest.raises(Refused) as caught:
        host.ask("item/readOutput", {**params, "offsetBytes": inside})
    assert (caught.value.code, caught.value.data["alignedNextOffset"]) == (-32602, inside + 2)
    page = host.ask("item/readOutput", {**params, "offsetBytes": inside + 2, "lengthBytes": 5})
    assert (page["content"], page["byteLen"]) == ("京 ", 4), "a page ends before a character it would cut"
    with pytest.raises(Refused):
        host.ask("item/readOutput", {**params, "offsetBytes": inside + 2, "lengthBytes": 2})


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"offsetBytes": 1001}, -32602),
        ({"offsetBytes": -1}, -32602),
        ({"offsetBytes": 1.0}, -32602),
        ({"lengthBytes": 0}, -32602),
        ({"outputRef": "muse-output://elsewhere"}, -32011),
        ({"itemId": "nobody"}, -32011),
        ({"sessionId": "nobody"}, -32020),
        ({"outputRef": 5}, -32602),
    ],
)
def test_a_read_that_names_nothing_is_refused(host: SimHost, change: Json, code: int) -> None:
    session = host.start()
    tool = tool_of(host, session, "shell 1000")
    with pytest.raises(Refused) as caught:
        host.ask("item/readOutput", {**reading(session, tool), **change})
    assert caught.value.code == code
    assert "alignedNextOffset" not in caught.value.data


def test_the_end_of_an_output_can_be_read_and_is_empty(host: SimHost) -> None:
    session = host.start()
    tool = tool_of(host, session, "shell 1000")
    page = host.ask("item/readOutput", {**reading(session, tool), "offsetBytes": 1000})
    assert (page["byteLen"], page["eof"]) == (0, True)


@pytest.mark.parametrize("availability", ["missing", "unsupported", "accessFailed"])
def test_an_output_that_is_not_available_says_why(host: SimHost, availability: str) -> None:
    session = host.start()
    tool = tool_of(host, session, f"shell 20000 {availability}")
    assert tool["outputRef"]["availability"] == availability
    with pytest.raises(Refused) as caught:
        host.ask("item/readOutput", reading(session, tool))
    assert (caught.value.code, caught.value.data["availability"]) == (-32041, availability)


def test_availability_changes_by_a_later_revision(host: SimHost) -> None:
    session = host.start()
    tools = items_of(host.turn(session, "shell 20000 missing available"), "toolCall")
    assert [tool["outputRef"]["availability"] for tool in tools] == ["missing", "available"]
    assert tools[1]["revision"] > tools[0]["revision"]
    assert len(read_all(host, reading(session, tools[1]), 1 << 20)) == 20_000


def test_a_patch_is_an_output_of_its_own(host: SimHost) -> None:
    session = host.start()
    tool = tool_of(host, session, "edit")
    assert tool["patchSummary"] == {"files": 1, "added": 2, "removed": 1}
    patch = json.loads(read_all(host, reading(session, tool, "patchRef"), 64))
    assert "grüßt" in patch["files"][0]["newText"]


def test_64_mib_are_made_on_demand(host: SimHost) -> None:
    session = host.start()
    tool = tool_of(host, session, f"shell {64 * 1024 * 1024}")
    size = tool["outputRef"]["byteLen"]
    assert size == 64 * 1024 * 1024
    params = {**reading(session, tool), "offsetBytes": size - 1_000_000}
    page = host.ask("item/readOutput", params)
    assert (page["byteLen"], page["eof"]) == (1_000_000, True)
    assert host.ask("item/readOutput", {**params, "offsetBytes": 0})["byteLen"] == 6 * 1024 * 1024


def test_the_host_can_be_told_to_serve_short_pages(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"outputBytes": 1000}))
    with sim_host(tmp_path, "1.2.1") as host:
        host.handshake()
        session = host.start()
        tool = tool_of(host, session, "shell 5000")
        assert host.ask("item/readOutput", reading(session, tool))["byteLen"] <= 1000
        assert len(read_all(host, reading(session, tool), 4000)) == 5000


def test_a_piece_that_fits_no_frame_is_refused(tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"frameLimitBytes": 70_000}))
    with sim_host(tmp_path, "1.2.1") as host:
        host.handshake()
        session = host.start()
        tool = tool_of(host, session, "shell 100000")
        with pytest.raises(Refused) as caught:
            host.ask("item/readOutput", reading(session, tool))
        assert (caught.value.code, caught.value.kind) == (-32603, "outputResultTooLarge")
        assert len(read_all(host, reading(session, tool), 20_000)) == 100_000


@pytest.mark.parametrize("profile", ["1.0.1", "1.1.1"])
def test_older_hosts_have_no_such_method(tmp_path: Path, profile: str) -> None:
    with sim_host(tmp_path, profile) as host:
        host.handshake()
        session = host.start()
        tool = tool_of(host, session, "shell 20000")
        with pytest.raises(Refused) as caught:
            host.ask("item/readOutput", reading(session, tool))
        assert (caught.value.code, caught.value.kind) == (-32601, "methodNotFound")
