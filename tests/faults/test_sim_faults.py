"""The faults the simulated host makes on purpose do what their table says."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.sim_driver import Ended, Refused, SimHost, items_of, methods, params_of, sim_host


def started(host: SimHost) -> str:
    """A session on a host that has shaken hands."""
    host.handshake()
    return host.start()


@pytest.mark.parametrize(("fault", "code"), [({"do": "die"}, -signal.SIGKILL), ({"do": "exit", "code": 4}, 4)])
@pytest.mark.parametrize("at", ["handshake", "session/start", "turn/start", "turn", "item/delta", "initialized"])
def test_the_host_ends_where_it_is_told_to(tmp_path: Path, at: str, fault: dict[str, Any], code: int) -> None:
    with sim_host(tmp_path, faults=[{"at": at, **fault}]) as host:
        with pytest.raises((Ended, BrokenPipeError)):
            host.turn(started(host), "hello")
        assert host.process.wait(20) == code
        assert ("turn/started" in methods(host.frames)) == (at in ("turn", "item/delta"))


def test_a_fault_lets_pass_what_it_is_told_to_and_then_strikes_so_often(tmp_path: Path) -> None:
    fault = {"at": "model/list", "do": "error", "kind": "overloaded", "after": 1, "times": 2}
    with sim_host(tmp_path, faults=[fault]) as host:
        host.handshake()
        outcomes = []
        for _ in range(5):
            try:
                host.ask("model/list")
                outcomes.append("fine")
            except Refused as error:
                outcomes.append(error.kind)
                assert error.code == -32001
        assert outcomes == ["fine", "overloaded", "overloaded", "fine", "fine"]


def test_a_request_that_hangs_has_no_effect_and_holds_nothing_up(tmp_path: Path) -> None:
    with sim_host(tmp_path, faults=[{"at": "session/start", "do": "hang"}]) as host:
        host.handshake()
        lost = host.post("session/start", {"commandId": "lost"})
        assert host.ask("session/list")["sessions"] == []
        assert not [frame for frame in host.settled() if frame.get("id") == lost]


def test_garbage_stands_between_the_frames(tmp_path: Path) -> None:
    faults = [{"at": at, "do": "garbage", "times": None} for at in ("spawn", "handshake", "item/delta")]
    with sim_host(tmp_path, faults=faults) as host:
        frames = host.turn(started(host), "hello")
        assert frames[-1]["params"]["terminal"] == "completed"
        assert b"Loading profile\n" in host.junk
        assert len(host.junk) == 6 * 5


def test_an_answer_can_be_replaced_by_bytes_of_any_kind(tmp_path: Path) -> None:
    chunks = ['{"jsonrpc":"2.0",', {"base64": "ImlkIjo="}, '{id},"result":{"models":', "[]}}\n"]
    fault = {"at": "model/list", "do": "raw", "instead": True, "chunks": chunks, "pause": 0.01}
    with sim_host(tmp_path, faults=[fault], strict=False) as host:
        host.handshake()
        assert host.ask("model/list") == {"models": []}
        assert host.ask("model/list")["models"]


def test_an_ack_can_come_after_the_end_of_its_turn(tmp_path: Path) -> None:
    with sim_host(tmp_path, faults=[{"at": "turn/start", "do": "delayAck", "seconds": 0.2}]) as host:
        session = started(host)
        before = len(host.frames)
        host.prompt(session, "hello")
        frames = host.frames[before:]
        assert params_of(frames, "turn/completed")
        assert "result" in frames[-1]


def test_a_slow_host_takes_its_time(tmp_path: Path) -> None:
    with sim_host(tmp_path, faults=[{"at": "handshake", "do": "slow", "seconds": 0.3}]) as host:
        began = time.monotonic()
        host.handshake()
        assert time.monotonic() - began >= 0.3


def test_stdout_can_close_while_the_process_lives(tmp_path: Path) -> None:
    with sim_host(tmp_path, faults=[{"at": "turn", "do": "closeStdout"}]) as host:
        session = started(host)
        with pytest.raises(Ended):
            host.turn(session, "slow 60")
        assert host.process.poll() is None
        assert host.close() == 0


def test_a_notification_can_be_lost_without_a_word(tmp_path: Path) -> None:
    with sim_host(tmp_path, faults=[{"at": "item/delta", "do": "drop", "times": None}]) as host:
        session = started(host)
        assert not params_of(host.turn(session, "hello"), "item/delta")
        assert not params_of(host.turn(session, "stream 100"), "item/delta")


def test_one_delta_of_a_burst_can_be_hit(tmp_path: Path) -> None:
    with sim_host(tmp_path, faults=[{"at": "item/delta", "do": "drop", "after": 50}]) as host:
        assert len(params_of(host.turn(started(host), "stream 100"), "item/delta")) == 99


def test_params_can_be_changed_on_their_way_in(tmp_path: Path) -> None:
    faults = [{"at": "view/page", "do": "params", "set": {"limit": 1}, "times": None}]
    with sim_host(tmp_path, faults=faults) as host:
        session = started(host)
        host.turn(session, "hello")
        assert all(len(page["events"]) == 1 for page in host.pages(session, limit=100))


def test_a_fault_can_be_meant_for_hosts_with_a_certain_flag(tmp_path: Path) -> None:
    faults = [{"at": "model/list", "do": "error", "flag": "--disable-write", "times": None}]
    with sim_host(tmp_path, faults=faults) as spared:
        spared.handshake()
        assert spared.ask("model/list")["models"]
    with sim_host(tmp_path, "1.2.1", "--disable-write", faults=faults) as hit:
        hit.handshake()
        with pytest.raises(Refused):
            hit.ask("model/list")


def test_a_witness_writes_down_what_every_host_was_asked(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    for flags in ([], ["--disable-write"]):
        with sim_host(tmp_path, "1.2.1", *flags, witness=witness) as host:
            host.handshake()
            host.ask("session/list")
    lines = [json.loads(line) for line in witness.read_text().splitlines()]
    asked = [line["method"] for line in lines if "--disable-write" in line["flags"]]
    assert asked == ["initialize", "initialized", "session/list"]
    assert len(lines) == 6
    assert len({line["pid"] for line in lines}) == 2


def test_a_result_can_lie(tmp_path: Path) -> None:
    faults = [{"at": "item/readOutput", "do": "result", "set": {"byteLen": 5, "encoding": "utf16"}}]
    with sim_host(tmp_path, faults=faults, strict=False) as host:
        session = started(host)
        tool = items_of(host.turn(session, "shell 100"), "toolCall")[0]
        read = {"sessionId": session, "itemId": tool["itemId"], "outputRef": tool["outputRef"]["id"]}
        page = host.ask("item/readOutput", read)
        assert (page["byteLen"], page["encoding"], len(page["content"].encode())) == (5, "utf16", 100)
        assert host.ask("item/readOutput", read)["byteLen"] == 100


def test_stderr_can_be_flooded_before_the_handshake(tmp_path: Path) -> None:
    with sim_host(tmp_path, faults=[{"at": "spawn", "do": "stderr", "bytes": 300_000}]) as host:
        host.handshake()
        assert host.close() == 0
        host.kill()
        assert len(host.stderr) >= 300_000


def test_a_stubborn_host_outlives_the_end_of_stdin_and_sigterm(tmp_path: Path) -> None:
    faults = [{"at": "spawn", "do": "ignoreEof"}, {"at": "spawn", "do": "ignoreTerm"}]
    with sim_host(tmp_path, faults=faults) as host:
        host.handshake()
        assert host.process.stdin is not None
        host.process.stdin.close()
        host.process.send_signal(signal.SIGTERM)
        with pytest.raises(AssertionError, match="no frame"):
            host.next(0.3)
        assert host.process.poll() is None


def test_a_host_that_hangs_at_its_start_says_nothing(tmp_path: Path) -> None:
    with sim_host(tmp_path, faults=[{"at": "spawn", "do": "hang"}]) as host:
        host.post("initialize", {"clientInfo": {"name": "x", "version": "1"}})
        with pytest.raises(AssertionError, match="no frame"):
            host.next(0.5)
        assert host.process.poll() is None
