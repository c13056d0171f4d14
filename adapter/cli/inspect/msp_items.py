"""What items, approvals and questions of MSP are called, in words (`msp.md §13, §15, §16`)."""

from __future__ import annotations

from typing import Any, Final

from adapter.cli.inspect.members import Members
from adapter.cli.inspect.words import counted, lasted, listed, quoted, size
from adapter.wire.framing import decode_json

MESSAGES: Final = {"userMessage": "user message", "agentMessage": "answer", "reasoning": "reasoning"}
"""Items that are text of a conversation."""

OPEN: Final = "inProgress"
"""The one state of an item that is not its last."""

FAILED: Final = frozenset({"failed", "rejected", "timedOut", "denied"})
"""States of an item that people look for when something went wrong."""

_ARGUMENTS: Final = ("command", "path", "file_path", "pattern", "url", "query", "description")
"""Arguments of tools that say what a call is about."""


def title(item: Members) -> str:
    """What an item is called in all its lines: never what it has become, since that changes."""
    kind = item.text("kind")
    if kind in MESSAGES:
        return MESSAGES[kind]
    if kind == "toolCall":
        label = item.inner("displayLabel").text("neutral", "active", "done")
        return " ".join(part for part in (item.text("tool") or "tool", label or about(item.text("args"))) if part)
    if kind == "userShell":
        return f"shell {quoted(item.text('commandText'))}"
    named = item.text("objective", "entryId", "label", "event", "trigger", "monitorDescription", "query")
    return " ".join(part for part in (kind or "item", quoted(named) if named else "") if part)


def about(arguments: str) -> str:
    """What a call is about, out of arguments that are JSON text of a model and may be none."""
    try:
        members = Members(decode_json(arguments.encode("utf-8", "replace")))
    except ValueError:
        return ""
    value = members.text(*_ARGUMENTS)
    return quoted(value, 80) if value else ""


def state(item: Members) -> str:
    """How it is with an item that is told whole."""
    status = item.text("status")
    kind = item.text("kind")
    lengths = ""
    if kind in MESSAGES:
        text = item.text("text")
        lengths = quoted(text) if text else ""
    elif kind in ("toolCall", "userShell"):
        lengths = _output(item)
    else:
        children = item.objects("children")
        lengths = listed(
            [
                item.text("controlStatus"),
                counted(len(children), "child", "children") if children else "",
                item.text("fallbackText", "message", "finalSummary"),
            ]
        )
    took = item.number("durationMs")
    ended = status not in ("", OPEN, "completed")
    return listed(
        [
            status if ended or not lengths else "",
            lengths,
            item.text("statusLine") if status == OPEN else "",
            "" if took is None else lasted(took),
            item.text("failureReason", "failureKind"),
            "taken back" if item.flag("retracted") else "",
        ]
    )


def _output(item: Members) -> str:
    shown = item.text("visibleOutput")
    stored = item.inner("outputRef").number("byteLen")
    return listed(
        [
            f"{size(len(shown.encode('utf-8', 'replace')))} shown" if shown else "",
            f"{size(stored)} stored" if stored is not None else "",
            "cut" if item.flag("truncated") else "",
        ]
    )


def subject(approval: Members) -> str:
    """What an approval is about: the tool, and what it wants to touch."""
    about_what = approval.inner("subject")
    port: Any = about_what.raw.get("port")
    host = about_what.text("host")
    target = about_what.text("command", "path", "target", "url") or (f"{host}:{port}" if host and port else host)
    return " ".join(
        part
        for part in (
            approval.text("toolName") or about_what.text("kind") or "something",
            about_what.text("access"),
            quoted(target) if target else about(approval.text("rawArgs")),
        )
        if part
    )


def stage(approval: Members) -> str:
    """Which of several stages is asked for, of a shell command with more than one."""
    current = approval.inner("currentRequirementId").number("sourceIndex")
    stages = approval.inner("subject").objects("stages")
    if current is None or len(stages) < 2:
        return ""
    return f"stage {current + 1} of {len(stages)}"


def choices(approval: Members) -> str:
    """What may be chosen."""
    return " / ".join(choice.text("label", "choiceId") for choice in approval.objects("availableChoices"))


def questions(prompt: Members) -> str:
    """The questions of a prompt to the user."""
    asked = [question.text("question", "header") for question in prompt.objects("questions")]
    more = f" and {counted(len(asked) - 1, 'question')} more" if len(asked) > 1 else ""
    return (quoted(asked[0]) if asked else "questions") + more


def options(prompt: Members) -> str:
    """What may be answered to the first question."""
    first = prompt.objects("questions")[:1]
    return " / ".join(option.text("label") for question in first for option in question.objects("options"))


def answers(params: Members) -> str:
    """What was answered."""
    return "; ".join(
        ", ".join([*one.texts("selectedLabels"), one.text("selectedLabel", "freeText")]).strip(", ") or "nothing"
        for one in params.objects("answers")
    )
