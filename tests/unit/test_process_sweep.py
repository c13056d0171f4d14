"""Which processes belong to a mark, and how they are ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapter.msp import sweep
from adapter.msp.process_mark import VARIABLE, next_mark
from adapter.msp.sweep import Family, Groups, Row
from tests.processes import wait_until

if not sweep.can_look():
    pytest.skip("marks are read where there is /proc", allow_module_level=True)

ADAPTER = f"4194305:{os.getpid()}"
"""No kernel gives such a pid to a process; the rest tells apart who runs these tests at once."""

MARK = f"{ADAPTER}:200"


@contextmanager
def sleeping(script: str = "exec sleep 600", mark: str = MARK) -> Iterator[tuple[int, int]]:
    """A marked shell in a session of its own, and the process that its first line names."""
    environ = {"PATH": os.environ["PATH"], VARIABLE: mark}
    process = subprocess.Popen(
        ["/bin/sh", "-c", f"echo $$; {script}"], env=environ, stdout=subprocess.PIPE, start_new_session=True
    )
    with process:
        assert process.stdout is not None
        try:
            yield process.pid, int(process.stdout.readline())
        finally:
            process.kill()


def test_a_host_and_an_adapter_are_told_apart_from_others() -> None:
    with sleeping() as (one, _), sleeping(mark=f"{ADAPTER}:201") as (two, _), sleeping(mark=f"{ADAPTER}1:200"):
        assert Family(MARK, {}).look() == [one]
        assert Family(ADAPTER, {}).look() == sorted([one, two])
        assert Family(ADAPTER[:-1], {}).look() == Family(ADAPTER[1:], {}).look() == []


def test_what_has_cleared_its_environment_is_found_by_its_parent_and_kept_after_that() -> None:
    script = "setsid sh -c 'env -i sh -c \"echo \\$\\$; exec sleep 600\"; true' & exec sleep 600"
    environ = {"PATH": os.environ["PATH"], VARIABLE: MARK}
    with subprocess.Popen(
        ["/bin/sh", "-c", script], env=environ, stdout=subprocess.PIPE, start_new_session=True
    ) as top:
        assert top.stdout is not None
        bare = int(top.stdout.readline())
        family = Family(MARK, {})
        try:
            assert bare in family.look() and len(family.look()) == 3
            row = sweep.row_of(bare)
            assert row is not None
            os.kill(row.parent, sweep.KILL)
            top.kill()
            top.wait()
            # One that is killed still runs for a moment.
            wait_until(lambda: family.look() == [bare])
        finally:
            os.kill(bare, sweep.KILL)


def test_what_this_runs_below_is_never_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "marks_of", lambda pid: [MARK])
    family = Family(MARK, {})
    found = family.look()
    assert not {os.getpid(), os.getppid()} & set(found)


def test_a_pid_that_is_used_again_is_not_signalled(monkeypatch: pytest.MonkeyPatch) -> None:
    with sleeping() as (pid, _):
        family = Family(MARK, {})
        assert family.look() == [pid]
        monkeypatch.setattr(sweep, "began_at", lambda pid: 1)
        family.signal(sweep.KILL)
        monkeypatch.undo()
        assert Family(MARK, {}).look() == [pid]


def pretend(monkeypatch: pytest.MonkeyPatch, rows: dict[int, Row], marked: int) -> None:
    """There are these processes, of which one is marked."""
    monkeypatch.setattr(sweep, "row_of", rows.get)
    monkeypatch.setattr(os, "listdir", lambda path: [*map(str, rows), "self", "meminfo"])
    monkeypatch.setattr(sweep, "marks_of", lambda pid: [MARK] if pid == marked else [])


def test_one_look_does_not_begin_while_another_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which nobody may wait for any more: what it had learnt would be changed under the other."""
    pretend(monkeypatch, {10: Row(1, 10, 7, False)}, marked=10)
    inside: list[threading.Event] = []
    together: list[bool] = []
    rows = sweep._table

    def slow() -> dict[int, Row]:
        met = threading.Event()
        inside.append(met)
        for other in inside:
            if other is not met:
                other.set()
        together.append(met.wait(0.3) or len(inside) > 1)
        inside.remove(met)
        return rows()

    monkeypatch.setattr(sweep, "_table", slow)
    family = Family(MARK, {})
    looks = [threading.Thread(target=family.look) for _ in range(2)]
    for look in looks:
        look.start()
    for look in looks:
        look.join()
    assert together == [False, False]
    assert family.look() == [10]


def test_session_0_is_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """That is how one shows whose leader is outside of the container."""
    pretend(monkeypatch, {10: Row(1, 0, 7, False), 11: Row(1, 0, 8, False)}, marked=10)
    assert Family(MARK, {}).look() == [10]


@pytest.mark.parametrize("itself", [10, 99], ids=["its own", "another one"])
def test_the_session_of_somebody_else_is_left_alone(monkeypatch: pytest.MonkeyPatch, itself: int) -> None:
    rows = {10: Row(1, 10, 5, False), 11: Row(1, 10, 7, False), 12: Row(1, 10, 8, False)}
    pretend(monkeypatch, rows, marked=12)
    monkeypatch.setattr(os, "getpid", lambda: itself)
    assert Family(MARK, {}).look() == [12]


@pytest.mark.parametrize("reaped", [True, False])
def test_a_session_whose_leader_has_ended_is_of_one_family(monkeypatch: pytest.MonkeyPatch, reaped: bool) -> None:
    rows = {11: Row(1, 10, 7, False), 12: Row(1, 10, 8, False)} | ({} if reaped else {10: Row(1, 10, 5, True)})
    pretend(monkeypatch, rows, marked=12)
    assert Family(MARK, {}).look() == [11, 12]


def test_what_is_in_a_session_that_was_told_of_is_found_without_a_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {10: Row(1, 10, 5, False), 11: Row(1, 10, 7, False), 12: Row(1, 12, 8, False)}
    pretend(monkeypatch, rows, marked=0)
    family = Family(MARK, {10: 5})
    assert family.look() == [10, 11]
    del rows[10]
    assert family.look() == [11]
    rows[13] = Row(11, 10, 9, False)
    del rows[11]
    rows[13] = Row(1, 10, 9, False)
    assert family.look() == [13], "that has come since, and what started it is gone"


@pytest.mark.parametrize("reaped", [True, False])
def test_a_session_that_was_told_of_is_found_when_its_leader_has_ended(
    monkeypatch: pytest.MonkeyPatch, reaped: bool
) -> None:
    pretend(monkeypatch, {11: Row(1, 10, 7, False)} | ({} if reaped else {10: Row(1, 10, 5, True)}), marked=0)
    assert Family(MARK, {10: 5}).look() == [11]


def test_a_number_that_was_told_of_and_is_used_again_is_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {10: Row(1, 10, 6, False), 11: Row(1, 10, 7, False)}
    pretend(monkeypatch, rows, marked=0)
    family = Family(MARK, {10: 5})
    assert family.look() == []
    del rows[10]
    assert family.look() == []


def test_a_session_in_which_nobody_is_left_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {10: Row(1, 10, 5, False)}
    pretend(monkeypatch, rows, marked=0)
    family = Family(MARK, {10: 5})
    assert family.look() == [10]
    rows.clear()
    assert family.look() == []
    rows[11] = Row(1, 10, 7, False)
    assert family.look() == []


def test_what_an_adapter_of_the_family_has_marked_belongs_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = {pid: Row(1, pid, pid * 2, False) for pid in (10, 11, 12, 13)}
    carried = {10: MARK, 11: "10:20:900", 12: "11:22:901", 13: "10:21:900"}
    pretend(monkeypatch, rows, marked=10)
    monkeypatch.setattr(sweep, "marks_of", lambda pid: [carried[pid]])
    family = Family(MARK, {})
    assert family.look() == [10, 11, 12]
    del rows[10], rows[11]
    assert family.look() == [12]
    rows[14], carried[14] = Row(1, 14, 28, False), "11:22:902"
    assert family.look() == [12, 14], "also when that adapter has ended"


def test_what_cannot_be_ended_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with sleeping() as (pid, _):

        def refuse(pid: int, signum: int) -> None:
            raise PermissionError

        monkeypatch.setattr(os, "kill", refuse)
        assert sweep.end(Family(MARK, {}), grace=0, term_grace=60, kill_seconds=60)
        monkeypatch.undo()
        assert Family(MARK, {}).look() == [pid]


@pytest.mark.parametrize("script", ["exec sleep 600", "trap '' TERM; sleep 600; true"], ids=["polite", "stubborn"])
@pytest.mark.parametrize("groups", [False, True], ids=["marks", "groups"])
def test_f4_each_step(script: str, groups: bool) -> None:
    with sleeping(script) as (pid, _):
        those = Groups({pid}) if groups else Family(MARK, {})
        assert pid in those.look()
        # Nobody has reaped it, and a group of the dead is still one.
        assert sweep.end(those, grace=0, term_grace=0.2, kill_seconds=0.2) is not groups
        row = sweep.row_of(pid)
        assert row is not None and row.ended


def test_what_cannot_be_seen_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = iter([None, [7], None, []])
    signals: list[int] = []

    class Hidden(Groups):
        def look(self) -> list[int]:
            seen = next(looks)
            if seen is None:
                raise OSError(23, "Too many open files in system")
            return seen

        def signal(self, signum: int) -> None:
            signals.append(signum)

    monkeypatch.setattr(sweep, "POLL", 0.0)
    assert sweep.end(Hidden(set()), grace=0.0, term_grace=60.0, kill_seconds=0.0)
    assert signals == [signal.SIGTERM]


def test_each_mark_is_another_one() -> None:
    marks = [next_mark() for _ in range(20)]
    assert len(set(marks)) == 20 and None not in marks


def test_it_runs_without_any_package(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", sweep.__file__, MARK],
        input="+4194305:7\n-4194305:7\nnothing\n",
        cwd=tmp_path,
        env={},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
