"""Scripts about the session itself: what it was told, what it remembers, its skills, its name, what it costs."""

from __future__ import annotations

from typing import Final

from adapter.hosts.simulated.catalog import ANOTHER_SKILL
from adapter.hosts.simulated.scripts_tools import closing
from adapter.hosts.simulated.steps import AddSkill, Completed, Notify, Script, Started
from adapter.hosts.simulated.turn import Turn

NAME_CHARACTERS: Final = 200


def skill(turn: Turn) -> Script:
    """A prompt that begins with a skill."""
    assert turn.skill is not None
    arguments = turn.skill["arguments"] or "(no arguments)"
    yield from closing(turn, f"The skill {turn.skill['selector']} ran with: {arguments}")


def seen(turn: Turn) -> Script:
    """`seen`: every part of the input as it arrived."""
    yield from closing(turn, "\n".join(turn.seen))


def recall(turn: Turn) -> Script:
    """`recall`: what the session was told first."""
    yield from closing(turn, f"You first said: {turn.view.first_prompt}")


def roots(turn: Turn) -> Script:
    """`roots`: the folders in force."""
    yield from closing(turn, "\n".join(turn.roots) or "no folders")


def mcp(turn: Turn) -> Script:
    """`mcp`: the MCP servers of the session."""
    yield from closing(turn, "\n".join(turn.servers) or "no servers")


def skills(turn: Turn) -> Script:
    """`skills`: the session has one skill more."""
    yield AddSkill(ANOTHER_SKILL)
    yield from closing(turn, "Now I can deploy ✓")


def title(turn: Turn) -> Script:
    """`title TEXT`: the host names the session."""
    name = turn.rest(1)[:NAME_CHARACTERS] or "A session without a name"
    yield Notify("session/nameChanged", {"name": name, "nameOrigin": "automatic"})
    yield from closing(turn, "It has a name ✓")


def model_mismatch(turn: Turn) -> Script:
    """`model-mismatch NAME`: another model than the chosen one answers."""
    turn.answered_by = turn.rest(1) or "muse-other-9"
    yield from closing(turn, "Somebody else answers ✓")


def usage(turn: Turn) -> Script:
    """`usage USED [WINDOW]`: how full the context is said to be."""
    used, window = turn.number(1, 1000), turn.number(2, 0)
    pressure = "normal"
    if window:
        pressure = "blocked" if used >= window else "warning" if used * 5 >= window * 4 else "normal"
    turn.context = {"usedTokens": used, "pressure": pressure, **({"windowTokens": window} if window else {})}
    yield from closing(turn, "That is how full it is ✓")


def hook(turn: Turn) -> Script:
    """`hook [blocked]`: a hook ran before the prompt."""
    status = "blocked" if turn.words[1:2] == ["blocked"] else "completed"
    run = turn.item("hookRun", event="UserPromptSubmit", hookKey="check-style", label="Check the style")
    run.members["fallbackText"] = f"Hook: check the style ({status})"
    yield Started(run)
    members = {"runStatus": status}
    if status == "blocked":
        members["reason"] = "the style is naïve ✗"
    yield Completed(run, members)
    yield from closing(turn, "The hook ran ✓" if status == "completed" else "The hook stopped something ✗")


def websearch(turn: Turn) -> Script:
    """`websearch`: a search the provider makes; a stable connection is told its text only."""
    search = turn.item("webSearch", fallbackText="Searched the web: how to greet in 東京")
    yield Started(search)
    yield Completed(search)
    yield from closing(turn, "One says こんにちは ✓")


def damage(turn: Turn) -> Script:
    """`damage`: a part of the session's log could not be read."""
    lost = {"missingRecords": 7, "unreadableLines": 2, "readableAfterAt": "2026-11-01T08:00:00.000Z"}
    yield Completed(turn.item("damagedRange", damagedRange=lost, fallbackText="Part of the history is unreadable"))
    yield from closing(turn, "Something is missing ✗")
