"""Which marked processes are left over, and which belong to somebody."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from adapter.cli.doctor import leftovers
from adapter.cli.doctor.finding import Finding
from adapter.cli.doctor.leftovers import Marked, look_for_leftovers, marked_processes, sort_out
from adapter.cli.doctor.report import Check
from adapter.msp.host_command import HostCommand
from adapter.msp.process import HostProcess
from adapter.msp.process_mark import VARIABLE, Mark, ticks_a_second, ticks_now, with_mark
from adapter.msp.sweep import PROC, began_at

if not PROC.exists():
    pytest.skip("marks are read where there is /proc", allow_module_level=True)

SECOND = ticks_a_second()
NOW = 10_000 * SECOND
GONE = Mark(adapter=2**22 + 1, adapter_began=100, spawned=200)
"""No kernel gives such a pid to a process."""


def living() -> Mark:
    began = began_at(os.getpid())
    assert began is not None
    return Mark(os.getpid(), began, 200)


def process(
    pid: int, mark: Mark = GONE, late: float = 0.0, session: int | None = None, ours: bool | None = None
) -> Marked:
    """What begins at once is as an adapter starts it, unless something else is said."""
    began = mark.spawned + round(late * SECOND)
    return Marked(pid, began, mark, pid if session is None else session, late == 0 if ours is None else ours)


def test_a_host_whose_adapter_is_gone_is_left_over_and_so_is_what_it_started() -> None:
    hosts, strays = sort_out([process(11), process(12, late=60), process(13, late=9)], NOW)

    assert [(host.pids, host.children) for host in hosts] == [((11,), (12, 13))]
    assert hosts[0].seconds == pytest.approx((NOW - 200) / SECOND)
    assert strays == []


def test_a_launcher_and_the_host_it_started_are_one() -> None:
    hosts, _ = sort_out([process(11), process(12, late=0.5, session=11, ours=True)], NOW)
    assert [host.pids for host in hosts] == [(11, 12)]


def test_what_a_host_started_at_once_is_none_itself() -> None:
    daemon, helper = process(12, late=0.1), process(13, late=0.2, session=11)
    hosts, strays = sort_out([process(11), daemon, helper], NOW)
    assert [(host.pids, host.children) for host in hosts] == [((11,), (12, 13))]
    assert strays == []


def test_a_daemon_that_outlived_its_host_is_told_and_is_no_host() -> None:
    assert sort_out([process(12, late=0.1)], NOW) == ([], [12])


def test_what_leads_no_session_was_not_started_by_an_adapter() -> None:
    assert sort_out([process(11, session=7)], NOW) == ([], [11])


def test_the_shell_that_this_runs_below_is_never_named() -> None:
    assert sort_out([process(os.getppid(), ours=False)], NOW) == ([], [])


def test_what_belongs_to_a_living_adapter_is_left_alone() -> None:
    assert sort_out([process(11, living()), process(12, living(), late=60)], NOW) == ([], [])


def test_an_adapter_whose_pid_is_used_again_is_gone() -> None:
    mark = Mark(os.getpid(), living().adapter_began - 1, 200)
    hosts, _ = sort_out([process(11, mark)], NOW)
    assert [host.pids for host in hosts] == [(11,)]


def test_an_adapter_below_a_host_that_is_left_over_is_none_itself() -> None:
    family = [process(11), process(os.getpid(), late=60), process(12, late=70)]
    hosts, strays = sort_out([*family, process(31, living())], NOW)
    assert [(host.pids, host.children) for host in hosts] == [((11,), (12,))]
    assert strays == []


def test_what_outlived_even_the_host_is_no_host() -> None:
    assert sort_out([process(12, late=60)], NOW) == ([], [12])


def test_hosts_of_one_adapter_are_told_apart_and_the_oldest_comes_first() -> None:
    later = Mark(GONE.adapter, GONE.adapter_began, GONE.spawned + 500 * SECOND)
    hosts, _ = sort_out([process(21, later), process(11)], NOW)
    assert [host.pids for host in hosts] == [(11,), (21,)]


def looked(monkeypatch: pytest.MonkeyPatch, *processes: Marked) -> Check:
    monkeypatch.setattr(leftovers, "marked_processes", lambda: list(processes))
    finding = Finding("leftovers")
    look_for_leftovers(finding)
    return finding.check()


def test_a_host_that_is_left_over_is_a_warning_that_says_what_to_end(monkeypatch: pytest.MonkeyPatch) -> None:
    check = looked(monkeypatch, process(11), process(12, late=60))

    assert check.status == "warn"
    assert "pid 11, with 1 that it started" in check.summary
    assert check.fix is not None and "kill 11;" in check.fix
    assert check.details["hosts"][0]["pids"] == (11,)


def test_none_is_as_it_should_be(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looked(monkeypatch).status == "pass"


def test_processes_of_tools_are_told_and_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    check = looked(monkeypatch, process(12, late=60))
    assert (check.status, check.details["strays"]) == ("pass", [12])


def test_without_proc_it_is_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: os.PathLike[str]) -> None:
    monkeypatch.setattr(leftovers, "PROC", tmp_path)
    finding = Finding("leftovers")
    look_for_leftovers(finding)
    assert finding.check().status == "skipped"


# -- the mark


@pytest.mark.parametrize("text", ["", "1", "1:2", "1:2:x", "1:2:3:4", "-1:2:3", " 1:2:3", "1" * 99 + ":2:3"])
def test_what_is_no_mark_is_none(text: str) -> None:
    assert Mark.read(text) is None


def test_a_mark_names_this_process_and_now() -> None:
    mark = Mark.read(with_mark({})[VARIABLE])

    assert mark is not None
    assert (mark.adapter, mark.adapter_began) == (os.getpid(), began_at(os.getpid()))
    assert 0 <= ticks_now() - mark.spawned < 60 * SECOND


@pytest.mark.anyio
async def test_what_is_started_of_muse_carries_the_mark_of_who_started_it_last() -> None:
    inherited = {**os.environ, VARIABLE: str(GONE)}
    show = f"import os; print(os.environ[{VARIABLE!r}], flush=True); input()"
    host = HostProcess.spawn(HostCommand([sys.executable, "-c", show], inherited))
    try:
        said = await host.stdout.receive()
        mark = Mark.read(said.decode().strip())
        assert mark is not None and mark.adapter == os.getpid()
        assert [one.mark for one in marked_processes() if one.pid == host.pid] == [mark]
    finally:
        await host.end(0)
        host.close_pipes()


def test_a_process_that_has_ended_and_is_not_reaped_is_gone() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    with child:
        assert began_at(child.pid) is not None
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert (PROC / str(child.pid)).exists(), "it is still there"
        assert began_at(child.pid) is None


@pytest.mark.parametrize("arguments", [["serve"], ["--version"], ["serve", "--help"]])
def test_whatever_an_adapter_starts_of_muse_is_known_by_its_arguments(arguments: list[str]) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()", *arguments],
        env={**os.environ, VARIABLE: str(GONE)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        (found,) = [one for one in marked_processes() if one.pid == child.pid]
        assert (found.session, found.ours) == (child.pid, True)
        child.kill()


def test_a_process_with_a_foreign_value_is_not_marked() -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        env={**os.environ, VARIABLE: "yes"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        assert child.pid not in {one.pid for one in marked_processes()}
        child.kill()
