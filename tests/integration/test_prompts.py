"""Prompts of one session and of several, against every simulated version: content, queue, cancel, order."""

from __future__ import annotations

import base64
import os
import signal
from pathlib import Path

import pytest

from tests.adapter_process import AdapterProcess, Json, is_told, permission, running_adapter
from tests.faults.cancelling import CANCELLED, END_TURN, cancel_request, cancel_session

each_version = pytest.mark.parametrize("version", ["1.0.1", "1.1.1", "1.2.1", "1.3.0", "1.4.2", "1.4.13"])

PNG = b"\x89PNG\r\n\x1a\n and so on"


def text(words: str) -> Json:
    return {"type": "text", "text": words}


def prompt(adapter: AdapterProcess, session_id: str, *blocks: Json) -> Json:
    return adapter.response(adapter.begin("session/prompt", {"sessionId": session_id, "prompt": list(blocks)}))


def spoken(adapter: AdapterProcess, session_id: str) -> list[Json | str]:
    """The messages of a session and the answers to requests, in the order they came: a message by its text."""
    told: list[Json | str] = []
    last = None
    for frame in adapter.frames:
        update = frame["params"]["update"] if is_told(frame) and frame["params"]["sessionId"] == session_id else {}
        if update.get("sessionUpdate") == "agent_message_chunk":
            words = update["content"]["text"]
            told[-1:] = [f"{told[-1]}{words}"] if update["messageId"] == last else [*told[-1:], words]
            last = update["messageId"]
        elif "result" in frame and "stopReason" in frame["result"]:
            told.append({"id": frame["id"], **frame["result"]})
            last = None
    return told


@pytest.mark.acp(67, 63, 64, 69)
@each_version
def test_m1_prompts_at_once_are_queued_and_each_answered_by_its_own_turn(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        with adapter.one_write():
            prompts = [adapter.begin_prompt(session_id, words) for words in ("slow 0.2", "two", "think", "four")]
        answers = [adapter.response(number)["result"] for number in prompts]
        assert answers == [END_TURN] * 4
        first, second, third, fourth = ({"id": number, **END_TURN} for number in prompts)
        assert spoken(adapter, session_id) == [
            *("This takes a while… done ✓", first),
            *("You said: two — noted ✓", second),
            *("Having thought about it: yes ✓", third),
            *("You said: four — noted ✓", fourth),
        ]
        assert adapter.finish() == 0


@pytest.mark.acp(63, 81)
def test_h1_over_a_thousand_turns_everything_comes_before_the_answer(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        for batch in range(0, 1000, 50):
            with adapter.one_write():
                prompts = [adapter.begin_prompt(session_id, f"shell {1000 + batch + at}") for at in range(50)]
            for number in prompts:
                assert adapter.response(number)["result"] == END_TURN
        told = spoken(adapter, session_id)
        words = [f"The command wrote {1000 + at} bytes ✓" for at in range(1000)]
        assert told[::2] == words and all(isinstance(answer, dict) for answer in told[1::2])
        cards: dict[str, str] = {}
        for frame in adapter.frames:
            update = frame.get("params", {}).get("update", {})
            if update.get("sessionUpdate") == "tool_call":
                assert update["toolCallId"] not in cards
            if "status" in update:
                assert cards.get(update["toolCallId"]) not in ("completed", "failed")
                cards[update["toolCallId"]] = update["status"]
            if "stopReason" in frame.get("result", {}):
                assert set(cards.values()) == {"completed"}
        assert len(cards) == 1000
        assert adapter.finish() == 0


@pytest.mark.acp(67)
def test_m1_three_more_while_one_runs(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        running = adapter.begin_prompt(session_id, "slow 0.5")
        adapter.wait_for_update(lambda update: True)
        with adapter.one_write():
            others = [adapter.begin_prompt(session_id, f"stream 300 {size}") for size in (20, 21, 22)]
        assert [adapter.response(number)["result"] for number in (running, *others)] == [END_TURN] * 4
        said = [words for words in spoken(adapter, session_id) if isinstance(words, str)]
        assert [len(words.encode()) for words in said[1:]] == [6000, 6300, 6600]
        assert adapter.finish() == 0


@pytest.mark.acp(78)
@each_version
def test_g7_a_queued_prompt_is_reclaimed_and_the_others_go_on(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        running = adapter.begin_prompt(session_id, "slow 0.6")
        adapter.wait_for_update(lambda update: True)
        reclaimed = adapter.begin_prompt(session_id, "never to be run")
        last = adapter.begin_prompt(session_id, "the last one")
        cancel_request(adapter, session_id, reclaimed)
        response = adapter.response(reclaimed)
        assert response["result"] == CANCELLED
        assert adapter.response(running)["result"] == adapter.response(last)["result"] == END_TURN
        assert "never to be run" not in adapter.text(session_id)
        assert adapter.text(session_id).endswith("the last one — noted ✓")
        assert adapter.finish() == 0


@pytest.mark.acp(67, 72, 76)
@each_version
def test_g_a_cancel_reaches_what_runs_and_what_waits(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        running = adapter.begin_prompt(session_id, "slow 600")
        adapter.wait_for_update(lambda update: True)
        waiting = [adapter.begin_prompt(session_id, "waits") for _ in range(3)]
        cancel_session(adapter, session_id, running)
        cancel_session(adapter, session_id, running)
        answers = [adapter.response(number) for number in (running, *waiting)]
        assert [answer["result"] for answer in answers] == [CANCELLED] * 4
        cancel_session(adapter, session_id, running)
        # And nothing of it is left for the next one.
        assert adapter.prompt(session_id, "hello") == END_TURN
        assert adapter.text(session_id) == "This takes a while… You said: hello — noted ✓"
        assert adapter.finish() == 0


@pytest.mark.acp(75)
def test_g8_a_cancel_in_the_same_write_as_several_prompts(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        cancel_session(adapter, session_id, 0)
        with adapter.one_write():
            prompts = [adapter.begin_prompt(session_id, "slow 600") for _ in range(3)]
            cancel_session(adapter, session_id, 0)
            last = adapter.begin_prompt(session_id, "hello")
        assert [adapter.response(number)["result"] for number in prompts] == [CANCELLED] * 3
        assert adapter.response(last)["result"] == END_TURN
        assert adapter.finish() == 0


def test_h_a_queued_turn_that_cannot_be_launched_fails_without_having_begun(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        running = adapter.begin_prompt(session_id, "slow 0.2")
        failing = adapter.begin_prompt(session_id, "fail launchError")
        last = adapter.begin_prompt(session_id, "hello")
        assert adapter.response(running)["result"] == END_TURN
        error = adapter.response(failing)["error"]
        assert "simulated failure of a launch" in error["data"]["details"]
        assert adapter.response(last)["result"] == END_TURN
        assert adapter.finish() == 0


@pytest.mark.acp(68)
def test_m2_an_open_question_holds_up_no_other_session(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        asking = adapter.new_session(tmp_path)
        waits = adapter.begin_prompt(asking, "approve")
        adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        other = adapter.new_session(tmp_path)
        assert adapter.prompt(other, "hello") == END_TURN
        assert adapter.call("session/list", {})["sessions"]
        adapter.initialize()
        cancel_session(adapter, other, 0)
        assert adapter.prompt(other, "hello") == END_TURN
        cancel_session(adapter, asking, waits)
        assert adapter.response(waits)["result"] == CANCELLED
        assert adapter.finish() == 0


@pytest.mark.acp(70)
@each_version
def test_k_every_byte_of_a_stream_arrives_in_order(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        assert adapter.prompt(session_id, "stream 4000 33") == END_TURN
        words = ("Grüße ✓ ", "naïve ", "東京 ", "plain ")
        pieces = [(word * (33 // len(word.encode()))).encode() for word in words]
        whole = b"".join(piece + b"." * (33 - len(piece)) for piece in pieces) * 1000
        assert adapter.text(session_id).encode() == whole
        assert adapter.finish() == 0


# -- content


@pytest.mark.acp(60, 61, 62)
@each_version
def test_o5_what_is_announced_arrives_and_the_rest_is_refused_by_its_place(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        ours = adapter.initialize()["agentCapabilities"]["promptCapabilities"]
        assert ours == {"image": True, "audio": False, "embeddedContext": True}
        session_id = adapter.new_session(tmp_path)
        data = base64.b64encode(PNG).decode()
        picture = {"type": "image", "mimeType": "image/png", "data": data}
        blob = {"uri": "memory:a", "mimeType": "image/png", "blob": data}
        link = {
            "type": "resource_link",
            "name": "a b.txt",
            "uri": (tmp_path / "a%20b.txt").as_uri().replace("%25", "%"),
        }
        file = {"uri": "memory:b", "mimeType": "text/x", "blob": base64.b64encode("søt".encode()).decode()}
        resources = [{"type": "resource", "resource": resource} for resource in (blob, file)]
        assert prompt(adapter, session_id, text("seen "), picture, link, *resources)["result"] == END_TURN
        seen = adapter.text(session_id)
        assert seen.count(f"image image/png {len(PNG)} bytes") == 2, seen
        assert prompt(adapter, session_id, picture)["result"] == END_TURN
        refused: list[Json] = [
            {"type": "audio", "mimeType": "audio/wav", "data": data},
            {"type": "hologram"},
            {"type": "image", "mimeType": "image/tiff", "data": data},
            {"type": "image", "mimeType": "image/png", "data": "not base64!"},
            {"type": "resource", "resource": {"uri": "u", "mimeType": "video/mp4", "blob": data}},
        ]
        for index, block in enumerate(refused):
            error = prompt(adapter, session_id, *[text("x")] * index, block)["error"]
            assert error["code"] == -32602 and error["data"]["field"].startswith(f"prompt[{index}]"), error
        assert prompt(adapter, session_id)["result"] == END_TURN
        assert adapter.finish() == 0


@pytest.mark.acp(60)
def test_o5_a_prompt_that_is_too_large_is_refused_by_the_block_that_breaks_it(tmp_path: Path) -> None:
    with running_adapter(tmp_path, "--msp-frame-cap", "200000") as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        data = base64.b64encode(PNG + bytes(60_000)).decode()
        picture = {"type": "image", "mimeType": "image/png", "data": data}
        assert prompt(adapter, session_id, picture, picture)["result"] == END_TURN
        error = prompt(adapter, session_id, text("look"), picture, picture, picture)["error"]
        assert (error["code"], error["data"]["field"]) == (-32602, "prompt[3]")
        assert "183616 bytes" in error["data"]["details"]
        assert prompt(adapter, session_id, text("x" * 300_000))["error"]["data"]["field"] == "prompt[0]"
        assert adapter.prompt(session_id, "hello") == END_TURN
        assert adapter.finish() == 0


# -- what goes on without a prompt


@pytest.mark.parametrize("stopped", [False, True], ids=["decided", "cancelled"])
def test_what_the_next_host_goes_on_with_is_shown_and_can_be_stopped(tmp_path: Path, stopped: bool) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        number = adapter.begin_prompt(session_id, "approve")
        adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        [victim] = adapter.hosts()
        os.kill(victim, signal.SIGKILL)
        assert adapter.response(number)["error"]["data"]["reason"] == "hostDied"
        asked = adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        if stopped:
            cancel_session(adapter, session_id, number)
            adapter.wait_for(lambda frame: frame.get("method") == "$/cancel_request")
            assert adapter.prompt(session_id, "hello") == END_TURN
            assert adapter.text(session_id).endswith("You said: hello — noted ✓")
        else:
            option = next(option for option in asked["params"]["options"] if option["kind"] == "allow_once")
            adapter.send({"jsonrpc": "2.0", "id": asked["id"], **permission(option["optionId"])})
            adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        assert adapter.finish() == 0
