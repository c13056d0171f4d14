"""The table of tools: exact names, kinds of the protocol, and what of the arguments is shown."""

from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from adapter.acp.updates import ToolKind
from adapter.bridge.tool_cards.tool_arguments import HIGHEST_LINE, MOST_PLACES, hint, parsed, places
from adapter.bridge.tool_cards.tool_table import TOOLS, UNKNOWN, shown_name, tool_named

ROOT = "/srv/demo/orchard"

KINDS: dict[ToolKind, tuple[str, ...]] = {
    "execute": ("bash", "shell"),
    "read": ("read_file", "list_files", "list_dir"),
    "search": ("search", "grep", "glob", "web_search"),
    "fetch": ("web_fetch",),
    "edit": ("write_file", "edit_file", "apply_patch"),
    "delete": ("delete_file",),
    "move": ("move_file",),
    "think": ("write_todos",),
    "other": (
        "read_skill",
        "request_user_input",
        "muse.subagent_spawn",
        "muse.workflow",
        "cron_create",
        "no_such_tool",
    ),
}


@pytest.mark.acp(82)
@pytest.mark.parametrize(("kind", "tool"), [(kind, tool) for kind, tools in KINDS.items() for tool in tools])
def test_the_kind_of_a_tool(kind: ToolKind, tool: str) -> None:
    assert tool_named(tool).kind == kind


@pytest.mark.acp(82)
def test_the_table_uses_kinds_of_the_protocol_and_its_names_alone() -> None:
    assert {tool.kind for tool in TOOLS.values()} <= set(get_args(ToolKind))
    for name in ("thread", "spread_file", "Bash", "", "find_search", "mcp__x__read_file", "read_file ", "bash2"):
        assert tool_named(name) is UNKNOWN


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("mcp__weather__get_forecast", "get_forecast (weather)"),
        ("mcp__weather.get_forecast", "get_forecast (weather)"),
        ("mcp__plugin_a_b__tool", "tool (plugin_a_b)"),
        ("mcp__only", "mcp__only"),
        ("mcp____x", "mcp____x"),
        ("bash", "bash"),
    ],
)
def test_the_name_of_a_tool_of_a_server(name: str, shown: str) -> None:
    assert shown_name(name) == shown


@pytest.mark.parametrize(
    ("tool", "arguments", "about"),
    [
        ("bash", {"command": "make\nall", "description": "Build"}, "make all"),
        ("bash", {"description": "Build"}, "Build"),
        ("search", {"pattern": "naïve", "path": "src"}, "naïve"),
        ("web_search", {"query": "weather"}, "weather"),
        ("read_skill", {"name": "deploy"}, "deploy"),
        ("mural", {"description": "paint"}, "paint"),
        ("mural", {"colour": "red"}, None),
        ("bash", {"command": 3}, None),
        ("bash", "make", None),
    ],
)
def test_what_a_call_is_about(tool: str, arguments: Any, about: str | None) -> None:
    assert hint(tool_named(tool), arguments) == about


@pytest.mark.acp(84)
@pytest.mark.parametrize(
    ("tool", "arguments", "found"),
    [
        ("read_file", {"path": "a.py", "line": 7}, [(f"{ROOT}/a.py", 7)]),
        ("read_file", {"path": "a.py", "start_line": 1, "end_line": 9}, [(f"{ROOT}/a.py", 1)]),
        # Whether an offset counts from 0 is not known.
        ("read_file", {"path": "a.py", "offset": 7}, [(f"{ROOT}/a.py", None)]),
        *(
            ("read_file", {"path": "a.py", "line": line}, [(f"{ROOT}/a.py", None)])
            for line in (0, -1, 1.5, True, "7", HIGHEST_LINE + 1)
        ),
        ("search", {"pattern": "x", "paths": ["src", "/etc", 3]}, [(f"{ROOT}/src", None), ("/etc", None)]),
        ("move_file", {"source": "a", "destination": "b"}, [(f"{ROOT}/a", None), (f"{ROOT}/b", None)]),
        ("mural", {"path": "a"}, [(f"{ROOT}/a", None)]),
        ("bash", {"command": "x", "path": "a"}, []),
        ("web_fetch", {"url": "https://example.com", "path": "a"}, []),
        (
            "apply_patch",
            {"patch": "*** Begin Patch\n*** Update File: a.py\n+x\n*** Add File: b.py\n*** End Patch"},
            [(f"{ROOT}/a.py", None), (f"{ROOT}/b.py", None)],
        ),
        ("apply_patch", {"diff": "--- a/src/x.py\n+++ b/src/x.py\t2026\n@@\n-a\n"}, [(f"{ROOT}/src/x.py", None)]),
        ("apply_patch", {"diff": "--- /dev/null\n+++ b/new.py"}, [(f"{ROOT}/new.py", None)]),
        ("read_file", {"path": ""}, []),
        ("read_file", {"path": "x" * 5000}, []),
        ("read_file", [], []),
    ],
)
def test_n14_places_are_absolute_and_lines_count_from_one(
    tool: str, arguments: Any, found: list[tuple[str, int | None]]
) -> None:
    assert places(tool_named(tool), arguments, ROOT) == found


def test_places_are_bounded() -> None:
    assert len(places(tool_named("search"), {"paths": [str(n) for n in range(1000)]}, ROOT)) == MOST_PLACES
    patch = "\n".join(f"+++ b/{number}" for number in range(1000))
    assert len(places(tool_named("apply_patch"), {"patch": patch}, ROOT)) == MOST_PLACES


@pytest.mark.parametrize(
    ("text", "arguments"),
    [('{"a": 1}', {"a": 1}), ('{"a": ', '{"a": '), ("", None), (None, None), (3, None), (json.dumps([1]), [1])],
)
def test_arguments_are_read_as_far_as_they_can_be(text: Any, arguments: Any) -> None:
    assert parsed(text) == arguments
