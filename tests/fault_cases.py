"""Small inputs that broke programs like this one, by id: what happened to whom, and which tests show that it does not
happen here.

A test shows a case by its name: `test_j5_…`, or `test_d5_d6_…` for several. A case without a test needs a reason.
`python -m tests.fault_cases` runs them all and counts; with `--write` the counts go to `docs/reliability.md`.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from tests.reliability import Figures

ROOT: Final = Path(__file__).resolve().parents[1]
TESTS: Final = ROOT / "tests"
SECONDS: Final = 1800

GROUPS: Final = {
    "A": "Framing and message size",
    "B": "Text encoding",
    "C": "stdout purity, stderr draining",
    "D": "JSON-RPC envelope",
    "E": "A peer dies or closes",
    "F": "Processes",
    "G": "Cancel",
    "H": "The end of a turn",
    "I": "Permissions",
    "J": "Tool calls",
    "K": "Doubled or missing text",
    "L": "Sessions",
    "M": "Several at once",
    "N": "Launch, environment, paths",
    "O": "Capabilities and schema",
    "P": "Growth and load",
    "Q": "Secrets and texts of errors",
}

CASES: Final[dict[str, tuple[int, str]]] = {
    "A1": (1, "a line longer than a reader's default buffer"),
    "A2": (2, "a line that never ends"),
    "A3": (1, "one message in many reads, many messages in one"),
    "A4": (1, "bytes of two writers mixed on one pipe"),
    "B1": (2, "a character cut by two reads"),
    "B2": (1, "one invalid byte ends the process"),
    "B3": (1, "half a surrogate pair"),
    "B4": (2, "LF that became CRLF"),
    "B5": (1, "a byte order mark swallows the first message"),
    "B6": (2, "NaN and infinity on the wire"),
    "C1": (1, "a library writes to stdout"),
    "C2": (1, "words of a first run on stdout"),
    "C3": (2, "noise of a launcher between frames"),
    "C4": (1, "nobody reads the host's stderr, so it stops"),
    "D1": (2, "an id changes its type"),
    "D2": (2, "ids that are none are taken"),
    "D3": (2, "a notification is answered"),
    "D4": (1, "an unknown request is never answered"),
    "D5": (2, "every failure has the same code"),
    "D6": (1, "one odd line ends everything"),
    "D7": (2, "a batch gets silence"),
    "E1": (1, "the end of the host's output leaves callers waiting"),
    "E2": (1, "a host is killed, and the prompt hangs"),
    "E3": (1, "a host exits at once with a code"),
    "E4": (1, "writing to a host that is gone"),
    "E5": (1, "a client that no longer reads makes an endless loop"),
    "E6": (2, "answers are dropped when the input ends first"),
    "E7": (1, "the editor goes while a tool runs, and the call stays open in store"),
    "F1": (1, "the process stays when stdin is closed"),
    "F2": (1, "only the direct child is ended"),
    "F3": (1, "each load starts one more child"),
    "F4": (1, "a child that ignores polite requests"),
    "F5": (2, "zombies pile up"),
    "F6": (1, "Windows: trees of helpers are never ended"),
    "F7": (2, "Ctrl-C hits the child as well"),
    "F8": (2, "it exits although stdin is open"),
    "G1": (1, "a cancel right behind its prompt hangs"),
    "G2": (2, "a cancelled turn answers twice"),
    "G3": (2, "a cancelled turn is told as a normal end"),
    "G4": (1, "a cancel waits for the turn it should stop"),
    "G5": (1, "the host refuses the interrupt"),
    "G6": (1, "a stop wedges the session"),
    "G7": (2, "taking back a request and closing do not reach the turn"),
    "G8": (1, "a cancel in the preparation, and the turn starts all the same"),
    "G9": (2, "late events of a cancelled turn show up in the next one"),
    "H1": (1, "updates behind the answer"),
    "H2": (2, "a limit is told as an error, or as a normal end"),
    "H3": (1, "a failed turn is told as a good one"),
    "H4": (1, "a stop reason nobody knows"),
    "H5": (3, "text outside of turns"),
    "H6": (1, "the end of another turn ends this one"),
    "H7": (1, "events before the acknowledgement, or under another id"),
    "I1": (1, "the second stage of an approval is never asked"),
    "I2": (1, "approvals of subagents are dropped"),
    "I3": (1, "a refusal becomes the first option"),
    "I4": (2, "a client that cannot answer permission requests"),
    "I5": (1, "an approval outlives the cancel"),
    "I6": (2, "a permission for a call nobody has seen"),
    "I7": (1, "a friendly description in the place of the command"),
    "I8": (1, "a question is answered with nothing"),
    "I9": (2, "refusing one call stops its neighbours"),
    "I10": (2, "an option of no standard kind"),
    "J1": (2, "calls that never end"),
    "J2": (2, "an update without a start"),
    "J3": (2, "the last update wipes what was shown"),
    "J4": (2, "an exit status is lost, or read too much into"),
    "J5": (2, "edits shown as raw JSON"),
    "J6": (2, "long output is cut without a word"),
    "J7": (2, "a subagent's traffic shown as the parent's"),
    "J8": (2, "the same call id again"),
    "K1": (2, "an answer shown twice"),
    "K2": (2, "the user's own prompt comes back"),
    "K3": (1, "the tail of an answer is missing"),
    "K4": (2, "a late, empty start wipes or repeats text"),
    "K5": (3, "two answers run together"),
    "L1": (2, "loading shows nothing"),
    "L2": (2, "an unknown session is a general error"),
    "L3": (1, "a lost session is told as success"),
    "L4": (2, "ends of calls that were never announced"),
    "L5": (2, "dead calls replayed as running"),
    "L6": (2, "filtered after it was paged"),
    "L7": (2, "folders compared as text"),
    "L8": (1, "the first prompt after loading gives nothing"),
    "L9": (1, "ids of a dead host are kept"),
    "L10": (2, "the host ignores the model it said it would use"),
    "L11": (2, "resuming while the host is busy"),
    "L12": (3, "resuming tells the default mode"),
    "M1": (1, "two prompts in one session"),
    "M2": (1, "one open dialog stops all sessions"),
    "M3": (1, "MCP servers of another session"),
    "M4": (1, "a question of the host before its answer"),
    "M5": (1, "notifications during a call"),
    "N1": (1, "a host without HOME and PATH"),
    "N2": (2, "an editor with a short PATH"),
    "N3": (2, "a folder that is missing blames the binary"),
    "N4": (2, "a relative folder"),
    "N5": (2, "a folder behind a link"),
    "N6": (1, "Windows: scripts, backslashes, quotes"),
    "N7": (1, "marks of another agent's run are inherited"),
    "N8": (2, "asking for the version blocks or misleads"),
    "N9": (2, "a host newer than any that was tested"),
    "N10": (1, "a child that never shakes hands"),
    "N11": (2, "`initialize` waits for a slow start"),
    "N12": (1, "without a login a new session hangs"),
    "N13": (2, "Windows: a console cannot be read"),
    "N14": (2, "line numbers that are off by one"),
    "O1": (1, "an answer to `initialize` that the schema forbids"),
    "O2": (2, "negotiating the version"),
    "O3": (1, "an unknown event or value fails the turn"),
    "O4": (2, "the client's MCP servers are ignored"),
    "O5": (2, "pictures are dropped"),
    "O6": (2, "modes nobody offered are set"),
    "O7": (1, "methods the client did not offer are called"),
    "O8": (2, "a login that ran out is an internal error"),
    "O9": (2, "the code for logins is used for something else"),
    "P1": (1, "the whole output again with every piece"),
    "P2": (2, "sessions are never forgotten"),
    "P3": (1, "bursts that the client cannot take"),
    "Q1": (2, "nothing but `internal error`"),
    "Q2": (1, "the environment in the log"),
    "Q3": (1, "the child gets whatever the parent has"),
    "Q4": (2, "a key on the command line"),
}
"""How bad it was (1: a hang, a crash, data lost, wrong consent, a leak; 2: wrong or misleading; 3: a nuisance), and
what happened."""

REASONS: Final[dict[str, str]] = {
    "F6": "There has been no Windows to run it on. A host there sees the end of its input whatever becomes of the "
    "adapter, and ends by that, or by TerminateProcess; there is no job object, so what it started itself is left to "
    "it, which docs/install.md says",
    "N6": "There has been no Windows to run it on. What could be injected is kept small instead: the arguments of a "
    "host are constants of the adapter, nothing of a client or a session stands among them (shown for Q4), and a path "
    "is handed on as it was given, as one argument and to no shell of ours",
    "N13": "There has been no Windows to run it on. What fails in the case is avoided instead: stdin, stdout and the "
    "pipes of a host are read and written there in threads by `os.read` and `os.write`, which take a console as well, "
    "and no event loop is asked to watch them",
}
"""Why a case has no test."""

_NAME: Final = re.compile(r"test_((?:[a-q]\d{1,2}_)+)")


def ids_in(name: str) -> list[str]:
    """The cases that a test of this name shows."""
    found = _NAME.match(name)
    return found[1].upper().split("_")[:-1] if found else []


def shown_in(path: Path) -> Iterator[tuple[str, str]]:
    """The cases that tests of a file show, with the tests' places as pytest takes them."""
    where = path.relative_to(TESTS.parent).as_posix()
    for node in ast.parse(path.read_text("utf-8")).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        for test in inside:
            if isinstance(test, ast.FunctionDef | ast.AsyncFunctionDef):
                place = (
                    f"{where}::{node.name}::{test.name}" if isinstance(node, ast.ClassDef) else f"{where}::{test.name}"
                )
                yield from ((case, place) for case in ids_in(test.name))


def shown() -> dict[str, list[str]]:
    """The tests of each case that has any."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for path in sorted(TESTS.rglob("test_*.py")):
        for case, test in shown_in(path):
            found[case].append(test)
    return dict(found)


def run(places: list[str], junit: Path) -> int:
    """Run tests; the exit code of pytest."""
    command = [sys.executable, "-m", "pytest", "-n", "2", "-p", "no:cacheprovider", f"--junitxml={junit}"]
    return subprocess.run([*command, *places], cwd=ROOT, timeout=SECONDS, check=False).returncode


def passed(junit: Path) -> set[str]:
    """The cases of which a test passed: one that was skipped shows nothing."""
    return {
        case
        for test in ElementTree.parse(junit).iter("testcase")
        if not {child.tag for child in test} & {"failure", "error", "skipped"}
        for case in ids_in(test.get("name", ""))
    }


def counted(junit: Path) -> dict[str, Counter[str]]:
    """What became of the tests of each group: `ran`, `passed`, `skipped`. A test of two groups counts in both."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for test in ElementTree.parse(junit).iter("testcase"):
        ends = {child.tag for child in test}
        end = "failed" if ends & {"failure", "error"} else "skipped" if "skipped" in ends else "passed"
        for group in {case[0] for case in ids_in(test.get("name", ""))}:
            counts[group].update(["ran", end])
    return dict(counts)


def figures(counts: dict[str, Counter[str]]) -> Figures:
    """The counts for the page."""
    rows = []
    for group, title in GROUPS.items():
        cases, ended = [case for case in CASES if case[0] == group], counts.get(group, Counter())
        reasons = ", ".join(case for case in cases if case in REASONS) or "none"
        rows.append([title, str(len(cases)), str(ended["ran"]), str(ended["passed"]), reasons])
    untested = " ".join(f"{case}, {CASES[case][1]}: {reason}." for case, reason in REASONS.items())
    return Figures(
        title="Faults of others, case by case",
        command="make cases",
        told=f"{len(CASES)} small inputs that broke programs of this kind in public, each as tests of its name "
        "(`tests/fault_cases.py`). A test runs once for each of its parameters; of each case one at least has passed.",
        columns=["kind", "cases", "tests run", "passed", "without a test"],
        rows=rows,
        after=untested,
    )


def main() -> int:
    tests = shown()
    missing = [case for case in CASES if case not in tests and case not in REASONS]
    with tempfile.TemporaryDirectory() as directory:
        junit = Path(directory, "junit.xml")
        code = run(sorted({place for places in tests.values() for place in places}), junit)
        made = figures(counted(junit))
        unshown = [case for case in CASES if case in tests and case not in passed(junit)]
    for row in [made.columns, *made.rows]:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, (32, 6, 10, 8, 1), strict=True)))
    if missing:
        print(f"neither a test nor a reason: {', '.join(missing)}")
    if unshown:
        print(f"no test of it has passed: {', '.join(unshown)}")
    if code or missing or unshown:
        return 1
    if "--write" in sys.argv[1:]:
        made.keep("cases")
    return 0


if __name__ == "__main__":
    sys.exit(main())
