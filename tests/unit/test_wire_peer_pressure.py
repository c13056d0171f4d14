"""A peer whose other side is slow, or floods it: memory stays bounded and nothing is lost."""

from __future__ import annotations

import json
import os
import tracemalloc
from typing import Any

import anyio
import pytest

from adapter.wire.envelope import Params
from adapter.wire.peer import ANSWERS_HIGH_WATER, OUTBOX_HIGH_WATER, Call, Peer
from adapter.wire.pipes import READ_CHUNK, FdReader, FdWriter
from tests.wired import PATIENCE, Recorder, options, outcome, until, wired

pytestmark = pytest.mark.anyio

REPLY_TEXT = "y" * 4000


async def long_answer(call: Call) -> Params:
    return {"text": REPLY_TEXT}


@pytest.mark.acp(19)
async def test_reading_pauses_while_nobody_reads_the_answers_and_goes_on_after() -> None:
    count = 8000
    requests = [b'{"jsonrpc":"2.0","id":%d,"method":"do"}\n' % number for number in range(count)]
    handler = Recorder(long_answer)

    async def flood() -> None:
        # Piece by piece: each is waited for with patience, not all of them together.
        for at in range(0, count, 100):
            await other.write(b"".join(requests[at : at + 100]))

    async with wired(handler) as other, anyio.create_task_group() as tasks:
        tasks.start_soon(flood)
        await until(lambda: other.peer._writer.pending > ANSWERS_HIGH_WATER)
        seen = -1
        while seen != len(handler.calls):
            seen = len(handler.calls)
            await anyio.sleep(0.02)
        # It stands still, with most of the flood unread.
        assert 0 < seen < count / 2
        one_read_of_answers = READ_CHUNK // 40 * (len(REPLY_TEXT) + 100)
        assert other.peer._writer.pending < ANSWERS_HIGH_WATER + one_read_of_answers
        answers = await other.read_all(count)
    assert sorted(answer["id"] for answer in answers) == list(range(count))
    assert {answer.get("result", {}).get("text", "refused") for answer in answers} <= {REPLY_TEXT, "refused"}


@pytest.mark.acp(19)
async def test_a_flood_nobody_reads_the_answers_of_takes_bounded_memory() -> None:
    async with wired() as other:
        line = b'{"jsonrpc":"2.0","id":1,"method":"do","params":{"text":"%s"}}\n' % (b"x" * 500)
        written = 0

        async def flood() -> None:
            nonlocal written
            while True:
                await other.write(line * 100)
                written += len(line) * 100

        tracemalloc.start()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(flood)
                await until(lambda: other.peer._writer.pending > ANSWERS_HIGH_WATER)
                seen = -1
                while seen != written:
                    seen = written
                    await anyio.sleep(0.05)
                tasks.cancel_scope.cancel()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert ANSWERS_HIGH_WATER < written < 16 * ANSWERS_HIGH_WATER
        assert peak < 8 * ANSWERS_HIGH_WATER


async def test_who_asks_for_room_waits_until_there_is_some() -> None:
    async with wired() as other:
        sent = 0

        async def stream() -> None:
            nonlocal sent
            for number in range(400):
                other.peer.notify("tell", {"n": number, "text": "x" * 20_000})
                sent += 1
                await other.peer.writable()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stream)
            await until(lambda: other.peer._writer.pending > OUTBOX_HIGH_WATER)
            await anyio.sleep(0.02)
            assert sent * 20_000 < 4 * OUTBOX_HIGH_WATER
            assert [frame["params"]["n"] for frame in await other.read_all(400)] == list(range(400))


async def test_who_does_not_read_is_still_heard_when_others_fill_the_outbox() -> None:
    handler = Recorder()
    async with wired(handler) as other:
        other.peer.notify("tell", {"text": "x" * 900_000})
        while other.peer._writer.pending <= OUTBOX_HIGH_WATER:
            other.peer.notify("tell", {"text": "x" * 20_000})
            await anyio.lowlevel.checkpoint()

        async def is_heard(times: int) -> None:
            await other.write(b'{"jsonrpc":"2.0","method":"stop"}\n')
            await until(lambda: len(handler.notes) == times)

        # The first time it may have been listened for before.
        await is_heard(1)
        await is_heard(2)
        assert other.peer._writer.pending > OUTBOX_HIGH_WATER


class Delta:
    """A text delta that can take up the next."""

    def __init__(self, text: str) -> None:
        self.text = text

    def absorb(self, later: Any, limit: int) -> bool:
        if not isinstance(later, Delta) or len(self.text) + len(later.text) > limit:
            return False
        self.text += later.text
        return True

    def weight(self) -> int:
        return len(self.text) + 60

    def frame(self) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "method": "delta", "params": {"text": self.text}}


async def test_deltas_merge_behind_a_slow_reader_and_lose_nothing() -> None:
    async with wired() as other:
        # More than the pipe holds: the writer is busy with it.
        other.peer.notify("tell", {"text": "x" * 900_000})
        await anyio.sleep(0.01)
        words = [f"w{number} " for number in range(5000)]
        for word in words:
            other.peer.notify_mergeable(Delta(word))
        other.peer.notify("done")
        assert (await other.read())["method"] == "tell"
        texts = []
        while (frame := await other.read())["method"] == "delta":
            texts.append(frame["params"]["text"])
        assert frame["method"] == "done"
        assert "".join(texts) == "".join(words)
        assert len(texts) < 10


async def test_nothing_is_held_back_from_a_reader_that_is_quick() -> None:
    async with wired() as other:
        for number in range(20):
            other.peer.notify_mergeable(Delta(f"w{number}"))
            assert (await other.read())["params"]["text"] == f"w{number}"


@pytest.mark.parametrize("spoiled", ["\x01" * 20_000, "object"])
async def test_a_delta_that_cannot_be_written_does_not_stop_the_writer(
    spoiled: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Spoiled(Delta):
        def frame(self) -> dict[str, Any]:
            return super().frame() if self.text != "object" else {"thing": object()}

    async with wired(outbound_cap=50_000) as other:
        other.peer.notify("before")
        other.peer.notify_mergeable(Spoiled(spoiled))
        await other.peer.flushed()
        other.peer.notify("after")
        assert [frame["method"] for frame in await other.read_all(2)] == ["before", "after"]
        assert other.peer.ended is None
    assert "left out" in caplog.text


async def test_a_writer_that_is_stuck_does_not_keep_the_end_waiting() -> None:
    async with wired(drain_seconds=0.05) as other:
        other.peer.notify("tell", {"text": "x" * 900_000})
        other.close_input()
        # Nobody reads; the drain is bounded.
        await other.over()
        assert (other.peer.ended, other.peer.unfinished) == ("eof", True)


async def test_the_drain_waits_for_a_slow_reader_within_its_bound() -> None:
    async with wired(drain_seconds=PATIENCE) as other:
        for number in range(20):
            other.peer.notify("tell", {"n": number, "text": "x" * 100_000})
        other.close_input()
        numbers = []
        for _ in range(20):
            numbers.append((await other.read())["params"]["n"])
            await anyio.sleep(0.002)
        assert numbers == list(range(20))
        await other.over()
        assert not other.peer.unfinished


class Relay:
    """Two peers, as the adapter has them: what the host says goes on to the client, at the client's pace."""

    def __init__(self) -> None:
        (host_in, self.host_out), (self.client_in, client_out) = os.pipe(), os.pipe()
        client_silent_in, self.client_silent_out = os.pipe()
        self.host_silent_in, host_silent_out = os.pipe()
        self.owned: tuple[FdReader, FdWriter, FdReader, FdWriter] = (
            FdReader(client_silent_in),
            FdWriter(client_out),
            FdReader(host_in),
            FdWriter(host_silent_out),
        )
        handler = Recorder()
        self.client = Peer(self.owned[0], self.owned[1], handler, options())
        self.host = Peer(self.owned[2], self.owned[3], self, options(answers_garbage=False))
        self.host.throttle = self.client.room
        self.taken = 0

    def on_notification(self, method: str, params: Params) -> None:
        self.taken += 1
        self.client.notify(method, params)

    def on_request(self, call: Call) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        end: FdReader | FdWriter
        for end in self.owned:
            end.close()
        os.close(self.client_silent_out)
        os.close(self.host_silent_in)


@pytest.mark.acp(19)
async def test_a_client_that_reads_slowly_pauses_the_host() -> None:
    relay = Relay()
    count = 5000
    flood = b"".join(
        json.dumps({"jsonrpc": "2.0", "method": "delta", "params": {"n": n, "text": "x" * 1000}}).encode() + b"\n"
        for n in range(count)
    )
    host_end, client_end = FdWriter(relay.host_out), FdReader(relay.client_in)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(relay.client.run)
            tasks.start_soon(relay.host.run)
            tasks.start_soon(host_end.send, flood)
            await until(lambda: relay.client._writer.pending > OUTBOX_HIGH_WATER)
            await anyio.sleep(0.05)
            assert relay.taken < count * 3 / 4
            received = b""
            while received.count(b"\n") < count:
                received += await client_end.receive()
            relay.host.stop_reading()
            relay.client.stop_reading()
    assert [json.loads(line)["params"]["n"] for line in received.splitlines()] == list(range(count))
    relay.close()
    host_end.close()
    client_end.close()


@pytest.mark.parametrize("how", ["gone", "cancelled"])
async def test_a_client_that_ends_lets_the_host_go_on(how: str) -> None:
    relay = Relay()
    line = b'{"jsonrpc":"2.0","method":"delta","params":{"text":"%s"}}\n' % (b"x" * 1000)
    host_end, client_end = FdWriter(relay.host_out), FdReader(relay.client_in)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            client_scope = anyio.CancelScope()

            async def run_client() -> None:
                with client_scope:
                    await relay.client.run()

            tasks.start_soon(run_client)
            tasks.start_soon(relay.host.run)
            tasks.start_soon(host_end.send, line * 4000)
            await until(lambda: relay.client._writer.pending > OUTBOX_HIGH_WATER)
            if how == "gone":
                client_end.close()
            else:
                client_scope.cancel()
            # The host's reader is not stuck waiting for a client that no longer exists.
            await until(lambda: relay.taken == 4000)
            got = []

            async def ask() -> None:
                got.append(await outcome(lambda: relay.client.request("do")))

            await ask()
            relay.host.stop_reading()
    assert relay.client.ended == ("broken" if how == "gone" else "closed")
    relay.close()
    host_end.close()
    client_end.close()
