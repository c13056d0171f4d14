"""The judges of what was seen on the wires: each kind of violation is found, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import pytest

from tests.oracles.seen import Consents, Seen, read_seen, wrong_answers, wrong_consents

Json = dict[str, Any]

ALLOW: Json = {"choiceId": "yes", "decision": "approved", "scope": "once"}
DENY: Json = {"choiceId": "no", "decision": "denied", "scope": "once"}
CLIENT, HOST = "client", "host"


class Log:
    """What passed, in the order in which it is written here."""

    def __init__(self) -> None:
        self.seen: list[Seen] = []

    def add(self, side: Literal["client", "host"], from_adapter: bool, frame: Any, connection: str = "h1") -> Log:
        name = "c" if side == "client" else connection
        self.seen.append(Seen(len(self.seen), side, name, from_adapter, frame))
        return self

    def asked(self, number: Any = 1, **frame: Any) -> Log:
        """The client asks the adapter."""
        return self.add("client", False, {"jsonrpc": "2.0", "id": number, "method": "do", **frame})

    def answered(self, number: Any = 1, **frame: Any) -> Log:
        """The adapter answers."""
        return self.add("client", True, {"jsonrpc": "2.0", "id": number, **(frame or {"result": {}})})

    # -- consent

    def opened(self, index: int = 0, approval: str = "a", connection: str = "h1", **changes: Any) -> Log:
        """The host opens a stage."""
        params: Json = {"approvalId": approval, "currentRequirementId": stage(index, approval), "sessionId": "s"}
        params |= {"availableChoices": [ALLOW, DENY], **changes}
        return self.add("host", False, {"method": "approval/requested", "params": params}, connection)

    def shown(self, number: int = 1, index: int = 0, approval: str = "a", session: str = "s") -> Log:
        """The client is asked for it."""
        meta = {"museApprovalId": approval, "museRequirementId": stage(index, approval)}
        params = {"sessionId": session, "options": [{"optionId": "yes"}, {"optionId": "no"}], "_meta": meta}
        return self.add("client", True, {"id": number, "method": "session/request_permission", "params": params})

    def clicked(self, option: str = "yes", number: int = 1) -> Log:
        """The client selects."""
        return self.said({"result": {"outcome": {"outcome": "selected", "optionId": option}}}, number)

    def said(self, members: Json, number: int = 1) -> Log:
        return self.add("client", False, {"id": number, **members})

    def withdrawn(self, number: int = 1) -> Log:
        """The adapter takes a question off the screen."""
        return self.add("client", True, {"method": "$/cancel_request", "params": {"requestId": number}})

    def cancelled(self, session: str = "s") -> Log:
        """The client stops the session."""
        return self.add("client", False, {"method": "session/cancel", "params": {"sessionId": session}})

    def decided(self, choice: str = "yes", index: int = 0, *, number: int = 9, **more: Any) -> Log:
        """The adapter decides at the host."""
        approval, command = more.get("approval", "a"), more.get("command", "c1")
        params = {"approvalId": approval, "requirementId": stage(index, approval), "choiceId": choice}
        params |= {"commandId": command, "sessionId": more.get("session", "s")}
        frame = {"id": number, "method": "approval/decide", "params": params}
        return self.add("host", True, frame, more.get("connection", "h1"))

    def taken(self, number: int = 9) -> Log:
        return self.add("host", False, {"id": number, "result": {"terminal": False}})

    def refused(self, number: int = 9) -> Log:
        return self.add("host", False, {"id": number, "error": {"code": -32603, "message": "no"}})


def exactly(log: Log) -> Consents:
    """What is found when nothing can have crossed."""
    consents = Consents(exact=True)
    for seen in log.seen:
        consents.take(seen)
    return consents


def stage(index: int, approval: str = "a") -> Json:
    return {"approvalId": approval, "sourceIndex": index}


class TestAnswers:
    @pytest.mark.parametrize(
        "log",
        [
            Log().asked().answered(),
            Log().asked("1").answered("1"),
            Log().asked().answered(error={"code": 1, "message": "no"}),
            Log().asked(1).asked("1").answered("1").answered(1),
            Log().asked().answered().asked().answered(),
            Log().asked().asked().answered().answered(),
            Log().asked().asked().answered(None, error={"code": -32600, "message": "open"}).answered(),
            Log().add("client", False, {"method": "note"}),
            Log().answered(None, error={"code": -32700, "message": "what?"}),
            Log().asked(1.5).asked(True).asked("x" * 2000),
            Log().add("host", True, {"id": 4, "method": "of/ours"}),
            Log().add("host", False, {"id": 4, "result": {}}),
            Log().add("client", False, "no object").add("client", False, [1]),
            Log().add("host", False, {"id": 1, "method": "ask"}).add("host", True, {"id": 1, "result": {}}),
        ],
    )
    def test_right(self, log: Log) -> None:
        assert wrong_answers(log.seen) == []

    @pytest.mark.parametrize(
        ("log", "word"),
        [
            (Log().asked(), "not answered"),
            (Log().asked(1).answered("1"), "without request"),
            (Log().asked(1).answered("1"), "not answered"),
            (Log().asked().answered().answered(), "twice"),
            (Log().answered().asked(), "without request"),
            (Log().asked().answered(result={}, error={"code": 1, "message": ""}), "either"),
            (Log().add("client", False, {"method": "n"}).answered(None, result={}), "notification"),
            (Log().answered(None, error={"code": -32601, "message": ""}), "notification"),
            (
                Log().add("host", False, {"id": 1, "method": "q"}).add("host", True, {"id": 1, "result": {}}, "h2"),
                "without request",
            ),
            (Log().asked().add("host", True, {"id": 1, "result": {}}), "without request"),
        ],
    )
    def test_wrong(self, log: Log, word: str) -> None:
        assert any(word in each for each in wrong_answers(log.seen))

    def test_who_has_gone_needs_no_answer(self) -> None:
        log = Log().asked().add("host", False, {"id": 1, "method": "q"})
        assert len(wrong_answers(log.seen)) == 2
        assert wrong_answers(log.seen, ended={"h1"}) == ["client c: request 1 was not answered"]
        assert wrong_answers(log.seen, ended=["h1", "c"]) == []

    def test_who_has_gone_is_not_answered_twice_either(self) -> None:
        assert wrong_answers(Log().asked().answered().answered().seen, ended=["c"])


class TestConsent:
    @pytest.mark.parametrize(
        "log",
        [
            Log().opened().shown().clicked().decided(),
            Log().opened().decided("no"),
            Log().opened().shown().clicked("no").decided("no"),
            Log().opened().shown().clicked().decided().taken().opened(1).shown(2, 1).clicked(number=2).decided(index=1),
            # The same command again, as after `overloaded`; and a new one for one that failed inside the host.
            Log().opened().shown().clicked().decided().refused().decided(),
            Log().opened().shown().clicked().decided().refused().decided(command="c2"),
            # A subagent's own session, which the client never sees.
            Log().opened().shown().clicked().decided(session="child"),
            # Asked again, as the host did not take it.
            Log().opened().shown().clicked().decided().refused().shown(2).clicked(number=2).decided(command="c2"),
            # The next stage told by a refusal, its choices not yet.
            Log().opened().shown(index=1).clicked().decided(index=1),
            # What is withdrawn after the answer has been given crosses with it.
            Log().opened().shown().clicked().withdrawn().decided(),
            Log().opened().shown().clicked().cancelled().decided(),
            Log().opened().shown().cancelled("other").clicked().decided(),
            Log().add("host", False, {"id": 3, "result": {"approvals": [1]}}).add("client", False, "text"),
        ],
    )
    def test_right(self, log: Log) -> None:
        assert wrong_consents(log.seen) == []

    @pytest.mark.parametrize(
        "log",
        [
            Log().opened().decided(),
            Log().opened().shown().decided().clicked(),
            Log().opened().shown().clicked("no").decided(),
            Log().opened().shown().clicked("everything").decided(),
            Log().opened().shown().said({"result": {"outcome": {"outcome": "cancelled"}}}).decided(),
            Log().opened().shown().said({"result": {"outcome": {"outcome": "ok", "optionId": "yes"}}}).decided(),
            Log().opened().shown().said({"error": {"code": 1, "message": "yes"}}).decided(),
            Log().opened().shown().said({"result": None}).decided(),
            Log()
            .opened()
            .shown()
            .said({"result": {"outcome": {"outcome": "selected", "optionId": ["yes"]}}})
            .decided(),
            # Another stage, another approval, another session, another dialog.
            Log().opened().opened(1).shown().clicked().decided(index=1),
            Log().opened().opened(approval="b").shown().clicked().decided(approval="b"),
            Log().opened().shown(session="s").cancelled("t").clicked().decided(session="t"),
            Log().opened().shown().clicked(number=2).decided(),
            # Twice, or after it was taken.
            Log().opened().shown().clicked().decided().decided(command="c2"),
            Log().opened().shown().clicked().decided().taken().decided(number=10, command="c2"),
            # The same command at another host: what it was for there, nobody knows.
            Log().opened().opened(connection="h2").shown().clicked().decided().decided(connection="h2"),
            # The last word of the user counts.
            Log().opened().shown().clicked().decided().refused().shown(2).clicked("no", 2).decided(command="c2"),
            # Too late.
            Log().opened().shown().withdrawn().clicked().decided(),
            Log().opened().shown().cancelled().clicked().decided(),
            # An unknown decision may allow anything.
            Log().opened(availableChoices=[{"choiceId": "yes", "decision": "later"}]).decided(),
            # What one host offers, another does not.
            Log().opened().shown().clicked().decided(connection="h2"),
            Log().opened().shown().clicked().decided("other"),
        ],
    )
    def test_wrong(self, log: Log) -> None:
        assert len(wrong_consents(log.seen)) == 1

    def test_a_choice_that_refused_at_an_earlier_stage_may_allow_at_this_one(self) -> None:
        turned = [{"choiceId": "no", "decision": "approved"}]
        assert wrong_consents(Log().opened().opened(1, availableChoices=turned).decided("no", 1).seen)
        assert not wrong_consents(Log().opened().opened(1, availableChoices=turned).decided("no", 0).seen)

    @pytest.mark.parametrize(
        "log",
        [
            Log().opened().shown().clicked().cancelled().decided(),
            Log().opened().shown().clicked().decided().refused().cancelled().decided(),
            Log().opened().shown().shown(2).clicked().clicked("no", 2).decided(),
        ],
    )
    def test_what_cannot_have_crossed_is_wrong_too(self, log: Log) -> None:
        assert wrong_consents(log.seen) == []
        assert len(exactly(log).found) == 1

    def test_what_was_taken_in_before_the_stop_is_right(self) -> None:
        consents = exactly(Log().opened().shown().clicked().decided().cancelled().taken().opened(1).decided("no", 1))
        assert (consents.found, consents.allowed) == ([], 1)

    def test_the_order_is_that_of_the_clock(self) -> None:
        right = Log().opened().shown().clicked().decided().seen
        assert wrong_consents(right[::-1]) == []


class TestLogs:
    def test_logs_of_two_processes_come_together(self, tmp_path: Path) -> None:
        log = Log().opened().shown().clicked().decided().seen
        client, host = tmp_path / "client", tmp_path / "host"
        client.write_bytes(b"".join(seen.line() for seen in log if seen.side == "client"))
        host.write_bytes(b"".join(seen.line() for seen in log if seen.side == "host"))
        assert read_seen(host, client) == log

    def test_a_line_that_was_cut_off_is_left_out(self, tmp_path: Path) -> None:
        log = Log().opened().decided().seen
        (tmp_path / "log").write_bytes(log[0].line() + log[1].line()[:-5])
        assert read_seen(tmp_path / "log") == log[:1]


def test_what_a_host_that_has_gone_waited_for_too_long_was_not_answered() -> None:
    def left_after(seconds: int) -> list[Seen]:
        request = {"jsonrpc": "2.0", "id": 7, "method": "approval/request"}
        later = {"jsonrpc": "2.0", "method": "item/started"}
        return [Seen(0, "host", "h1", False, request), Seen(seconds * 10**9, "host", "h1", False, later)]

    assert wrong_answers(left_after(19), ended=["h1"], patience=20) == []
    assert wrong_answers(left_after(21), ended=["h1"]) == []
    assert wrong_answers(left_after(21), ended=["h1"], patience=20) == ["host h1: request 7 was not answered"]
    answer = Seen(1, "host", "h1", True, {"jsonrpc": "2.0", "id": 7, "result": {}})
    assert wrong_answers([*left_after(21), answer], ended=["h1"], patience=20) == []
