"""How a connection ends: end of input, our own wish, a cancelled `run`, whatever stdin is."""

from __future__ import annotations

import os
import pty
import socket
import tty
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from adapter.wire.envelope import Params
from adapter.wire.peer import Call, Peer, PeerClosed, Work
from adapter.wire.pipes import FdReader, FdWriter
from tests.wired import PATIENCE, Gate, Recorder, options, outcome, unread_on_pipe, until, wired

pytestmark = pytest.mark.anyio

ASK = b'{"jsonrpc":"2.0","id":%d,"method":"do"}'


async def slow(call: Call) -> Params:
    await anyio.sleep(0.02)
    return {"method": call.method}


# -- end of input


async def test_what_was_asked_before_the_end_is_on_the_pipe_when_run_returns() -> None:
    async with wired(Recorder(slow)) as other:
        await other.write(b"\n".join(ASK % number for number in range(5)))
        other.close_input()
        await other.over()
        assert {answer["id"] for answer in unread_on_pipe(other)} == set(range(5))
        assert other.peer.ended == "eof"


@pytest.mark.acp(22)
@pytest.mark.parametrize("rest", [b'{"jsonrpc":', b"\xff", b'{"jsonrpc":"2.0"}'])
async def test_half_a_line_at_the_end_costs_one_error(rest: bytes) -> None:
    async with wired() as other:
        await other.write(ASK % 1 + b"\n" + rest)
        other.close_input()
        await other.over()
        answers = {answer["id"]: answer for answer in unread_on_pipe(other)}
        assert set(answers) == {1, None}
        assert "error" in answers[None]


async def test_the_end_makes_long_work_end() -> None:
    gate = Gate()
    async with wired(Recorder(gate), at_end_of_input=lambda: gate.open.set()) as other:
        await other.ask(1)
        other.close_input()
        assert "result" in await other.read()
        await other.over()


async def test_work_that_does_not_end_is_cut_and_answered() -> None:
    gate = Gate()
    async with wired(Recorder(gate), drain_seconds=0.5) as other:
        await other.ask(1)
        other.close_input()
        await other.over()
        (answer,) = unread_on_pipe(other)
        assert (answer["id"], answer["error"]["code"]) == (1, -32800)
        assert answer["error"]["data"]["reason"] == "cancelled"
        assert gate.cancelled == 1
        assert not other.peer.unfinished


async def test_stuck_work_and_a_stuck_reader_share_one_bound(caplog: pytest.LogCaptureFixture) -> None:
    seconds = 1.0
    async with wired(Recorder(Gate()), drain_seconds=seconds) as other:
        await other.ask(1)
        other.peer.notify("tell", {"text": "x" * 900_000})
        await until(lambda: bool(other.peer._calls._open))
        began = anyio.current_time()
        other.close_input()
        await other.over()
        assert anyio.current_time() - began < 1.8 * seconds
        assert (other.peer.ended, other.peer.unfinished) == ("eof", True)
    assert "did not read everything" in caplog.text


async def test_a_failing_end_hook_does_not_stop_the_drain(caplog: pytest.LogCaptureFixture) -> None:
    def hook() -> None:
        raise KeyError("x")

    async with wired(Recorder(slow), at_end_of_input=hook) as other:
        await other.ask(1)
        other.close_input()
        assert "result" in await other.read()
        await other.over()
    assert "ending the work failed" in caplog.text


async def test_open_requests_of_ours_fail_when_input_ends() -> None:
    async with wired() as other:
        got: list[Any] = []

        async def ask() -> None:
            got.append(await outcome(lambda: other.peer.request("do")))

        async with anyio.create_task_group() as tasks:
            for _ in range(100):
                tasks.start_soon(ask)
            for _ in range(100):
                await other.read()
            other.close_input()
        assert {type(answer) for answer in got} == {PeerClosed}
        with pytest.raises(PeerClosed):
            await other.peer.request("do")


async def test_work_that_asks_back_is_told_of_the_end() -> None:
    peers: list[Peer] = []

    async def ask_back(call: Call) -> Params:
        answer = await outcome(lambda: peers[0].request("permission"))
        return {"got": type(answer).__name__}

    async with wired(Recorder(ask_back)) as other:
        peers.append(other.peer)
        await other.ask(1)
        await other.read()
        other.close_input()
        assert (await other.read())["result"] == {"got": "PeerClosed"}


async def test_our_own_end_is_like_end_of_input() -> None:
    ended = anyio.Event()

    async def answer_at_the_end(call: Call) -> Params:
        await ended.wait()
        return {"method": call.method}

    async with wired(Recorder(answer_at_the_end)) as other:
        await other.ask(1)
        await until(lambda: bool(other.peer._calls._open))
        other.peer.stop_reading()
        other.peer.stop_reading()
        ended.set()
        await other.over()
        assert [answer["id"] for answer in unread_on_pipe(other)] == [1]
        assert other.peer.ended == "closed"


async def test_ending_it_before_it_runs_writes_what_was_queued() -> None:
    reading, writing = os.pipe()
    silent_in, silent_out = os.pipe()
    source, sink = FdReader(silent_in), FdWriter(writing)
    peer = Peer(source, sink, Recorder(), options())
    peer.notify("tell")
    peer.stop_reading()
    with anyio.fail_after(PATIENCE):
        await peer.run()
        assert os.read(reading, 1000) == b'{"jsonrpc":"2.0","method":"tell"}\n'
        source.close()
        sink.close()
    os.close(reading)
    os.close(silent_out)


async def test_after_the_end_nothing_is_kept_and_nobody_waits() -> None:
    async with wired() as other:
        other.close_input()
        await other.over()
        peer = other.peer
        for _ in range(1000):
            peer.notify("tell", {"text": "x" * 10_000})
        assert peer._writer.pending == 0
        with anyio.fail_after(PATIENCE):
            await peer.flushed()
            await peer.writable()
            with pytest.raises(PeerClosed):
                await peer.request("do")
        peer.stop_reading()
        assert peer.ended == "eof"


# -- a cancelled run


async def test_cancelling_run_leaves_nothing_pending() -> None:
    gate = Gate()
    (peer_in, other_out), (other_in, peer_out) = os.pipe(), os.pipe()
    source, sink = FdReader(peer_in), FdWriter(peer_out)
    peer = Peer(source, sink, Recorder(gate), options())
    os.write(other_out, ASK % 1 + b"\n")
    got: list[Any] = []

    async def ask() -> None:
        got.append(await outcome(lambda: peer.request("do")))

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as outside:
            outside.start_soon(ask)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(peer.run)
                await until(lambda: gate.begun == 1 and len(peer._waiters) == 1)
                tasks.cancel_scope.cancel()
            assert peer.ended == "closed"
        await peer.flushed()
        await peer.writable()
    assert [type(answer) for answer in got] == [PeerClosed]
    assert gate.cancelled == 1
    assert peer._calls._open == {}
    source.close()
    sink.close()
    os.close(other_out)
    os.close(other_in)


async def test_work_that_has_not_begun_when_run_is_cancelled_is_not_forgotten() -> None:
    begun: list[Call] = []
    scopes: list[anyio.CancelScope] = []

    async def work(call: Call) -> Params:
        begun.append(call)
        await anyio.sleep(PATIENCE)
        return {}

    class Cancelling(Recorder):
        def on_request(self, call: Call) -> Work:
            scopes[0].cancel()
            return work(call)

    reading, writing = os.pipe()
    silent_in, silent_out = os.pipe()
    source, sink = FdReader(reading), FdWriter(silent_out)
    peer = Peer(source, sink, Cancelling(), options())
    os.write(writing, ASK % 1 + b"\n")
    # The work begins all the same: a coroutine that is never awaited would leave its call open.
    with anyio.CancelScope() as scope:
        scopes.append(scope)
        await peer.run()
    assert len(begun) == 1
    assert peer._calls._open == {}
    source.close()
    sink.close()
    os.close(writing)
    os.close(silent_in)


# -- stdin of every kind


def from_file(tmp_path: Path, data: bytes) -> int:
    (tmp_path / "in.txt").write_bytes(data)
    return os.open(tmp_path / "in.txt", os.O_RDONLY)


def from_socket(tmp_path: Path, data: bytes) -> int:
    left, right = socket.socketpair()
    left.sendall(data)
    left.close()
    return right.detach()


def from_pipe(tmp_path: Path, data: bytes) -> int:
    reading, writing = os.pipe()
    os.write(writing, data)
    os.close(writing)
    return reading


@pytest.mark.acp(4, 22)
@pytest.mark.parametrize("kind", [from_file, from_socket, from_pipe])
async def test_any_stdin_serves_a_script_to_its_last_line(tmp_path: Path, kind: Callable[[Path, bytes], int]) -> None:
    source = FdReader(kind(tmp_path, b"\n".join(ASK % number for number in range(3))))
    sink = FdWriter(os.open(tmp_path / "out.txt", os.O_WRONLY | os.O_CREAT, 0o600))
    peer = Peer(source, sink, Recorder(slow), options())
    with anyio.fail_after(PATIENCE):
        await peer.run()
    source.close()
    sink.close()
    assert (tmp_path / "out.txt").read_bytes().count(b'"result"') == 3
    assert peer.ended == "eof"


async def test_the_null_device_as_stdin_ends_at_once() -> None:
    source, sink = FdReader(os.open(os.devnull, os.O_RDONLY)), FdWriter(os.open(os.devnull, os.O_WRONLY))
    peer = Peer(source, sink, Recorder(), options())
    with anyio.fail_after(PATIENCE):
        await peer.run()
    assert peer.ended == "eof"
    source.close()
    sink.close()


@pytest.mark.acp(4)
async def test_a_terminal_as_stdin_and_stdout() -> None:
    owner, terminal = pty.openpty()
    tty.setraw(terminal)
    source, sink = FdReader(os.dup(terminal)), FdWriter(terminal)
    client_reads, client_writes = FdReader(os.dup(owner)), FdWriter(owner)
    peer = Peer(source, sink, Recorder(), options())
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(peer.run)
            await client_writes.send(ASK % 1 + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                answer += await client_reads.receive()
            peer.stop_reading()
    assert b'"result"' in answer
    for end in (source, sink, client_reads, client_writes):
        end.close()
