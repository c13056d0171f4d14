"""What fuzzing finds is told: by exit codes, and where an adapter answers too much or too little."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import __main__ as driver
from tests.fuzz import frames, from_client
from tests.fuzz.driven import Report, complaints
from tests.fuzz.environment import NotAvailable
from tests.fuzz.owed import Nothing, allows, answered_as, strictly
from tests.fuzz.runs import Outcome


class Imagined:
    """An adapter that answers as it should, but for `odd`: the request of that number twice or not at all."""

    odd = ""
    bold = False
    number = 0

    def __init__(self, directory: Path, muse: str, take: Callable[[dict[str, Any]], None]) -> None:
        self.take = take
        self.seen = 0

    def write(self, data: bytes) -> None:
        for line in data.split(b"\n"):
            request_id = answered_as(line)
            if request_id is Nothing:
                continue
            self.seen += 1
            answer: dict[str, Any] = {"jsonrpc": "2.0", "id": request_id, "result": {}}
            if request_id is not None and strictly(line).get("method") == "session/new":
                answer["result"] = {"sessionId": "s"}
            if line.endswith((b'"approve"}]}}', b'"ask"}]}}')):
                self.ask()
            for _ in range({"twice": 2, "never": 0}.get(self.odd, 1) if self.seen == self.number else 1):
                self.take(answer)

    def ask(self) -> None:
        """A question, and what it was about is done if it is bold."""
        options = [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]
        params: dict[str, Any] = {"sessionId": "s", "options": options}
        self.take({"jsonrpc": "2.0", "id": 77, "method": "session/request_permission", "params": params})
        if self.bold:
            update = {"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed"}
            self.take({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}})

    def wait(self, done: Callable[[], bool], what: str) -> None:
        if not done():
            raise TimeoutError(what)

    def peak_mib(self) -> int:
        return 1

    def end(self, report: Report) -> None:
        pass

    def kill(self) -> None:
        pass


@pytest.mark.parametrize("odd", ["", "twice", "never"])
def test_an_answer_too_many_or_too_few_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, odd: str) -> None:
    monkeypatch.setattr(from_client, "Driven", Imagined)
    monkeypatch.setattr(Imagined, "odd", odd)
    monkeypatch.setattr(Imagined, "number", 50)
    report = frames.run("client", 400, 1, tmp_path)
    assert report.frames >= 200
    assert bool(report.problems) == bool(odd)


def test_what_nobody_allowed_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(from_client, "Driven", Imagined)
    monkeypatch.setattr(Imagined, "bold", True)
    report = frames.run("client", 100_000, 1, tmp_path)
    assert any("nothing had allowed it" in problem for problem in report.problems)


@pytest.mark.parametrize(
    ("line", "allowed"),
    [
        ('{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"yes"}}}', True),
        ('{"jsonrpc":"2.0","id":"7","result":{"outcome":{"outcome":"selected","optionId":"yes"}}}', False),
        ('{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":"no"}}}', False),
        ('{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"selected","optionId":["yes"]}}}', False),
        ('{"jsonrpc":"2.0","id":7,"result":{"outcome":{"outcome":"cancelled","optionId":"yes"}}}', False),
        ('{"jsonrpc":"2.0","id":7,"result":', False),
    ],
)
def test_only_a_selection_allows(line: str, allowed: bool) -> None:
    options = [{"optionId": "yes", "kind": "allow_once"}, {"optionId": "no", "kind": "reject_once"}]
    assert allows(line.encode() + b"\n", {"id": 7, "params": {"options": options}}) == allowed


def test_a_traceback_in_a_log_is_a_complaint(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("WARNING all is well\nERROR it failed\nTraceback (most recent call last):\n  here\nTypeError\n")
    [words] = complaints(log)
    assert words.startswith("ERROR it failed\nTraceback") and words.endswith("TypeError")
    log.write_text("WARNING a turn failed\n")
    assert complaints(log) == []


def test_where_there_is_no_atheris_only_the_frames_are_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[Sequence[str]] = []

    def main(argv: Sequence[str]) -> int:
        asked.append(argv)
        return 0

    def unavailable() -> Path:
        raise NotAvailable("no matching distribution")

    monkeypatch.setattr(driver, "set_up", unavailable)
    monkeypatch.setattr(frames, "main", main)
    monkeypatch.setenv("FUZZ_TARGETS", "framing frames")
    monkeypatch.setenv("FUZZ_SECONDS", "3")
    monkeypatch.setenv("FUZZ_SEED", "5")
    assert driver.main() == 75
    assert "the targets were not run: no matching distribution" in capsys.readouterr().out
    assert asked == [["--seed", "5", "--seconds", "3"]]


@pytest.mark.parametrize(("problem", "code"), [("", 0), ("exit 77", 1)])
def test_what_a_run_breaks_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], problem: str, code: int
) -> None:
    def fuzz(*arguments: Any) -> list[Outcome]:
        outcome = Outcome("framing", 10, 1, 5, 3, problem)
        arguments[-1](outcome)
        return [outcome]

    monkeypatch.setattr(driver, "set_up", lambda: Path("python"))
    monkeypatch.setattr(driver, "fuzz", fuzz)
    monkeypatch.setenv("FUZZ_TARGETS", "framing")
    monkeypatch.setenv("FUZZ_SECONDS", "1")
    assert driver.main() == code
    assert (problem or "ok") in capsys.readouterr().out


def test_a_target_that_is_not_there_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FUZZ_TARGETS", "framing nothing")
    assert driver.main() == 1
    assert "there is no nothing; the targets are framing, envelope" in capsys.readouterr().out
