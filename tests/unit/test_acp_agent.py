"""The dispatcher behind a peer: method table, order of arrival, and the rules of `initialize`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import anyio
import orjson
import pytest
from msgspec.structs import replace

from adapter.acp import errors, params
from adapter.acp.agent import AgentDispatcher, Begin
from adapter.acp.capabilities import AgentCapabilities
from adapter.wire.envelope import Params, RpcError
from adapter.wire.peer import CANCEL_METHOD, Call, Peer, PeerOptions, Work

pytestmark = pytest.mark.anyio

OPTIONAL = {
    "session/load": "load_session",
    "session/resume": "resume_session",
    "session/fork": "fork_session",
    "session/list": "list_sessions",
    "session/close": "close_session",
    "session/delete": "delete_session",
    "session/set_mode": "modes",
    "session/set_config_option": "config_options",
    "logout": "logout",
}
NOTHING = AgentCapabilities()
EVERYTHING = replace(NOTHING, **dict.fromkeys(OPTIONAL.values(), True))
WAIT_SECONDS = 10.0

Message = dict[str, Any]


class Agent:
    """Answers with the name of the method that ran; prompts run until they are cancelled or the session is closed."""

    def __init__(self, capabilities: AgentCapabilities = EVERYTHING) -> None:
        self.capabilities = capabilities
        self.prompts: dict[str, anyio.Event] = {}
        self.initialize_answers: list[Params | RpcError] = []
        self.initialize_may_end = anyio.Event()
        self.initialize_may_end.set()

    async def initialize(self, asked: params.Initialize, call: Call) -> Params:
        await self.initialize_may_end.wait()
        answer = self.initialize_answers.pop(0) if self.initialize_answers else {"protocolVersion": 1}
        if isinstance(answer, RpcError):
            raise answer
        return answer

    async def authenticate(self, asked: params.Authenticate, call: Call) -> Params:
        return {"ran": "authenticate"}

    async def logout(self, asked: params.Logout, call: Call) -> Params:
        return {"ran": "logout"}

    async def new_session(self, asked: params.NewSession, call: Call) -> Params:
        if asked.cwd == "/explode":
            raise ZeroDivisionError("s3cret")
        if asked.cwd == "/wait":
            await anyio.sleep_forever()
        return {"ran": "session/new"}

    async def load_session(self, asked: params.StoredSession, call: Call) -> Params:
        return {"ran": "session/load"}

    async def resume_session(self, asked: params.StoredSession, call: Call) -> Params:
        return {"ran": "session/resume"}

    async def fork_session(self, asked: params.ForkSession, call: Call) -> Params:
        return {"ran": "session/fork"}

    async def list_sessions(self, asked: params.ListSessions, call: Call) -> Params:
        return {"ran": "session/list"}

    async def close_session(self, asked: params.CloseSession, call: Call) -> Params:
        return {"ran": "session/close"}

    async def delete_session(self, asked: params.DeleteSession, call: Call) -> Params:
        return {"ran": "session/delete"}

    async def set_mode(self, asked: params.SetMode, call: Call) -> Params:
        return {"ran": "session/set_mode"}

    async def set_config_option(self, asked: params.SetConfigOption, call: Call) -> Params:
        return {"ran": "session/set_config_option"}

    def admit_prompt(self, asked: params.Prompt, call: Call) -> Work:
        if asked.session_id == "ses-unknown":
            raise errors.session_unknown(asked.session_id)
        cancelled = self.prompts[asked.session_id] = anyio.Event()
        call.on_cancel = cancelled.set
        return self._turn(cancelled)

    async def _turn(self, cancelled: anyio.Event) -> Params:
        await cancelled.wait()
        return {"stopReason": "cancelled"}

    def cancel(self, asked: params.Cancel) -> None:
        if asked.session_id in self.prompts:
            self.prompts[asked.session_id].set()


class Script:
    """A client that writes each of `writes` as one piece when nothing moves any more, and then closes its end."""

    def __init__(self, writes: list[bytes]) -> None:
        self._writes = writes

    async def receive(self) -> bytes:
        await anyio.wait_all_tasks_blocked()
        return self._writes.pop(0) if self._writes else b""


class Paper:
    """Keeps what is written."""

    def __init__(self) -> None:
        self.data = b""

    async def send(self, data: bytes) -> None:
        self.data += data


async def talk(
    *writes: list[Message],
    agent: Agent | None = None,
    ours: AgentCapabilities = EVERYTHING,
    extensions: Mapping[str, Begin] | None = None,
) -> list[Message]:
    """Everything the agent wrote, each write of messages sent as one piece."""
    sink = Paper()
    dispatcher = AgentDispatcher(agent or Agent(ours), extensions)
    pieces = [b"".join(orjson.dumps(message) + b"\n" for message in write) for write in writes]
    options = PeerOptions(
        name="client", inbound_cap=1_000_000, outbound_cap=1_000_000, cancel_method=CANCEL_METHOD, drain_seconds=0.3
    )
    peer = Peer(Script(pieces), sink, dispatcher, options)
    with anyio.fail_after(WAIT_SECONDS):
        await peer.run()
    return [orjson.loads(line) for line in sink.data.splitlines()]


def request(request_id: Any, method: str, **members: Any) -> Message:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": members}


def notification(method: str, **members: Any) -> Message:
    return {"jsonrpc": "2.0", "method": method, "params": members}


def prompt(request_id: Any, session_id: str = "ses-alder") -> Message:
    return request(request_id, "session/prompt", sessionId=session_id, prompt=[{"type": "text", "text": "hi"}])


def by_id(answers: list[Message]) -> dict[Any, Message]:
    """The answers by id; every id answered once."""
    found = {answer["id"]: answer for answer in answers}
    assert len(found) == len(answers)
    return found


HELLO = request("hello", "initialize", protocolVersion=1)
CALLS: dict[str, dict[str, Any]] = {
    "authenticate": {"methodId": "m"},
    "logout": {},
    "session/new": {"cwd": "/srv", "mcpServers": []},
    "session/load": {"sessionId": "s", "cwd": "/srv", "mcpServers": []},
    "session/resume": {"sessionId": "s", "cwd": "/srv"},
    "session/fork": {"sessionId": "s", "cwd": "/srv", "mcpServers": []},
    "session/list": {},
    "session/close": {"sessionId": "s"},
    "session/delete": {"sessionId": "s"},
    "session/set_mode": {"sessionId": "s", "modeId": "m"},
    "session/set_config_option": {"sessionId": "s", "configId": "c", "value": "v"},
}


@pytest.mark.parametrize("method", CALLS)
async def test_each_method_reaches_the_agent(method: str) -> None:
    answers = by_id(await talk([HELLO], [request(1, method, **CALLS[method])]))
    assert answers[1]["result"] == {"ran": method}


@pytest.mark.acp(29)
@pytest.mark.parametrize("method", OPTIONAL)
async def test_an_optional_method_is_there_exactly_if_advertised(method: str) -> None:
    capability = OPTIONAL[method]
    asked = [request(1, method, **CALLS[method])]
    answers = by_id(await talk([HELLO], asked, ours=replace(NOTHING, **{capability: True})))
    assert answers[1]["result"] == {"ran": method}
    answers = by_id(await talk([HELLO], asked, ours=replace(EVERYTHING, **{capability: False})))
    assert answers[1]["error"]["code"] == -32601
    assert answers[1]["error"]["data"]["reason"] == "methodNotFound"


@pytest.mark.acp(100)
@pytest.mark.parametrize("method", ["orchard/unknown", "_orchard/unknown", "$/unknown", "session/update"])
async def test_d4_an_unknown_request_is_answered(method: str) -> None:
    error = by_id(await talk([HELLO], [request("41", method)]))["41"]["error"]
    assert error["code"] == -32601
    assert method in error["data"]["details"]


@pytest.mark.acp(100)
@pytest.mark.parametrize(
    "method", ["_orchard/hello", "orchard/unknown", "$/unknown", "session/cancel", "session/prompt", "session/new"]
)
async def test_d3_an_unknown_notification_is_not(method: str) -> None:
    answers = await talk(
        [HELLO], [notification(method), {"jsonrpc": "2.0", "method": method}, request(1, "session/list")]
    )
    assert [answer["id"] for answer in answers] == ["hello", 1]


@pytest.mark.parametrize("request_id", ["1", 1, "a-b", 9007199254740993, -3, 0, ""])
async def test_d1_ids_keep_their_type(request_id: Any) -> None:
    answers = await talk([request(request_id, "initialize", protocolVersion=2)], [request(request_id, "session/list")])
    assert [(type(answer["id"]), answer["id"]) for answer in answers] == [(type(request_id), request_id)] * 2


@pytest.mark.parametrize("request_id", [None, True, 1.5])
async def test_d2_a_bad_id_runs_nothing(request_id: Any) -> None:
    agent = Agent()
    answers = await talk([HELLO], [prompt(request_id)], agent=agent)
    assert answers[1]["error"]["code"] == -32600
    assert answers[1]["id"] is None
    assert not agent.prompts


@pytest.mark.parametrize(
    ("line", "code", "answered"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":"orchard/unknown"}', -32601, 7),
        (b'{"jsonrpc":"2.0","id":7}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"session/new","params":{"cwd":1}}', -32602, 7),
        (b'{"jsonrpc":"2.0","id":7,"method":"session/new","params":null}', -32602, 7),
        (b"{oops", -32700, None),
        (b"17", -32600, None),
        (b'"hi"', -32600, None),
        (b"null", -32600, None),
        (b"[]", -32600, None),
    ],
)
async def test_d5_d6_d7_each_fault_has_its_code_and_the_next_request_works(
    line: bytes, code: int, answered: Any
) -> None:
    sink = Paper()
    writes = [orjson.dumps(HELLO) + b"\n", line + b"\n", orjson.dumps(request(8, "session/list")) + b"\n"]
    options = PeerOptions(name="client", inbound_cap=1_000_000, outbound_cap=1_000_000)
    with anyio.fail_after(WAIT_SECONDS):
        await Peer(Script(writes), sink, AgentDispatcher(Agent()), options).run()
    answers = by_id([orjson.loads(written) for written in sink.data.splitlines()])
    assert answers[answered]["error"]["code"] == code
    assert answers[8]["result"] == {"ran": "session/list"}


@pytest.mark.acp(103, 105)
async def test_an_agents_bug_is_an_internal_error_without_its_words() -> None:
    answers = by_id(await talk([HELLO], [request(1, "session/new", cwd="/explode"), request(2, "session/list")]))
    assert answers[1]["error"]["code"] == -32603
    assert "s3cret" not in repr(answers)
    assert "result" in answers[2]


@pytest.mark.acp(32)
@pytest.mark.parametrize("method", [*CALLS, "session/prompt", "orchard/unknown", "session/cancel"])
async def test_o9_before_initialize_nothing_works(method: str) -> None:
    (answer,) = await talk([request(1, method, **CALLS.get(method, {}))])
    assert answer["error"]["code"] == -32600
    assert answer["error"]["data"]["reason"] == "notInitialized"


@pytest.mark.acp(32)
async def test_a_refused_initialize_can_be_tried_again() -> None:
    agent = Agent()
    agent.initialize_answers = [errors.internal_error()]
    answers = by_id(
        await talk(
            [request(1, "initialize", protocolVersion="1")],
            [request(2, "session/list")],
            [request(3, "initialize", protocolVersion=1)],
            [request(4, "session/list")],
            [request(5, "initialize", protocolVersion=1)],
            [request(6, "session/list")],
            agent=agent,
        )
    )
    assert [answers[number].get("error", {}).get("code") for number in range(1, 7)] == [
        -32602,
        -32600,
        -32603,
        -32600,
        None,
        None,
    ]


@pytest.mark.acp(33)
async def test_a_repeated_initialize_is_answered_and_breaks_nothing() -> None:
    agent = Agent()
    agent.initialize_answers = [{"n": 1}, {"n": 2}, errors.internal_error()]
    hello = [request(number, "initialize", protocolVersion=1) for number in (1, 2, 3)]
    answers = by_id(await talk([hello[0]], [hello[1]], [hello[2]], [request(4, "session/list")], agent=agent))
    assert answers[2]["result"] == {"n": 2}
    assert answers[4]["result"] == {"ran": "session/list"}


@pytest.mark.parametrize("fails", [False, True])
async def test_requests_written_together_with_initialize_wait_for_it(fails: bool) -> None:
    agent = Agent()
    agent.initialize_may_end = anyio.Event()
    agent.initialize_answers = [errors.internal_error()] if fails else []
    answers: list[Message] = []

    async def client() -> None:
        answers.extend(await talk([HELLO, request(1, "session/list"), request(2, "orchard/unknown")], agent=agent))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client)
        await anyio.wait_all_tasks_blocked()
        agent.initialize_may_end.set()
    assert answers[0]["id"] == "hello"
    found = by_id(answers)
    assert found[1].get("error", {}).get("code") == (-32600 if fails else None)
    assert found[2]["error"]["code"] == (-32600 if fails else -32601)


@pytest.mark.acp(75, 77)
@pytest.mark.parametrize("cancel_id", [None, 9])
async def test_a_cancel_in_the_same_write_hits_its_prompt(cancel_id: int | None) -> None:
    cancel = notification("session/cancel", sessionId="ses-alder")
    if cancel_id is not None:
        cancel["id"] = cancel_id
    answers = by_id(await talk([HELLO], [prompt(1), cancel]))
    assert answers[1]["result"] == {"stopReason": "cancelled"}
    assert cancel_id is None or answers[9]["result"] == {}
    assert len(answers) == (2 if cancel_id is None else 3)


async def test_a_cancel_before_its_prompt_does_not_hit_it() -> None:
    answers = by_id(await talk([HELLO], [notification("session/cancel", sessionId="ses-alder"), prompt(1)]))
    # Nothing ends the turn, so it is cut when the connection is drained.
    assert answers[1]["error"]["code"] == -32800


@pytest.mark.acp(78)
async def test_a_request_taken_back_is_answered_once() -> None:
    taken_back = [notification(CANCEL_METHOD, requestId=number) for number in (1, 2, 99, "1")]
    answers = by_id(await talk([HELLO], [prompt(1), request(2, "session/new", cwd="/wait"), *taken_back]))
    assert answers[1]["result"] == {"stopReason": "cancelled"}
    assert answers[2]["error"]["code"] == -32800


async def test_a_prompt_can_be_refused_at_admission() -> None:
    error = by_id(await talk([HELLO], [prompt(1, "ses-unknown")]))[1]["error"]
    assert error["code"] == -32002
    assert error["data"]["sessionId"] == "ses-unknown"


async def test_extensions_are_methods_like_the_others() -> None:
    async def echo(call: Call) -> Params:
        return {"asked": call.params}

    asked = request(1, "_orchard/echo", n=1)
    extensions: dict[str, Begin] = {"_orchard/echo": echo}
    assert (await talk([asked], extensions=extensions))[0]["error"]["code"] == -32600
    assert by_id(await talk([HELLO], [asked], extensions=extensions))[1]["result"] == {"asked": {"n": 1}}
