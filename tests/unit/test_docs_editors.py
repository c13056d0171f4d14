"""The snippets for editors, read by a parser of their language: they are whole, and name this program and its
options."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

import msgspec
import pytest
import sexpdata
from luaparser import ast as lua

from adapter.acp.capabilities import read_client
from adapter.bridge.hosts.login_methods import LOGIN_METHOD
from adapter.cli.options import wanted
from tests.documents import README, ROOT, blocks, doc, headings, rows, section

PAGE = doc("editors.md")
PROGRAM = "muse-adapter"


def snippet(title: str, language: str, at: int = 0) -> str:
    return blocks(section(PAGE, title), language)[at]


def serves(command: str, arguments: list[str]) -> bool:
    """Whether it is our program, with arguments that serve."""
    asked = wanted(arguments)
    return command.rpartition("/")[2] == PROGRAM and asked is not None and asked[0] == "serve"


def test_every_editor_has_a_snippet() -> None:
    titles = headings(PAGE)[1:-1]

    assert len(titles) == 8
    for title in titles:
        languages = [name for name in ("json", "lua", "elisp", "console") if blocks(section(PAGE, title), name)]
        assert languages, title


@pytest.mark.parametrize("title", ["Zed", "JetBrains"])
def test_settings_with_agent_servers(title: str) -> None:
    server = json.loads(snippet(title, "json"))["agent_servers"]["Muse"]

    assert server["command"].startswith("/")
    assert serves(server["command"], server["args"])
    assert server["env"] == {}
    assert set(server) <= {"type", "command", "args", "env"}
    assert server.get("type", "custom") == "custom"


def test_zeds_key_names_the_agent_of_its_settings() -> None:
    (agent,) = json.loads(snippet("Zed", "json"))["agent_servers"]
    (context,) = json.loads(snippet("Zed", "json", 1))
    ((action, what),) = context["bindings"].values()

    assert action == "agent::NewExternalAgentThread"
    assert what == {"agent": {"custom": {"name": agent}}}


def test_the_readme_has_zeds_settings() -> None:
    assert blocks(README.read_text("utf-8"), "json") == [snippet("Zed", "json")]


def test_acpx_knows_the_agent_by_its_default_name() -> None:
    settings = json.loads(snippet("acpx, and scripts", "json"))

    program, *arguments = settings["agents"][settings["defaultAgent"]]["argv"]
    assert serves(program, arguments)


@pytest.mark.parametrize("title", ["toad", "acpx, and scripts"])
def test_command_lines_name_a_command_that_serves(title: str) -> None:
    for line in snippet(title, "console").splitlines():
        words = shlex.split(line.removeprefix("$ "))
        command = words[words.index("--agent") + 1] if "--agent" in words else words[2]
        program, *arguments = shlex.split(command)
        assert serves(program, arguments)


def table(node: Any) -> Any:
    """A value of Lua: a table as a dict, or as a list if it has no names; None for what is no constant."""
    if isinstance(node, lua.String):
        return node.s.decode()
    if isinstance(node, lua.Number):
        return node.n
    if not isinstance(node, lua.Table):
        return None
    if all(field.key is None for field in node.fields):
        return [table(field.value) for field in node.fields]
    return {
        field.key.id if isinstance(field.key, lua.Name) else table(field.key): table(field.value)
        for field in node.fields
    }


def calls(text: str, name: str) -> list[Any]:
    """The last argument of each call of a function or method of this name."""
    nodes = [node for node in lua.walk(lua.parse(text)) if isinstance(node, lua.Call)]
    return [table(node.args[-1]) for node in nodes if getattr(getattr(node.func, "idx", None), "id", "") == name]


def test_codecompanion() -> None:
    text = snippet("Neovim: CodeCompanion", "lua")

    (adapter,) = calls(text, "extend")
    assert serves(adapter["commands"]["default"][0], adapter["commands"]["default"][1:])
    assert adapter["defaults"]["auth_method"] == LOGIN_METHOD
    (setup,) = calls(text, "setup")
    assert setup["interactions"]["chat"]["adapter"] == adapter["name"]
    assert adapter["name"] in setup["adapters"]["acp"]


@pytest.mark.parametrize("title", ["Neovim: avante", "Neovim: agentic.nvim"])
def test_acp_providers(title: str) -> None:
    (setup,) = calls(snippet(title, "lua"), "setup")

    provider = setup["acp_providers"][setup["provider"]]
    assert serves(provider["command"], provider["args"])
    assert provider.get("auth_method", LOGIN_METHOD) == LOGIN_METHOD


def test_agent_shell() -> None:
    adding, variable, made = sexpdata.loads(snippet("Emacs: agent-shell", "elisp"))

    assert (str(adding), str(variable.x)) == ("add-to-list", "agent-shell-agent-configs")
    assert str(made[0]) == "agent-shell-make-agent-config"
    _, parameters, body = keywords(made)[":client-maker"]
    client = keywords(body)
    assert str(body[0]) == "agent-shell--make-acp-client"
    assert serves(client[":command"], client[":command-params"])
    assert client[":context-buffer"] == parameters[0]


def keywords(call: list[Any]) -> dict[str, Any]:
    """The arguments of a call that come in pairs."""
    return {str(name): value for name, value in zip(call[1::2], call[2::2], strict=True)}


def said_in(text: str) -> list[dict[str, Any]]:
    """What a client says, from `one.two: true` or `one["two"]: 1`."""
    found = []
    for place, value in re.findall(r"`([\w./\[\]\"-]+): ([^`]+)`", text):
        said: Any = json.loads(value)
        for name in reversed(place.replace('["', ".").removesuffix('"]').split(".")):
            said = {name: said}
        found.append(said)
    return found


def test_whatever_a_client_can_say_is_told_in_a_form_that_counts() -> None:
    listed = rows(section(PAGE, "Any other client"))
    nothing_said = msgspec.structs.asdict(read_client({}))
    named = set()
    for cells in listed:
        for said in said_in(cells[0]):
            read = msgspec.structs.asdict(read_client({"clientCapabilities": said}))
            counted = {name for name, value in read.items() if value != nothing_said[name]}
            assert len(counted) == 1, said
            named |= counted

    assert named == set(nothing_said) - {"client_name", "client_version"}


def test_what_is_said_to_be_of_no_use_is_used_by_nothing() -> None:
    told = " ".join(cells[0] for cells in rows(section(PAGE, "Any other client")) if cells[1].startswith("nothing"))
    unused = {"read_text_file", "write_text_file", "terminal", "elicitation_url", "boolean_options"}
    code = [path.read_text("utf-8") for path in (ROOT / "adapter").rglob("*.py") if path.name != "capabilities.py"]

    read = [msgspec.structs.asdict(read_client({"clientCapabilities": said})) for said in said_in(told)]
    assert {name for one in read for name in unused if one[name]} == unused
    assert [name for name in unused for text in code if re.search(rf"\b(?:client|capabilities)\.{name}\b", text)] == []


def test_a_broken_snippet_would_be_found() -> None:
    for damage in ("})", "\n      end"):
        whole = snippet("Neovim: CodeCompanion", "lua")
        with pytest.raises(lua.SyntaxException):
            lua.parse(whole.replace(damage, "", 1))
    with pytest.raises(sexpdata.ExpectClosingBracket):
        sexpdata.loads(snippet("Emacs: agent-shell", "elisp").rstrip()[:-1])
