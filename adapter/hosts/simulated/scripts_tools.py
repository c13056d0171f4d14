"""Scripts that run tools."""

from __future__ import annotations

import difflib
import json
from typing import Any, Final

from adapter.hosts.simulated import outputs
from adapter.hosts.simulated.steps import (
    Completed,
    Delta,
    Draft,
    Script,
    Spawn,
    Started,
    StoreOutput,
    Updated,
    Wait,
    chunks,
)
from adapter.hosts.simulated.turn import Turn

VISIBLE_BYTES: Final = 16 * 1024
"""How much of a tool's output its card shows."""

_BEFORE: Final = 'fn main() {\n    println!("hello");\n}\n'
_AFTER: Final = 'fn main() {\n    // grüßt die Welt ✓\n    println!("hello, world");\n}\n'


def label(active: str, done: str) -> dict[str, str]:
    """`displayLabel`, for versions that have it."""
    return {"neutral": done, "active": active, "done": done}


def shell(turn: Turn) -> Script:
    """`shell [binary] N [AVAILABILITY...]`: each further availability is announced by a later revision."""
    binary = "binary" in turn.words
    size = next((int(word) for word in turn.words if word.isdecimal()), 300)
    states = [word for word in turn.words if word in outputs.AVAILABILITIES] or ["available"]
    command = f"make-output {size}"
    tool = turn.tool(
        "bash", json.dumps({"command": command}), displayLabel=label(f"Running {command}", f"Ran {command}")
    )
    yield Started(tool)
    if not turn.can_run:
        yield denied(tool, "tool policy denied shell")
        return
    record = outputs.new_output(tool.id, "bytes" if binary else "lines", size)
    shown = "(binary output)\n" if binary else _head(record)
    for piece in chunks(shown, 3):
        yield Delta(tool, piece, "output")
    members = {"visibleOutput": shown, "truncated": binary or len(shown.encode()) < record["byteLen"], "durationMs": 12}
    for state in states:
        record = {**record, "availability": state}
        yield StoreOutput(record)
        yield Completed(tool, {**members, "outputRef": outputs.reference(turn.session_id, record)})
    yield from closing(turn, f"The command wrote {record['byteLen']} bytes ✓")


def _head(record: outputs.Json) -> str:
    data = outputs.stored_bytes(record, 0, VISIBLE_BYTES)
    return data.decode("utf-8", "ignore")


def denied(tool: Draft, output: str) -> Completed:
    """A tool call the host's flags do not allow."""
    return Completed(
        tool, {"visibleOutput": output, "failureKind": "policy_denied", "failureReason": output}, "rejected"
    )


def closing(turn: Turn, text: str) -> Script:
    """The last words after a tool."""
    message = turn.item("agentMessage", text="")
    yield Started(message, kept=False)
    for piece in chunks(text, 2):
        yield Delta(message, piece)
    yield Completed(message, {"messagePhase": "finalAnswer"})


def patched(tool: Draft, path: str, before: str | None, after: str | None) -> tuple[outputs.Json, dict[str, int]]:
    """The structured diff of one file as a stored output, and its counts; None where there is no file."""
    diff = list(difflib.unified_diff((before or "").splitlines(True), (after or "").splitlines(True), path, path))
    counts = {
        "added": sum(line.startswith("+") for line in diff[2:]),
        "removed": sum(line.startswith("-") for line in diff[2:]),
    }
    patch = {"files": [{"path": path, "oldText": before, "newText": after, "diff": "".join(diff)}]}
    record = outputs.new_output(tool.id, "text", 0, json.dumps(patch, ensure_ascii=False), "tool_patch")
    return record, {"files": 1, **counts}


def edit(turn: Turn) -> Script:
    """`edit`: a file edit whose structured diff is a stored output of its own."""
    path = f"{turn.workspace}/src/main.rs"
    args = json.dumps({"path": path, "old": _BEFORE, "new": _AFTER})
    tool = turn.tool("edit_file", args, displayLabel=label("Editing main.rs", "Edited main.rs"))
    yield Started(tool)
    if not turn.can_write:
        yield denied(tool, "tool policy denied filesystem write")
        return
    record, summary = patched(tool, path, _BEFORE, _AFTER)
    yield StoreOutput(record)
    members = {
        "visibleOutput": f"Edited {path}\n",
        "truncated": False,
        "patchRef": outputs.reference(turn.session_id, record),
        "patchSummary": summary,
    }
    yield Completed(tool, members)
    yield from closing(turn, "The greeting is complete ✓")


def tool(turn: Turn) -> Script:
    """`tool [STATUS]`: a tool call that ends as it is told to, with what it had done by then."""
    status = turn.words[1] if len(turn.words) > 1 else "completed"
    call = turn.tool(
        "grep", json.dumps({"pattern": "naïve", "path": "src"}), displayLabel=label("Searching", "Searched")
    )
    yield Started(call)
    yield Delta(call, "src/lib.rs:3: naïve\n", "output")
    members: dict[str, Any] = {"truncated": False, "durationMs": 4}
    if status != "completed":
        members |= {"failureKind": f"tool_{status.lower()}", "failureReason": f"the search has {status} ✗"}
    yield Completed(call, members, status)
    yield from closing(turn, f"The search has {status}.")


def progress(turn: Turn) -> Script:
    """`progress`: a long call that tells where it stands, on versions that can."""
    call = turn.tool("bash", json.dumps({"command": "make all"}), displayLabel=label("Building", "Built"))
    yield Started(call)
    for done in range(3):
        line = f"compiling — {done + 1} of 3"
        progress = {"current": done + 1, "total": 3, "unit": "crates"}
        health = {"level": "degraded" if done == 1 else "ok"}
        yield Updated(call, {"statusLine": line, "statusProgress": progress, "statusHealth": health})
    receipt = {"family": "codeMode", "operation": "execute", "outcome": "completed"}
    yield Completed(call, {"visibleOutput": "built ✓\n", "truncated": False, "toolReceipt": receipt})
    yield from closing(turn, "It is built ✓")


def work(turn: Turn) -> Script:
    """`work [SECONDS]`: a call that takes so long within its turn; an interrupt ends it."""
    call = turn.tool("bash", json.dumps({"command": "make check"}), displayLabel=label("Checking", "Checked"))
    yield Started(call)
    yield Delta(call, "checking… ", "output")
    yield Wait(turn.seconds(1, 30.0))
    yield Completed(call, {"visibleOutput": "checking… fine ✓\n", "truncated": False})
    yield from closing(turn, "It is checked ✓")


def picture(turn: Turn) -> Script:
    """`picture`: a tool whose result is an image the model saw; only its description travels."""
    path = f"{turn.workspace}/Skizze №1.png"
    call = turn.tool("read_file", json.dumps({"path": path}), displayLabel=label("Reading a picture", "Read a picture"))
    yield Started(call)
    seen = {"type": "image", "mediaType": "image/png", "path": path, "sourceToolName": "read_file"}
    members = {"visibleOutput": "[image]", "truncated": False}
    yield Completed(call, {**members, "modelVisibleContent": [{**seen, "width": 640, "height": 480}]})
    yield from closing(turn, "A sketch of a bridge ✓")


def background(turn: Turn) -> Script:
    """`background [SECONDS]`: the tool moves to the background and ends after the turn."""
    tool = turn.tool("bash", json.dumps({"command": "make watch"}), displayLabel=label("Watching", "Watched"))
    tool.members["taskId"] = tool.id
    yield Started(tool)
    yield Delta(tool, "watching… ", "output")
    yield Updated(tool, {"background": True, "backgroundInitiator": "timeout"})
    seconds = turn.seconds(1, 0.3)

    def rest() -> Script:
        yield Wait(seconds)
        yield Delta(tool, "built ✓\n", "output")
        yield Completed(tool, {"truncated": False})

    yield Spawn(tool, rest())
    yield from closing(turn, "The watcher goes on in the background ✓")
