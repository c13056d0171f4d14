"""The rules of the design, each broken on purpose in several ways, and the tests that notice.

A row says what the adapter would do wrong, the text of the code that keeps it from it, and what stands there instead.
`text` occurs once in its file; a test asks for that, so that a row cannot outlive the code it is about.
"""

from __future__ import annotations

from typing import Final, NamedTuple

RULES: Final[dict[int, str]] = {
    1: "stdout belongs to the writer; logging never blocks",
    2: "one writer for each pipe, in order, nothing held back",
    3: "everything is bounded, and a bound says so",
    4: "every request gets exactly one answer",
    5: "nothing is answered twice, no notification ever",
    6: "ids keep their type; ids of sessions and the like are opaque",
    7: "commands carry an id, kept across the few retries",
    8: "an acknowledgement is no outcome",
    9: "what is not known does no harm; what is sent is strict",
    10: "codes do not cross from one protocol to the other",
    11: "consent is never invented",
    12: "a read changes nothing",
    13: "secrets stay out",
    14: "every process that is started is ended",
}


class Broken(NamedTuple):
    """One way to break a rule. `test` is a place as pytest takes it, from `tests/` on."""

    rule: int
    told: str
    file: str
    text: str
    instead: str
    test: str
