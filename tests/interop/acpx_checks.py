"""What acpx must be able to do with the adapter on the simulated host (`acp.md §22`)."""

from __future__ import annotations

import json
from functools import partial
from typing import Final

from tests.interop.acpx import Acpx, Json, expect_code
from tests.interop.checks import Check, expect, expect_equal
from tests.interop.transcript import Transcript

PERMISSIONS_DENIED: Final = 5
TIMED_OUT: Final = 3
NO_SESSION: Final = 4
FAILED: Final = 1
"""Exit codes of acpx."""

AUTHENTICATION_REQUIRED: Final = -32000
INVALID_PARAMS: Final = -32602


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
        "a permission in a persistent session is given or refused as acpx is told": decides_in_a_session,
        "set-mode sets a mode there is, and no other": sets_a_mode,
        "set sets an option, which holds when the session is opened again, and no other value": sets_an_option,
        "sessions list shows what Muse has stored": lists_sessions,
        "a session that was closed is opened no more, and its process is gone": closes_a_session,
        "exec without a login fails with the advice to log in": needs_a_login,
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


def decides_in_a_session(acpx: Acpx) -> None:
    with acpx.session("decisions") as name:
        given = acpx.converse("--approve-all", "prompt", "-s", name, "approve")
        _expect_choices(given, ["allow"])
        expect_equal("the answer", given.text(), "It is done ✓")
        # Its exit code tells of denied permissions after exec only.
        refused = acpx.converse("--deny-all", "prompt", "-s", name, "approve")
        _expect_choices(refused, ["reject"])
        expect_equal("the answer", refused.text(), "Then I leave it — as you wish.")


def sets_a_mode(acpx: Acpx) -> None:
    with acpx.session("modes") as name:
        expect_equal("the mode", acpx.ask("set-mode", "-s", name, "readOnly")["modeId"], "readOnly")
        _expect_refused(acpx, ["set-mode", "-s", name, "orchard"], "modeId")
        first = acpx.converse("prompt", "-s", name, "hello")
        modes = first.results(acpx_opening(first.results("initialize")[0]["agentCapabilities"]))[0]["modes"]
        expect_equal("the modes", [mode["id"] for mode in modes["availableModes"]], ["default", "readOnly", "plan"])
        # The mode lives as long as the process that has the session open: this one has it.
        expect_equal("the mode", acpx.ask("set-mode", "-s", name, "plan")["modeId"], "plan")
        second = acpx.converse("prompt", "-s", name, "hello again")
        _expect_end(second)


def sets_an_option(acpx: Acpx) -> None:
    with acpx.session("options") as name:
        options = acpx.ask("set", "-s", name, "approval_mode", "denyUnmatched")["configOptions"]
        expect_equal("the value", _values(options)["approval_mode"], "denyUnmatched")
        expect("model" in _values(options), f"the list is not complete: {list(_values(options))}")
        _expect_refused(acpx, ["set", "-s", name, "approval_mode", "orchard"], "value")
        _expect_refused(acpx, ["set", "-s", name, "orchard", "x"], "configId")
        said = acpx.converse("prompt", "-s", name, "hello")
        opened = said.results(acpx_opening(said.results("initialize")[0]["agentCapabilities"]))[0]
        expect_equal("the value afterwards", _values(opened["configOptions"])["approval_mode"], "denyUnmatched")


def lists_sessions(acpx: Acpx) -> None:
    with acpx.session("listed") as name:
        session_id = acpx.converse("prompt", "-s", name, "an apple a day").params("session/prompt")[0]["sessionId"]
    listed = acpx.ask("sessions", "list")
    expect_equal("who listed them", listed["source"], "agent")
    titles = {row["sessionId"]: row["title"] for row in listed["sessions"]}
    expect_equal("the title", titles.get(session_id), "an apple a day")
    elsewhere = acpx.ask("sessions", "list", "--filter-cwd", str(acpx.home))
    expect_equal("the sessions of another folder", elsewhere["sessions"], [])


def closes_a_session(acpx: Acpx) -> None:
    with acpx.session("closed") as name:
        acpx.converse("prompt", "-s", name, "hello")
        expect_equal("the close", acpx.ask("sessions", "close", name)["action"], "session_closed")
        expect_code(acpx.run("prompt", "-s", name, "hello"), NO_SESSION)
    acpx.wait_quiet()


def needs_a_login(acpx: Acpx) -> None:
    said = acpx.converse("exec", "hello", code=FAILED, env={"MUSE_SIMULATED_LOGIN": "required"})
    (error,) = said.errors("session/prompt")
    expect_equal("the code", error["code"], AUTHENTICATION_REQUIRED)
    expect("muse-adapter login" in error["data"]["details"], f"there is no advice: {error}")


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


def _expect_refused(acpx: Acpx, arguments: list[str], field: str) -> None:
    """acpx fails and says what the adapter said."""
    done = acpx.run("--format", "json", "--json-strict", *arguments)
    expect_code(done, FAILED)
    error = json.loads(done.stdout)["error"]
    expect_equal("the refusal", (error["code"], error["data"]["field"]), (INVALID_PARAMS, field))


def _values(options: list[Json]) -> Json:
    return {option["id"]: option["currentValue"] for option in options}


def _expect_choices(said: Transcript, wanted: list[str]) -> None:
    """Each answer selects an offered option whose kind begins with this word."""
    made = []
    asked, answered = said.params("session/request_permission"), said.results("session/request_permission")
    for question, answer in zip(asked, answered, strict=True):
        kinds = {option["optionId"]: option["kind"] for option in question["options"]}
        made.append(kinds[answer["outcome"]["optionId"]].partition("_")[0])
    expect_equal("what was chosen", made, wanted)
