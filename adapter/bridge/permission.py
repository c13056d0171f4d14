"""An approval as a question to the user: what is offered, what it is about, and what an answer means. Pure.

Consent is never invented (`msp.md §15`, `acp.md §8`): only a clear selection of an offered choice counts, and it
means exactly that choice. The choice's kind comes from its decision and scope, its id goes through untouched.
"""

from __future__ import annotations

from typing import Any, Final

from adapter.acp.text import fenced, one_line
from adapter.acp.tool_content import text_content
from adapter.bridge.bounded_text import BoundedText, bound_text, with_notice
from adapter.bridge.cards import bounded_input, tool_kind
from adapter.wire.framing import decode_json

RAW_INPUT_LIMIT: Final = 1024 * 1024
"""Characters of arguments a permission request carries whole: clients judge by them, so only absurd ones are
shortened."""

LINE_BYTES: Final = 8 * 1024
"""How long a path, or one part of a command, may be before its middle is left out; longer than any that exists."""

_SUBJECT_KINDS: Final[dict[str, str]] = {
    "shell": "execute",
    "process": "execute",
    "fileAccess": "edit",
    "network": "fetch",
}
_ACCESS_KINDS: Final[dict[str, str]] = {"read": "read", "delete": "delete", "search": "search", "list": "read"}
_QUESTION_MEMBERS: Final = ("currentRequirementId", "availableChoices", "subject")
_SUBJECT_LINES: Final = ("path", "target", "host", "port", "protocol", "access")


def options(choices: Any) -> list[dict[str, Any]]:
    """The permission options for `availableChoices`, in the host's order; what cannot be classified is not offered."""
    offered = []
    for choice in _usable(choices):
        kind = _option_kind(choice)
        if kind is not None:
            offered.append({"optionId": choice["choiceId"], "name": _option_name(choice), "kind": kind})
    return offered


def selected_choice(answer: dict[str, Any], offered: list[dict[str, Any]]) -> str | None:
    """The choice id a `session/request_permission` result selects, None if it selects none of the offered."""
    outcome = answer.get("outcome")
    if not isinstance(outcome, dict) or outcome.get("outcome") != "selected":
        return None
    option_id = outcome.get("optionId")
    return option_id if any(option["optionId"] == option_id for option in offered) else None


def is_cancelled(answer: dict[str, Any]) -> bool:
    """Whether the answer says that the whole turn is being cancelled."""
    outcome = answer.get("outcome")
    return isinstance(outcome, dict) and outcome.get("outcome") == "cancelled"


def is_of_subagent(params: dict[str, Any]) -> bool:
    """Whether a subagent asks, which may go on when the turn that started it is over (`msp.md §15.2`)."""
    return isinstance(params.get("subagentOrigin"), dict)


def refusal(offered: list[dict[str, Any]], choices: Any) -> str | None:
    """The offered choice that refuses just this call, None if there is none: a plain denial before an abort."""
    denials = [choice["choiceId"] for choice in _usable(choices) if choice.get("decision") == "denied"]
    refusing = [option["optionId"] for option in offered if option["kind"] in {"reject_once", "reject_always"}]
    return min(refusing, key=lambda choice_id: choice_id not in denials, default=None)


def same(params: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two states of an approval put the same question: the same stage, with the same choices about the same
    thing (`msp.md §15.4`)."""
    return all(params.get(member) == other.get(member) for member in _QUESTION_MEMBERS)


def question(params: dict[str, Any]) -> dict[str, Any]:
    """The card members that show what is being decided: the exact command or target, never a description of it."""
    subject = params.get("subject") if isinstance(params.get("subject"), dict) else {}
    assert isinstance(subject, dict)
    tool = params.get("toolName")
    name = tool if isinstance(tool, str) and tool else "tool"
    command = subject.get("command")
    lines = [f"{member}: {subject[member]}" for member in _SUBJECT_LINES if subject.get(member) is not None]
    title = command if isinstance(command, str) and command else ": ".join([name, *lines[:1]])
    text = _command(command) if isinstance(command, str) and command else [_cut(line) for line in lines]
    members: dict[str, Any] = {
        "title": one_line(title),
        "kind": _kind(subject, name),
        "content": [text_content("\n".join([*text, *_stage_lines(params, subject)]))] if text else None,
        "rawInput": _raw_input(params, subject),
    }
    return {member: value for member, value in members.items() if value is not None}


def _usable(choices: Any) -> list[dict[str, Any]]:
    """The choices that can be named in a decision."""
    listed = choices if isinstance(choices, list) else []
    return [choice for choice in listed if isinstance(choice, dict) and isinstance(choice.get("choiceId"), str)]


def _option_kind(choice: dict[str, Any]) -> str | None:
    decision, scope = choice.get("decision"), choice.get("scope")
    if not isinstance(decision, str):
        return None
    lasting = scope in ("session", "localPersistent") or decision.endswith(("ForSession", "PolicyAmendment"))
    if decision.startswith("approved"):
        return "allow_always" if lasting else "allow_once"
    if decision.startswith("denied") or decision == "abort":
        return "reject_always" if lasting and decision != "abort" else "reject_once"
    return None


def _option_name(choice: dict[str, Any]) -> str:
    label = choice.get("label")
    name = label if isinstance(label, str) and label else choice["choiceId"]
    preview = choice.get("rulePreview")
    return one_line(f"{name} ({preview})" if isinstance(preview, str) and preview else name)


def _kind(subject: dict[str, Any], tool: str) -> str:
    kind = subject.get("kind")
    if kind == "fileAccess":
        return _ACCESS_KINDS.get(str(subject.get("access")), "edit")
    return _SUBJECT_KINDS.get(str(kind), tool_kind(tool))


def _command(command: str) -> list[str]:
    bounded = bound_text(command)
    if not bounded.truncated:
        return [fenced(command, "sh")]
    return [fenced(bounded.head, "sh"), _notice(bounded), fenced(bounded.tail, "sh")]


def _cut(text: str) -> str:
    bounded = bound_text(text, LINE_BYTES)
    return with_notice(bounded, _notice(bounded)) if bounded.truncated else text


def _notice(bounded: BoundedText) -> str:
    return f"[muse-adapter shows {bounded.head_bytes + bounded.tail_bytes} of {bounded.total_bytes} bytes]"


def _stage_lines(params: dict[str, Any], subject: dict[str, Any]) -> list[str]:
    """Which part of a command of several parts is being decided."""
    requirement, listed = params.get("currentRequirementId"), subject.get("stages")
    stages = listed if isinstance(listed, list) else []
    for number, stage in enumerate(stages, 1):
        if (
            isinstance(stage, dict)
            and stage.get("requirementId") == requirement
            and isinstance(stage.get("argv"), list)
        ):
            words = _cut(" ".join(str(word) for word in stage["argv"]))
            more = "" if stage.get("argvComplete") is not False else " …"
            return [f"part {number} of {len(stages)}: {words}{more}"]
    return []


def _raw_input(params: dict[str, Any], subject: dict[str, Any]) -> dict[str, Any]:
    raw = params.get("rawArgs")
    arguments: Any = raw
    if isinstance(raw, str):
        try:
            arguments = decode_json(raw.encode("utf-8", "replace"))
        except ValueError:
            arguments = raw
    arguments = bounded_input(raw, arguments, RAW_INPUT_LIMIT)
    subject = bounded_input(repr(subject), subject, RAW_INPUT_LIMIT)
    return {"toolName": params.get("toolName"), "arguments": arguments, "subject": subject}
