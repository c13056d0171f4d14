"""MCP servers and folders that cannot be used, refused before anything is made of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapter.acp import params
from adapter.acp.capabilities import AgentCapabilities
from adapter.acp.workspace import require_roots
from adapter.bridge.stored_sessions.mcp import UNSUPPORTED, session_config, unstartable
from adapter.wire.envelope import RpcError

OURS = AgentCapabilities(mcp_http=True, additional_directories=True)
STDIO: dict[str, Any] = {"name": "x", "command": "x"}
HTTP: dict[str, Any] = {"type": "http", "name": "x", "url": "https://demo.invalid/mcp"}


def read(*servers: Any, **members: Any) -> params.NewSession:
    return params.read_new_session({"cwd": "/srv", "mcpServers": list(servers), **members}, OURS)


def refused(*servers: Any, **members: Any) -> dict[str, Any]:
    with pytest.raises(RpcError) as caught:
        read(*servers, **members)
    assert caught.value.code == -32602
    assert caught.value.data is not None
    return caught.value.data


def pairs(*settings: tuple[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in settings]


@pytest.mark.acp(48)
@pytest.mark.parametrize(
    ("server", "field"),
    [
        (STDIO | {"name": "a\nb"}, "name"),
        (STDIO | {"command": "x\0s3cret"}, "command"),
        (STDIO | {"args": ["a", "s3cret\0"]}, "args[1]"),
        (STDIO | {"env": pairs(("A=B", "s3cret"))}, "env[0].name"),
        (STDIO | {"env": pairs(("A", "s3cret\0"))}, "env[0].value"),
        (STDIO | {"env": pairs(("A", "s3cret"), ("A", "other"))}, "env[1].name"),
        (HTTP | {"url": ""}, "url"),
        (HTTP | {"url": "s3cret"}, "url"),
        (HTTP | {"url": "/s3cret"}, "url"),
        (HTTP | {"url": "ftp://demo.invalid/s3cret"}, "url"),
        (HTTP | {"url": "file:///s3cret"}, "url"),
        (HTTP | {"url": "https://"}, "url"),
        (HTTP | {"url": "https://demo.invalid:port/"}, "url"),
        (HTTP | {"url": "https://[demo/"}, "url"),
        (HTTP | {"url": "https://me:s3cret@demo.invalid/"}, "url"),
        (HTTP | {"url": "https://s3cret@demo.invalid/"}, "url"),
        (HTTP | {"url": "https://demo.invalid/a b"}, "url"),
        (HTTP | {"url": "https://demo.invalid/\r\nX: s3cret"}, "url"),
        (HTTP | {"headers": pairs(("X Y", "s3cret"))}, "headers[0].name"),
        (HTTP | {"headers": pairs(("X\n", "s3cret"))}, "headers[0].name"),
        (HTTP | {"headers": pairs(("Grüße", "s3cret"))}, "headers[0].name"),
        (HTTP | {"headers": pairs(("X", "s3cret\r\nY: 1"))}, "headers[0].value"),
        (HTTP | {"headers": pairs(("X", "s3cret\0"))}, "headers[0].value"),
        (HTTP | {"headers": pairs(("X", "a"), ("X", "s3cret"))}, "headers[1].name"),
    ],
)
def test_what_a_host_could_not_use_is_refused_by_its_place(server: dict[str, Any], field: str) -> None:
    data = refused({"name": "good", "command": "good"}, server)
    assert data["field"] == f"mcpServers[1].{field}"
    assert "s3cret" not in repr(data)


def test_two_servers_of_one_name_are_refused() -> None:
    assert refused(STDIO, HTTP)["field"] == "mcpServers[1].name"
    assert [server.name for server in read(STDIO, HTTP | {"name": "y"}).mcp_servers] == ["x", "y"]


@pytest.mark.acp(47)
@pytest.mark.parametrize("nothing", [None, []])
def test_null_and_empty_are_the_same(nothing: Any) -> None:
    stdio, http = STDIO | {"args": nothing, "env": nothing}, HTTP | {"name": "y", "headers": nothing}
    assert read(stdio, http) == read(STDIO, HTTP | {"name": "y"})
    assert params.read_new_session({"cwd": "/srv", "mcpServers": nothing}, OURS).mcp_servers == ()
    assert params.read_new_session({"cwd": "/srv"}, OURS).mcp_servers == ()


def test_a_host_is_told_of_servers_that_may_fail() -> None:
    servers = read(
        STDIO | {"args": ["-v"], "env": pairs(("A", "1"), ("B", ""))},
        HTTP | {"name": "y", "url": "HTTP://demo.invalid:8080/?q=1", "headers": pairs(("X-Y", "a\tb"))},
    ).mcp_servers
    stdio = {"transport": "stdio", "command": "x", "args": ["-v"], "env": {"A": "1", "B": ""}, "mode": "optional"}
    http = {"transport": "streamableHttp", "url": "HTTP://demo.invalid:8080/?q=1", "headers": {"X-Y": "a\tb"}}
    granted = frozenset({"sessionMcp"})
    assert session_config(servers, granted) == {"mcpServers": {"x": stdio, "y": http | {"mode": "optional"}}}
    assert session_config((), granted) is None
    assert session_config((), frozenset()) is None


def test_o4_servers_are_not_dropped_for_a_host_that_takes_none() -> None:
    with pytest.raises(RpcError) as caught:
        session_config(read(STDIO).mcp_servers, frozenset({"userShell"}))
    assert caught.value.code == -32602
    assert caught.value.data is not None
    assert caught.value.data["field"] == "mcpServers"
    assert UNSUPPORTED in caught.value.data["details"]
    assert "1.3.0" in caught.value.data["details"]


@pytest.mark.acp(49)
def test_a_command_is_looked_for_as_a_host_does(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "there"
    program.parent.mkdir()
    program.touch(0o755)
    (tmp_path / "bin" / "text").touch(0o644)
    path = pairs(("PATH", str(program.parent)))
    commands = {
        "absolute": (str(program), []),
        "relative": ("bin/there", []),
        "by its own PATH": ("there", path),
        "by nobody's PATH": ("there", []),
        "no program": (str(tmp_path / "bin" / "text"), []),
        "gone": (str(tmp_path / "gone"), []),
    }
    servers = read(*({"name": name, "command": command, "env": env} for name, (command, env) in commands.items()), HTTP)
    missing = unstartable(servers.mcp_servers, str(tmp_path), {"PATH": "/usr/bin"})
    assert missing == ["by nobody's PATH", "no program", "gone"]
    assert unstartable(read(STDIO | {"command": "there"}).mcp_servers, "/", {"PATH": str(program.parent)}) == []


# -- folders


def unusable(cwd: Path, *additional: Path | str) -> str:
    with pytest.raises(RpcError) as caught:
        require_roots(str(cwd), [str(path) for path in additional])
    assert caught.value.code == -32602
    assert caught.value.data is not None
    field: str = caught.value.data["field"]
    return field


@pytest.mark.acp(50)
def test_roots_are_what_the_links_lead_to(tmp_path: Path) -> None:
    one, two, link = tmp_path / "one", tmp_path / "two", tmp_path / "link"
    one.mkdir()
    two.mkdir()
    link.symlink_to(two)
    assert require_roots(str(one), []) == (str(one),)
    assert require_roots(f"{one}/", [str(link)]) == (str(one), str(two))
    assert require_roots(str(link), [str(one)]) == (str(two), str(one))


@pytest.mark.acp(50)
def test_a_root_must_be_a_directory_of_its_own(tmp_path: Path) -> None:
    one, link, file = tmp_path / "one", tmp_path / "link", tmp_path / "file"
    one.mkdir()
    file.touch()
    link.symlink_to(one)
    assert unusable(tmp_path / "none") == "cwd"
    assert unusable(tmp_path, one, tmp_path / "none") == "additionalDirectories[1]"
    assert unusable(tmp_path, file) == "additionalDirectories[0]"
    assert unusable(tmp_path, one, link) == "additionalDirectories[1]"
    assert unusable(tmp_path, f"{tmp_path}/") == "additionalDirectories[0]"


def test_there_are_not_endless_roots() -> None:
    directories = [f"/srv/{number}" for number in range(64)]
    assert len(read(additionalDirectories=directories).additional_directories) == 64
    assert refused(additionalDirectories=[*directories, "/srv/more"])["field"] == "additionalDirectories"


def test_a_setting_does_not_show_its_value() -> None:
    server = STDIO | {"args": [], "env": pairs(("API_KEY", "s3cret"))}
    web = HTTP | {"name": "y", "headers": pairs(("Authorization", "s3cret"))}
    shown = repr(read(server, web))
    assert "API_KEY" in shown and "Authorization" in shown and "s3cret" not in shown
