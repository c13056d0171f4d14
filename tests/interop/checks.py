"""Named checks, run one after the other; one that fails does not keep the next from running."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import NamedTuple


class Check(NamedTuple):
    """What is promised, and what raises AssertionError if it is not so."""

    name: str
    run: Callable[[], None]


def run_checks(checks: list[Check], say: Callable[[str], None] = print) -> int:
    """Say one line per check and a last one with the counts; returns the number that failed."""
    failed = 0
    for check in checks:
        problem = _problem(check)
        failed += problem is not None
        say(f"ok    {check.name}" if problem is None else f"FAIL  {check.name}: {' '.join(problem.split())}")
    say(f"{len(checks) - failed} passed, {failed} failed")
    return failed


def expect(holds: bool, problem: str) -> None:
    """Raise AssertionError with `problem` unless it holds; `assert` is silent where pytest does not run."""
    if not holds:
        raise AssertionError(problem)


def expect_equal(what: str, found: object, wanted: object) -> None:
    """Raise AssertionError that tells both if they differ."""
    expect(found == wanted, f"{what} is {found!r}, not {wanted!r}")


def _problem(check: Check) -> str | None:
    try:
        check.run()
    except subprocess.TimeoutExpired as error:
        return f"took more than {error.timeout:g} s"
    except AssertionError as error:
        return str(error) or "an assertion failed"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None
