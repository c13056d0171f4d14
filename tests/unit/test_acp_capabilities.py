"""What is read of the client's capabilities, and what ours look like."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.acp.capabilities import AgentCapabilities, ClientCapabilities, PromptCapabilities, read_client

NOTHING = ClientCapabilities()


def read(**offered: Any) -> ClientCapabilities:
    return read_client({"protocolVersion": 1, "clientCapabilities": offered})


def test_everything_offered_is_seen() -> None:
    seen = read_client(
        {
            "clientCapabilities": {
                "fs": {"readTextFile": True, "writeTextFile": True},
                "terminal": True,
                "auth": {"terminal": True},
                "elicitation": {"form": {}, "url": {}},
                "session": {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}},
                "_meta": {
                    "terminal_output": True,
                    "muse/output": 1,
                    "muse/steering": 1,
                    "muse/asyncTasks": 1,
                    "steering": {"supported": True},
                },
            },
            "clientInfo": {"name": "orchard", "version": "2.0"},
        }
    )
    flags = [getattr(seen, name) for name in ClientCapabilities.__struct_fields__ if not name.startswith("client_")]
    assert flags == [True] * 14
    assert (seen.client_name, seen.client_version) == ("orchard", "2.0")


@pytest.mark.acp(31)
@pytest.mark.parametrize("offered", [None, [], "all", 1, True])
def test_capabilities_that_are_no_object_offer_nothing(offered: Any) -> None:
    assert read_client({"clientCapabilities": offered, "clientInfo": offered}) == NOTHING


@pytest.mark.acp(31)
@pytest.mark.parametrize(
    "offered",
    [
        {"fs": {"readTextFile": 1, "writeTextFile": "true"}},
        {"fs": True},
        {"terminal": {}},
        {"auth": {"terminal": {}}},
        {"elicitation": {}},
        {"elicitation": {"form": True, "url": None}},
        {"session": {"configOptions": {"boolean": True}, "notices": None, "compaction": True}},
        {"_meta": {"terminal_output": 1, "terminal-auth": "yes"}},
        {"_meta": {"steering": {"supported": 1}, "muse/steering": True, "muse/asyncTasks": {}}},
        {"orchard": {}},
    ],
)
def test_pieces_of_another_shape_offer_nothing(offered: dict[str, Any]) -> None:
    assert read(**offered) == NOTHING


@pytest.mark.parametrize("value", [True, 1.0, "1", 2, 0, None, {}, [1]])
def test_only_the_integer_one_asks_for_stored_output(value: Any) -> None:
    assert not read(_meta={"muse/output": value}).stored_output
    assert read(_meta={"muse/output": 1}).stored_output


def test_the_older_word_for_a_terminal_login_counts() -> None:
    assert read(_meta={"terminal-auth": True}).auth_terminal


def test_the_clients_name_is_one_short_line() -> None:
    seen = read_client({"clientInfo": {"name": "orchard\n\x1b[31m" + "x" * 500, "version": 3}})
    assert "\n" not in seen.client_name
    assert len(seen.client_name) <= 100
    assert seen.client_version == "unknown version"


@pytest.mark.acp(30)
def test_our_markers_are_objects_and_absent_means_no() -> None:
    ours = AgentCapabilities(load_session=True, list_sessions=True, logout=True, prompt=PromptCapabilities(image=True))
    assert ours.wire({"muse/output": {"version": 1}}) == {
        "loadSession": True,
        "promptCapabilities": {"image": True, "audio": False, "embeddedContext": False},
        "mcpCapabilities": {"http": False, "sse": False},
        "sessionCapabilities": {"list": {}},
        "auth": {"logout": {}},
        "_meta": {"muse/output": {"version": 1}},
    }
