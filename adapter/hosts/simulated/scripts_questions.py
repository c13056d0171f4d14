"""Scripts with questions to the user (`msp.md §16`)."""

from __future__ import annotations

import json
from typing import Final

from adapter.hosts.simulated.scripts_tools import closing
from adapter.hosts.simulated.steps import AskUser, Completed, Json, Script, Settlement, Started
from adapter.hosts.simulated.turn import Turn

ELSEWHERE_SECONDS: Final = 0.3

_DATABASE: Final[Json] = {
    "id": "db_choice",
    "header": "Database",
    "question": "Which database should the new service use?",
    "options": [
        {"label": "Postgres", "description": "Matches the other services."},
        {"label": "SQLite", "description": "No operations — single node only."},
    ],
    "selection": {"mode": "single"},
}
_FEATURES: Final[Json] = {
    "id": "features",
    "header": "Features",
    "question": "What does it need?",
    "options": [{"label": "Backups"}, {"label": "Replicas"}, {"label": "Metrics — naïve"}],
    "selection": {"mode": "multiple", "minSelections": 1, "maxSelections": 2},
}
_REGIONS: Final[Json] = {
    "id": "regions",
    "header": "Regions",
    "question": "Where should it run?",
    "options": [
        {"label": "Zürich", "description": "Close to us."},
        {"label": "東京", "description": "Close to the users."},
        {"label": "Oslo", "description": "Cheap, and cold."},
    ],
    "selection": {"mode": "multiple", "minSelections": 2, "maxSelections": 3},
}
_NAME: Final[Json] = {
    "id": "service_name",
    "header": "Name",
    "question": "What should the service be called?",
    "options": [],
    "selection": {"mode": "single"},
}
_SIZE: Final[Json] = {
    "id": "size",
    "header": "Size",
    "question": "How large should it be?",
    "options": [
        {"label": "Small", "description": "One node."},
        {"label": "Large", "description": "Three nodes."},
    ],
    "selection": {"mode": "single"},
}
_QUESTIONS: Final = {"multi": [_REGIONS], "text": [_NAME], "two": [_DATABASE, _SIZE], "elsewhere": [_DATABASE]}


def ask(turn: Turn) -> Script:
    """`ask [SECONDS]`: one question with one choice, one with several; or what the word after it says."""
    word = turn.words[1] if len(turn.words) > 1 else ""
    questions = _QUESTIONS.get(word, [_DATABASE, _FEATURES])
    tool = turn.tool("request_user_input", json.dumps({"questions": [row["question"] for row in questions]}))
    yield Started(tool)
    seconds = turn.seconds(1, 0.0)
    settled_after = ELSEWHERE_SECONDS if word == "elsewhere" else None
    settlement: Settlement = yield AskUser(tool, questions, int(seconds * 1000) if seconds else None, settled_after)
    said = _said(settlement)
    if settlement.outcome == "cancelled":
        yield Completed(tool, {"failureReason": "cancelled by the user"}, status="cancelled")
    else:
        yield Completed(tool, {"visibleOutput": said, "truncated": False})
    yield from closing(turn, f"The question was {settlement.outcome} ✓ {_conclusion(settlement, said)}")


def _conclusion(settlement: Settlement, said: str) -> str:
    if settlement.outcome == "answered":
        return f"You chose: {said.replace(chr(10), '; ')}"
    if settlement.clarification is not None:
        return f"You said: {said}"
    return "I go on without an answer."


def _said(settlement: Settlement) -> str:
    if settlement.clarification is not None:
        return str(settlement.clarification["content"])
    return "\n".join(map(_answer, settlement.answers))


def _answer(row: Json) -> str:
    words = row.get("selectedLabel") or row.get("freeText") or ", ".join(row.get("selectedLabels") or [])
    return f"{words} ({row['note']})" if row.get("note") else str(words)
