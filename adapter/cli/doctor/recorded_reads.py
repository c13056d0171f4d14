"""How a recording was read, since it answers only what was asked when it was made."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from adapter.bridge.stored_output.contract import MAX_LENGTH
from adapter.hosts.recorded.script import ScriptError, load_script

READ: Final = "item/readOutput"


def recorded_lengths(directory: Path, session_id: str, item_id: str) -> dict[str, int]:
    """How many bytes were asked for of each output of the item, from its beginning on; the first question counts. Reads
    the recording; of one that cannot be read there are none."""
    try:
        lines = load_script(directory).lines
    except (ScriptError, OSError):
        return {}
    lengths: dict[str, int] = {}
    for line in lines:
        if line.direction == "client" and line.frame is not None and line.frame.get("method") == READ:
            asked = line.frame.get("params")
            if isinstance(asked, dict) and _is_first_piece(asked, session_id, item_id):
                lengths.setdefault(asked["outputRef"], asked["lengthBytes"])
    return lengths


def _is_first_piece(asked: dict[str, Any], session_id: str, item_id: str) -> bool:
    length = asked.get("lengthBytes")
    return (
        (asked.get("sessionId"), asked.get("itemId"), asked.get("offsetBytes")) == (session_id, item_id, 0)
        and isinstance(asked.get("outputRef"), str)
        and type(length) is int
        and 1 <= length <= MAX_LENGTH
    )
