"""Fault cases A1 to A4, B1 to B6, C3 and D1 to D7 where the wire alone decides; both sides a peer can be on."""

from __future__ import annotations

import json
import logging
import tracemalloc
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from adapter.wire.envelope import METHOD_NOT_FOUND, Params, RpcError
from adapter.wire.framing import ACP_FRAME_CAP, MSP_FRAME_CAP, FrameDecoder
from adapter.wire.notes import NOTES_PER_WINDOW
from adapter.wire.peer import Call, Peer, PeerClosed, Work
from tests.wired import OtherEnd, Recorder, echo, outcome, until, wired

pytestmark = pytest.mark.anyio

AGENT: dict[str, Any] = {"name": "client", "inbound_cap": ACP_FRAME_CAP, "outbound_cap": MSP_FRAME_CAP}
HOST: dict[str, Any] = {"name": "host", "inbound_cap": MSP_FRAME_CAP, "outbound_cap": MSP_FRAME_CAP}
SIDES = pytest.mark.parametrize(
    "side", [{**AGENT, "answers_garbage": True}, {**HOST, "answers_garbage": False}], ids=["client", "host"]
)


class Methods(Recorder):
    """Knows `session/list` and `session/prompt`; refuses the rest as a dispatcher would."""

    def on_request(self, call: Call) -> Work:
        if call.method not in ("session/list", "session/prompt", "nothing-comes", "do"):
            raise RpcError(METHOD_NOT_FOUND, "Unknown method", {"reason": "methodNotFound"})
        return super().on_request(call)


def line(frame: Any) -> bytes:
    return json.dumps(frame, ensure_ascii=False).encode() + b"\n"


def note(text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "item/delta", "params": {"text": text}}


# -- A


@SIDES
async def test_a1_long_lines_pass_both_ways_and_the_next_one_too(side: dict[str, Any]) -> None:
    async with wired(**side) as other:
        for size in (70_000, 1_000_000, 3):
            text = "温" * (size // 3)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(other.send, {"jsonrpc": "2.0", "id": size, "method": "do", "params": {"text": text}})
                answer = await other.read()
            assert (answer["id"], answer["result"]["params"]["text"]) == (size, text)


@pytest.mark.acp(18)
@SIDES
async def test_a2_a_line_without_end_takes_bounded_memory_and_then_the_connection(side: dict[str, Any]) -> None:
    cap = 256 * 1024
    async with wired(**{**side, "inbound_cap": cap, "endless_line": 39 * cap}) as other:
        got: list[Any] = []

        async def ask(peer: Peer) -> None:
            got.append(await outcome(lambda: peer.request("session/prompt")))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, other.peer)
            await other.read()
            tracemalloc.start()
            try:
                for _ in range(40):
                    await other.write(b"a" * cap)
                assert other.peer.ended is None
                assert got == []
                await other.write(b"a" * 16_384)
                await until(lambda: other.peer.ended is not None)
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        assert other.peer.ended == "failed"
        assert isinstance(got[0], PeerClosed)
        assert peak < 8 * cap


def test_a2_the_decoder_drops_what_is_above_the_cap() -> None:
    decoder = FrameDecoder(1024 * 1024)
    block = b"a" * 65536
    tracemalloc.start()
    try:
        for _ in range(300 * 16):
            assert decoder.feed(block) == []
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * 1024 * 1024
    assert decoder.dropped > 299 * 1024 * 1024


def test_a2_tiny_pieces_cost_no_more_than_large_ones() -> None:
    decoder = FrameDecoder(1024 * 1024)
    tracemalloc.start()
    try:
        for number in range(250_000):
            decoder.feed(b"%04d" % (number % 10_000))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * 1024 * 1024


@SIDES
async def test_a3_messages_in_any_pieces_arrive_whole_and_in_order(side: dict[str, Any]) -> None:
    handler = Recorder()
    lines = [line(note(text)) for text in ("one", "two", "three")]
    stream = b"".join(lines)
    one_and_a_half = len(lines[0]) + len(lines[1]) // 2
    async with wired(handler, **side) as other:
        for pieces in (
            [stream[at : at + 1] for at in range(len(stream))],
            [stream],
            [stream[:one_and_a_half], stream[one_and_a_half:]],
        ):
            handler.notes.clear()
            for piece in pieces:
                await other.write(piece)
                await anyio.lowlevel.checkpoint()
            await until(lambda: len(handler.notes) >= 3)
            await other.nothing_comes()
            assert [params["text"] for _, params in handler.notes] == ["one", "two", "three"]


@SIDES
async def test_a4_frames_of_many_tasks_never_mix(side: dict[str, Any]) -> None:
    async def listing(call: Call) -> Params:
        await anyio.lowlevel.checkpoint()
        return {"text": "l" * 100_000}

    async def stream(peer: Peer, session: str) -> None:
        for number in range(40):
            peer.notify("session/update", {"session": session, "n": number, "text": session * 50_000})
            await peer.writable()

    async with wired(Recorder(lambda call: listing(call)), **side) as other, anyio.create_task_group() as tasks:
        tasks.start_soon(stream, other.peer, "a")
        tasks.start_soon(stream, other.peer, "b")
        for number in range(16):
            await other.ask(number, "session/list")
        answered: set[int] = set()
        updates: dict[str, list[int]] = {"a": [], "b": []}
        for _ in range(16 + 80):
            frame = await other.read()
            if "id" in frame:
                assert frame["result"]["text"] == "l" * 100_000
                answered.add(frame["id"])
            else:
                params = frame["params"]
                assert params["text"] == params["session"] * 50_000
                updates[params["session"]].append(params["n"])
    assert answered == set(range(16))
    assert updates == {"a": list(range(40)), "b": list(range(40))}


# -- B


@SIDES
async def test_b1_a_character_may_be_cut_anywhere(side: dict[str, Any]) -> None:
    handler = Recorder()
    async with wired(handler, **side) as other:
        for at in line(note("温室🌳")):
            await other.write(bytes([at]))
            await anyio.lowlevel.checkpoint()
        head = len(line(note(""))) - len(b'"}}\n')
        straddling = "x" * (65_534 - head) + "🌳" + "y"
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(other.write, line(note(straddling)))
            await until(lambda: len(handler.notes) == 2)
        assert [params["text"] for _, params in handler.notes] == ["温室🌳", straddling]
        other.peer.notify("tell", {"text": "温室🌳"})
        assert (await other.read())["params"]["text"] == "温室🌳"


async def test_b2_one_invalid_byte_costs_one_error() -> None:
    async with wired(**AGENT) as other:
        await other.write(b"\xff\xfe\n")
        await other.ask(1, "session/new")
        refusal = await other.read()
        assert (refusal["id"], refusal["error"]["code"]) == (None, -32700)
        assert (await other.read())["id"] == 1


@SIDES
async def test_b3_half_a_character_becomes_a_mark_both_ways(side: dict[str, Any]) -> None:
    async with wired(**side) as other:
        await other.write(b'{"jsonrpc":"2.0","id":1,"method":"do","params":{"text":"\\ud800 \\ud83c\\udf33"}}\n')
        assert (await other.read())["result"]["params"]["text"] == "\ufffd 🌳"
        other.peer.notify("tell", {"text": "\ud800 🌳"})
        assert (await other.read())["params"]["text"] == "\ufffd 🌳"
        assert other.peer.ended is None


@pytest.mark.acp(2, 5)
@SIDES
async def test_b4_lines_may_end_in_crlf_and_leave_with_lf(side: dict[str, Any]) -> None:
    async with wired(**side) as other:
        await other.write(b'{"jsonrpc":"2.0","id":1,"method":"do"}\r\n\r\n{"jsonrpc":"2.0","id":2,"method":"do"}\r\n')
        raw = b""
        while raw.count(b"\n") < 2:
            raw += await other._source.receive()
    assert b"\r" not in raw
    assert {json.loads(answer)["id"] for answer in raw.split(b"\n")[:-1]} == {1, 2}


@SIDES
async def test_b5_a_byte_order_mark_is_as_if_it_were_not_there(side: dict[str, Any]) -> None:
    async with wired(**side) as other:
        await other.write(b"\xef\xbb\xbf" + line({"jsonrpc": "2.0", "id": 1, "method": "do"}))
        assert (await other.read())["id"] == 1


@pytest.mark.acp(2)
@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
@SIDES
async def test_b6_a_number_json_does_not_have_stays_out(side: dict[str, Any], number: str) -> None:
    handler = Recorder()
    async with wired(handler, **side) as other:
        await other.write(b'{"jsonrpc":"2.0","method":"usage","params":{"used":%s}}\n' % number.encode())
        await other.tell("usage", used=1)
        await until(lambda: len(handler.notes) == 1)
        if side["answers_garbage"]:
            assert (await other.read())["error"]["code"] == -32700
        other.peer.notify("usage", {"used": float(number.replace("1e999", "inf"))})
        # `read` itself refuses what is not JSON.
        assert (await other.read())["params"]["used"] is None
    assert handler.notes == [("usage", {"used": 1})]


# -- C


async def test_c3_noise_of_a_host_costs_a_few_notes(caplog: pytest.LogCaptureFixture) -> None:
    noise = [b"\x1b[2J\x1b[H", b'"ready"', b"[]", b"42", b"", b"Loading profile", b"null", b"{}"]
    handler = Recorder()
    caplog.set_level(logging.INFO)
    async with wired(handler, **HOST, answers_garbage=False) as other:
        for number in range(50):
            await other.write(b"\n".join(noise) + b"\n" + line(note(str(number))))
        await until(lambda: len(handler.notes) == 50)
        await other.nothing_comes()
        assert other.peer.ended is None
    assert [params["text"] for _, params in handler.notes] == [str(number) for number in range(50)]
    assert 0 < len(caplog.records) <= NOTES_PER_WINDOW


# -- D


@pytest.mark.parametrize("request_id", ["1", 1, "a-b", 9007199254740993, 0, "", -5, 2**63 - 1])
@SIDES
async def test_d1_an_id_keeps_type_and_value(side: dict[str, Any], request_id: Any) -> None:
    async with wired(Methods(), **side) as other:
        for method, member in (("do", "result"), ("orchard/unknown", "error")):
            await other.ask(request_id, method)
            answer = await other.read()
            assert member in answer
            assert (type(answer["id"]), answer["id"]) == (type(request_id), request_id)


@pytest.mark.parametrize("request_id", [None, True, False, 1.5, [], {}])
async def test_d2_an_odd_id_is_refused_and_nothing_is_done(request_id: Any) -> None:
    handler = Recorder()
    async with wired(handler, **AGENT) as other:
        await other.ask(request_id, "session/new")
        refusal = await other.read()
        assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)
        assert handler.calls == []
        await other.nothing_comes()


@pytest.mark.acp(15)
@SIDES
async def test_d3_no_notification_is_answered(side: dict[str, Any]) -> None:
    class Failing(Methods):
        def on_notification(self, method: str, params: Params) -> None:
            super().on_notification(method, params)
            raise RpcError(METHOD_NOT_FOUND, "Unknown method")

    handler = Failing()
    async with wired(handler, **side) as other:
        for method in ("_orchard/hello", "orchard/unknown", "session/cancel", "session/list"):
            await other.send({"jsonrpc": "2.0", "method": method})
            await other.send({"jsonrpc": "2.0", "method": method, "params": [1]})
        await other.nothing_comes()
        assert len(handler.notes) == 8


@pytest.mark.parametrize("request_id", [41, "41"])
@SIDES
async def test_d4_an_unknown_request_is_answered(side: dict[str, Any], request_id: Any) -> None:
    async with wired(Methods(), **side) as other:
        await other.ask(request_id, "host/askColour")
        refusal = await other.read()
        assert (refusal["id"], refusal["error"]["code"]) == (request_id, -32601)


@pytest.mark.parametrize(
    ("data", "request_id", "code"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"orchard/unknown"}', 7, -32601),
        (b'{"jsonrpc":"2.0","id":7}', 7, -32600),
        (b'{"jsonrpc":"2.0","id":7,"method":"do","params":"text"}', 7, -32602),
        (b"{oops", None, -32700),
    ],
)
async def test_d5_each_failure_has_its_code(data: bytes, request_id: Any, code: int) -> None:
    async with wired(Methods(), **AGENT) as other:
        await other.write(data + b"\n")
        refusal = await other.read()
        assert (refusal["id"], refusal["error"]["code"]) == (request_id, code)
        assert isinstance(refusal["error"]["data"]["reason"], str)


ODD_LINES = [
    b'{"jsonrpc":"2.0","id":7,"method":"orchard/unknown"}',
    b'{"jsonrpc":"2.0","id":7,"method":"session/list","params":null}',
    b'{"jsonrpc":"2.0","id":[7],"result":{}}',
    b'{"jsonrpc":"2.0","id":7,"error":"no"}',
    b'{"jsonrpc":"2.0","id":7,"result":{},"error":{}}',
    b'{"method":null}',
    b"{oops", b"17", b'"hi"', b"null", b"true", b"[]", b"{}", b"\x00", b"\xff", b"[" * 100_000,
]  # fmt: skip


@pytest.mark.parametrize("odd", ODD_LINES, ids=lambda odd: repr(odd[:50]))
@SIDES
async def test_d6_after_an_odd_line_a_valid_request_is_served(side: dict[str, Any], odd: bytes) -> None:
    async with wired(Methods(), **side) as other:
        answers: list[Any] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(other.write, odd + b"\n" + line({"jsonrpc": "2.0", "id": 8, "method": "session/list"}))
            while not any(answer["id"] == 8 for answer in answers):
                answers.append(await other.read())
        await other.ask("last", "do")
        while (answer := await other.read())["id"] != "last":
            answers.append(answer)
    assert [answer["id"] for answer in answers if "result" in answer].count(8) == 1
    # At most one answer for the odd line, under its own id or none.
    assert [answer["id"] for answer in answers if answer["id"] != 8] in ([], [7], [None])


@pytest.mark.acp(10)
@pytest.mark.parametrize(
    "batch",
    [
        [],
        [{"jsonrpc": "2.0", "id": 1, "method": "session/list"}, {"jsonrpc": "2.0", "id": 2, "method": "session/list"}],
        [{"jsonrpc": "2.0", "method": "session/cancel"}],
    ],
)
async def test_d7_a_batch_is_refused_once_and_not_run(batch: list[Any]) -> None:
    handler = Recorder(echo)
    async with wired(handler, **AGENT) as other:
        await other.send(batch)
        refusal = await other.read()
        assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)
        assert (handler.calls, handler.notes) == ([], [])
        await other.nothing_comes()


async def served(other: OtherEnd) -> bool:
    await other.ask("served", "do")
    return bool((await other.read())["id"] == "served")


async def test_d7_a_batch_of_a_host_gets_nothing_and_costs_nothing() -> None:
    async with wired(**HOST, answers_garbage=False) as other:
        await other.send([{"jsonrpc": "2.0", "id": 1, "method": "do"}])
        assert await served(other)
