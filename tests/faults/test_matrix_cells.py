"""The matrix of faults in small: cells spread over all of it, and every cell that has ever failed."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path
from typing import Final

import pytest

import adapter
from adapter.msp.vocabulary import METHODS
from tests.faults.matrix import cell, left, limits, registry, run
from tests.faults.matrix.__main__ import main
from tests.faults.matrix.broken import BROKEN, broken
from tests.faults.matrix.ever_failed import EVER_FAILED
from tests.faults.matrix.fault import Fault
from tests.faults.matrix.phases import PHASES
from tests.faults.matrix.run import held_when_idle
from tests.faults.matrix.tampering import ACTIONS

posix = pytest.mark.skipif(os.name != "posix", reason="the stand-ins are scripts, and processes are looked at in /proc")

SAMPLE: Final = (
    "start:endless",
    "reject:killed-late",
    "prompt:half-then-killed",
    "tell-item-completed:gap",
    "cancel:swallows",
    "decide:nobody",
    "load:client-takes-back",
    "set-effort:after-the-next",
    "set-model:muse-vanishes",
    "form-error:twice",
    "closed:exit-0",
    "shutdown-turn:stops-reading",
)


def _cell(name: str) -> None:
    phase, _, fault = name.partition(":")
    wanted = [each for each in registry.cells() if (each[0].name, each[1].name) == (phase, fault)]
    assert len(wanted) == 1, name
    try:
        registry.run(*wanted[0])
    except cell.Wrong:
        # As the command does: its limits of time are short, and other tests run beside it.
        registry.run(*wanted[0])


@posix
@pytest.mark.parametrize("name", SAMPLE)
def test_a_cell_of_the_matrix(name: str) -> None:
    _cell(name)


@posix
@pytest.mark.parametrize("name", EVER_FAILED)
def test_a_cell_that_has_failed_before(name: str) -> None:
    _cell(name)


NOTICED: Final = {
    "allows": ("reject:twice", "was not selected"),
    "answers-no-host": ("list:unknown-request", "'colour' was not answered"),
    "loses-text": ("close:twice", "says ''"),
    "slow": ("close:twice", "the answer may take"),
    "descriptors": ("close:twice", "an idle adapter holds"),
    "task": ("close:twice", "tasks have not ended"),
    "process": ("close:twice", "processes of the adapter are left"),
    "file": ("close:twice", "files are left: ['left']"),
    "environment": ("close:twice", "a secret stands in ['stderr']"),
}
"""By how an adapter is broken (`broken.BROKEN`): a cell that notices, and by what."""


@posix
@pytest.mark.parametrize("name", BROKEN)
def test_a_cell_notices_an_adapter_that_is_broken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, what = NOTICED[name]
    held_when_idle()
    monkeypatch.setattr(cell, "HURRY", broken(name, cell.HURRY))
    monkeypatch.setattr(left, "GONE_SECONDS", 1.0)
    monkeypatch.setattr(run, "SETTLE_SECONDS", 1.0)
    monkeypatch.setattr(limits, "slowness", lambda: 1.0)
    with pytest.raises(AssertionError) as noticed:
        _cell(where)
    assert what in str(noticed.value)


def test_a_cell_that_does_not_exist_is_not_passed_over(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["matrix", "--only", "start:exit-0", "--only", "nosuch:thing"])
    assert main() == 2
    assert capsys.readouterr().out == "there is no such cell: nosuch:thing; see --list\n"


def test_the_phases_are_about_every_call_that_the_adapter_makes() -> None:
    """As far as its source names them: whatever stands there as a text and is the name of a method."""
    folder = Path(adapter.__file__).parent
    named = set()
    for path in [*(folder / "msp").rglob("*.py"), *(folder / "bridge").rglob("*.py")]:
        if path.name != "vocabulary.py":
            texts = [node.value for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Constant)]
            named |= {text for text in texts if isinstance(text, str)} & METHODS.keys()
    assert named > {"initialize", "turn/start"}
    assert sorted(named - {phase.method for phase in PHASES}) == []


def test_every_action_is_used_and_every_name_is_one() -> None:
    used = {fault.action for fault in registry.FAULTS if isinstance(fault, Fault)}
    assert used <= ACTIONS.keys() and ACTIONS.keys() - used <= {"goes-on"}
    for things in (PHASES, registry.FAULTS):
        names = [each.name for each in things]
        assert len(names) == len(set(names))
