"""When stored output is offered: the client asked, and the executable says it is the proven release. Real scripts, on
both event loops."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapter.bridge.hosts.host_choice import HostChoice
from adapter.bridge.stored_output import negotiation
from adapter.bridge.stored_output.negotiation import Negotiation, negotiate
from host_probe import VERSION_TIMEOUT, VersionCache, probe_version

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts"),
]

ADVERTISED = {"muse/output": {"version": 1, "method": "_muse/readOutput", "maxLengthBytes": 1_048_576}}

Choose = Callable[[str], HostChoice]


@pytest.fixture
def choose(tmp_path: Path) -> Choose:
    """Writes the `muse` whose body is given, and chooses it."""

    def choice(body: str) -> HostChoice:
        path = tmp_path / "muse"
        path.write_text(f"#!/bin/sh\necho run >> {tmp_path}/runs\n{body}\n")
        path.chmod(0o755)
        return HostChoice({"PATH": os.environ.get("PATH", "/usr/bin:/bin")}, tmp_path, str(path))

    return choice


def runs(tmp_path: Path) -> int:
    path = tmp_path / "runs"
    return path.read_text().count("run\n") if path.exists() else 0


def says(version: str) -> str:
    return f"echo 'Muse Code {version}'"


def refusal(settled: Negotiation) -> tuple[int, dict[str, Any]]:
    error = settled.refusal()
    assert error is not None
    assert error.data is not None
    return error.code, {name: value for name, value in error.data.items() if name != "details"}


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("1.2.1", "1.2.1"),
        ("1.2.1 (1.2.1-R2847.1)", "1.2.1-R2847.1"),
        ("1.2.1 (1.2.1-R1)", "1.2.1-R1"),
        ("(1.2.1-R99999.12.3)", "1.2.1-R99999.12.3"),
    ],
)
async def test_the_proven_release_is_offered_whatever_its_build(choose: Choose, line: str, version: str) -> None:
    settled = await negotiate(True, choose(says(line)), None)
    assert (settled.asked, settled.offered, settled.host_version) == (True, True, version)
    assert settled.meta() == ADVERTISED
    assert settled.refusal() is None


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("1.1.1 (1.1.1-R2514.1)", "1.1.1-R2514.1"),
        ("1.2.0", "1.2.0"),
        ("1.2.10", "1.2.10"),
        ("1.2.2", "1.2.2"),
        ("1.3.0 (1.3.0-R3401.1)", "1.3.0-R3401.1"),
        ("1.4.13", "1.4.13"),
        ("11.2.1", "11.2.1"),
        ("1.2.1x", None),
        ("1.2.1-beta", None),
        ("1.2.1.4", None),
        ("v-unknown", None),
        ("", None),
    ],
)
async def test_no_other_version_is_offered(choose: Choose, line: str, version: str | None) -> None:
    settled = await negotiate(True, choose(says(line)), None)
    assert (settled.asked, settled.offered, settled.host_version) == (True, False, version)
    assert settled.meta() is None
    assert refusal(settled) == (-32601, {"reason": "outputNotAdvertised", "hostVersion": version})


@pytest.mark.parametrize(
    "body",
    ["exit 0", "exit 3", "kill -9 $$", "printf '\\377\\376\\000'", "echo 1.2.1 >/dev/null", "echo 1.2.1; echo 1.3.0"],
)
async def test_what_cannot_be_read_is_not_offered(choose: Choose, body: str) -> None:
    settled = await negotiate(True, choose(body), None)
    assert (settled.offered, settled.host_version) == (False, None)
    assert settled.meta() is None


async def test_a_host_that_takes_too_long_is_not_offered(choose: Choose, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(negotiation, "probe_version", partial(probe_version, timeout=0.3))
    settled = await negotiate(True, choose("echo 'Muse Code 1.2.1'\nexec sleep 600"), None)
    assert (settled.offered, settled.host_version) == (False, None)
    assert "0.3 s" in settled.reason
    assert VERSION_TIMEOUT == 5.0


async def test_a_missing_executable_is_not_offered_and_says_what_was_tried(tmp_path: Path) -> None:
    settled = await negotiate(True, HostChoice({}, tmp_path, str(tmp_path / "no-muse")), None)
    assert (settled.asked, settled.offered, settled.host_version) == (True, False, None)
    assert "no-muse" in settled.reason
    assert refusal(settled)[1]["reason"] == "outputNotAdvertised"


async def test_an_executable_that_cannot_run_is_not_offered(tmp_path: Path) -> None:
    muse = tmp_path / "muse"
    muse.write_text("#!/no/such/interpreter\n")
    muse.chmod(0o755)
    settled = await negotiate(True, HostChoice({}, tmp_path, str(muse)), None)
    assert (settled.asked, settled.offered) == (True, False)


async def test_a_stand_in_that_does_not_exist_is_not_offered(tmp_path: Path) -> None:
    settled = await negotiate(True, HostChoice({}, tmp_path, "simulated:0.0.7"), None)
    assert (settled.asked, settled.offered) == (True, False)


@pytest.mark.parametrize(("muse", "offered"), [("simulated:1.2.1", True), ("simulated:1.1.1", False)])
async def test_the_simulated_host_is_asked_like_any_other(tmp_path: Path, muse: str, offered: bool) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith("MUSE_")}
    settled = await negotiate(True, HostChoice(environ, tmp_path, muse), None)
    assert settled.offered is offered


async def test_nothing_is_run_for_a_client_that_did_not_ask(choose: Choose, tmp_path: Path) -> None:
    settled = await negotiate(False, choose(says("1.2.1")), None)
    assert (settled.asked, settled.offered, settled.meta()) == (False, False, None)
    assert refusal(settled) == (-32601, {"reason": "outputNotNegotiated"})
    assert runs(tmp_path) == 0


async def test_before_initialize_nothing_is_negotiated() -> None:
    assert Negotiation().meta() is None
    assert refusal(Negotiation()) == (-32601, {"reason": "outputNotNegotiated"})


async def test_a_version_is_asked_for_once_and_again_when_the_binary_changes(choose: Choose, tmp_path: Path) -> None:
    cache = VersionCache(tmp_path / "cache")
    choice = choose(says("1.2.1"))
    for _ in range(3):
        assert (await negotiate(True, choice, cache)).offered
    assert runs(tmp_path) == 1
    choose(says("1.3.0 has replaced it"))
    assert not (await negotiate(True, choice, cache)).offered
    assert runs(tmp_path) == 2


async def test_a_failure_is_not_remembered(choose: Choose, tmp_path: Path) -> None:
    cache = VersionCache(tmp_path / "cache")
    choice = choose(f"test -e {tmp_path}/installed && echo 1.2.1")
    assert not (await negotiate(True, choice, cache)).offered
    (tmp_path / "installed").touch()
    assert (await negotiate(True, choice, cache)).offered
