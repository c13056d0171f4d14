"""What the client has to have been shown or told where a phase came out well: texts in full and once, bytes, names.

Each gives what is wrong, or None.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adapter.bridge.projection import RESTATED
from tests.adapter_process import Json
from tests.faults.matrix.cell import HELLO_ANSWER, Cell
from tests.oracles.seen import read_seen

Shown = Callable[[Cell, Json], str | None]

CONSENTED: Final = "It is done ✓"
REFUSED: Final = "Then I leave it — as you wish."
CHOSEN: Final = "The question was answered ✓ You chose: Postgres; Backups"
GAP: Final = "Before the gap — After the gap ✓Lost on the way: 0 ✗Lost on the way: 1 ✗"
READ_BYTES: Final = 65_536


def nothing(cell: Cell, result: Json) -> str | None:
    """There is nothing to be seen in it."""
    return None


def says(text: str) -> Shown:
    """Muse's words since the client did its part. Where more was asked than the phase asks, they are among others."""

    def shown(cell: Cell, result: Json) -> str | None:
        # Behind that comes all of a text of which some was shown before.
        said = cell.said().rpartition(f"{RESTATED}\n\n")[2]
        right = text in said if cell.more else said == text
        return None if right else f"it has to say {text!r} and says {said!r}"

    return shown


def carries_out(text: str, besides: str = "") -> Shown:
    """A slash command; or the refusal of it in words, if the host refuses. `besides` may be said too."""

    def shown(cell: Cell, result: Json) -> str | None:
        said = cell.said()
        is_told = cell.refused and said.startswith("Muse refused: no: ")
        return None if is_told else says(text + besides if said.endswith(besides) else text)(cell, result)

    return shown


def clarified(text: str) -> Shown:
    """What Muse does with an answer in words; or that it did not take it, and the question again."""

    def shown(cell: Cell, result: Json) -> str | None:
        said = cell.said()
        is_told = said.startswith("Muse did not take the answer: ") and "Your next message" in said
        return None if is_told else says(text)(cell, result)

    return shown


def ends_saying(text: str) -> Shown:
    """The same where the adapter has words of its own to say before."""

    def shown(cell: Cell, result: Json) -> str | None:
        said = cell.said()
        right = text in said if cell.more else said.endswith(text)
        return None if right else f"it says {said!r}, and not {text!r}"

    return shown


hello: Final = says(HELLO_ANSWER)


def past(cell: Cell, result: Json) -> str | None:
    """All of a past of one turn."""
    asked = cell.said("user_message_chunk")
    return hello(cell, result) if asked.startswith("hello") else f"the past begins with {asked!r}"


def opened(cell: Cell, result: Json) -> str | None:
    """A session that has a name, and another one than it is copied from."""
    name = result.get("sessionId")
    return None if isinstance(name, str) and name and name != cell.memory.get("parent") else f"no new session: {result}"


def listed(cell: Cell, result: Json) -> str | None:
    """The session is in the list, once, also if it has been closed meanwhile."""
    names = [each["sessionId"] for each in result["sessions"]]
    return None if names.count(cell.named) == 1 else f"{cell.named} has to be listed once: {names}"


def chosen(cell: Cell, result: Json) -> str | None:
    """The option has the value that was chosen."""
    option, value = cell.memory["chosen"]
    has = next((each["currentValue"] for each in result["configOptions"] if each["id"] == option), None)
    return None if has == value else f"{option} has to be {value!r} and is {has!r}"


def bytes_read(cell: Cell, result: Json) -> str | None:
    """The first bytes of the output, as the host has told them: line after line with its number."""
    content = result["content"]
    lines = content.split("\n")[:-1]
    whole = len(content.encode()) == READ_BYTES == result["byteLen"] and not result["eof"]
    numbered = all(line.startswith(f"{number:09} Grüße aus 東京 ✓ ") for number, line in enumerate(lines))
    return None if whole and numbered and len(lines) > 1000 else f"{len(lines)} lines, {result['byteLen']} bytes"


def steered(cell: Cell, result: Json) -> str | None:
    """The words have reached the host."""
    frames = [each.frame for each in read_seen(*cell.seen()) if each.from_adapter]
    told = [str(frame["params"]) for frame in frames if frame.get("method") == "turn/steer"]
    return None if any("and more" in each for each in told) else f"no such words have reached the host: {told}"


def deleted(cell: Cell, result: Json) -> str | None:
    """Nothing of it is stored any more."""
    left = [*cell.folder.parent.glob(f".local/share/muse-simulated/sessions/{cell.memory['stored']}/session.jsonl")]
    return f"it is stored: {left}" if left else None


def stopped(cell: Cell, result: Json) -> str | None:
    """The task is told to have ended."""
    return None if result.get("status") else f"nothing is told of the task: {result}"
