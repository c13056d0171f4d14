"""Our requests over real pipes and on both event loops: their answers, and taking requests back in both directions."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest

from adapter.wire.envelope import Params, RpcError
from adapter.wire.framing import FrameTooLarge
from adapter.wire.peer import CANCEL_METHOD, BadAnswer, Call, Peer, Work
from tests.wired import PATIENCE, Gate, OtherEnd, Recorder, outcome, until, wired

pytestmark = pytest.mark.anyio


async def ask_all(peer: Peer, methods: list[str]) -> dict[str, Any]:
    answers: dict[str, Any] = {}

    async def ask(method: str) -> None:
        answers[method] = await outcome(lambda: peer.request(method, {"of": method}))

    async with anyio.create_task_group() as tasks:
        for method in methods:
            tasks.start_soon(ask, method)
    return answers


async def answer_each(other: OtherEnd, count: int, answer: dict[str, dict[str, Any]]) -> None:
    asked = await other.read_all(count)
    assert len({frame["id"] for frame in asked}) == count
    for frame in reversed(asked):
        await other.send({"jsonrpc": "2.0", "id": frame["id"], **answer[frame["method"]]})


async def test_answers_find_their_request_in_any_order() -> None:
    methods = [f"m{number}" for number in range(50)]
    async with wired() as other, anyio.create_task_group() as tasks:
        tasks.start_soon(answer_each, other, 50, {method: {"result": {"to": method}} for method in methods})
        assert await ask_all(other.peer, methods) == {method: {"to": method} for method in methods}


async def test_a_request_looks_as_it_should() -> None:
    async with wired() as other, anyio.create_task_group() as tasks:
        tasks.start_soon(outcome, lambda: other.peer.request("a", {"x": "温"}, trace={"traceparent": "00"}))
        tasks.start_soon(outcome, lambda: other.peer.request("b"))
        first, second = sorted(await other.read_all(2), key=lambda frame: str(frame["method"]))
        assert first == {
            "jsonrpc": "2.0", "id": first["id"], "method": "a", "params": {"x": "温"}, "trace": {"traceparent": "00"},
        }  # fmt: skip
        assert second == {"jsonrpc": "2.0", "id": second["id"], "method": "b"}
        assert type(second["id"]) is int
        assert second["id"] > 0
        other.close_input()


async def test_bad_answers_fail_the_request_they_name() -> None:
    answers: dict[str, dict[str, Any]] = {
        "refused": {"error": {"code": -32002, "message": "no", "data": {"kind": "x"}}},
        "null": {"result": None},
        "both": {"result": {}, "error": {"code": 1, "message": "no"}},
        "list": {"result": []},
        "neither": {},
        "odd error": {"error": "no"},
        "too long": {"result": {"text": "x" * 3000}},
        "good": {"result": {"a": 1}},
    }
    async with wired(inbound_cap=2000) as other, anyio.create_task_group() as tasks:
        tasks.start_soon(answer_each, other, len(answers), answers)
        got = await ask_all(other.peer, list(answers))
    refused = got.pop("refused")
    assert isinstance(refused, RpcError)
    assert (refused.code, refused.message, refused.data) == (-32002, "no", {"kind": "x"})
    assert (got.pop("good"), got.pop("null")) == ({"a": 1}, {})
    assert {method: type(answer) for method, answer in got.items()} == dict.fromkeys(got, BadAnswer)


@pytest.mark.acp(16)
async def test_responses_to_nobody_are_ignored(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with wired() as other, anyio.create_task_group() as tasks:
        waiting: list[Any] = []

        async def ask() -> None:
            waiting.append(await outcome(lambda: other.peer.request("do")))

        tasks.start_soon(ask)
        asked = await other.read()
        odd_ids: list[Any] = [99, "1", str(asked["id"]), None, [1], {}, True, float(asked["id"])]
        for response_id in odd_ids:
            await other.send(
                {"jsonrpc": "2.0", "id": response_id, "result": {}},
                {"jsonrpc": "2.0", "id": response_id, "error": {"code": -32700, "message": "m" * 10_000}},
                {"jsonrpc": "2.0", "id": response_id, "error": []},
            )
        await other.nothing_comes()
        assert waiting == []
        await other.send({"jsonrpc": "2.0", "id": asked["id"], "result": {"a": 1}})
        await until(lambda: waiting == [{"a": 1}])
    assert max(len(record.getMessage()) for record in caplog.records) < 500


async def test_a_second_answer_is_ignored() -> None:
    async with wired() as other, anyio.create_task_group() as tasks:
        tasks.start_soon(outcome, lambda: other.peer.request("do"))
        asked = await other.read()
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": {}}
        await other.send(answer, answer)
        await other.nothing_comes()


@pytest.mark.parametrize(("value", "error"), [("x" * 3000, FrameTooLarge), (object(), TypeError)])
async def test_what_cannot_be_written_is_told_to_the_caller(value: Any, error: type[Exception]) -> None:
    async with wired(outbound_cap=2000) as other:
        with pytest.raises(error):
            await other.peer.request("do", {"value": value})
        with pytest.raises(error):
            other.peer.notify("tell", {"value": value})
        other.peer.notify("tell", {"a": 1}, emittedAtMs=5)
        assert await other.read() == {"jsonrpc": "2.0", "method": "tell", "params": {"a": 1}, "emittedAtMs": 5}
        assert other.peer._waiters == {}


async def test_two_thousand_waiters() -> None:
    methods = [f"m{number}" for number in range(2000)]
    async with wired() as other, anyio.create_task_group() as tasks:
        tasks.start_soon(answer_each, other, 2000, {method: {"result": {"to": method}} for method in methods})
        assert len(await ask_all(other.peer, methods)) == 2000
        assert other.peer._waiters == {}


# -- taking requests back


@pytest.mark.acp(78)
async def test_the_other_side_takes_a_request_back() -> None:
    gate = Gate()
    async with wired(Recorder(gate), cancel_method=CANCEL_METHOD) as other:
        await other.ask("1")
        await until(lambda: gate.begun == 1)
        odd_ids: list[Any] = [1, None, [], "other"]
        for odd in odd_ids:
            await other.tell(CANCEL_METHOD, requestId=odd)
        await other.tell(CANCEL_METHOD)
        await other.tell(CANCEL_METHOD, requestId="1")
        await other.tell(CANCEL_METHOD, requestId="1")
        answer = await other.read()
        assert (answer["id"], answer["error"]["code"]) == ("1", -32800)
        assert gate.cancelled == 1
        gate.open.set()
        await other.nothing_comes()


@pytest.mark.acp(15, 78)
async def test_a_request_taken_back_in_the_same_write_is_answered_once() -> None:
    gate = Gate()
    async with wired(Recorder(gate), cancel_method=CANCEL_METHOD) as other:
        await other.send(
            {"jsonrpc": "2.0", "id": 1, "method": "do"},
            {"jsonrpc": "2.0", "method": CANCEL_METHOD, "params": {"requestId": 1}},
        )
        assert (await other.read())["error"]["code"] == -32800
        gate.open.set()
        await other.nothing_comes()


async def test_work_may_end_its_own_way_when_taken_back() -> None:
    class Turn(Recorder):
        def on_request(self, call: Call) -> Work:
            asked_to_stop = anyio.Event()
            call.on_cancel = asked_to_stop.set

            async def work() -> Params:
                await asked_to_stop.wait()
                return {"stopReason": "cancelled"}

            return work() if call.method == "prompt" else super().on_request(call)

    async with wired(Turn(), cancel_method=CANCEL_METHOD) as other:
        await other.ask(1, "prompt")
        await other.tell(CANCEL_METHOD, requestId=1)
        assert await other.read() == {"jsonrpc": "2.0", "id": 1, "result": {"stopReason": "cancelled"}}


async def test_without_the_method_a_cancel_is_a_notification_like_any() -> None:
    handler = Recorder()
    async with wired(handler) as other:
        await other.tell(CANCEL_METHOD, requestId=1)
        await until(lambda: handler.notes == [(CANCEL_METHOD, {"requestId": 1})])


@pytest.mark.acp(79)
@pytest.mark.parametrize("cancel_method", [CANCEL_METHOD, None])
async def test_we_take_a_request_back(cancel_method: str | None) -> None:
    async with wired(cancel_method=cancel_method) as other:
        with anyio.move_on_after(0.02):
            await other.peer.request("slow")
        asked = await other.read()
        if cancel_method is not None:
            assert await other.read() == {
                "jsonrpc": "2.0", "method": CANCEL_METHOD, "params": {"requestId": asked["id"]},
            }  # fmt: skip
        await other.send({"jsonrpc": "2.0", "id": asked["id"], "result": {}})
        await other.nothing_comes()


async def test_a_request_that_is_answered_already_is_not_taken_back() -> None:
    async with wired(cancel_method=CANCEL_METHOD) as other:
        with anyio.CancelScope() as scope:

            class Late(Recorder):
                def on_notification(self, method: str, params: Params) -> None:
                    scope.cancel()

            other.peer._handler = Late()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(other.peer.request, "do")
                asked = await other.read()
                # The answer and what makes the caller give up arrive in one read.
                await other.send(
                    {"jsonrpc": "2.0", "id": asked["id"], "result": {}}, {"jsonrpc": "2.0", "method": "give up"}
                )
                await anyio.sleep(PATIENCE)
        await other.nothing_comes()
