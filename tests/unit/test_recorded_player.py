"""What the recorded host plays, what it lets a client do in its own way, and what it calls off script."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest

from adapter.hosts.recorded import Ended, Line, Manifest, Mismatch, Player, Script
from tests.oracles.msp_types import check_server_frame

INITIALIZE: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"clientInfo": {"name": "recorder", "version": "1"}, "capabilities": {"requestedCapabilities": ["x"]}},
}
INITIALIZED: dict[str, Any] = {"jsonrpc": "2.0", "method": "initialized"}
START: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "session/start",
    "params": {"commandId": "c1", "workspaceRoot": "/recorded"},
}
TURN: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": "t",
    "method": "turn/start",
    "params": {"sessionId": "s1", "commandId": "c2", "input": [{"type": "text", "text": "hi"}]},
}
RECEIPT: dict[str, Any] = {"jsonrpc": "2.0", "id": 2, "result": {}}
ENGAGED: dict[str, Any] = {
    "jsonrpc": "2.0",
    "method": "userInput/engaged",
    "params": {"sessionId": "s1", "userInputId": "u1"},
}
STOP: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 2,
    "method": "turn/interrupt",
    "params": {"sessionId": "s1", "commandId": "c3", "turnId": "c2"},
}

DIALOGUE: list[tuple[str, str]] = [
    ("client", orjson.dumps(INITIALIZE).decode()),
    ("server", '{"id":1,  "jsonrpc":"2.0", "result":{"serverInfo":{"name":"m","version":"1.2.1"}, "n":1.0}}'),
    ("client", orjson.dumps(INITIALIZED).decode()),
    ("server", '{"jsonrpc":"2.0","method":"session/listChanged","params":{}}'),
    ("client", orjson.dumps(START).decode()),
    ("server", '{"jsonrpc":"2.0","id":2,"result":{"session":{"sessionId":"s1","workspaceRoot":"/recorded"}}}'),
    ("client", orjson.dumps(TURN).decode()),
    ("server", '{"jsonrpc":"2.0","id":"t","result":{"commandId":"c2","turnId":"c2"}}'),
    ("server", '{"jsonrpc":"2.0","id":2,"method":"userInput/request","params":{"turnId":"c2","userInputId":"u1"}}'),
    ("client", orjson.dumps(RECEIPT).decode()),
    ("client", orjson.dumps(ENGAGED).decode()),
    ("client", orjson.dumps(STOP).decode()),
    ("server", '{"jsonrpc":"2.0","id":2,"result":{"commandId":"c3","turnId":"c2","c2":["c1","c3",{"c2":"c2 "}]}}'),
    ("server", "thread 'main' panicked"),
]


def script(*variables: str, dialogue: list[tuple[str, str]] | None = None) -> Script:
    lines = []
    for number, (direction, raw) in enumerate(dialogue or DIALOGUE, 1):
        frame = orjson.loads(raw) if raw.startswith("{") else None
        lines.append(Line(number, "client" if direction == "client" else "server", raw, frame))
    return Script(tuple(lines), Manifest(variables=frozenset(variables)))


def raws(*numbers: int) -> list[bytes]:
    return [DIALOGUE[number - 1][1].encode() for number in numbers]


def play(player: Player, *frames: dict[str, Any]) -> list[bytes]:
    played: list[bytes] = []
    for frame in frames:
        answer = player.feed(frame)
        assert not isinstance(answer, Mismatch), str(answer)
        played += answer
    return played


def changed(frame: dict[str, Any], **params: Any) -> dict[str, Any]:
    return frame | {"params": frame.get("params", {}) | params}


def test_lines_follow_the_client_frame_before_them() -> None:
    player = Player(script())
    assert play(player, INITIALIZE) == raws(2)
    assert play(player, INITIALIZED) == raws(4)
    assert play(player, START) == raws(6)
    assert play(player, TURN) == raws(8, 9)
    assert play(player, RECEIPT, ENGAGED) == []
    assert play(player, STOP) == raws(13, 14)
    assert player.unfinished() is None


def test_what_the_host_wrote_before_anybody_spoke_comes_first() -> None:
    banner = ("server", "Welcome!")
    assert Player(script(dialogue=[banner, *DIALOGUE])).opening() == [b"Welcome!"]
    assert Player(script()).opening() == []


def test_minted_ids_come_back_and_member_names_and_longer_strings_stay() -> None:
    player = Player(script())
    start = changed(START, commandId="mine-1") | {"id": "one"}
    turn = changed(TURN, commandId="mine-2") | {"id": 0}
    stop = changed(STOP, commandId="mine-3", turnId="mine-2") | {"id": "0"}
    play(player, INITIALIZE, INITIALIZED)
    session, ack, question = map(orjson.loads, play(player, start, turn))
    assert session["id"] == "one"
    assert ack == {"jsonrpc": "2.0", "id": 0, "result": {"commandId": "mine-2", "turnId": "mine-2"}}
    assert question["id"] == 2 and question["params"] == {"turnId": "mine-2", "userInputId": "u1"}
    (stopped, panic) = play(player, RECEIPT, ENGAGED, stop)
    assert orjson.loads(stopped)["id"] == "0"
    assert orjson.loads(stopped)["result"] == {
        "commandId": "mine-3",
        "turnId": "mine-2",
        "c2": ["mine-1", "mine-3", {"c2": "c2 "}],
    }
    assert panic == b"thread 'main' panicked"


def test_a_host_request_keeps_its_id_even_if_a_client_id_is_spelled_alike() -> None:
    player = Player(script())
    played = play(player, INITIALIZE, INITIALIZED, START | {"id": 55}, TURN)
    assert orjson.loads(played[-1])["id"] == 2


def test_who_the_client_is_and_its_trace_do_not_matter() -> None:
    player = Player(script())
    who = changed(INITIALIZE, clientInfo={"name": "x"}) | {"trace": {"traceparent": "00-1-1-01"}}
    assert play(player, dict(reversed(who.items()))) == raws(2)


@pytest.mark.parametrize(
    "order",
    [
        [INITIALIZE, INITIALIZED, START, TURN, STOP, RECEIPT, ENGAGED],
        [INITIALIZE, INITIALIZED, START, TURN, ENGAGED, STOP, RECEIPT],
        [INITIALIZE, ENGAGED, INITIALIZED, START, TURN, RECEIPT, STOP],
        [INITIALIZE, START, TURN, ENGAGED, INITIALIZED, RECEIPT, STOP],
    ],
    ids=["receipts last", "receipt last", "notification early", "handshake late"],
)
def test_notifications_and_receipts_may_come_early_or_late(order: list[dict[str, Any]]) -> None:
    player = Player(script())
    played = [orjson.loads(line) for line in play(player, *order) if line.startswith(b"{")]
    wanted = [orjson.loads(raw) for direction, raw in DIALOGUE if direction == "server" and raw.startswith("{")]
    assert played == wanted
    assert player.unfinished() is None


def test_a_variable_is_the_players_clients_own_and_comes_back() -> None:
    player = Player(script("params.workspaceRoot"))
    play(player, INITIALIZE, INITIALIZED)
    (session,) = play(player, changed(START, workspaceRoot="/mine"))
    assert orjson.loads(session)["result"]["session"]["workspaceRoot"] == "/mine"


def test_a_client_may_choose_the_id_of_the_session_it_starts() -> None:
    dialogue = copy.deepcopy(DIALOGUE)
    dialogue[4] = ("client", orjson.dumps(changed(START, sessionId="s1")).decode())
    player = Player(script(dialogue=dialogue))
    (session,) = play(player, INITIALIZE, INITIALIZED, changed(START, sessionId="own"))[2:]
    assert orjson.loads(session)["result"]["session"]["sessionId"] == "own"
    play(player, changed(TURN, sessionId="own"))


BEFORE_STOP = [INITIALIZE, INITIALIZED, START, TURN, RECEIPT, ENGAGED]


@pytest.mark.parametrize(
    ("before", "frame", "line", "path"),
    [
        ([], START, 1, "method"),
        ([], INITIALIZED, 1, ""),
        ([], {"jsonrpc": "2.0", "id": 1, "result": {}}, 1, ""),
        ([], {"id": 1, "method": "initialize", "params": INITIALIZE["params"]}, 1, "jsonrpc"),
        ([], changed(INITIALIZE, capabilities={}), 1, "params.capabilities.requestedCapabilities"),
        ([], changed(INITIALIZE, capabilities=None), 1, "params.capabilities"),
        ([], changed(INITIALIZE, extra=1), 1, "params.extra"),
        ([], INITIALIZE | {"id": 1.5}, 1, "id"),
        ([], INITIALIZE | {"id": True}, 1, "id"),
        ([INITIALIZE, INITIALIZED], changed(START, workspaceRoot="/mine"), 5, "params.workspaceRoot"),
        ([INITIALIZE, INITIALIZED], changed(START, commandId=7), 5, "params.commandId"),
        ([INITIALIZE, INITIALIZED], TURN, 5, "method"),
        ([INITIALIZE, INITIALIZED, START], changed(TURN, commandId="c1"), 7, "params.commandId"),
        ([INITIALIZE, INITIALIZED, START], changed(TURN, input=[]), 7, "params.input"),
        (
            [INITIALIZE, INITIALIZED, START],
            changed(TURN, input=[{"type": "text", "text": "ho"}]),
            7,
            "params.input[0].text",
        ),
        ([INITIALIZE, INITIALIZED], INITIALIZED, 11, "method"),
        ([INITIALIZE], changed(ENGAGED, userInputId="u2"), 11, "params.userInputId"),
        ([INITIALIZE, INITIALIZED, START, TURN], RECEIPT | {"result": {"ok": 1}}, 10, "result.ok"),
        ([INITIALIZE, INITIALIZED, START], RECEIPT, 10, "id"),
        ([INITIALIZE, INITIALIZED, START, TURN], RECEIPT | {"id": "2"}, None, ""),
        ([INITIALIZE, INITIALIZED, START, TURN], RECEIPT | {"id": True}, None, ""),
        ([INITIALIZE, INITIALIZED, START, TURN], RECEIPT | {"id": [2]}, None, ""),
        ([INITIALIZE, INITIALIZED, START, TURN, RECEIPT], RECEIPT, None, ""),
        ([*BEFORE_STOP, STOP], STOP, None, ""),
        ([INITIALIZE, START | {"id": 5}], TURN | {"id": 5}, 7, "id"),
        ([*BEFORE_STOP[:2], START, changed(TURN, commandId="x")], STOP, 12, "params.turnId"),
    ],
)
def test_a_frame_off_script_names_the_line_and_the_first_difference(
    before: list[dict[str, Any]], frame: dict[str, Any], line: int | None, path: str
) -> None:
    player = Player(script())
    play(player, *before)
    mismatch = player.feed(frame)
    assert isinstance(mismatch, Mismatch)
    assert (mismatch.expected.number if mismatch.expected else None) == line
    assert mismatch.difference.path == path
    if "method" not in frame or "id" not in frame:
        assert mismatch.reply is None
        return
    assert mismatch.reply is not None
    reply = orjson.loads(mismatch.reply)
    if reply["id"] is not None:
        check_server_frame(reply, frame["method"], closed=True)
    assert reply["error"]["code"] == -32603
    assert reply["error"]["data"]["kind"] == "internal"
    assert reply["error"]["data"]["details"].get("line") == line
    assert reply["error"]["data"]["details"]["path"] == path


def test_the_script_goes_on_after_a_frame_off_script() -> None:
    player = Player(script())
    play(player, INITIALIZE, INITIALIZED)
    assert isinstance(player.feed(changed(START, commandId="wrong", workspaceRoot="/mine")), Mismatch)
    assert play(player, START) == raws(6)


def test_a_mismatch_is_described_without_the_values() -> None:
    player = Player(script())
    play(player, INITIALIZE, INITIALIZED)
    mismatch = player.feed(changed(START, workspaceRoot="/very/secret"))
    assert isinstance(mismatch, Mismatch)
    assert "secret" not in str(mismatch)
    assert "line 5" in str(mismatch) and "params.workspaceRoot" in str(mismatch)
    assert mismatch.reply is not None and b"/very/secret" in mismatch.reply


def test_an_unreadable_line_gets_one_answer_without_an_id() -> None:
    mismatch = Player(script()).unreadable("is not JSON")
    assert isinstance(mismatch, Mismatch) and mismatch.reply is not None
    reply = orjson.loads(mismatch.reply)
    check_server_frame(reply, None, closed=True)
    assert (reply["id"], reply["error"]["code"]) == (None, -32700)


def test_what_is_left_is_named() -> None:
    player = Player(script())
    play(player, *BEFORE_STOP)
    unfinished = player.unfinished()
    assert unfinished is not None and "line 12" in unfinished and "turn/interrupt" in unfinished


# -- what our recorder keeps, and recordings of ACP agents


def recorded(*spoken: tuple[str, str], variables: frozenset[str] = frozenset()) -> Player:
    lines = []
    for number, (direction, raw) in enumerate(spoken, 1):
        assert direction in ("client", "server")
        frame = orjson.loads(raw) if raw.startswith("{") else None
        lines.append(Line(number, direction, raw, frame))  # type: ignore[arg-type]
    return Player(Script(tuple(lines), Manifest(variables=variables)))


def test_a_line_that_was_no_frame_stands_for_any_other_and_is_waited_for() -> None:
    ask, answer = '{"id":1,"method":"a"}', '{"id":1,"result":{}}'
    player = recorded(("client", "junk"), ("client", ask), ("client", "more junk"), ("server", answer))

    assert player.unreadable("is not JSON") == []
    assert player.feed(orjson.loads(ask)) == []
    assert player.unfinished() is not None
    assert player.unreadable("is longer than 9 bytes") == [answer.encode()]
    assert player.unfinished() is None
    assert isinstance(player.unreadable("is not JSON"), Mismatch)


def test_a_frame_may_come_before_a_line_that_was_none() -> None:
    player = recorded(("client", "junk"), ("client", '{"id":1,"method":"a"}'), ("server", '{"id":1,"result":{}}'))

    assert player.feed({"id": 8, "method": "a"}) == [b'{"id":8,"result":{}}']


def test_exact_bytes_are_played_where_a_line_is_no_text() -> None:
    hello = Line(1, "client", "{}", {"method": "a"})
    player = Player(Script((hello, Line(2, "server", "\ufffd", None, data=b"\xff"))))

    assert player.feed({"method": "a"}) == [b"\xff"]


def test_a_variable_may_be_in_every_entry_of_a_list() -> None:
    parts = '{"type":"text","text":"qqqq"},{"type":"text","text":"rrrr"}'
    ask = f'{{"id":1,"method":"turn/start","params":{{"input":[{parts}]}}}}'
    said = '{"method":"item/completed","params":{"item":{"text":"rrrr"}}}'

    def turn(*texts: str) -> dict[str, Any]:
        parts = [{"type": "text", "text": text} for text in texts]
        return {"id": 1, "method": "turn/start", "params": {"input": parts}}

    def player() -> Player:
        return recorded(("client", ask), ("server", said), variables=frozenset({"params.input[*].text"}))

    assert player().feed(turn("do", "it")) == [said.replace("rrrr", "it").encode()]
    assert isinstance(player().feed(turn("do")), Mismatch)
    other = turn("do", "it")
    other["params"]["input"][1]["type"] = "image"
    assert isinstance(player().feed(other), Mismatch)


def test_an_acp_client_makes_up_ids_of_messages_and_terminals_and_says_more_in_meta() -> None:
    prompt = (
        '{"id":1,"method":"session/prompt","params":{"sessionId":"s","messageId":"m1","prompt":[],"_meta":{"a":1}}}'
    )
    create = '{"id":1,"method":"terminal/create","params":{"sessionId":"s"}}'
    made = '{"id":1,"result":{"terminalId":"t1"}}'
    output = '{"id":2,"method":"terminal/output","params":{"terminalId":"t1"}}'
    player = recorded(("client", prompt), ("server", create), ("client", made), ("server", output))

    own = {"sessionId": "s", "messageId": "mine", "prompt": [], "_meta": {"traceparent": "x"}}
    assert player.feed({"id": "r", "method": "session/prompt", "params": own}) == [create.encode()]
    (asked,) = fed(player, {"id": 1, "result": {"terminalId": "term-7"}})
    assert asked["params"] == {"terminalId": "term-7"}


def fed(player: Player, frame: dict[str, Any]) -> list[dict[str, Any]]:
    answer = player.feed(frame)
    assert not isinstance(answer, Mismatch), str(answer)
    return [orjson.loads(line) for line in answer]


def test_an_acp_client_takes_a_request_back_by_its_own_id() -> None:
    ask, cancel = '{"id":1,"method":"a"}', '{"method":"$/cancel_request","params":{"requestId":1}}'
    player = recorded(("client", ask), ("client", cancel), ("server", '{"id":1,"result":{}}'))

    assert player.feed({"id": "mine", "method": "a"}) == []
    assert fed(player, {"method": "$/cancel_request", "params": {"requestId": "mine"}}) == [
        {"id": "mine", "result": {}}
    ]


def test_what_a_client_says_in_its_own_way_may_be_left_out_or_added() -> None:
    with_it = '{"id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{}}}}'
    without = '{"id":1,"method":"initialize","params":{"protocolVersion":1}}'

    for raw, other in ((with_it, without), (without, with_it)):
        player = recorded(("client", raw), variables=frozenset({"params.clientCapabilities"}))
        assert player.feed(orjson.loads(other)) == []
        assert isinstance(recorded(("client", raw)).feed(orjson.loads(other)), Mismatch)


def test_what_ended_by_itself_ends_when_the_client_has_said_all_of_it() -> None:
    recorded = script(dialogue=[*DIALOGUE[:3], ("client", orjson.dumps(START).decode())])
    ended = Script(recorded.lines, Manifest(ended=Ended(signal=9)))
    player, other = Player(ended), Player(recorded)

    for frame in (INITIALIZE, START, INITIALIZED):
        assert player.ended() is None
        play(player, frame)
        play(other, frame)
    assert player.ended() == -9 and other.ended() is None
