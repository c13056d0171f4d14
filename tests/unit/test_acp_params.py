"""Params of a client's requests: what is accepted, and which field an error names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapter.acp import params
from adapter.acp.capabilities import AgentCapabilities
from adapter.acp.mcp_servers import HttpServer, Setting, SseServer, StdioServer
from adapter.acp.trace import TraceContext
from adapter.acp.workspace import require_directory
from adapter.wire.envelope import RpcError

NONE = AgentCapabilities()
ALL = AgentCapabilities(mcp_http=True, mcp_sse=True, additional_directories=True)
ROOT = "/srv/demo/orchard"


def refused(read: Callable[[], Any]) -> dict[str, Any]:
    """The `data` of the -32602 that `read` raises."""
    with pytest.raises(RpcError) as caught:
        read()
    assert caught.value.code == -32602
    assert caught.value.data is not None
    assert caught.value.data["reason"] == "invalidParams"
    return caught.value.data


def new_session(ours: AgentCapabilities = NONE, **members: Any) -> params.NewSession:
    return params.read_new_session({"cwd": ROOT, "mcpServers": [], **members}, ours)


@pytest.mark.acp(26)
@pytest.mark.parametrize("version", [0, 1, 2, 999, 65535])
def test_o2_any_version_number_is_understood(version: int) -> None:
    assert params.read_initialize({"protocolVersion": version}).protocol_version == version


@pytest.mark.acp(27)
@pytest.mark.parametrize("version", [None, "1", "2", -1, 65536, 1.0, True, [], {}])
def test_o2_what_is_no_version_number_is_refused(version: Any) -> None:
    assert refused(lambda: params.read_initialize({"protocolVersion": version}))["field"] == "protocolVersion"


@pytest.mark.acp(27)
def test_o2_a_missing_version_is_refused() -> None:
    assert refused(lambda: params.read_initialize({}))["details"] == "protocolVersion: is required"


@pytest.mark.acp(42)
@pytest.mark.parametrize("cwd", [".", "orchard", "", "~", "~/orchard", "./x", "/srv\0x", None, 1, ["/srv"]])
def test_n4_only_an_absolute_cwd_is_accepted(cwd: Any) -> None:
    asked = {"sessionId": "ses-alder", "cwd": cwd, "mcpServers": []}
    assert refused(lambda: params.read_new_session(asked, NONE))["field"] == "cwd"
    assert refused(lambda: params.read_stored_session(asked, NONE))["field"] == "cwd"


@pytest.mark.parametrize("cwd", [".", "", "~", 1])
def test_n4_a_list_filter_must_be_absolute_too(cwd: Any) -> None:
    assert refused(lambda: params.read_list_sessions({"cwd": cwd}))["field"] == "cwd"


def test_the_cwd_stays_as_it_was_written() -> None:
    assert new_session(cwd="/srv/demo/../x//y/").cwd == "/srv/demo/../x//y/"


def test_n3_a_missing_folder_is_named_with_the_reason(tmp_path: Path) -> None:
    gone = str(tmp_path / "none")
    data = refused(lambda: require_directory(gone))
    assert data["field"] == "cwd"
    assert gone in data["details"]
    assert "does not exist" in data["details"]


def test_n3_a_file_is_no_folder(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert "is not a directory" in refused(lambda: require_directory(str(file)))["details"]
    assert "does not exist" in refused(lambda: require_directory(str(file / "below")))["details"]


@pytest.mark.parametrize("mode", [0o000, 0o400, 0o100])
def test_n3_a_folder_without_permission_is_refused(tmp_path: Path, mode: int, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = tmp_path / "closed"
    closed.mkdir()
    # Permission bits do not bind root, which tests may run as; so the answer of the system is decided here.
    monkeypatch.setattr("os.access", lambda _path, wanted: mode >> 6 & wanted == wanted)
    assert "no permission" in refused(lambda: require_directory(str(closed)))["details"]


def test_n3_a_folder_below_a_closed_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(_path: str) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr("os.stat", deny)
        details = refused(lambda: require_directory(str(tmp_path), "additionalDirectories[0]"))["details"]
    assert details.startswith("additionalDirectories[0]: ")
    assert "no permission" in details


def test_a_directory_is_accepted(tmp_path: Path) -> None:
    require_directory(str(tmp_path))


def test_no_servers_in_any_spelling() -> None:
    assert params.read_new_session({"cwd": ROOT}, NONE).mcp_servers == ()
    assert new_session(mcpServers=None).mcp_servers == ()
    assert new_session(mcpServers=[]).mcp_servers == ()


def test_servers_are_read_complete() -> None:
    pair = {"name": "TOKEN", "value": "s3cret"}
    asked = new_session(
        ALL,
        mcpServers=[
            {"name": "one", "command": "/bin/one", "args": ["-v"], "env": [pair, {"name": "B", "value": ""}]},
            {"name": "two", "command": "two", "args": None, "env": None, "extra": 1},
            {"type": "stdio", "name": "three", "command": "three"},
            {"type": "http", "name": "web", "url": "https://demo.invalid", "headers": [pair]},
            {"type": "sse", "name": "old", "url": "https://demo.invalid", "headers": None},
        ],
    )
    secret = Setting("TOKEN", "s3cret")
    assert asked.mcp_servers == (
        StdioServer("one", "/bin/one", ("-v",), (secret, Setting("B", ""))),
        StdioServer("two", "two", (), ()),
        StdioServer("three", "three", (), ()),
        HttpServer("web", "https://demo.invalid", (secret,)),
        SseServer("old", "https://demo.invalid", ()),
    )
    assert "s3cret" not in repr(asked)


@pytest.mark.acp(103)
@pytest.mark.parametrize(
    ("entry", "field"),
    [
        ({"command": "x"}, "mcpServers[1].name"),
        ({"name": "", "command": "x"}, "mcpServers[1].name"),
        ({"name": "x"}, "mcpServers[1].command"),
        ({"name": "x", "command": ["x"]}, "mcpServers[1].command"),
        ({"name": "x", "command": "x", "args": "-v"}, "mcpServers[1].args"),
        ({"name": "x", "command": "x", "args": ["-v", 1]}, "mcpServers[1].args[1]"),
        ({"name": "x", "command": "x", "env": {"A": "s3cret"}}, "mcpServers[1].env"),
        ({"name": "x", "command": "x", "env": ["A=s3cret"]}, "mcpServers[1].env[0]"),
        ({"name": "x", "command": "x", "env": [{"name": "A", "value": ["s3cret"]}]}, "mcpServers[1].env[0].value"),
        ({"name": "x", "command": "x", "env": [{"value": "s3cret"}]}, "mcpServers[1].env[0].name"),
        ({"type": "http", "name": "x", "url": "https://s3cret"}, "mcpServers[1].type"),
        ({"type": "sse", "name": "x", "url": "https://s3cret"}, "mcpServers[1].type"),
        ({"type": "acp", "name": "x", "serverId": "s3cret"}, "mcpServers[1].type"),
        ({"type": 1, "name": "x", "command": "x"}, "mcpServers[1].type"),
        ("s3cret", "mcpServers[1]"),
    ],
)
def test_a_bad_server_fails_the_request_without_repeating_it(entry: Any, field: str) -> None:
    good = {"name": "good", "command": "good"}
    data = refused(lambda: new_session(mcpServers=[good, entry]))
    assert data["field"] == field
    assert "s3cret" not in repr(data)


@pytest.mark.parametrize("servers", [{}, "x", 1, True])
def test_servers_must_be_a_list(servers: Any) -> None:
    assert refused(lambda: new_session(mcpServers=servers))["field"] == "mcpServers"


@pytest.mark.parametrize(
    ("directories", "field"),
    [
        (["/a", "b"], "additionalDirectories[1]"),
        (["/a", ""], "additionalDirectories[1]"),
        (["~"], "additionalDirectories[0]"),
        ([1], "additionalDirectories[0]"),
        ("/a", "additionalDirectories"),
    ],
)
def test_additional_directories_are_checked(directories: Any, field: str) -> None:
    assert refused(lambda: new_session(ALL, additionalDirectories=directories))["field"] == field


def test_additional_directories_are_refused_unless_advertised() -> None:
    assert new_session(ALL, additionalDirectories=["/a", "/b"]).additional_directories == ("/a", "/b")
    assert new_session(additionalDirectories=[]).additional_directories == ()
    assert refused(lambda: new_session(additionalDirectories=["/a"]))["field"] == "additionalDirectories"


@pytest.mark.parametrize("session_id", [None, "", 1, ["x"], "x" * 1025])
def test_a_session_id_is_a_string_of_bounded_length(session_id: Any) -> None:
    asked = {"sessionId": session_id, "cwd": ROOT, "modeId": "m", "configId": "c", "value": "v", "prompt": []}
    for read in (
        lambda: params.read_stored_session(asked, NONE),
        lambda: params.read_close_session(asked),
        lambda: params.read_delete_session(asked),
        lambda: params.read_set_mode(asked),
        lambda: params.read_set_config_option(asked),
        lambda: params.read_prompt_request(asked, NONE),
    ):
        assert refused(read)["field"] == "sessionId"
    assert params.read_cancel(asked) is None


def test_ids_are_kept_as_they_are() -> None:
    asked = params.read_cancel({"sessionId": " Ses-Älder\u200b "})
    assert asked == params.Cancel(" Ses-Älder\u200b ")


@pytest.mark.parametrize(
    ("members", "value"),
    [
        ({"value": "m2"}, "m2"),
        ({"value": "m2", "type": "orchard"}, "m2"),
        ({"value": "m2", "type": None}, "m2"),
        ({"value": True, "type": "boolean"}, True),
        ({"value": False, "type": "boolean"}, False),
    ],
)
def test_the_value_of_an_option(members: dict[str, Any], value: str | bool) -> None:
    asked = params.read_set_config_option({"sessionId": "s", "configId": "c", **members})
    assert asked.value is value or asked.value == value


@pytest.mark.parametrize(
    "members", [{}, {"value": None}, {"value": True}, {"value": 1}, {"value": "true", "type": "boolean"}]
)
def test_a_value_of_the_wrong_type_is_refused(members: dict[str, Any]) -> None:
    asked = {"sessionId": "s", "configId": "c", **members}
    assert refused(lambda: params.read_set_config_option(asked))["field"] == "value"


@pytest.mark.parametrize("member", ["methodId"])
def test_authenticate_wants_a_method(member: str) -> None:
    assert refused(lambda: params.read_authenticate({member: 1}))["field"] == member
    assert refused(lambda: params.read_authenticate({}))["details"] == "methodId: is required"


def test_a_list_needs_no_params_and_takes_null() -> None:
    assert params.read_list_sessions({}) == params.ListSessions()
    assert params.read_list_sessions({"cwd": None, "cursor": None}) == params.ListSessions()
    assert params.read_list_sessions({"cwd": ROOT, "cursor": "c"}) == params.ListSessions(ROOT, "c")
    assert refused(lambda: params.read_list_sessions({"cursor": 1}))["field"] == "cursor"


PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.mark.acp(101)
def test_meta_never_stands_in_for_params() -> None:
    meta = {"cwd": "/evil", "session_id": "X", "sessionId": "X", "mcpServers": [1], "traceparent": PARENT}
    asked = new_session(_meta=meta)
    assert asked == params.NewSession(cwd=ROOT, trace=TraceContext(PARENT))
    assert refused(lambda: params.read_close_session({"_meta": meta}))["field"] == "sessionId"


@pytest.mark.acp(101)
def test_a_trace_is_passed_on_with_its_state() -> None:
    asked = new_session(_meta={"traceparent": PARENT, "tracestate": "a=1,b=2"})
    assert asked.trace is not None
    assert asked.trace.wire() == {"traceparent": PARENT, "tracestate": "a=1,b=2"}


@pytest.mark.parametrize(
    "meta",
    [
        None,
        "x",
        [],
        {},
        {"traceparent": None},
        {"traceparent": 1},
        {"traceparent": PARENT.upper()},
        {"traceparent": PARENT + "\n"},
        {"traceparent": PARENT + "-00"},
        {"traceparent": "01" + PARENT[2:]},
        {"traceparent": "00-" + "0" * 32 + "-00f067aa0ba902b7-01"},
        {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-" + "0" * 16 + "-01"},
        {"tracestate": "a=1"},
    ],
)
def test_a_malformed_trace_is_ignored(meta: Any) -> None:
    assert new_session(_meta=meta).trace is None


@pytest.mark.parametrize("state", [None, 1, "", "a\nb", "ä=1", "x" * 513])
def test_a_malformed_state_is_left_out(state: Any) -> None:
    assert new_session(_meta={"traceparent": PARENT, "tracestate": state}).trace == TraceContext(PARENT)
