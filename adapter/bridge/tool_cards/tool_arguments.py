"""The arguments of a tool call: what the model wrote, read as far as it can be. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, Final

from adapter.acp.text import one_line
from adapter.bridge.bounded_text import bound_text, with_notice
from adapter.bridge.tool_cards.file_changes import LONGEST_PATH, absolute, inside
from adapter.bridge.tool_cards.tool_table import LINES, Tool
from adapter.wire.framing import decode_json

RAW_INPUT_BYTES: Final = 64 * 1024
"""How long `rawInput` may be before its long strings are shortened: it is for looking at, not for reading files from.
"""

INPUT_MEMBERS: Final = 100
"""How many members of a long `rawInput` are shown."""

MOST_PLACES: Final = 20
"""Places of a card; an editor follows the first, and a list of all searched folders helps nobody."""

HIGHEST_LINE: Final = 2**32 - 1
"""ACP's lines are unsigned numbers of 32 bits."""

PATCH_FILES: Final = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ ", "--- ")
"""How lines of a patch begin that name a file."""


def parsed(text: Any) -> Any:
    """The arguments, or the model's text as it is: it may be no JSON at all (`msp.md §13.4`). None if there are
    none."""
    if not isinstance(text, str):
        return None
    try:
        return decode_json(text.encode("utf-8", "replace"))
    except ValueError:
        return text or None


def bounded_input(text: Any, arguments: Any, limit: int = RAW_INPUT_BYTES) -> Any:
    """`arguments`, parsed from `text`, with its long members shortened if `text` has more than `limit` characters."""
    if not isinstance(text, str) or len(text) <= limit:
        return arguments
    if not isinstance(arguments, dict):
        return _shortened(arguments)
    members = {one_line(name): _shortened(value) for name, value in islice(arguments.items(), INPUT_MEMBERS)}
    if len(arguments) > INPUT_MEMBERS:
        members["…"] = f"[{len(arguments) - INPUT_MEMBERS} more left out]"
    return members


def hint(tool: Tool, arguments: Any, workspace: str = "") -> str | None:
    """What a call is about: the first of the tool's telling arguments, as one line; a path from `workspace` on."""
    if not isinstance(arguments, dict):
        return None
    inner = arguments.get(tool.first_of) if tool.first_of else None
    if isinstance(inner, list) and inner and isinstance(inner[0], dict):
        arguments = arguments | inner[0]
    for name in tool.hints:
        value = arguments.get(name)
        if isinstance(value, str) and value.strip():
            return one_line(inside(value, workspace) if name in tool.places else value)
    return None


def places(tool: Tool, arguments: Any, workspace: str) -> list[tuple[str, int | None]]:
    """The places a call is about, absolute, the first with its line if the arguments have one."""
    if not isinstance(arguments, dict) or not (tool.places or tool.change == "patch"):
        return []
    paths = _paths(tool, arguments)
    found = list(dict.fromkeys(absolute(path, workspace) for path in paths if 0 < len(path) <= LONGEST_PATH))
    lines = (arguments.get(name) for name in LINES)
    line = next((line for line in lines if type(line) is int and 1 <= line <= HIGHEST_LINE), None)
    return [(path, line if index == 0 else None) for index, path in enumerate(found[:MOST_PLACES])]


def _paths(tool: Tool, arguments: dict[str, Any]) -> Iterable[str]:
    for name in tool.places:
        value = arguments.get(name)
        for path in value[:MOST_PLACES] if isinstance(value, list) else [value]:
            if isinstance(path, str):
                yield path
    if tool.change == "patch":
        for value in arguments.values():
            if isinstance(value, str):
                yield from _patched(value)


def _patched(patch: str) -> Iterable[str]:
    """The files a patch names."""
    for line in patch.splitlines():
        for beginning in PATCH_FILES:
            if line.startswith(beginning):
                path = line.removeprefix(beginning).split("\t")[0].strip()
                if beginning in ("+++ ", "--- "):
                    path = path.removeprefix("a/").removeprefix("b/")
                if path != "/dev/null":
                    yield path


def _shortened(value: Any) -> Any:
    if isinstance(value, str):
        bounded = bound_text(value, 4096)
        return with_notice(bounded, f"[{bounded.total_bytes} bytes]") if bounded.truncated else value
    if isinstance(value, dict | list):
        return "[left out: too long to show]"
    return value
