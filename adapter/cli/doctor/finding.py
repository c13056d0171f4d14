"""One check in the making: what is found is added sentence by sentence, and the worst of it is its status."""

from __future__ import annotations

import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Final

import anyio

from adapter.acp.text import one_line
from adapter.cli.doctor.report import Check, Status

WHY: Final[dict[str, str]] = {
    "executable": "The adapter drives the program muse, and on which one that is all else depends.",
    "version": "What has been verified depends on the version of Muse.",
    "surfaces": "Stored output is offered only on versions of Muse on which reading it has been verified.",
    "handshake": "Every session runs on a host like the one started for this, and only what it grants is used.",
    "login": "Without a login every prompt fails; Muse tells of it only then.",
    "sessionStore": "A host looks through its stored sessions when it starts, so many of them make every start slow.",
    "probeCache": "What is remembered of Muse saves asking it at every start of the adapter.",
    "environment": "Muse gets the environment of the adapter, and an editor's may differ from that of a terminal.",
    "terminal": "It tells those who read this report where it was made.",
    "leftovers": "A host without an adapter serves nobody, and may hold sessions that then cannot be opened.",
    "dependencies": "The adapter was tested with these ranges of versions only.",
}
"""The checks in the order in which they are shown, and why each matters."""

MAX_SENTENCE: Final = 2000

_WORST_FIRST: Final[tuple[Status, ...]] = ("fail", "warn", "pass", "skipped")


class Finding:
    """`facts` are for programs."""

    def __init__(self, check_id: str) -> None:
        self.id = check_id
        self.facts: dict[str, Any] = {}
        self._statuses: set[Status] = set()
        self._sentences: list[str] = []
        self._fixes: list[str] = []

    def good(self, sentence: str) -> None:
        """It is as it should be."""
        self._add("pass", sentence)

    def warn(self, sentence: str, fix: str) -> None:
        """It works, but not as well as it could."""
        self._add("warn", sentence, fix)

    def fail(self, sentence: str, fix: str) -> None:
        """It does not work."""
        self._add("fail", sentence, fix)

    def skip(self, sentence: str, fix: str | None = None) -> None:
        """It cannot be told."""
        self._add("skipped", sentence, fix)

    def check(self) -> Check:
        """The check that was made. Nothing found means that there is nothing wrong."""
        statuses = [one for one in _WORST_FIRST if one in self._statuses]
        return Check(
            id=self.id,
            status=statuses[0] if statuses else "pass",
            summary=" ".join(self._sentences),
            details={"why": WHY[self.id], **self.facts},
            fix=" ".join(self._fixes) or None,
        )

    def _add(self, status: Status, sentence: str, fix: str | None = None) -> None:
        self._statuses.add(status)
        # It may hold words of a host, or a file's name.
        self._sentences.append(one_line(sentence, MAX_SENTENCE))
        fix = one_line(fix, MAX_SENTENCE) if fix else None
        if fix and fix not in self._fixes:
            self._fixes.append(fix)


async def examine(check_id: str, seconds: float, look: Callable[[Finding], Awaitable[None]]) -> Check:
    """Make one check within `seconds`. If it breaks, or its time is up, it says so; nothing is raised."""
    finding = Finding(check_id)
    try:
        with anyio.fail_after(seconds):
            await look(finding)
    except TimeoutError:
        finding.skip(f"It took more than {seconds:g} s and was given up.")
    except Exception as error:
        # Not its words, which may hold anything that was looked at.
        sentence = f"The check itself broke ({_kind_and_place(error)})."
        finding.fail(sentence, "Report it as a fault of muse-adapter.")
    return finding.check()


def _kind_and_place(error: Exception) -> str:
    # What is in a group need not have been raised.
    while isinstance(error, ExceptionGroup) and error.exceptions[0].__traceback__ is not None:
        error = error.exceptions[0]
    *_, (frame, line) = traceback.walk_tb(error.__traceback__)
    return f"{type(error).__name__} in {frame.f_globals.get('__name__')}, line {line}"


def skipped(check_id: str, because_of: str) -> Check:
    """A check that could not be made, since another one failed."""
    finding = Finding(check_id)
    finding.facts["because"] = because_of
    finding.skip(f"Not looked at: it rests on {because_of}.")
    return finding.check()
