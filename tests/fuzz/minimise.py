"""`python -m tests.fuzz.minimise TARGET...`: take what `make fuzz` has found interesting into the corpus of a target.

As little of it as reaches the same steps from line to line, up to what fits there. Small inputs come first; those that
are there stay.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, Final

from tests.fuzz.environment import ROOT
from tests.fuzz.runs import CORPUS, WORK
from tests.fuzz.targets import TARGETS, target

FILES: Final = 40
BYTES: Final = 10 * 1024
"""What a target has at most after that; the seeds of some have more from the start, and get nothing."""

LONGEST: Final = 1500

Step = tuple[str, int, int]
OURS: Final = tuple(f"{ROOT / package}/" for package in ("adapter", "host_probe"))


def steps(one: Callable[[bytes], None], data: bytes) -> set[Step]:
    """From which line to which an input leads."""
    found: set[Step] = set()
    last: dict[int, int] = {}

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        name = frame.f_code.co_filename
        if not name.startswith(OURS):
            return None
        found.add((name, last.get(id(frame), 0) if event == "line" else 0, frame.f_lineno))
        last[id(frame)] = frame.f_lineno
        return trace

    sys.settrace(trace)
    try:
        one(data)
    finally:
        sys.settrace(None)
    return found


def minimise(name: str) -> int:
    """How many inputs were added."""
    one, corpus = target(name), CORPUS / name
    kept = [path.read_bytes() for path in corpus.iterdir()]
    reached = set[Step]().union(*(steps(one, data) for data in kept))
    room, added = BYTES - sum(map(len, kept)), 0
    found = {path.read_bytes() for path in (WORK / name).glob("*")} if (WORK / name).is_dir() else set()
    for data in sorted(found, key=lambda data: (len(data), data)):
        if len(data) > min(LONGEST, room) or len(kept) + added >= FILES:
            break
        more = steps(one, data) - reached
        if more:
            (corpus / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)
            reached |= more
            room, added = room - len(data), added + 1
    return added


def main(targets: Sequence[str]) -> int:
    """Each of the targets."""
    for name in targets or TARGETS:
        print(f"{name}: {minimise(name)} more inputs", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
