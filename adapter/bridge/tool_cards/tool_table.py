"""What is known of Muse's tools by their exact names, as data (`msp.md §13.4`, `peers.md §8`).

Guessing from parts of names calls `thread` a read, so a tool that is not listed is a plain one. Names of arguments are
tried in order; the first that is there counts.
"""

from __future__ import annotations

import re
from typing import Final, Literal, TypeAlias

import msgspec

from adapter.acp.text import one_line
from adapter.acp.updates import ToolKind

ChangeRecipe: TypeAlias = Literal["write", "replace", "patch"]
"""How a tool changes files: it gives the whole text, replaces pieces, or applies a patch."""

PATHS: Final = ("path", "file_path", "filePath", "filename")
LINES: Final = ("line", "start_line", "startLine")
"""Arguments that count lines from 1. An `offset` may count from 0 or from 1, nobody says which, so it is none of
them."""

HINTS: Final = (*PATHS, "command", "pattern", "query", "url", "name", "description")
CONTENTS: Final = ("content", "file_content", "contents", "text")
OLD_TEXTS: Final = ("old_str", "old_string", "old", "oldText")
NEW_TEXTS: Final = ("new_str", "new_string", "new", "newText")
PATCHES: Final = ("patch", "input", "diff", "patch_text")
EVERYWHERE: Final = ("replace_all", "replaceAll")


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """How calls of a tool are shown.

    `hints` are the arguments that say what a call is about; `bare`: such an argument is a title by itself, without the
    tool's name. `places` are arguments with a path, or a list of them. `hidden`: its calls are shown in another way,
    and have a card only if they fail.
    """

    kind: ToolKind = "other"
    hints: tuple[str, ...] = HINTS
    bare: bool = False
    places: tuple[str, ...] = PATHS
    first_of: str | None = None
    """The argument that is a list of things of which the first says what the call is about."""
    structured: bool = False
    """Its result may be a JSON object with the text in `output`."""
    change: ChangeRecipe | None = None
    hidden: bool = False


_COMMAND: Final = Tool(
    kind="execute", hints=("command", "cmd", "script", "description"), bare=True, places=(), structured=True
)
_READ: Final = Tool(kind="read", hints=PATHS)
_SEARCH: Final = Tool(kind="search", hints=("pattern", "query", "regex", "glob", *PATHS), places=(*PATHS, "paths"))
_WEB: Final = Tool(kind="search", hints=("query", "q", "url"), places=())
_FETCH: Final = Tool(kind="fetch", hints=("url", "uri"), places=())
_SUBAGENT: Final = Tool(hints=("description", "objective", "name", "prompt"), places=())
_CRON: Final = Tool(hints=("name", "description", "schedule", "cron", "jobId", "job_id"), places=())

TOOLS: Final[dict[str, Tool]] = {
    "bash": _COMMAND,
    "shell": _COMMAND,
    "execute": _COMMAND,
    "read_file": _READ,
    "list_files": _READ,
    "list_dir": _READ,
    "read_skill": Tool(hints=("name", "skill", "selector"), places=()),
    "search": _SEARCH,
    "grep": _SEARCH,
    "glob": _SEARCH,
    "web_search": _WEB,
    "web_fetch": _FETCH,
    "write_file": Tool(kind="edit", hints=PATHS, change="write"),
    "edit_file": Tool(kind="edit", hints=PATHS, change="replace"),
    "apply_patch": Tool(kind="edit", hints=PATHS, change="patch"),
    "delete_file": Tool(kind="delete", hints=PATHS),
    "move_file": Tool(
        kind="move",
        hints=("source", "from", "old_path", *PATHS),
        places=("source", "from", "old_path", *PATHS, "destination", "to", "new_path"),
    ),
    "write_todos": Tool(kind="think", places=(), hidden=True),
    "request_user_input": Tool(hints=("question", "header"), bare=True, places=(), first_of="questions"),
    "subagent_spawn": _SUBAGENT,
    "muse.subagent_spawn": _SUBAGENT,
    "workflow": Tool(hints=("entryId", "entry_id", "name", "description"), places=()),
    "muse.workflow": Tool(hints=("entryId", "entry_id", "name", "description"), places=()),
    "cron_create": _CRON,
    "cron_delete": _CRON,
    "cron_list": _CRON,
}

UNKNOWN: Final = Tool()

_MCP_NAME: Final = re.compile(r"mcp__(?P<server>.+?)(?:__|\.)(?P<tool>.+)", re.DOTALL)


def tool_named(name: str) -> Tool:
    """What is known of a tool; `UNKNOWN` if nothing is."""
    return TOOLS.get(name, UNKNOWN)


def shown_name(name: str) -> str:
    """The name for people: of `mcp__server__tool`, and of the dotted form some versions use, the tool and in brackets
    its server."""
    match = _MCP_NAME.fullmatch(name)
    return one_line(f"{match['tool']} ({match['server']})" if match else name)
