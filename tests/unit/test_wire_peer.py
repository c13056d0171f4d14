"""What a peer does with the requests of the other side, over real pipes and on both event loops."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from adapter.wire.envelope import MAX_ID_CHARS, Params, Reject, RpcError
from adapter.wire.peer import (
    MAX_INCOMING_REQUESTS,
    Call,
    Peer,
    PeerClosed,
    Work,
)
from tests.wired import CAP, PATIENCE, Gate, Recorder, options, outcome, until, wired

pytestmark = pytest.mark.anyio

IDS: list[Any] = [1, "1", 0, "", -1, -7, 2**63 - 1, -(2**63), 9007199254740993, "a-b", "温室", "x" * MAX_ID_CHARS]


@pytest.mark.acp(13)
async def test_every_id_comes_back_as_it_was() -> None:
    async with wired() as other:
        for request_id in IDS:
            await other.ask(request_id, "do", a=1)
            answer = await other.read()
            assert type(answer["id"]) is type(request_id)
            assert answer == {"jsonrpc": "2.0", "id": request_id, "result": {"method": "do", "params": {"a": 1}}}


async def test_one_and_the_text_one_are_two_requests() -> None:
    gate = Gate()
    async with wired(Recorder(gate)) as other:
        await other.ask(1)
        await other.ask("1")
        await until(lambda: gate.begun == 2)
        gate.open.set()
        assert {repr(answer["id"]) for answer in await other.read_all(2)} == {"1", "'1'"}


@pytest.mark.acp(14)
@pytest.mark.parametrize("request_id", [0, 1, "1", ""])
async def test_an_id_still_open_is_refused_without_naming_it(request_id: Any) -> None:
    gate = Gate()
    handler = Recorder(gate)
    async with wired(handler) as other:
        await other.ask(request_id, "first")
        await other.ask(request_id, "second")
        refusal = await other.read()
        assert (refusal["id"], refusal["error"]["code"]) == (None, -32600)
        assert refusal["error"]["data"] == {"reason": "duplicateId"}
        gate.open.set()
        assert await other.read() == {"jsonrpc": "2.0", "id": request_id, "result": {"method": "first"}}
        await other.ask(request_id, "third")
        assert (await other.read())["result"] == {"method": "third"}
        await other.nothing_comes()
    assert [call.method for call in handler.calls][:2] == ["first", "third"]


@pytest.mark.acp(14)
@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":7,"method":"do","params":[]}',
        b'{"jsonrpc":"2.0","id":7,"method":7}',
        b'{"id":7,"method":"do"}',
        b'{"jsonrpc":"2.0","id":7,"method":"do","params":{"text":"%s"}}' % (b"x" * CAP),
    ],
    ids=["params", "method", "version", "length"],
)
async def test_what_is_no_request_is_refused_without_naming_an_id_still_open(line: bytes) -> None:
    gate = Gate()
    async with wired(Recorder(gate)) as other:
        await other.ask(7, "first")
        await other.write(line + b"\n")
        refusal = await other.read()
        assert (refusal["id"], refusal["error"]["data"]["reason"]) == (None, "duplicateId")
        gate.open.set()
        assert await other.read() == {"jsonrpc": "2.0", "id": 7, "result": {"method": "first"}}
        await other.write(line + b"\n")
        assert (await other.read())["id"] == 7, "nobody else has it now"


async def fails(error: BaseException) -> Params:
    raise error


@pytest.mark.acp(105)
@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (RpcError(-32000, "no", {"reason": "x"}), {"code": -32000, "message": "no", "data": {"reason": "x"}}),
        (RpcError(-32601, "no"), {"code": -32601, "message": "no"}),
        (ExceptionGroup("", [ExceptionGroup("", [RpcError(7, "no")])]), {"code": 7, "message": "no"}),
        (ExceptionGroup("", [RpcError(7, "no"), KeyError("secret")]), None),
        (KeyError("secret"), None),
        (RuntimeError("secret"), None),
        (TimeoutError(), None),
        (RecursionError(), None),
        (PeerClosed("secret"), None),
        (StopAsyncIteration(), None),
    ],
    ids=repr,
)
async def test_a_handler_that_raises_still_answers(error: Exception, answer: Any, early: bool) -> None:
    def work(call: Call) -> Work:
        if call.method != "do":
            return Recorder().work(call)
        if early:
            raise error
        return fails(error)

    async with wired(Recorder(work)) as other:
        await other.ask(3)
        reply = await other.read()
        assert reply["id"] == 3
        if answer is None:
            assert reply["error"]["code"] == -32603
            assert reply["error"]["data"]["reason"] == "internal"
            assert "secret" not in str(reply)
        else:
            assert reply["error"] == answer
        await other.ask(3, "other")
        assert "result" in await other.read()


@pytest.mark.parametrize("where", ["work", "on_request", "on_notification"])
async def test_an_interrupt_in_a_handler_ends_the_connection_and_goes_on_its_way(where: str) -> None:
    class Interrupt(BaseException):
        """Nothing in between may catch it, and no event loop knows it."""

    class Interrupted(Recorder):
        def on_notification(self, method: str, params: Params) -> None:
            raise Interrupt

        def on_request(self, call: Call) -> Work:
            if where == "work":
                return fails(Interrupt())
            raise Interrupt

    got: list[Any] = []

    async def ask(peer: Peer) -> None:
        # Outside the task group that breaks, as the rest of the program is.
        got.append(await outcome(lambda: peer.request("never answered")))

    async with anyio.create_task_group() as tasks:
        with pytest.raises(BaseExceptionGroup) as caught:
            async with wired(Interrupted()) as other:
                tasks.start_soon(ask, other.peer)
                await other.read()
                await (other.tell("tell") if where == "on_notification" else other.ask(1))
                await anyio.sleep(PATIENCE)
    assert caught.value.split(Interrupt)[1] is None
    assert [type(answer) for answer in got] == [PeerClosed]
    assert other.peer.ended == "closed"


@pytest.mark.parametrize("result", [{"text": "x" * 3000}, {"text": "\x01" * 600}])
async def test_an_answer_that_does_not_fit_says_so(result: Params) -> None:
    async def big(call: Call) -> Params:
        return result

    async with wired(Recorder(lambda call: big(call)), outbound_cap=2000) as other:
        await other.ask("a" * 100)
        reply = await other.read()
    assert (reply["id"], reply["error"]["code"]) == ("a" * 100, -32603)
    assert reply["error"]["data"] == {"reason": "responseTooLarge", "limitBytes": 2000}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (RpcError(7, "no", {"text": "x" * 3000}), "no"),
        (RpcError(7, "m" * 5000), "m" * 1000),
        (RpcError(7, "no", {"thing": object()}), "no"),
    ],
    ids=["data too large", "message too large", "data no JSON"],
)
async def test_an_error_that_cannot_be_written_is_cut_down(error: RpcError, message: str) -> None:
    async with wired(Recorder(lambda call: fails(error)), outbound_cap=2000) as other:
        await other.ask(1)
        assert (await other.read())["error"] == {"code": 7, "message": message}


async def test_an_answer_json_cannot_express_is_an_internal_error() -> None:
    async def odd(call: Call) -> Params:
        return {"thing": object()}

    async with wired(Recorder(lambda call: odd(call))) as other:
        await other.ask(1)
        assert (await other.read())["error"]["data"]["reason"] == "internal"
        await other.ask(2)
        assert (await other.read())["id"] == 2


async def test_with_a_cap_nothing_fits_the_connection_still_lives() -> None:
    handler = Recorder()
    async with wired(handler, outbound_cap=60) as other:
        await other.ask("x" * 80)
        await other.tell("t")
        await until(lambda: len(handler.notes) == 1)
        assert other.peer.ended is None


@pytest.mark.acp(68)
async def test_a_slow_handler_delays_nothing() -> None:
    gate = Gate()
    handler = Recorder(lambda call: gate(call) if call.method == "slow" else Recorder().work(call))
    async with wired(handler) as other:
        await other.send(
            {"jsonrpc": "2.0", "id": 1, "method": "slow"},
            {"jsonrpc": "2.0", "method": "tell", "params": {"n": 1}},
            {"jsonrpc": "2.0", "id": 2, "method": "quick"},
            {"jsonrpc": "2.0", "method": "tell", "params": {"n": 2}},
        )
        assert (await other.read())["id"] == 2
        assert handler.notes == [("tell", {"n": 1}), ("tell", {"n": 2})]
        gate.open.set()
        assert (await other.read())["id"] == 1


async def test_frames_are_handled_in_order_of_arrival() -> None:
    seen: list[str] = []

    class Ordered(Recorder):
        def on_notification(self, method: str, params: Params) -> None:
            seen.append(method)

        def on_request(self, call: Call) -> Work:
            seen.append(call.method)
            return super().on_request(call)

    async with wired(Ordered()) as other:
        for number in range(20):
            await other.send(
                {"jsonrpc": "2.0", "id": number, "method": f"r{number}"}, {"jsonrpc": "2.0", "method": f"n{number}"}
            )
        await other.read_all(20)
    assert seen == [f"{kind}{number}" for number in range(20) for kind in "rn"]


async def test_one_request_too_many_is_refused() -> None:
    gate = Gate()
    async with wired(Recorder(gate)) as other:
        await other.send(
            *({"jsonrpc": "2.0", "id": number, "method": "do"} for number in range(MAX_INCOMING_REQUESTS + 1))
        )
        refusal = await other.read()
        assert refusal["id"] == MAX_INCOMING_REQUESTS
        assert refusal["error"]["data"] == {"reason": "tooManyRequests", "limit": MAX_INCOMING_REQUESTS}
        gate.open.set()
        answers = await other.read_all(MAX_INCOMING_REQUESTS)
        assert {answer["id"] for answer in answers} == set(range(MAX_INCOMING_REQUESTS))
        await other.nothing_comes()


async def test_requests_that_are_too_much_together_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapter.wire.calls.MAX_INCOMING_BYTES", 100_000)
    gate = Gate()
    handler = Recorder(gate)

    def asked(number: int, size: int) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": number, "method": "do", "params": {"text": "x" * size}}

    async with wired(handler) as other:
        await other.send(asked(1, 120_000), asked(2, 40_000), asked(3, 100))
        refusal = await other.read()
        assert refusal["id"] == 2, "one alone may be longer"
        data = refusal["error"]["data"]
        assert "too large together" in data.pop("details")
        assert data == {"reason": "tooManyRequests", "limitBytes": 100_000}
        await until(lambda: len(handler.calls) == 2)
        handler.calls[0].forget()
        assert handler.calls[0].params == {}
        await other.send(asked(4, 40_000), asked(5, 40_000), asked(6, 40_000))
        assert (await other.read())["id"] == 6
        gate.open.set()
        assert {answer["id"] for answer in await other.read_all(4)} == {1, 3, 4, 5}
        await other.send(asked(7, 90_000))
        assert "result" in await other.read()


# -- garbage


async def test_whoever_wants_to_know_is_told_what_cannot_be_read_as_a_notification() -> None:
    deep = b'{"a":' * 300 + b"1" + b"}" * 300
    told = [
        b"no JSON",
        b'{"jsonrpc":"2.0","method":"tell","params":%s}' % deep,
        b'{"jsonrpc":"2.0","method":"long","params":{"text":"%s"}}' % (b"x" * CAP),
    ]
    others = [
        b'{"jsonrpc":"2.0","method":"tell","params":{"a":1}}',
        b'{"jsonrpc":"2.0","id":7,"method":"do","params":%s}' % deep,
        b'{"jsonrpc":"2.0","id":7,"result":%s}' % deep,
        b'{"jsonrpc":"2.0","result":{}}',
        b'{"level":"info","message":"Loading profile"}',
        b"[]",
    ]
    heard: list[bytes] = []
    handler = Recorder()
    async with wired(handler, on_unreadable=heard.append, answers_garbage=False) as other:
        await other.write(b"\n".join(told + others) + b"\n")
        assert (await other.read())["error"]["data"]["reason"] == "nestedTooDeep"
        await other.nothing_comes()
    assert heard[:2] == told[:2] and len(heard) == 3
    assert told[2].startswith(heard[2]) and len(heard[2]) < CAP
    assert handler.notes == [("tell", {}), ("tell", {"a": 1})]


async def test_how_a_reject_is_answered_can_be_chosen() -> None:
    def refusal(reject: Reject) -> RpcError:
        return RpcError(-32002, reject.reason, reject.data)

    async with wired(inbound_cap=200, refusal=refusal) as other:
        await other.ask(5, text="x" * 300)
        assert await other.read() == {
            "jsonrpc": "2.0",
            "id": 5,
            "error": {"code": -32002, "message": "frameTooLarge", "data": {"limitBytes": 200}},
        }


async def test_a_failing_notification_handler_costs_one_note(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(Recorder):
        def on_notification(self, method: str, params: Params) -> None:
            raise KeyError(method)

    async with wired(Failing()) as other:
        await other.tell("tell")
        await other.nothing_comes()
    assert caplog.text.count("handling a frame failed") == 1


async def test_before_it_runs_a_peer_keeps_what_it_is_told() -> None:
    sent: list[bytes] = []

    class Sink:
        async def send(self, data: bytes) -> None:
            sent.append(data)

    class Source:
        async def receive(self) -> bytes:
            await anyio.lowlevel.checkpoint()
            return b""

    peer = Peer(Source(), Sink(), Recorder(), options())
    peer.notify("tell")
    got: list[Any] = []

    async def ask() -> None:
        got.append(await outcome(lambda: peer.request("do")))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await until(lambda: len(peer._waiters) == 1)
        with anyio.fail_after(PATIENCE):
            await peer.run()
    assert b"".join(sent).count(b"\n") == 2
    assert isinstance(got[0], PeerClosed)
