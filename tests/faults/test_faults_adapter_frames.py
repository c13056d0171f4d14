"""Faults of groups A, B and D on both sides of the adapter as a process: message size, text encoding, envelopes."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.faults.hosts_of_bytes import AnswersTooMuch, Crowded, Interjects, Pieces, WritesLongLine
from tests.faults.scripted_turns import Plays, ended, item
from tests.faults.with_host import INITIALIZE_LINE, null_errors, opened, request, say, serves_on
from tests.processes import proc
from tests.scripted_hosts import ScriptedHost, place

MIB: Final = 1024 * 1024


def write_pieces(adapter: AdapterProcess, data: bytes, piece: int, pause: float = 0.001) -> None:
    """Write lines in pieces of `piece` bytes."""
    adapter.sent += data.splitlines(keepends=True)
    for at in range(0, len(data), piece):
        adapter.write(data[at : at + piece])
        time.sleep(pause)


def prompt_line(request_id: Any, session_id: str, text: str) -> bytes:
    """The line of a prompt, as UTF-8."""
    return request(request_id, "session/prompt", {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]})


def peak_memory(adapter: AdapterProcess) -> int:
    """The most memory the adapter has had so far, in bytes."""
    status = (proc() / str(adapter.process.pid) / "status").read_text()
    [line] = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(line.split()[1]) * 1024


# -- A1, A2: long lines


@pytest.mark.acp(5, 70)
@pytest.mark.parametrize("size", [70_000, 1_000_000])
def test_a1_long_lines_both_ways(tmp_path: Path, size: int) -> None:
    asked, answered = "q" * size, "a" * 300_000
    with opened(tmp_path, Pieces, texts=[answered], piece=10 * MIB) as case:
        case.prompt(asked)
        assert case.text() == answered
        case.prompt("short")
        assert case.text() == 2 * answered
        texts = [frame["params"]["input"][0]["text"] for frame in case.host.received("turn/start")]
        assert texts == [asked, "short"]


def test_a2_an_endless_line_of_the_host_fails_the_prompt(tmp_path: Path) -> None:
    with opened(tmp_path, WritesLongLine, "--msp-frame-cap", str(MIB), size=300_000_000, ends=False) as case:
        before = peak_memory(case.adapter)
        error = case.adapter.response(case.begin())["error"]
        assert error["data"]["reason"] == "hostDied"
        assert peak_memory(case.adapter) - before < 32 * MIB


def test_a2_a_long_line_of_the_host_costs_only_itself(tmp_path: Path) -> None:
    with opened(tmp_path, WritesLongLine, "--msp-frame-cap", str(MIB), size=60_000_000) as case:
        before = peak_memory(case.adapter)
        assert case.prompt() == {"stopReason": "end_turn"}
        assert case.text() == "before answer 1"
        case.wait_for_note(b"longer than 1048576 bytes")
        assert peak_memory(case.adapter) - before < 32 * MIB


def test_a2_an_answer_of_the_host_that_is_too_long_fails_its_request(tmp_path: Path) -> None:
    with opened(tmp_path, AnswersTooMuch, "--msp-frame-cap", str(MIB), size=2 * MIB) as case:
        error = case.adapter.response(case.begin())["error"]
        assert "longer than" in error["data"]["details"]
        assert case.prompt() == {"stopReason": "end_turn"}


@pytest.mark.acp(17)
def test_a2_a_line_of_the_client_that_is_too_long_is_refused_by_its_id(tmp_path: Path) -> None:
    with opened(tmp_path, ScriptedHost, "--acp-frame-cap", "100000") as case:
        before = peak_memory(case.adapter)
        line = b'{"jsonrpc":"2.0","id":"long","method":"session/prompt","params":{"prompt":"%s"}}\n' % (
            b"a" * 60_000_000
        )
        say(case.adapter, line)
        error = case.adapter.response("long")["error"]
        assert (error["code"], error["data"]["limitBytes"]) == (-32600, 100_000)
        assert case.prompt() == {"stopReason": "end_turn"}
        assert peak_memory(case.adapter) - before < 32 * MIB


@pytest.mark.acp(17, 18)
@pytest.mark.parametrize("size", [MIB, 160 * MIB], ids=["long", "longer than any message"])
def test_a2_a_very_long_line_of_the_client_costs_only_itself(tmp_path: Path, size: int) -> None:
    with opened(tmp_path, ScriptedHost, "--acp-frame-cap", "100000") as case:
        before = peak_memory(case.adapter)
        short = request("long", "session/prompt", {"prompt": "a"})
        beginning, end = short.split(b'a"')
        # Remembered without its length, which only costs memory here.
        case.adapter.sent.append(short)
        case.adapter.write(beginning)
        for _ in range(size // MIB):
            case.adapter.write(b"a" * MIB)
        case.adapter.write(b'"' + end)
        assert case.adapter.response("long")["error"]["data"]["reason"] == "frameTooLarge"
        assert case.prompt() == {"stopReason": "end_turn"}
        assert peak_memory(case.adapter) - before < 32 * MIB


# -- A3, A4: borders of reads and writes


@pytest.mark.parametrize("piece", [1, 0, 10 * MIB], ids=["bytes", "one-and-a-half", "together"])
def test_a3_pieces_of_the_host(tmp_path: Path, piece: int) -> None:
    with opened(tmp_path, Pieces, piece=piece) as case:
        case.prompt()
        messages = [update["content"]["text"] for update in case.adapter.updates() if "content" in update]
        assert messages == ["one ", "two ", "three"]


@pytest.mark.acp(5)
@pytest.mark.parametrize("piece", [1, 120, MIB], ids=["bytes", "one-and-a-half", "together"])
def test_a3_pieces_of_the_client(tmp_path: Path, piece: int) -> None:
    with opened(tmp_path) as case:
        texts = ["one", "two", "three"]
        data = b"".join(prompt_line(text, case.session_id, text) for text in texts)
        write_pieces(case.adapter, data, piece)
        for text in texts:
            assert case.adapter.response(text)["result"] == {"stopReason": "end_turn"}
        received = [frame["params"]["input"][0]["text"] for frame in case.host.received("turn/start")]
        assert received == texts


@pytest.mark.acp(15, 19, 68)
def test_a4_many_at_once_while_both_sides_read_slowly(tmp_path: Path) -> None:
    with opened(tmp_path, Crowded) as case:
        adapter = case.adapter
        sessions = [adapter.new_session(tmp_path) for _ in range(16)]
        asked = {session_id: f"{number:04}" * 10_000 for number, session_id in enumerate(sessions)}
        adapter.pause = 0.005
        prompts = [adapter.begin_prompt(session_id, text) for session_id, text in asked.items()]
        unknown = [adapter.begin(f"orchard/{number}", {"padding": "x" * 10_000}) for number in range(16)]
        lists = [adapter.begin("session/list", {}) for _ in range(16)]
        assert [adapter.response(prompt)["result"] for prompt in prompts] == [{"stopReason": "end_turn"}] * 16
        assert [adapter.response(each)["error"]["code"] for each in unknown] == [-32601] * 16
        folders = {row["sessionId"]: row["workspaceRoot"] for row in Crowded.stored}
        for each in lists:
            rows = adapter.response(each)["result"]["sessions"]
            assert folders.items() <= {row["sessionId"]: row["cwd"] for row in rows}.items()
        adapter.pause = 0.0
        texts = {adapter.text(session_id) for session_id in sessions}
        assert texts == {chr(ord("A") + number) * 50_000 for number in range(16)}
        received = {
            frame["params"]["sessionId"]: frame["params"]["input"][0]["text"]
            for frame in case.host.received("turn/start")
        }
        assert received == asked


# -- B: text encoding

TREES: Final = ["温室🌳", *("x" * shift + "🌳" * 40_000 for shift in range(4))]
"""The long ones have a character of four bytes across every border a read can have."""


@pytest.mark.acp(3, 70)
@pytest.mark.parametrize("text", TREES, ids=["bytewise", "0", "1", "2", "3"])
def test_b1_characters_across_reads_of_the_host(tmp_path: Path, text: str) -> None:
    with opened(tmp_path, Pieces, texts=[text], piece=1 if len(text) < 10 else 10 * MIB) as case:
        case.prompt()
        assert case.text() == text


@pytest.mark.acp(5)
@pytest.mark.parametrize("text", TREES, ids=["bytewise", "0", "1", "2", "3"])
def test_b1_characters_across_reads_of_the_client(tmp_path: Path, text: str) -> None:
    with opened(tmp_path) as case:
        line = prompt_line("tree", case.session_id, text)
        write_pieces(case.adapter, line, 1 if len(text) < 10 else 10 * MIB)
        case.adapter.response("tree")
        [received] = case.host.received("turn/start")
        assert received["params"]["input"] == [{"type": "text", "text": text}]


@pytest.mark.acp(7)
@pytest.mark.parametrize("first", [True, False], ids=["first", "later"])
def test_b2_invalid_bytes_of_the_client(tmp_path: Path, first: bool) -> None:
    host = place(tmp_path / "host", ScriptedHost)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        if not first:
            adapter.initialize()
        say(adapter, b"\xff\xfe\n")
        if first:
            adapter.initialize()
        serves_on(adapter, tmp_path)
        assert null_errors(adapter) == [-32700]


SPARROW: Final = b'{"jsonrpc":"2.0","method":"item/completed","params":{"sessionId":"$S","viewCursor":"v:x",'
ITEM: Final = b'"item":{"itemId":"i","kind":"agentMessage","turnId":"$T","revision":1,"status":"completed","text":'


@pytest.mark.acp(3, 70)
@pytest.mark.parametrize(
    ("escaped", "shown"), [(b"\\ud800", "\ufffd"), (b"\\ud83c\\udf33", "🌳")], ids=["half", "pair"]
)
def test_b3_surrogates(tmp_path: Path, escaped: bytes, shown: str) -> None:
    raw = SPARROW + ITEM + b'"[' + escaped + b']"}}}\n'
    with opened(tmp_path, Interjects, raw=raw.decode("latin-1")) as case:
        line = prompt_line("p", case.session_id, "ESCAPE").replace(b"ESCAPE", escaped)
        case.adapter.write(line)
        case.adapter.sent.append(prompt_line("p", case.session_id, ""))
        assert case.adapter.response("p")["result"] == {"stopReason": "end_turn"}
        assert case.text() == f"before [{shown}]after"
        [received] = case.host.received("turn/start")
        assert received["params"]["input"][0]["text"] == shown
        assert not any(b"\\ud" in sent.lower() for sent in case.adapter.lines)


@pytest.mark.acp(2, 3, 5)
def test_b4_lf_out_and_crlf_in(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Pieces, texts=["温室🌳"])
    latin = {"LC_ALL": "C", "PYTHONIOENCODING": "latin-1", "PYTHONUTF8": "0"}
    with running_adapter(tmp_path, muse=host.muse, env=latin) as adapter:
        say(adapter, INITIALIZE_LINE.replace(b"\n", b"\r\n"))
        adapter.response("hello")
        say(adapter, request("new", "session/new", {"cwd": str(tmp_path), "mcpServers": []})[:-1] + b"\r\n")
        session_id = adapter.response("new")["result"]["sessionId"]
        adapter.prompt(session_id, "温室")
        assert adapter.text() == "温室🌳"
        assert not any(b"\r" in line for line in adapter.lines)
        serves_on(adapter, tmp_path)


@pytest.mark.acp(5)
def test_b5_byte_order_marks(tmp_path: Path) -> None:
    host = place(tmp_path / "host", Interjects, raw=b"\xef\xbb\xbf".decode("latin-1"), first=True)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.write(b"\xef\xbb\xbf" + INITIALIZE_LINE)
        adapter.sent.append(INITIALIZE_LINE)
        assert "result" in adapter.response("hello")
        serves_on(adapter, tmp_path)
        assert null_errors(adapter) == []


@pytest.mark.acp(2)
@pytest.mark.parametrize("number", [b"NaN", b"1e999", b"-Infinity"])
def test_b6_numbers_that_are_none(tmp_path: Path, number: bytes) -> None:
    usage = (
        b'{"jsonrpc":"2.0","method":"session/contextUsage","params":{"sessionId":"$S","used":%s,"size":9}}\n' % number
    )
    card = (
        SPARROW + ITEM.replace(b"agentMessage", b"toolCall") + b'"","tool":"bash","args":"{\\"n\\":%s}"}}}\n' % number
    )
    with opened(tmp_path, Interjects, raw=(usage + card).decode("latin-1")) as case:
        case.prompt()
        assert case.text() == "before after"
        assert case.cards()["i"]["rawInput"] == f'{{"n":{number.decode()}}}'
        case.wait_for_note(b"not valid JSON")


# -- D: envelopes, the client's side

BIG: Final = 9007199254740993


@pytest.mark.acp(13)
def test_d1_ids_keep_their_type(tmp_path: Path) -> None:
    ids = ["1", 1, "a-b", BIG, 0, -1, "", "温", 2**64 - 1]
    with running_adapter(tmp_path, muse=place(tmp_path / "host", ScriptedHost).muse) as adapter:
        adapter._next_id = 100
        adapter.initialize()
        for request_id in ids:
            say(adapter, request(request_id, "session/new", {"cwd": str(tmp_path), "mcpServers": []}))
        for request_id in ids:
            answered = adapter.wait_for(lambda frame, each=request_id: repr(frame.get("id")) == repr(each))  # type: ignore[misc]
            assert "result" in answered
        serves_on(adapter, tmp_path)


@pytest.mark.acp(13)
def test_d2_ids_that_are_none(tmp_path: Path) -> None:
    unusable: list[Any] = [None, True, 1.5, [], {}, 2**70, "x" * 5000]
    with opened(tmp_path) as case:
        for bad in unusable:
            line = request("ID", "session/new", {"cwd": str(tmp_path), "mcpServers": []})
            case.adapter.write(line.replace(b'"ID"', str(bad).encode() if bad == 2**70 else orjson.dumps(bad)))
        case.prompt()
        assert null_errors(case.adapter) == [-32600] * len(unusable)
        assert len(case.host.received("session/start")) == 1


def answered(adapter: AdapterProcess) -> list[Json]:
    """The answers so far. Commands of a session are told whenever they are known."""
    return [frame for frame in adapter.frames if "method" not in frame]


@pytest.mark.acp(15, 100)
def test_d3_notifications_of_the_client_are_not_answered(tmp_path: Path) -> None:
    with opened(tmp_path) as case:
        answers = len(answered(case.adapter))
        for method in ("_orchard/hello", "orchard/unknown", "session/cancel", "session/new", "$/cancel_request"):
            for params in (b"", b',"params":null', b',"params":[1]', b',"params":{"sessionId":7,"requestId":null}'):
                case.adapter.write(b'{"jsonrpc":"2.0","method":"%s"%s}\n' % (method.encode(), params))
        assert case.adapter.refused("orchard/unknown", {})["code"] == -32601
        assert len(answered(case.adapter)) == answers + 1
        assert len(case.host.received("session/start")) == 1


ODD_LINES: Final = {
    "unknown-method": (b'{"jsonrpc":"2.0","id":"odd","method":"orchard/unknown"}', "odd", -32601),
    "no-method": (b'{"jsonrpc":"2.0","id":"odd"}', "odd", -32600),
    "method-number": (b'{"jsonrpc":"2.0","id":"odd","method":5}', "odd", -32600),
    "no-version": (b'{"id":"odd","method":"session/new"}', "odd", -32600),
    "version-1": (b'{"jsonrpc":"1.0","id":"odd","method":"session/new"}', "odd", -32600),
    "wrong-type": (b'{"jsonrpc":"2.0","id":"odd","method":"session/new","params":{"cwd":7}}', "odd", -32602),
    "params-null": (b'{"jsonrpc":"2.0","id":"odd","method":"session/new","params":null}', "odd", -32602),
    "params-list": (b'{"jsonrpc":"2.0","id":"odd","method":"session/new","params":["/"]}', "odd", -32602),
    "params-text": (b'{"jsonrpc":"2.0","id":"odd","method":"session/prompt","params":"hi"}', "odd", -32602),
    "malformed": (b"{oops", None, -32700),
    "two-values": (b"{} {}", None, -32700),
    "nan": (b'{"jsonrpc":"2.0","id":NaN,"method":"session/new"}', None, -32700),
    "deep": (b"[" * 100_000, None, -32700),
    "nul": (b"\x00", None, -32700),
    "mark": (b"\xef\xbb\xbf{}", None, -32700),
    "number": (b"17", None, -32600),
    "text": (b'"hi"', None, -32600),
    "null": (b"null", None, -32600),
    "empty-batch": (b"[]", None, -32600),
    "batch": (b"[" + INITIALIZE_LINE.strip() + b',{"jsonrpc":"2.0","id":3,"method":"session/list"}]', None, -32600),
    "empty-object": (b"{}", None, -32600),
    "blank": (b" \t", None, None),
    "stray-result": (b'{"jsonrpc":"2.0","id":77,"result":{}}', None, None),
    "stray-error": (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}', None, None),
    "odd-response": (b'{"jsonrpc":"2.0","id":1,"result":3,"error":4}', None, None),
}
"""Lines of a client, under which id they are answered, and with which code; None: not at all."""


@pytest.mark.acp(5, 6, 8, 9, 10, 11, 12, 16, 100)
@pytest.mark.parametrize("name", ODD_LINES)
def test_d5_d6_d7_odd_lines_of_the_client(tmp_path: Path, name: str) -> None:
    line, request_id, code = ODD_LINES[name]
    with opened(tmp_path) as case:
        say(case.adapter, line + b"\n")
        if request_id is not None:
            assert case.adapter.response(request_id)["error"]["code"] == code
        case.prompt()
        assert null_errors(case.adapter) == ([code] if code is not None and request_id is None else [])
        assert len(case.host.received("session/start")) == 1


@pytest.mark.acp(6, 9, 10, 11, 16)
@pytest.mark.parametrize("name", ["malformed", "number", "null", "empty-batch", "batch", "no-method", "stray-result"])
def test_d6_odd_lines_before_initialize(tmp_path: Path, name: str) -> None:
    line, request_id, code = ODD_LINES[name]
    with running_adapter(tmp_path, muse=place(tmp_path / "host", ScriptedHost).muse) as adapter:
        say(adapter, line + b"\n")
        adapter.initialize()
        errors = [(frame["id"], frame["error"]["code"]) for frame in adapter.frames if "error" in frame]
        assert errors == ([(request_id, code)] if code is not None else [])
        serves_on(adapter, tmp_path)


# -- D: envelopes, the host's side

_REQUEST: Final = '{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}\n'


def test_d1_d4_requests_of_the_host_are_answered_under_their_ids(tmp_path: Path) -> None:
    ids = ["1", 1, "a-b", BIG, 41]
    raw = "".join(_REQUEST % (orjson.dumps(each).decode(), "host/askColour", "{}") for each in ids)
    with opened(tmp_path, Interjects, raw=raw) as case:
        case.prompt()
        answers = case.answers()
        assert [repr(answer["id"]) for answer in answers] == [repr(each) for each in ids]
        assert {answer["error"]["code"] for answer in answers} == {-32601}


def test_d2_requests_of_the_host_without_usable_id_are_not_answered(tmp_path: Path) -> None:
    raw = "".join(_REQUEST % (each, "approval/request", "{}") for each in ("null", "true", "1.5", "[]"))
    with opened(tmp_path, Interjects, raw=raw) as case:
        case.prompt()
        assert case.answers() == []
        assert case.text() == "before after"


def test_d3_notifications_of_the_host_are_not_answered(tmp_path: Path) -> None:
    raw = "".join(
        f'{{"jsonrpc":"2.0","method":"{method}"{params}}}\n'
        for method in ("_orchard/hello", "host/unknown", "session/cancel", "turn/completed", "approval/request")
        for params in ("", ',"params":null', ',"params":[1]', ',"params":{"sessionId":"$S"}')
    )
    with opened(tmp_path, Interjects, raw=raw) as case:
        case.prompt()
        assert case.answers() == []
        assert case.text() == "before after"


@pytest.mark.parametrize("name", ODD_LINES)
def test_d5_d6_odd_lines_of_the_host(tmp_path: Path, name: str) -> None:
    """The client of a host tells it about a request it could not read, and nobody about anything else."""
    line, request_id, _ = ODD_LINES[name]
    with opened(tmp_path, Interjects, raw=line.decode("latin-1") + "\n") as case:
        assert case.prompt() == {"stopReason": "end_turn"}
        assert case.text() == "before after"
        answered = [(answer["id"], answer["error"]["code"]) for answer in case.answers()]
        assert [request_id for request_id, _ in answered] == ([] if request_id is None else [request_id])
        assert all(code in (-32600, -32601, -32602) for _, code in answered)


# -- A1: what is long on a card


LONG: Final = 9_000_000


@pytest.mark.parametrize(
    "members",
    [
        {"args": orjson.dumps({f"key-{number}": number for number in range(300_000)}).decode()},
        {"args": orjson.dumps({"path": "p" * LONG}).decode()},
        {"args": "not json" + "x" * LONG},
        {"tool": "t" * LONG},
        {"displayLabel": {"done": "d" * LONG}},
        {"result": {"summary": "s" * LONG}},
        {"failureReason": "f" * LONG, "status": "failed"},
        {"visibleOutput": "o" * LONG},
        {"kind": "agentMessage", "text": "m" * LONG},
        {"kind": "subagent", "objective": "j" * 9000, "finalSummary": "z" * LONG},
    ],
    ids=["keys", "path", "no-json", "tool", "label", "summary", "reason", "output", "message", "subagent"],
)
def test_a1_long_members_of_an_item_make_no_long_line(tmp_path: Path, members: dict[str, Any]) -> None:
    script = [
        item("started", "c", "toolCall", tool="bash", args="{}"),
        item("completed", "l", **({"kind": "toolCall"} | members)),
    ]
    with opened(tmp_path, Plays, scripts=[[*script, ended()], [ended()]]) as case:
        assert case.prompt() == {"stopReason": "end_turn"}
        assert max(len(line) for line in case.adapter.lines) < 2 * MIB
        assert "l" in case.cards() or "m" in case.text()
        assert b"ERROR" not in case.adapter.stderr
