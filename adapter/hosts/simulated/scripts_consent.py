"""Scripts that ask the user."""

from __future__ import annotations

import json
from typing import Final

from adapter.hosts.simulated.approvals import file_rule
from adapter.hosts.simulated.scripts_tools import closing, label
from adapter.hosts.simulated.steps import (
    AskApproval,
    Completed,
    Delegate,
    Draft,
    Json,
    LoseNext,
    Script,
    Spawn,
    Started,
    Together,
    Verdict,
    Wait,
)
from adapter.hosts.simulated.turn import Turn

MANY: Final = 50
"""How many approvals one turn opens at most."""

_ODD_CHOICES: Final[dict[str, tuple[Json, ...]]] = {
    "empty": (),
    "allowing": (
        {"choiceId": "yes", "label": "Yes", "decision": "approved", "scope": "once"},
        {"choiceId": "always", "label": "Always", "decision": "approvedPolicyAmendment", "scope": "localPersistent"},
    ),
    "unheard": (
        {"choiceId": "c1", "label": "Maybe — später", "decision": "approvedByMoonlight", "scope": "eternal"},
        {"choiceId": "c2", "label": "No", "decision": "denied", "scope": "once"},
    ),
}
"""What a host may offer beside the usual: nothing at all, only consent, decisions no version knows."""


def wide_choices(subject: Json) -> tuple[Json, ...]:
    """Everything a host can offer for a file, from once to for ever, and two ways to say no."""
    rule = file_rule(subject)
    return (
        {"choiceId": "allow_once", "label": "Allow once", "decision": "approved", "scope": "once"},
        {
            "choiceId": "allow_session",
            "label": "Allow for this session",
            "decision": "approvedForSession",
            "scope": "session",
            "rulePreview": rule,
        },
        {
            "choiceId": "allow_always",
            "label": "Always allow",
            "decision": "approvedPolicyAmendment",
            "scope": "localPersistent",
            "rulePreview": rule,
        },
        {"choiceId": "deny", "label": "Deny", "decision": "denied", "scope": "once", "acceptsFeedback": True},
        {"choiceId": "abort", "label": "Reject", "decision": "abort", "scope": "once"},
    )


def approve(turn: Turn) -> Script:
    """`approve [WORD]`: one file write, one decision."""
    word = turn.words[1] if len(turn.words) > 1 else ""
    if word in ("child", "kid"):
        yield from (_child if word == "child" else _kid)(turn)
        return
    path = f"{turn.workspace}/Cargo.toml"
    args = json.dumps({"path": path, "content": 'version = "0.2.0"'})
    tool = turn.tool("write_file", args, displayLabel=label("Writing Cargo.toml", "Wrote Cargo.toml"))
    yield Started(tool)
    subject = {"kind": "fileAccess", "toolName": "write_file", "path": path, "access": "write"}
    if word == "lost":
        yield LoseNext(2)
        yield Spawn(*_bystander(turn))
    settled_after = turn.seconds(2, 0.1) if word == "elsewhere" else None
    choices = wide_choices(subject) if word == "wide" else _ODD_CHOICES.get(word)
    verdict = yield AskApproval(tool, subject, choices=choices, settled_after=settled_after)
    yield from _after(turn, tool, verdict, f"{path} updated ✓\n")


def _bystander(turn: Turn) -> tuple[Draft, Script]:
    """Something that happens beside an open approval, so that a loss before it is told."""
    note = turn.tool("bash", json.dumps({"command": "date"}))

    def run() -> Script:
        yield Wait(0.05)
        yield Completed(note, {"visibleOutput": "Montag ✓\n", "truncated": False})

    return note, run()


def approve3(turn: Turn) -> Script:
    """`approve3`: a compound command; part 1 is known to be safe, parts 0 and 2 are asked for."""
    stages = (("git", "fetch", "--all"), ("ls", "-la"), ("make", "install"))
    command = " && ".join(" ".join(argv) for argv in stages)
    tool = turn.tool("bash", json.dumps({"command": command}), displayLabel=label("Running make", "Ran make"))
    yield Started(tool)
    subject = {"kind": "shell", "command": command, "workspaceRoot": turn.workspace}
    verdict = yield AskApproval(tool, subject, stages, frozenset({0, 2}))
    yield from _after(turn, tool, verdict, "installed ✓\n")


def _after(turn: Turn, tool: Draft, verdict: Verdict, output: str) -> Script:
    if verdict.allowed:
        yield Completed(tool, {"visibleOutput": output, "truncated": False})
        yield from closing(turn, "It is done ✓")
        return
    yield from refused(turn, tool, verdict)


def refused(turn: Turn, tool: Draft, verdict: Verdict) -> Script:
    """The end of a call that nobody wanted; what was said about it is repeated."""
    reason = "denied by the user" if verdict.feedback is None else f"denied by the user: {verdict.feedback}"
    yield Completed(tool, {"failureKind": "approval_denied", "failureReason": reason}, status="rejected")
    yield from closing(turn, _as_you_wish(verdict))


def _as_you_wish(verdict: Verdict) -> str:
    said = "" if verdict.feedback is None else f" You said: {verdict.feedback}"
    return f"Then I leave it — as you wish.{said}"


def _agent(turn: Turn, child: str) -> tuple[Draft, Json]:
    """A subagent's item, and where an approval of it says that it comes from."""
    agent = turn.item(
        "subagent",
        subagentId=f"{turn.id}-agent",
        objective="change the manifest",
        role="worker",
        depth=1,
        childSessionId=child,
        controlStatus="running",
        fallbackText="Subagent: change the manifest",
    )
    origin = {"subagentId": f"{turn.id}-agent", "childSessionId": child, "childRunId": f"{turn.id}-delegated"}
    return agent, origin


def _child(turn: Turn) -> Script:
    """`approve child`: a subagent asks through its parent's session."""
    agent, origin = _agent(turn, f"{turn.id}-child")
    yield Started(agent)
    call, subject = _manifest(turn)
    verdict = yield AskApproval(call, subject, origin=origin)
    yield from _reported(turn, agent, verdict)


def _kid(turn: Turn) -> Script:
    """`approve kid`: a subagent asks in its own session."""
    verdicts: list[Verdict] = []
    agent, origin = _agent(turn, f"kid-{turn.id}")
    yield Started(agent)

    def work(own: Turn) -> Script:
        call, subject = _manifest(own)
        yield Started(call)
        verdict: Verdict = yield AskApproval(call, subject)
        verdicts.append(verdict)
        yield from _after(own, call, verdict, "updated ✓\n")

    yield Delegate(origin["childSessionId"], "change the manifest", work)
    yield from _reported(turn, agent, verdicts[0])


def _manifest(turn: Turn) -> tuple[Draft, Json]:
    path = f"{turn.workspace}/Cargo.toml"
    args = json.dumps({"path": path, "content": 'version = "0.3.0"'})
    call = turn.tool("write_file", args, displayLabel=label("Writing Cargo.toml", "Wrote Cargo.toml"))
    return call, {"kind": "fileAccess", "toolName": "write_file", "path": path, "access": "write"}


def _reported(turn: Turn, agent: Draft, verdict: Verdict) -> Script:
    summary = "the manifest is new ✓" if verdict.allowed else "nobody let me ✗"
    result = {"summary": summary, "artifactRefs": [], "evidenceRefs": []}
    yield Completed(agent, {"controlStatus": "closed", "result": result, "durationMs": 20})
    yield from closing(turn, "The subagent has done it ✓" if verdict.allowed else _as_you_wish(verdict))


def many(turn: Turn) -> Script:
    """`many N`: N commands at once, each with an approval of its own."""
    count = min(turn.number(1, 3), MANY)
    calls = [turn.tool("bash", json.dumps({"command": f"make part-{index}"})) for index in range(count)]

    def run(index: int) -> Script:
        call, argv = calls[index], ("make", f"part-{index}")
        yield Started(call)
        subject = {"kind": "shell", "command": " ".join(argv), "workspaceRoot": turn.workspace}
        verdict: Verdict = yield AskApproval(call, subject, (argv,), frozenset({0}))
        if verdict.allowed:
            yield Completed(call, {"visibleOutput": f"part {index} made ✓\n", "truncated": False})
            return
        members = {"failureKind": "approval_denied", "failureReason": "denied by the user"}
        yield Completed(call, members, status="rejected")

    yield Together(tuple(run(index) for index in range(len(calls))))
    made = sum(turn.view.items[call.id]["status"] == "completed" for call in calls)
    yield from closing(turn, f"{made} of {len(calls)} parts are made.")
