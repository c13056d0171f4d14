"""Turns under a name that nobody has given them: a host may acknowledge a prompt under one id and tell its turn under
another (`fault-cases.md H7`). Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from typing import Final

from adapter.bridge.turns.prompt_run import PromptRun

REMEMBERED_TURNS: Final = 200
"""Turns of which it is known that there has been something of them; of one that was forgotten, a late event would have
to come in the moment in which a prompt waits for its first one."""


class StrayTurns:
    """Which turns something was heard of, and for which prompt each may be.

    An end says which turn is over, never which prompt, and a stale one must end nothing (`fault-cases.md H6`). So a
    turn is a prompt's only if it was first heard of while that prompt alone waited at the host for something to happen,
    and nothing was heard of the turn that the host has named.
    """

    def __init__(self) -> None:
        self._heard: OrderedDict[str, PromptRun | None] = OrderedDict()

    def hear(self, turn_id: str, run: PromptRun | None = None) -> None:
        """Something was told of this turn; it may be that of `run`. The first time counts."""
        if turn_id not in self._heard:
            self._heard[turn_id] = run
            if len(self._heard) > REMEMBERED_TURNS:
                self._heard.popitem(last=False)

    def waiting(self, runs: Collection[PromptRun]) -> PromptRun | None:
        """The prompt among these whose turn may begin: sent, and the only one that is not queued at the host."""
        begun = [run for run in runs if run.submitted and not run.is_queued and not run.settled.is_set()]
        return begun[0] if len(begun) == 1 and not self._is_heard(begun[0]) else None

    def of(self, run: PromptRun) -> list[str]:
        """The turns that may be this prompt's, if it has been acknowledged under a name of which nothing was heard."""
        if not run.named.is_set() or run.is_queued or self._is_heard(run):
            return []
        return [turn_id for turn_id, heard_for in self._heard.items() if heard_for is run]

    def _is_heard(self, run: PromptRun) -> bool:
        return any(turn_id in self._heard for turn_id in run.turn_ids)
