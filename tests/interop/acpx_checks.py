"""What acpx must be able to do with the adapter on the simulated host (`acp.md §22`)."""

from __future__ import annotations

from functools import partial
from typing import Final

from tests.interop.acpx import Acpx, expect_code
from tests.interop.checks import Check, expect, expect_equal
from tests.interop.transcript import Transcript

PERMISSIONS_DENIED: Final = 5
TIMED_OUT: Final = 3
FAILED: Final = 1
"""Exit codes of acpx."""


def acpx_checks(acpx: Acpx) -> list[Check]:
    """In the order in which they should run: the last one looks for what the others left behind."""
    checks = {
        "exec prints the answer and the stop reason": answers,
        "exec takes the prompt from stdin": answers_stdin,
        "exec in strict JSON: every frame is as the schema says, with a tool card": shows_a_tool,
        "exec logs in where a credential is set": logs_in,
        "exec reports a failed turn": reports_a_failure,
        "exec --approve-all lets the tool run": approves,
        "exec --approve-all consents to each stage by itself": approves_stages,
        "exec --deny-all keeps the tool from running": denies,
        "exec --timeout ends the turn": times_out,
        "a persistent session keeps its process and its session for the second turn": keeps_a_session,
        "cancel stops a running turn, and the session goes on": cancels,
        "cancel in an idle session changes nothing": cancels_nothing,
        "nothing is left running": acpx_is_quiet,
    }
    return [Check(f"acpx: {name}", partial(check, acpx)) for name, check in checks.items()]


def answers(acpx: Acpx) -> None:
    done = acpx.run("exec", "hello world")
    expect_code(done)
    for wanted in ("You said: hello world — noted ✓", "[done] end_turn"):
        expect(wanted in done.stdout, f"{wanted!r} is not in {done.stdout!r}")


def answers_stdin(acpx: Acpx) -> None:
    done = acpx.run("--format", "quiet", "exec", "-f", "-", stdin="from a file: grüße ✓\n")
    expect_code(done)
    expect_equal("the answer", done.stdout.strip(), "You said: from a file: grüße ✓ — noted ✓")


def shows_a_tool(acpx: Acpx) -> None:
    said = acpx.converse("exec", "shell 300")
    expect_equal("what acpx called", said.sent("client"), ["initialize", "session/new", "session/prompt"])
    card = said.card()
    expect_equal("the card", (card.get("kind"), card.get("status")), ("execute", "completed"))
    expect("東京" in card["content"][0]["content"]["text"], f"the output is not on the card: {card['content']}")
    expect_equal("the answer", said.text(), "The command wrote 300 bytes ✓")
    _expect_end(said)


def logs_in(acpx: Acpx) -> None:
    said = acpx.converse("exec", "hello", env={"ACPX_AUTH_MUSE_LOGIN": "any"})
    expect_equal("the login", said.results("authenticate"), [{}])
    _expect_end(said)


def reports_a_failure(acpx: Acpx) -> None:
    said = acpx.converse("exec", "fail", code=FAILED)
    details = [error.get("data", {}).get("details") for error in said.errors("session/prompt")]
    expect_equal("the failure", details, ["simulated failure of kind modelError"])


def approves(acpx: Acpx) -> None:
    said = acpx.converse("--approve-all", "exec", "approve")
    _expect_choices(said, ["allow"])
    expect_equal("the card's status", said.card().get("status"), "completed")
    expect_equal("the answer", said.text(), "It is done ✓")
    _expect_end(said)


def approves_stages(acpx: Acpx) -> None:
    said = acpx.converse("--approve-all", "exec", "approve3")
    _expect_choices(said, ["allow", "allow"])
    expect_equal("the card's status", said.card().get("status"), "completed")
    _expect_end(said)


def denies(acpx: Acpx) -> None:
    said = acpx.converse("--deny-all", "exec", "approve", code=PERMISSIONS_DENIED)
    _expect_choices(said, ["reject"])
    expect_equal("the card's status", said.card().get("status"), "failed")
    expect_equal("the answer", said.text(), "Then I leave it — as you wish.")
    _expect_end(said)


def times_out(acpx: Acpx) -> None:
    done = acpx.run("--timeout", "3", "exec", "slow 60")
    expect_code(done, TIMED_OUT)
    expect("[done] cancelled" in done.stdout, f"the turn was not cancelled: {done.stdout!r}")


def keeps_a_session(acpx: Acpx) -> None:
    """`sessions new` ends the process it started. The first prompt starts another one, which stays, and restores the
    session if the adapter advertises a way to; if it does not, acpx begins a new one there."""
    with acpx.session("two-turns") as name:
        first = acpx.converse("prompt", "-s", name, "first turn")
        offered = first.results("initialize")[0]["agentCapabilities"]
        opening = acpx_opening(offered)
        expect_equal("what acpx called", first.sent("client"), ["initialize", opening, "session/prompt"])
        expect_equal("the first answer", first.text(), "You said: first turn — noted ✓")
        owner = acpx.ask("status", "-s", name)["pid"]
        second = acpx.converse("prompt", "-s", name, "second turn")
        expect_equal("what acpx called for the second turn", second.sent("client"), ["session/prompt"])
        expect_equal("the second answer", second.text(), "You said: second turn — noted ✓")
        sessions = [said.params("session/prompt")[0]["sessionId"] for said in (first, second)]
        expect_equal("the session of the second turn", sessions[1], sessions[0])
        expect_equal("the process of the second turn", acpx.ask("status", "-s", name)["pid"], owner)
        entries = acpx.ask("sessions", "history", name)["entries"]
        expect_equal("the history", [entry["role"] for entry in entries], ["user", "assistant"] * 2)
    acpx.wait_quiet()


def cancels(acpx: Acpx) -> None:
    with acpx.session("cancelled") as name:
        with acpx.prompting("prompt", "-s", name, "slow 60") as prompt:
            prompt.wait_for("This takes a while")
            expect_equal("the cancel", acpx.ask("cancel", "-s", name)["cancelled"], True)
            code, said = prompt.finish()
        expect_equal("the exit code", code, 0)
        expect_equal("the last call", said.sent("client")[-1], "session/cancel")
        _expect_end(said, "cancelled")
        after = acpx.converse("prompt", "-s", name, "and now?")
        expect_equal("the next answer", after.text(), "You said: and now? — noted ✓")
        _expect_end(after)


def cancels_nothing(acpx: Acpx) -> None:
    with acpx.session("idle") as name:
        acpx.converse("prompt", "-s", name, "hello")
        expect_equal("the cancel", acpx.ask("cancel", "-s", name)["cancelled"], False)
        _expect_end(acpx.converse("prompt", "-s", name, "hello again"))


def acpx_is_quiet(acpx: Acpx) -> None:
    acpx.wait_quiet()


def acpx_opening(offered: dict[str, object]) -> str:
    """How acpx opens a session it knows, by what the agent can do."""
    sessions = offered.get("sessionCapabilities")
    if isinstance(sessions, dict) and "resume" in sessions:
        return "session/resume"
    return "session/load" if offered.get("loadSession") else "session/new"


def _expect_end(said: Transcript, stop_reason: str = "end_turn") -> None:
    reasons = [result["stopReason"] for result in said.results("session/prompt")]
    expect_equal("the stop reason", reasons, [stop_reason])


def _expect_choices(said: Transcript, wanted: list[str]) -> None:
    """Each answer selects an offered option whose kind begins with this word."""
    made = []
    asked, answered = said.params("session/request_permission"), said.results("session/request_permission")
    for question, answer in zip(asked, answered, strict=True):
        kinds = {option["optionId"]: option["kind"] for option in question["options"]}
        made.append(kinds[answer["outcome"]["optionId"]].partition("_")[0])
    expect_equal("what was chosen", made, wanted)
