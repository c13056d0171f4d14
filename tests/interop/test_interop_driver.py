"""The driver of `make interop` without the programs it drives: who said what, what counts as set up, what is told."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.interop import __main__ as interop
from tests.interop.acpx import isolated_environment, wait_until
from tests.interop.acpx_checks import acpx_opening
from tests.interop.checks import Check, expect, expect_equal, run_checks
from tests.interop.commands import run, started
from tests.interop.sdk_checks import read_conversation
from tests.interop.toolchain import NotAvailable, SetUpFailed, is_complete, manifest, silence
from tests.interop.transcript import Side, Transcript

Json = dict[str, Any]

PROMPT = {"sessionId": "s", "prompt": [{"type": "text", "text": "approve"}]}
TOOL = {"toolCallId": "t", "title": "write", "kind": "edit", "status": "pending"}
PERMISSION = {
    "sessionId": "s",
    "toolCall": TOOL,
    "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
}
ALLOWED = {"outcome": {"outcome": "selected", "optionId": "yes"}}
ENDED = {"stopReason": "end_turn"}


def request(request_id: int | str, method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def notification(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def result(request_id: int | str, value: Json) -> Json:
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def update(session_id: str = "s", **members: Any) -> Json:
    return notification("session/update", {"sessionId": session_id, "update": members})


def chunk(text: str, session_id: str = "s") -> Json:
    return update(session_id, sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def lines(*frames: Json) -> str:
    return "".join(json.dumps(frame) + "\n" for frame in frames)


class TestTranscript:
    def test_senders_follow_from_what_is_said(self) -> None:
        said = Transcript.read(
            lines(
                request(2, "session/prompt", PROMPT),
                chunk("one, "),
                request("p", "session/request_permission", PERMISSION),
                result("p", ALLOWED),
                notification("session/cancel", {"sessionId": "s"}),
                chunk("two"),
                result(2, ENDED),
            )
        )
        senders = [frame.sender for frame in said.frames]
        assert senders == ["client", "agent", "agent", "client", "client", "agent", "agent"]
        assert said.sent("client") == ["session/prompt", "session/cancel"]
        assert said.text() == "one, two"
        assert said.results("session/prompt") == [ENDED]
        assert said.open_requests() == []

    @pytest.mark.parametrize("answers", [(ALLOWED, ENDED), (ENDED, ALLOWED)])
    def test_an_id_open_on_both_sides_goes_to_the_request_the_answer_fits(self, answers: tuple[Json, Json]) -> None:
        said = Transcript.read(
            lines(
                request(1, "session/prompt", PROMPT),
                request(1, "session/request_permission", PERMISSION),
                *(result(1, answer) for answer in answers),
            )
        )
        assert said.results("session/prompt") == [ENDED]
        assert said.results("session/request_permission") == [ALLOWED]

    def test_ids_keep_their_type(self) -> None:
        with pytest.raises(AssertionError, match="not open"):
            Transcript.read(lines(request(1, "session/prompt", PROMPT), result("1", ENDED)))

    def test_an_answer_from_the_one_who_asked_is_none(self) -> None:
        said = Transcript()
        said.add(request(1, "session/prompt", PROMPT), "client")
        with pytest.raises(AssertionError, match="not open"):
            said.add(result(1, ENDED), "client")

    def test_a_second_answer_is_refused(self) -> None:
        frames = [request(1, "session/prompt", PROMPT), result(1, ENDED), result(1, ENDED)]
        with pytest.raises(AssertionError, match=r"line 3: answers the id 1, which is not open"):
            Transcript.read(lines(*frames))

    def test_an_id_in_use_is_not_used_again(self) -> None:
        with pytest.raises(AssertionError, match="twice at once"):
            Transcript.read(lines(request(1, "session/prompt", PROMPT), request(1, "session/prompt", PROMPT)))

    def test_a_request_without_an_answer_is_told(self) -> None:
        assert Transcript.read(lines(request(1, "session/prompt", PROMPT))).open_requests() == ["session/prompt"]

    def test_an_error_is_an_answer(self) -> None:
        error = {"code": -32603, "message": "The host failed"}
        said = Transcript.read(lines(request(1, "session/prompt", PROMPT), {"jsonrpc": "2.0", "id": 1, "error": error}))
        assert said.errors("session/prompt") == [error]
        assert said.results("session/prompt") == []

    @pytest.mark.parametrize(("request_id", "sender"), [(7, "client"), ("p", "agent")])
    def test_a_cancelled_request_tells_who_cancels(self, request_id: int | str, sender: Side) -> None:
        said = Transcript.read(
            lines(
                request(7, "session/prompt", PROMPT),
                request("p", "session/request_permission", PERMISSION),
                notification("$/cancel_request", {"requestId": request_id}),
            )
        )
        assert said.frames[-1].sender == sender

    @pytest.mark.parametrize(
        ("frame", "problem"),
        [
            pytest.param(notification("session/hum", {}), "nobody may call session/hum", id="unknown method"),
            pytest.param(update(sessionUpdate="hum"), "update", id="unknown update"),
            pytest.param(request(1, "session/prompt", {"sessionId": "s"}), "prompt", id="missing member"),
        ],
    )
    def test_a_frame_against_the_schema_is_refused_with_its_line(self, frame: Json, problem: str) -> None:
        with pytest.raises(AssertionError, match=rf"line 2: .*{problem}"):
            Transcript.read(lines(chunk("fine"), frame))

    def test_a_line_that_is_no_json_is_refused(self) -> None:
        with pytest.raises(AssertionError, match=r"line 1: .*: a banner"):
            Transcript.read("a banner\n")

    def test_a_card_is_what_its_updates_made_it(self) -> None:
        first = {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "make", "status": "in_progress"}
        last = {"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "completed"}
        said = Transcript.read(lines(update(**first), update(**last)))
        assert (said.card()["title"], said.card()["status"]) == ("make", "completed")
        said.add(update(**(first | {"toolCallId": "u"})))
        with pytest.raises(AssertionError, match="more than one"):
            said.card()

    def test_sessions_are_told_apart(self) -> None:
        said = Transcript.read(lines(chunk("one", "a"), chunk("two", "b"), chunk("!", "a")))
        assert said.text("a") == "one!"
        assert said.text("b") == "two"

    def test_a_conversation_holds_frames_and_steps(self) -> None:
        entries: list[Json] = [
            {"sender": "client", "frame": request(0, "session/prompt", PROMPT)},
            {"sender": "agent", "frame": result(0, ENDED)},
            {"step": "stream", "text": "✓"},
        ]
        conversation = read_conversation(lines(*entries))
        assert conversation.said.results("session/prompt") == [ENDED]
        assert conversation.steps == {"stream": {"step": "stream", "text": "✓"}}


class TestChecks:
    def test_every_check_has_a_line_and_all_are_counted(self) -> None:
        def slow() -> None:
            raise subprocess.TimeoutExpired("acpx", 3)

        def broken() -> None:
            raise KeyError("stream")

        said: list[str] = []
        checks = [
            Check("one", lambda: expect_equal("the code", 0, 0)),
            Check("two", lambda: expect(False, "no session:\n  gone\n")),
            Check("three", slow),
            Check("four", broken),
            Check("five", lambda: expect(True, "never")),
        ]
        assert run_checks(checks, said.append) == 3
        assert said == [
            "ok    one",
            "FAIL  two: no session: gone",
            "FAIL  three: took more than 3 s",
            "FAIL  four: KeyError: 'stream'",
            "ok    five",
            "2 passed, 3 failed",
        ]

    def test_what_differs_is_told_on_both_sides(self) -> None:
        with pytest.raises(AssertionError, match="the code is 1, not 0"):
            expect_equal("the code", 1, 0)

    def test_a_wait_that_ends_in_nothing_says_what_was_waited_for(self) -> None:
        with pytest.raises(AssertionError, match="it never came"):
            wait_until(lambda: False, 0.0, lambda: "it never came")

    def test_a_command_that_takes_too_long_is_said_so(self, tmp_path: Path) -> None:
        with pytest.raises(subprocess.TimeoutExpired):
            run([sys.executable, "-c", "import time; time.sleep(60)"], tmp_path, {}, 0.2)

    def test_a_command_is_ended_with_its_context(self, tmp_path: Path) -> None:
        waiting = [sys.executable, "-c", "import time; time.sleep(60)"]
        with started(waiting, tmp_path, {}, subprocess.DEVNULL) as process:
            assert process.poll() is None
        assert process.returncode == -signal.SIGKILL

    def test_a_command_gets_its_input_and_gives_its_output(self, tmp_path: Path) -> None:
        done = run([sys.executable, "-c", "print(input().upper())"], tmp_path, {"PYTHONUTF8": "1"}, 20, "grüße ✓\n")
        assert (done.returncode, done.stdout) == (0, "GRÜSSE ✓\n")

    @pytest.mark.parametrize(
        ("offered", "opening"),
        [
            ({"loadSession": False, "sessionCapabilities": {}}, "session/new"),
            ({"loadSession": True}, "session/load"),
            ({"loadSession": True, "sessionCapabilities": {"resume": {}}}, "session/resume"),
        ],
    )
    def test_acpx_opens_a_known_session_by_the_best_way_offered(self, offered: Json, opening: str) -> None:
        assert acpx_opening(offered) == opening


class TestSetUp:
    @pytest.mark.parametrize(
        ("output", "word"),
        [
            ("npm error code ENOTFOUND\nnpm error network request failed", "ENOTFOUND"),
            ("npm error   code: 'ECONNREFUSED',", "ECONNREFUSED"),
            ("npm error code E503", "E503"),
            ("npm error code ETARGET\nnpm error notarget No matching version found", None),
            ("npm error code E404", None),
            ("npm error integrity sha512-E4031ff", None),
        ],
    )
    def test_a_silent_registry_is_told_from_a_failure(self, output: str, word: str | None) -> None:
        assert silence(output) == word

    def test_only_a_directory_that_holds_what_is_wanted_is_complete(self, tmp_path: Path) -> None:
        seal = tmp_path / "complete.json"
        assert not is_complete(seal, manifest())
        seal.write_text('{"packages": [')
        assert not is_complete(seal, manifest())
        seal.write_text(json.dumps(manifest() | {"packages": ["acpx@0.1.15"]}))
        assert not is_complete(seal, manifest())
        seal.write_text(json.dumps(manifest()))
        assert is_complete(seal, manifest())

    @pytest.mark.parametrize(
        ("error", "code", "line"),
        [
            (NotAvailable("npm is not installed"), 75, "interop was not run: npm is not installed\n"),
            (SetUpFailed("npm install failed: E404"), 1, "interop failed: npm install failed: E404\n"),
        ],
    )
    def test_what_keeps_it_from_running_is_said_and_has_a_code(
        self,
        error: Exception,
        code: int,
        line: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        def set_up(directory: Path) -> None:
            raise error

        monkeypatch.setattr(interop, "set_up", set_up)
        assert interop.main() == code
        assert capsys.readouterr().out == line

    def test_the_environment_steers_nobody(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("MUSE_EXECUTABLE", "XDG_CONFIG_HOME", "ACPX_AUTH_MUSE_LOGIN"):
            monkeypatch.setenv(name, "elsewhere")
        env = isolated_environment(tmp_path, tmp_path / "bin")
        assert "elsewhere" not in env.values()
        assert env["HOME"] == str(tmp_path)
        assert env["PATH"].startswith(f"{tmp_path / 'bin'}:")
