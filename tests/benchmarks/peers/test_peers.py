"""Measuring the peers without them: their stand-ins, what is said of one that does not do it, a registry that is not
there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest

from tests.benchmarks.peers import stand_ins
from tests.benchmarks.peers.install import NOWHERE, PeerAdapter, peers
from tests.benchmarks.peers.running import NotMeasured, running
from tests.benchmarks.peers.start_up import spawn_to_initialize
from tests.benchmarks.peers.streaming import REPOSITORY, stream
from tests.processes import assert_gone

Json = dict[str, Any]

FEW, MANY = 450, 20_000
"""More than two blocks; more than a pipe holds."""

AGENT = """
import sys, json
def say(**frame):
    print(json.dumps(frame), flush=True)
for line in sys.stdin:
    asked = json.loads(line)
    if asked["method"] == "session/prompt":
        for number in range(PIECES):
            say(method="session/update", params={"text": f"word {number:06d} of the answer "})
    say(id=asked["id"], result={"sessionId": "s", "stopReason": "end_turn"})
"""


def scripted(source: str, name: str = "zcode-acp") -> PeerAdapter:
    return PeerAdapter(name, "0", (sys.executable, "-c", source), {"PATH": os.defpath})


@contextmanager
def standing_in(directory: Path, peer: str, count: int) -> Iterator[subprocess.Popen[bytes]]:
    program = directory / "host"
    program.write_text(stand_ins.script(REPOSITORY, peer, count))
    program.chmod(0o755)
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def tell(host: subprocess.Popen[bytes], frame: Json) -> None:
    assert host.stdin is not None
    host.stdin.write(orjson.dumps(frame) + b"\n")
    host.stdin.flush()


def hear(host: subprocess.Popen[bytes]) -> Json:
    assert host.stdout is not None
    frame: Json = orjson.loads(host.stdout.readline())
    return frame


class TestStandIns:
    def test_pi_answers_commands_and_streams_an_answer(self, tmp_path: Path) -> None:
        with standing_in(tmp_path, "pi-acp", FEW) as host:
            tell(host, {"id": "a", "type": "get_state"})
            state = hear(host)
            assert (state["type"], state["id"], state["success"]) == ("response", "a", True)
            assert state["data"]["sessionId"] == stand_ins.SESSION
            tell(host, {"id": "b", "type": "prompt", "message": "go"})
            assert hear(host)["id"] == "b"
            assert hear(host) == {"type": "agent_start"}
            deltas = [hear(host)["assistantMessageEvent"]["delta"] for _ in range(FEW)]
            assert deltas == [stand_ins.piece(number) for number in range(FEW)]
            assert [hear(host)["type"], hear(host)["type"]] == ["agent_end", "agent_settled"]

    def test_zcode_answers_requests_also_while_it_streams(self, tmp_path: Path) -> None:
        with standing_in(tmp_path, "zcode-acp", MANY) as host:
            tell(host, {"id": 1, "method": "session/create", "params": {}})
            asked = hear(host)
            assert (asked["method"], asked["params"]["sessionId"]) == (
                "session/requestRuntimePreferences",
                stand_ins.SESSION,
            )
            assert hear(host) == {"id": 1, "result": {}}
            tell(host, {"id": asked["id"], "result": {}})
            tell(host, {"id": 2, "method": "session/send", "params": {}})
            assert hear(host) == {"id": 2, "result": {}}
            tell(host, {"id": 3, "method": "session/usage", "params": {}})
            frames = [hear(host) for _ in range(MANY + 2)]
            [place] = [place for place, frame in enumerate(frames) if "id" in frame]
            assert place < MANY
            assert frames.pop(place) == {"id": 3, "result": {"totalTokens": 1}}
            events = [frame["params"] for frame in frames]
            assert [event["type"] for event in events] == [*["model.streaming"] * MANY, "turn.completed"]
            assert [event["payload"]["delta"] for event in events[:-1]] == [
                stand_ins.piece(number) for number in range(MANY)
            ]


class TestMeasuring:
    def test_a_start_takes_some_time(self, tmp_path: Path) -> None:
        assert 0 < spawn_to_initialize(scripted(AGENT), tmp_path) < 30

    def test_a_whole_answer_takes_some_time(self) -> None:
        assert 0 <= stream(scripted(AGENT.replace("PIECES", str(FEW))), FEW) < 30

    def test_a_part_of_an_answer_is_no_measurement(self) -> None:
        with pytest.raises(NotMeasured, match=r"^449 pieces of 450 came$"):
            stream(scripted(AGENT.replace("PIECES", str(FEW - 1))), FEW)

    def test_a_peer_without_a_stand_in_does_not_stream(self) -> None:
        with pytest.raises(NotMeasured, match="no stand-in for its agent"):
            stream(scripted(AGENT, "codex-acp"), 1)

    def test_a_peer_that_is_not_installed_has_its_reason(self, tmp_path: Path) -> None:
        with pytest.raises(NotMeasured, match=r"^npm is not installed$"):
            spawn_to_initialize(PeerAdapter("pi-acp", "0", None, {}, "npm is not installed"), tmp_path)

    def test_a_peer_that_cannot_be_started_is_said_so(self, tmp_path: Path) -> None:
        with pytest.raises(NotMeasured, match="cannot be started"):
            spawn_to_initialize(PeerAdapter("pi-acp", "0", (str(tmp_path / "none"),), {}), tmp_path)

    def test_a_peer_that_ends_is_quoted(self, tmp_path: Path) -> None:
        with pytest.raises(NotMeasured, match=r"the last it said is: no engine$"):
            spawn_to_initialize(scripted("import sys; sys.exit('first\\nno engine')"), tmp_path)

    def test_an_error_is_an_answer_that_is_told(self, tmp_path: Path) -> None:
        refusing = 'print(\'{"id": 1, "error": {"code": -32000}}\', flush=True); input(); input()'
        with pytest.raises(NotMeasured, match=r"answered with an error: \{'code': -32000\}"):
            spawn_to_initialize(scripted(refusing), tmp_path)

    def test_a_peer_that_never_answers_is_ended_with_all_it_started(self, tmp_path: Path) -> None:
        peer = scripted("import subprocess; subprocess.run(['sleep', '300'])")
        with (
            pytest.raises(NotMeasured, match=r"^it gave no answer within 0\.5 s$"),
            running(peer, tmp_path, 0.5) as client,
        ):
            client.initialize()
        assert_gone([client.process.pid])


class TestInstalling:
    def test_without_a_registry_each_has_a_reason(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in os.environ if name.lower().startswith(("npm_", "pip_"))]:
            monkeypatch.delenv(name)
        for name, value in {
            "npm_config_registry": NOWHERE,
            "npm_config_cache": str(tmp_path / "cache"),
            "npm_config_fetch_retry_mintimeout": "1",
            "npm_config_userconfig": os.devnull,
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": NOWHERE,
            "PIP_NO_CACHE_DIR": "1",
        }.items():
            monkeypatch.setenv(name, value)
        found = peers(tmp_path / "peers")
        assert [peer.name for peer in found] == [
            "claude-agent-acp",
            "pi-acp",
            "codex-acp",
            "codex-acp (binary)",
            "zcode-acp",
        ]
        assert [peer.command for peer in found] == [None] * 5
        assert all("npm" in peer.reason for peer in found[:4])
        assert "pip did not reach its registry" in found[4].reason
