"""The phases of a session, one row of the matrix each: what the client does, and the moment at the host in which a
fault strikes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from tests.adapter_process import INITIALIZE, Json
from tests.faults.matrix.cell import Cell

NEWEST: Final = "1.4.13"


def nothing(cell: Cell) -> None:
    """Nothing has to be there."""


def opened(cell: Cell) -> None:
    """A session with a past."""
    cell.session = cell.new_session()


class Phase(NamedTuple):
    """A row."""

    name: str
    told: str
    act: Callable[[Cell], Json]
    """What the client does in it; gives the answer that is judged."""
    at: Literal["spawn", "answer", "event", "note", "end"]
    method: str = ""
    arrange: Callable[[Cell], None] = opened
    right: Callable[[Json], bool] = lambda result: True
    """Whether the result is what it would be without a fault."""
    needed: bool = True
    """Whether the client's answer waits for the host's."""
    retried: bool = False
    """Whether a host that ends meanwhile costs nothing, because the next one is asked."""
    expects: Mapping[str, str] = {}
    """What comes instead, by fault or by group of faults, where it is not what the group says."""
    version: str = NEWEST
    after: int = 0
    restricted: bool = False
    """Whether it is about a host that was started without its tools for writing and running."""
    early: bool = False
    """Whether the moment is over before there can be a session."""


def new(cell: Cell) -> Json:
    return _opening(cell, "session/new")


def _opening(cell: Cell, method: str, **params: str) -> Json:
    answer = cell.ask(method, cwd=str(cell.workspace), mcpServers=[], **params)
    if "result" in answer and "sessionId" in answer["result"]:
        cell.session = answer["result"]["sessionId"]
    return answer


def prompt(cell: Cell) -> Json:
    return cell.answer(cell.prompt(cell.session, "hello"))


def ends_turn(result: Json) -> bool:
    return bool(result["stopReason"] == "end_turn")


def close(cell: Cell) -> Json:
    answer = cell.ask("session/close", sessionId=cell.session)
    cell.session = ""
    return answer


PHASES: Final = (
    Phase("new", "a session is started", new, "answer", "session/start", arrange=nothing, retried=True),
    Phase("prompt", "a prompt is taken in", prompt, "answer", "turn/start", right=ends_turn, retried=True),
    Phase("close", "a session is left", close, "answer", "session/leave", needed=False),
)

BY_NAME: Final = {phase.name: phase for phase in PHASES}

__all__ = ["BY_NAME", "INITIALIZE", "PHASES", "Phase"]
