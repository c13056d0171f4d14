"""An approval as a question to the user: what is offered, what it is about, and what an answer means. Pure.

Consent is never invented (`msp.md §15`, `acp.md §8`): only a clear selection of an offered choice counts, and it
means exactly that choice. The choice's kind comes from its decision and scope, its id goes through untouched.
"""

from __future__ import annotations

from typing import Any, Final

from adapter.acp import elicitation
from adapter.acp.text import fenced, one_line
from adapter.acp.tool_content import text_content
from adapter.bridge.bounded_text import BoundedText, bound_text, with_notice
from adapter.bridge.tool_cards.file_changes import inside
from adapter.bridge.tool_cards.tool_arguments import bounded_input
from adapter.bridge.tool_cards.tool_table import shown_name, tool_named
from adapter.wire.framing import decode_json

FEEDBACK_KEY: Final = "muse/feedback"
"""Where a client may put words for the model in the `_meta` of its answer."""

FEEDBACK_FIELD: Final = "feedback"
FEEDBACK_LENGTH: Final = 2000
"""Characters of feedback that go to the host."""

STOP_OPTION: Final = "muse-adapter/stop"
"""The option that is added where a host offers nothing but consent: it decides nothing, what asks is stopped."""

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
_KNOWN_SUBJECTS: Final = frozenset({*_SUBJECT_KINDS, "unixSocket", "tool"})
_ACCESS_KINDS: Final[dict[str, str]] = {"read": "read", "delete": "delete", "search": "search", "list": "read"}
_REFUSING: Final = frozenset({"reject_once", "reject_always"})
_SCOPE_WORDS: Final[dict[str, tuple[str, str]]] = {
    "session": ("session", "for this session"),
    "localPersistent": ("later", "also in later sessions"),
}
"""What an option's name adds about a scope, unless the host's label has the word for it."""

_META_MEMBERS: Final = {
    "museApprovalId": "approvalId",
    "museTurnId": "turnId",
    "museItemId": "itemId",
    "museRequirementId": "currentRequirementId",
}
_RESOLUTIONS: Final = {"unresolved": "no rule decides it", "known_safe": "known to be safe"}
_MOST_SUBJECT_LINES: Final = 20
_QUESTION_MEMBERS: Final = ("currentRequirementId", "availableChoices", "subject")
_SUBJECT_LINES: Final = ("path", "target", "host", "port", "protocol", "access")


def options(choices: Any) -> list[dict[str, Any]]:
    """The permission options for `availableChoices`, in the host's order; what cannot be classified is not offered,
    nor an id that stands for different things. There is always one that refuses."""
    offered: dict[str, dict[str, Any] | None] = {}
    for choice in _usable(choices):
        choice_id, option = choice["choiceId"], _option(choice)
        offered[choice_id] = option if offered.get(choice_id, option) == option else None
    listed = [option for option in offered.values() if option is not None]
    if any(option["_meta"]["museDecision"] == "denied" for option in listed):
        for option in listed:
            if option["_meta"]["museDecision"] == "abort" and "stop" not in option["name"].lower():
                option["name"] = one_line(f"{option['name']} (stops the turn)")
    if listed and not any(option["kind"] in _REFUSING for option in listed):
        listed.append({"optionId": STOP_OPTION, "name": "Refuse and stop", "kind": "reject_once"})
    return listed


def takes_feedback(choice_id: str, choices: Any) -> bool:
    """Whether words for the model may go with this choice (`msp.md §15.3`)."""
    return any(choice["choiceId"] == choice_id and choice.get("acceptsFeedback") is True for choice in _usable(choices))


def feedback_in(answer: dict[str, Any]) -> str | None:
    """The words for the model that a client put beside its selection."""
    meta = answer.get("_meta")
    return feedback(meta.get(FEEDBACK_KEY) if isinstance(meta, dict) else None)


def feedback(text: Any) -> str | None:
    """Words as they go to the host; None if there are none."""
    return (text.strip()[:FEEDBACK_LENGTH] or None) if isinstance(text, str) else None


def feedback_form(session_id: str, params: dict[str, Any]) -> dict[str, Any]:
    """The form that asks what the model shall be told with a decision."""
    message = "What should Muse know about this decision? You may leave it empty. Do not enter passwords or keys."
    field = elicitation.text_field("Guidance", "Goes to the model.", max_length=FEEDBACK_LENGTH)
    item_id = params.get("itemId")
    return elicitation.form(
        session_id,
        message,
        {FEEDBACK_FIELD: field},
        [],
        tool_call_id=item_id if isinstance(item_id, str) else None,
        meta=_request_meta(params),
    )


def request(
    session_id: str,
    params: dict[str, Any],
    asked: dict[str, Any],
    offered: list[dict[str, Any]],
    preview: list[dict[str, Any]],
) -> dict[str, Any]:
    """The params of `session/request_permission`; `asked` is the `question` of it, `preview` what the call would
    change."""
    item_id = params.get("itemId")
    if preview:
        asked = asked | {"content": [*preview, *asked.get("content", [])]}
    return {
        "sessionId": session_id,
        "toolCall": {
            "toolCallId": item_id if isinstance(item_id, str) else params["approvalId"],
            "status": "pending",
            **asked,
        },
        "options": offered,
        "_meta": _request_meta(params),
    }


def _request_meta(params: dict[str, Any]) -> dict[str, Any]:
    known = {key: params.get(member) for key, member in _META_MEMBERS.items()}
    return {key: value for key, value in known.items() if value is not None}


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


def is_allowed(resolved: dict[str, Any]) -> bool:
    """Whether an approval that the host settled ended in consent."""
    decision = resolved.get("decision")
    return resolved.get("policyResult") == "allow" or (isinstance(decision, str) and decision.startswith("approved"))


def is_of_subagent(params: dict[str, Any]) -> bool:
    """Whether a subagent asks, which may go on when the turn that started it is over (`msp.md §15.2`)."""
    return isinstance(params.get("subagentOrigin"), dict)


def refusal(offered: list[dict[str, Any]], choices: Any) -> str | None:
    """The offered choice that refuses just this call, None if there is none: a plain denial before an abort. One that
    lasts is nothing to take in the user's place."""
    denials = [choice["choiceId"] for choice in _usable(choices) if choice.get("decision") == "denied"]
    refusing = [option["optionId"] for option in offered if option["kind"] == "reject_once"]
    refusing = [choice_id for choice_id in refusing if choice_id != STOP_OPTION]
    return min(refusing, key=lambda choice_id: choice_id not in denials, default=None)


def same(params: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two states of an approval put the same question: the same stage, with the same choices about the same
    thing (`msp.md §15.4`)."""
    return all(params.get(member) == other.get(member) for member in _QUESTION_MEMBERS)


def is_next_stage(params: dict[str, Any]) -> bool:
    """Whether the host tells this of an approval since a stage of it was resolved, so that it now waits for the one it
    names; the same stage is told for other reasons too, as for a rule that was kept (`msp.md §15.4`)."""
    change = params.get("change")
    return isinstance(change, dict) and change.get("kind") == "stageResolved"


def question(params: dict[str, Any], *, workspace: str = "", by_subagent: bool = False) -> dict[str, Any]:
    """The card members that show what is being decided: the exact command or target, never a description of it. Its
    content has the whole path, its title the one from `workspace` on.
    `by_subagent`: it comes in a subagent's own session."""
    subject = params.get("subject") if isinstance(params.get("subject"), dict) else {}
    assert isinstance(subject, dict)
    tool = params.get("toolName")
    name = tool if isinstance(tool, str) and tool else "tool"
    command = subject.get("command")
    lines = _subject_lines(subject)
    title = (
        command
        if isinstance(command, str) and command
        else ": ".join([shown_name(name), *_target(subject, lines, workspace)])
    )
    text = _command(command) if isinstance(command, str) and command else [_cut(line) for line in lines]
    text = [*text, *_stage_lines(params, subject), *_remarks(params, by_subagent)]
    members: dict[str, Any] = {
        "title": one_line(title),
        "kind": _kind(subject, name),
        "content": [text_content("\n".join(text))] if text else None,
        "rawInput": _raw_input(params, subject),
    }
    return {member: value for member, value in members.items() if value is not None}


def _usable(choices: Any) -> list[dict[str, Any]]:
    """The choices that can be named in a decision."""
    listed = choices if isinstance(choices, list) else []
    return [choice for choice in listed if isinstance(choice, dict) and isinstance(choice.get("choiceId"), str)]


def _option(choice: dict[str, Any]) -> dict[str, Any] | None:
    kind = _option_kind(choice)
    if kind is None:
        return None
    meta = {"museDecision": choice.get("decision"), "museScope": choice.get("scope")}
    return {
        "optionId": choice["choiceId"],
        "name": _option_name(choice),
        "kind": kind,
        "_meta": {name: value for name, value in meta.items() if isinstance(value, str)},
    }


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
    preview, scope = choice.get("rulePreview"), choice.get("scope")
    remarks = [preview] if isinstance(preview, str) and preview else []
    word, remark = _SCOPE_WORDS.get(scope, ("", "")) if isinstance(scope, str) else ("", "")
    if word and word not in name.lower():
        remarks.append(remark)
    return one_line(f"{name} ({', '.join(remarks)})" if remarks else name)


def _target(subject: dict[str, Any], lines: list[str], workspace: str) -> list[str]:
    """What a title says of it: a path by itself, whatever else with the name of its member."""
    path = subject.get("path")
    return [inside(path, workspace)] if isinstance(path, str) and path else lines[:1]


def _subject_lines(subject: dict[str, Any]) -> list[str]:
    """What consent is asked for, a member a line; of a kind we do not know all that can be said in a line."""
    kind = subject.get("kind")
    if isinstance(kind, str) and kind in _KNOWN_SUBJECTS:
        names = [member for member in _SUBJECT_LINES if subject.get(member) is not None]
    else:
        names = [member for member, value in subject.items() if isinstance(value, str | int | float)]
        names = sorted(names[:_MOST_SUBJECT_LINES], key=lambda member: member not in _SUBJECT_LINES)
    return [f"{member}: {subject[member]}" for member in names if member != "kind"]


def _kind(subject: dict[str, Any], tool: str) -> str:
    kind = subject.get("kind")
    if kind == "fileAccess":
        return _ACCESS_KINDS.get(str(subject.get("access")), "edit")
    return _SUBJECT_KINDS.get(str(kind), tool_named(tool).kind)


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
    """Which part of a command of several parts is being decided, and what the host found out about it."""
    requirement, listed = params.get("currentRequirementId"), subject.get("stages")
    stages = [stage for stage in listed if isinstance(stage, dict)] if isinstance(listed, list) else []
    for number, stage in enumerate(stages, 1):
        argv = stage.get("argv")
        if stage.get("requirementId") == requirement and isinstance(argv, list):
            words = _cut(" ".join(str(word) for word in argv))
            more = "" if stage.get("argvComplete") is not False else " …"
            return [f"part {_place(stage, number, len(stages))}: {words}{more}{_resolution(stage)}"]
    return []


def _place(stage: dict[str, Any], number: int, listed: int) -> str:
    """`n of m`: as the list shows it, or as the stage says where the list is not all of them."""
    position, total = stage.get("position"), stage.get("totalStages")
    if type(position) is int and type(total) is int and listed < total and 0 < position <= total:
        return f"{position} of {total}"
    return f"{number} of {listed}"


def _resolution(stage: dict[str, Any]) -> str:
    resolution = stage.get("resolution")
    if not isinstance(resolution, dict):
        return ""
    kind, diagnostic = resolution.get("kind"), resolution.get("diagnostic")
    words = [_RESOLUTIONS.get(kind, kind)] if isinstance(kind, str) and kind else []
    words += [one_line(diagnostic)] if isinstance(diagnostic, str) and diagnostic else []
    return f" ({'; '.join(words)})" if words else ""


def _remarks(params: dict[str, Any], by_subagent: bool) -> list[str]:
    """What makes this question graver than others."""
    remarks = []
    if by_subagent or is_of_subagent(params):
        remarks.append("A subagent asks for this.")
    if params.get("protectedWrite") is True:
        remarks.append("This writes to a protected place.")
    if params.get("judgeEscalated") is True:
        remarks.append("The automatic reviewer left this decision to you.")
    return remarks


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
