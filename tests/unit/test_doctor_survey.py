"""All checks together: what breaks or hangs does not keep the others from being made."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest

from adapter.bridge.hosts.host_choice import HostChoice, host_environment
from adapter.cli.doctor import survey as module
from adapter.cli.doctor.finding import WHY, Finding
from adapter.cli.doctor.report import Check
from adapter.cli.doctor.survey import Found, survey
from adapter.cli.doctor.threads import beside
from adapter.wire.background import Background


async def surveyed(home: Path, muse: str, **more: str) -> tuple[Found, dict[str, Check]]:
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), **more}
    choice = HostChoice(environ=host_environment(environ), home=home, muse=muse)
    async with anyio.create_task_group() as tasks:
        found = await survey(choice, environ, Background(tasks, logging.getLogger("tests")))
        tasks.cancel_scope.cancel()
    return found, {check.id: check for check in found.checks}


@pytest.mark.anyio
async def test_a_host_is_told_with_what_it_can_do(tmp_path: Path) -> None:
    found, checks = await surveyed(tmp_path, "simulated:1.3.0")

    assert list(checks) == list(WHY)
    assert found.host.version == "1.3.0"
    assert found.facts.problem is None and found.facts.handshake is not None
    assert found.facts.abilities is not None and "session/fork" in found.facts.abilities.methods
    assert "simulated" in found.facts.last_words


@pytest.mark.anyio
async def test_without_a_host_the_facts_say_why(tmp_path: Path) -> None:
    found, checks = await surveyed(tmp_path, str(tmp_path / "missing"))

    assert found.facts.command == () and found.facts.handshake is None
    assert found.facts.problem == checks["executable"].summary


def breaking(finding: Finding, *_rest: object, **_more: object) -> None:
    raise ValueError("broken on purpose")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("function", "check_id", "rests"),
    [
        ("judge_environment", "environment", set()),
        ("look_for", "executable", {"version", "surfaces", "handshake", "login", "sessionStore"}),
        ("judge_version", "version", set()),
        ("judge_handshake", "handshake", set()),
        ("judge_session_store", "sessionStore", set()),
        ("judge_cache", "probeCache", set()),
    ],
)
async def test_a_check_that_breaks_fails_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, check_id: str, rests: set[str]
) -> None:
    monkeypatch.setattr(module, function, breaking)

    _, checks = await surveyed(tmp_path, "simulated")

    assert list(checks) == list(WHY)
    assert {name for name, check in checks.items() if check.status == "fail"} == {check_id}
    assert f"The check itself broke (ValueError in {__name__}, line" in checks[check_id].summary
    assert {name for name, check in checks.items() if "because" in check.details} == rests


@pytest.mark.anyio
async def test_a_look_that_never_comes_back_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = threading.Event()
    monkeypatch.setattr(module, "LOOK_SECONDS", 0.5)
    monkeypatch.setattr(module, "look_for_leftovers", lambda finding: gate.wait(60))
    try:
        _, checks = await surveyed(tmp_path, str(tmp_path / "missing"))
    finally:
        gate.set()
    assert checks["leftovers"].status == "skipped" and "given up" in checks["leftovers"].summary
    assert checks["environment"].status == "pass"


@pytest.mark.anyio
async def test_what_work_beside_raises_is_raised() -> None:
    with pytest.raises(ValueError, match="on purpose"):
        await beside(lambda: breaking(Finding("terminal")))


def test_a_look_that_never_comes_back_does_not_keep_the_program_from_ending() -> None:
    program = (
        "import anyio, time\n"
        "from adapter.cli.doctor.finding import examine\n"
        "from adapter.cli.doctor.threads import beside\n"
        "async def look(finding): await beside(lambda: time.sleep(600))\n"
        "print(anyio.run(examine, 'terminal', 0.1, look).status)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("skipped\n", "")
