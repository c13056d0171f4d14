"""Prompts whose answers are known beforehand, by the scripts of the simulated host (`docs/simulated-host.md`)."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

DONE: Final = "It is done ✓"
LEFT: Final = "Then I leave it — as you wish."

_WORDS: Final = ("Grüße ✓ ", "naïve ", "東京 ", "plain ")


class Prompt(msgspec.Struct, frozen=True):
    """What is typed, and what may be said to it. `said` gives the whole answers that fit what the client decided:
    whether it allowed each thing it was asked for, in order. `kind` is what it counts as in the figures."""

    text: str
    kind: str
    said: Callable[[Sequence[bool]], set[str]]
    any_said: frozenset[str]
    """Every answer there can be; what is stopped is the beginning of one of them."""
    fails: bool = False


def prompt(chance: random.Random, token: str, version: str) -> Prompt:
    """Some prompt; `token` makes its text one that no other has."""
    make = chance.choices(*zip(*_KINDS, strict=True))[0]
    made: Prompt = make(chance, token)
    if version == "1.2.1" or made.kind != "outputs":
        return made
    return plain(chance, token)


def plain(chance: random.Random, token: str) -> Prompt:
    """The shortest turn."""
    first = f"note {token} — Grüße aus 東京"
    return _always(first, "short", f"You said: {first} — noted ✓", "and a second line")


def _always(first: str, kind: str, answer: str, second: str, *, fails: bool = False) -> Prompt:
    return Prompt(f"{first}\n{second}", kind, lambda decided: {answer}, frozenset({answer}), fails)


def _stream(chance: random.Random, token: str) -> Prompt:
    count, size = chance.choice(((50, 16), (400, 24), (3000, 40), (20, 9000)))
    texts = [word * (size // len(word.encode())) + "." * (size % len(word.encode())) for word in _WORDS]
    answer = "".join(texts[index % len(texts)] for index in range(count))
    return _always(f"stream {count} {size}", "streamed", answer, token)


def _slow(chance: random.Random, token: str) -> Prompt:
    seconds = chance.choice(("0.2", "0.5", "1.5"))
    return _always(f"slow {seconds}", "slow", "This takes a while… done ✓", token)


def _one_of(*rows: tuple[str, str]) -> Callable[[random.Random, str], Prompt]:
    def make(chance: random.Random, token: str) -> Prompt:
        first, answer = chance.choice(rows)
        return _always(first, "tools", answer, token)

    return make


def _shell(chance: random.Random, token: str) -> Prompt:
    size = chance.choice((300, 20_000, 150_000, 700_000))
    first = f"shell {chance.choice(('', 'binary '))}{size}"
    return _always(first, "outputs", f"The command wrote {size} bytes ✓", token)


def _gap(chance: random.Random, token: str) -> Prompt:
    lost = chance.randint(1, 3)
    middle = "".join(f"Lost on the way: {index} ✗" for index in range(lost))
    before, after = "Before the gap — ", "After the gap ✓"
    # A host tells of a gap after the next event, whose text is on screen then; a load shows all of it in order.
    either = frozenset({f"{before}{middle}{after}", f"{before}{after}{middle}"})
    return Prompt(f"gap {lost}\n{token}", "gaps", lambda decided: set(either), either)


def _fail(chance: random.Random, token: str) -> Prompt:
    return _always("fail modelError", "failing", "Let me see… hm —", token, fails=True)


def _approve(chance: random.Random, token: str) -> Prompt:
    first = chance.choice(("approve", "approve wide", "approve3", "approve child"))
    done = "The subagent has done it ✓" if first == "approve child" else DONE
    parts = 2 if first == "approve3" else 1

    def said(decided: Sequence[bool]) -> set[str]:
        return {done if len(decided) >= parts and all(decided) else LEFT}

    return Prompt(f"{first}\n{token}", "approvals", said, frozenset({done, LEFT}))


def _elsewhere(chance: random.Random, token: str) -> Prompt:
    both = frozenset({DONE, LEFT})
    return Prompt(f"approve elsewhere 0.2\n{token}", "approvals", lambda decided: set(both), both)


def _many(chance: random.Random, token: str) -> Prompt:
    count = chance.randint(2, 5)
    answers = [f"{made} of {count} parts are made." for made in range(count + 1)]
    return Prompt(f"many {count}\n{token}", "approvals", lambda decided: {answers[sum(decided)]}, frozenset(answers))


CHOSEN: Final = "The question was answered ✓ You chose: "
UNANSWERED: Final = "The question was cancelled ✓ I go on without an answer."


def _ask(chance: random.Random, token: str) -> Prompt:
    first, answer = chance.choice(
        (("ask", "Postgres; Backups"), ("ask two", "Postgres; Small"), ("ask multi", "Zürich, 東京"))
    )

    def said(decided: Sequence[bool]) -> set[str]:
        return {CHOSEN + answer if decided and decided[-1] else UNANSWERED}

    return Prompt(f"{first}\n{token}", "questions", said, frozenset({CHOSEN + answer, UNANSWERED}))


_tools = _one_of(
    ("think", "Having thought about it: yes ✓"),
    ("todo", "The plan is done ✓"),
    ("tool completed", "The search has completed."),
    ("tool failed", "The search has failed."),
    ("edit", "The greeting is complete ✓"),
    ("progress", "It is built ✓"),
    ("picture", "A sketch of a bridge ✓"),
    ("retry", "The second attempt worked ✓"),
    ("compaction", "Much shorter now ✓"),
    ("unknown", "Nothing of that is known ✓"),
    ("subagent", "The subagent found two failing tests ✗"),
    ("background 0.4", "The watcher goes on in the background ✓"),
    ("subagent 0.5", "The subagent is on its way ✓"),
)

_KINDS: Final = (
    (plain, 24),
    (_stream, 14),
    (_slow, 12),
    (_tools, 18),
    (_shell, 14),
    (_fail, 3),
    (_gap, 4),
    (_approve, 16),
    (_elsewhere, 3),
    (_many, 6),
    (_ask, 6),
)
