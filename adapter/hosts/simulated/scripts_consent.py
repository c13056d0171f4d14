"""Scripts that ask the user."""

from __future__ import annotations

import json
from typing import Any, Final

from adapter.hosts.simulated.scripts_tools import closing, label
from adapter.hosts.simulated.steps import (
    AskApproval,
    AskUser,
    Completed,
    Draft,
    LoseNext,
    Script,
    Settlement,
    Spawn,
    Started,
    Verdict,
    Wait,
)
from adapter.hosts.simulated.turn import Turn

_ODD_CHOICES: Final[dict[str, tuple[dict[str, Any], ...]]] = {
    "empty": (),
    "allowing": (
        {"choiceId": "yes", "label": "Yes", "decision": "approved", "scope": "once"},
        {"choiceId": "always", "label": "Always", "decision": "approvedPolicyAmendment", "scope": "localPersistent"},
    ),
    "unheard": (
        {"choiceId": "c1", "label": "Maybe — später", "decision": "approvedByMoonlight", "scope": "eternal"},
        {"choiceId": "c2", "label": "No", "decision": "denied", "scope": "once"},
    ),
}
"""What a host may offer beside the usual: nothing at all, only consent, decisions no version knows."""


def approve(turn: Turn) -> Script:
    """`approve [WORD]`: one file write, one decision."""
    word = turn.words[1] if len(turn.words) > 1 else ""
    path = f"{turn.workspace}/Cargo.toml"
    args = json.dumps({"path": path, "content": 'version = "0.2.0"'})
    tool = turn.tool("write_file", args, displayLabel=label("Writing Cargo.toml", "Wrote Cargo.toml"))
    yield Started(tool)
    subject = {"kind": "fileAccess", "toolName": "write_file", "path": path, "access": "write"}
    if word == "lost":
        yield LoseNext(2)
        yield Spawn(*_bystander(turn))
    settled_after = turn.seconds(2, 0.1) if word == "elsewhere" else None
    verdict = yield AskApproval(tool, subject, choices=_ODD_CHOICES.get(word), settled_after=settled_after)
    yield from _after(turn, tool, verdict, f"{path} updated ✓\n")


def _bystander(turn: Turn) -> tuple[Draft, Script]:
    """Something that happens beside an open approval, so that a loss before it is told."""
    note = turn.tool("bash", json.dumps({"command": "date"}))

    def run() -> Script:
        yield Wait(0.05)
        yield Completed(note, {"visibleOutput": "Montag ✓\n", "truncated": False})

    return note, run()


def approve3(turn: Turn) -> Script:
    """`approve3`: a compound command; part 1 is known to be safe, parts 0 and 2 are asked for."""
    stages = (("git", "fetch", "--all"), ("ls", "-la"), ("make", "install"))
    command = " && ".join(" ".join(argv) for argv in stages)
    tool = turn.tool("bash", json.dumps({"command": command}), displayLabel=label("Running make", "Ran make"))
    yield Started(tool)
    subject = {"kind": "shell", "command": command, "workspaceRoot": turn.workspace}
    verdict = yield AskApproval(tool, subject, stages, frozenset({0, 2}))
    yield from _after(turn, tool, verdict, "installed ✓\n")


def _after(turn: Turn, tool: Draft, verdict: Verdict, output: str) -> Script:
    if verdict.allowed:
        yield Completed(tool, {"visibleOutput": output, "truncated": False})
        yield from closing(turn, "It is done ✓")
        return
    reason = "denied by the user" if verdict.feedback is None else f"denied by the user: {verdict.feedback}"
    yield Completed(tool, {"failureKind": "approval_denied", "failureReason": reason}, status="rejected")
    yield from closing(turn, "Then I leave it — as you wish.")


def ask(turn: Turn) -> Script:
    """`ask [SECONDS]`: one question with one choice, one with several."""
    questions = [
        {
            "id": "db_choice",
            "header": "Database",
            "question": "Which database should the new service use?",
            "options": [
                {"label": "Postgres", "description": "Matches the other services."},
                {"label": "SQLite", "description": "No operations — single node only."},
            ],
            "selection": {"mode": "single"},
        },
        {
            "id": "features",
            "header": "Features",
            "question": "What does it need?",
            "options": [{"label": "Backups"}, {"label": "Replicas"}, {"label": "Metrics — naïve"}],
            "selection": {"mode": "multiple", "minSelections": 1, "maxSelections": 2},
        },
    ]
    tool = turn.tool("request_user_input", json.dumps({"questions": [row["question"] for row in questions]}))
    yield Started(tool)
    seconds = turn.seconds(1, 0.0)
    settlement: Settlement = yield AskUser(tool, questions, int(seconds * 1000) if seconds else None)
    if settlement.outcome == "cancelled":
        yield Completed(tool, {"failureReason": "cancelled by the user"}, status="cancelled")
    else:
        yield Completed(tool, {"visibleOutput": _said(settlement), "truncated": False})
    yield from closing(turn, f"The question was {settlement.outcome} ✓")


def _said(settlement: Settlement) -> str:
    if settlement.clarification is not None:
        return str(settlement.clarification["content"])
    return "\n".join(
        str(row.get("selectedLabel") or row.get("freeText") or ", ".join(row.get("selectedLabels", [])))
        for row in settlement.answers
    )
