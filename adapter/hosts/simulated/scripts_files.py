"""Scripts that change files for real, in the session's folders and nowhere else."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any, Final, Literal

from adapter.hosts.simulated import outputs
from adapter.hosts.simulated.roots import contains
from adapter.hosts.simulated.scripts_consent import refused, wide_choices
from adapter.hosts.simulated.scripts_tools import closing, denied, label, patched
from adapter.hosts.simulated.steps import (
    AskApproval,
    Completed,
    Script,
    Started,
    StoreOutput,
    Touch,
    Touched,
    Verdict,
)
from adapter.hosts.simulated.turn import Turn

_DONE: Final = {"write": "Wrote", "replace": "Edited", "delete": "Deleted"}


def script(operation: Literal["write", "replace", "delete"], asks: bool = False) -> Callable[[Turn], Script]:
    """`write PATH TEXT...`, `replace PATH OLD NEW` or `delete PATH`; `asks` puts an approval before it."""
    return lambda turn: _change(turn, operation, asks)


def _change(turn: Turn, operation: Literal["write", "replace", "delete"], asks: bool) -> Script:
    given = turn.words[1] if len(turn.words) > 1 else ""
    path = os.path.normpath(f"{turn.workspace}/{given}" if not given.startswith("/") else given)
    name, args, step = _call(turn, operation, given, path)
    done = f"{_DONE[operation]} {os.path.basename(path)}"  # noqa: PTH119 -- a name, no file
    tool = turn.tool(name, json.dumps(args, ensure_ascii=False), displayLabel=label(f"{operation} {given}", done))
    yield Started(tool)
    if not turn.can_write:
        yield denied(tool, "tool policy denied filesystem write")
        return
    if not given or not contains(turn.roots, path):
        yield denied(tool, "the path is outside of the session's folders")
        yield from closing(turn, "I may not go there ✗")
        return
    if asks:
        subject = {"kind": "fileAccess", "toolName": name, "path": path, "access": "write"}
        verdict: Verdict = yield AskApproval(tool, subject, choices=wide_choices(subject))
        if not verdict.allowed:
            yield from refused(turn, tool, verdict)
            return
    touched: Touched = yield step
    if touched.problem is not None:
        members = {"failureKind": "tool_failed", "failureReason": touched.problem, "visibleOutput": touched.problem}
        yield Completed(tool, members, "failed")
        yield from closing(turn, "That did not work ✗")
        return
    record, summary = patched(tool, path, touched.before, touched.after)
    yield StoreOutput(record)
    shown = {"visibleOutput": f"{done}\n", "truncated": False, "patchSummary": summary}
    yield Completed(tool, {**shown, "patchRef": outputs.reference(turn.session_id, record)})
    yield from closing(turn, f"{done} ✓")


def _call(turn: Turn, operation: str, given: str, path: str) -> tuple[str, dict[str, Any], Touch]:
    """The tool, its arguments as the model writes them, and what it does."""
    if operation == "write":
        content = turn.rest(2)
        return "write_file", {"path": given, "content": content}, Touch(path, "write", new=content)
    if operation == "delete":
        return "delete_file", {"path": given}, Touch(path, "delete")
    old, new = turn.words[2] if len(turn.words) > 2 else "", turn.rest(3)
    return "edit_file", {"path": given, "old_str": old, "new_str": new}, Touch(path, "replace", old, new)
