"""Approvals as questions: what is offered, what an answer means, and that consent is never invented."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from adapter.bridge.consent import permission

Json = dict[str, Any]


def choice(choice_id: str, decision: str, scope: str | None = "once", **more: Any) -> Json:
    return {"choiceId": choice_id, "label": f"Label of {choice_id}", "decision": decision, "scope": scope, **more}


ONCE = choice("yes", "approved")
ALWAYS = choice("always", "approvedForSession", "session", rulePreview="make *")
DENY = choice("no", "denied")
ABORT = choice("stop", "abort")


ODD: Final[tuple[Any, ...]] = ([], {}, ["shell"], 5)


@pytest.mark.parametrize(
    ("decision", "scope", "kind"),
    [
        ("approved", "once", "allow_once"),
        ("approved", None, "allow_once"),
        ("approved", "session", "allow_always"),
        ("approved", "localPersistent", "allow_always"),
        ("approvedForSession", "session", "allow_always"),
        ("approvedForSession", None, "allow_always"),
        ("approvedPolicyAmendment", None, "allow_always"),
        ("denied", "once", "reject_once"),
        ("denied", "session", "reject_always"),
        ("deniedForSession", None, "reject_always"),
        ("deniedPolicyAmendment", None, "reject_always"),
        ("abort", "once", "reject_once"),
        ("abort", "session", "reject_once"),
    ],
)
def test_the_kind_comes_from_decision_and_scope(decision: str, scope: str | None, kind: str) -> None:
    option = permission.options([choice("c", decision, scope)])[0]
    assert (option["optionId"], option["kind"]) == ("c", kind)


@pytest.mark.parametrize(
    "odd",
    [
        choice("c", "maybe"),
        choice("c", "unapproved"),
        {"choiceId": "c"},
        {"choiceId": 3, "decision": "approved"},
        {"decision": "approved"},
        {"choiceId": "c", "decision": ["approved"]},
        "approved",
        None,
    ],
    ids=repr,
)
def test_i1_what_cannot_be_classified_is_not_offered(odd: Any) -> None:
    assert permission.options([odd]) == []
    assert [option["optionId"] for option in permission.options([odd, ONCE, DENY])] == ["yes", "no"]


@pytest.mark.parametrize("choices", [None, {}, "approved", 3], ids=repr)
def test_choices_of_any_shape_are_no_error(choices: Any) -> None:
    assert permission.options(choices) == []


def test_options_keep_the_hosts_order_ids_and_words() -> None:
    odd_id = choice("  id with\nspaces ✓", "approved")
    options = permission.options([ABORT, ALWAYS, odd_id, {**DENY, "label": None}])
    assert [option["optionId"] for option in options] == ["stop", "always", odd_id["choiceId"], "no"]
    assert [option["name"] for option in options][1] == "Label of always (make *, for this session)"
    assert options[3]["name"] == "no"
    assert options[1]["_meta"] == {"museDecision": "approvedForSession", "museScope": "session"}
    assert all("\n" not in option["name"] and len(option["name"]) <= 256 for option in options)


@pytest.mark.parametrize(
    ("label", "scope", "preview", "name"),
    [
        ("Allow for this session", "session", None, "Allow for this session"),
        ("Allow for this session", "localPersistent", None, "Allow for this session (also in later sessions)"),
        ("Always", "localPersistent", "make *", "Always (make *, also in later sessions)"),
        ("Allow once", "once", None, "Allow once"),
        ("Allow", "session", "", "Allow (for this session)"),
        ("Allow", ["session"], 3, "Allow"),
    ],
)
def test_a_name_says_how_far_a_choice_reaches(label: str, scope: Any, preview: Any, name: str) -> None:
    [option, *_] = permission.options([choice("c", "approved", scope, rulePreview=preview) | {"label": label}])
    assert option["name"] == name


@pytest.mark.acp(90)
def test_there_is_always_an_option_that_refuses() -> None:
    options = permission.options([ONCE, ALWAYS])
    assert [(option["optionId"], option["kind"]) for option in options] == [
        ("yes", "allow_once"),
        ("always", "allow_always"),
        (permission.STOP_OPTION, "reject_once"),
    ]
    assert permission.refusal(options, [ONCE, ALWAYS]) is None
    assert permission.options([]) == []


@pytest.mark.acp(90)
@pytest.mark.parametrize(
    "other",
    [
        choice("yes", "denied"),
        choice("yes", "approved", "session"),
        choice("yes", "approvedForSession"),
        choice("yes", "perhaps"),
    ],
)
def test_an_id_that_stands_for_two_things_is_not_offered(other: Json) -> None:
    for choices in ([ONCE, other, DENY], [other, ONCE, DENY], [ONCE, other, ONCE, DENY]):
        assert [option["optionId"] for option in permission.options(choices)] == ["no"]
    assert [option["optionId"] for option in permission.options([ONCE, ONCE, DENY])] == ["yes", "no"]


OFFERED = permission.options([ONCE, ALWAYS, DENY])


@pytest.mark.parametrize(
    ("answer", "selected"),
    [
        ({"outcome": {"outcome": "selected", "optionId": "yes"}}, "yes"),
        ({"outcome": {"outcome": "selected", "optionId": "no"}}, "no"),
        ({"outcome": {"outcome": "selected", "optionId": "other"}}, None),
        ({"outcome": {"outcome": "selected", "optionId": "YES"}}, None),
        ({"outcome": {"outcome": "selected", "optionId": None}}, None),
        ({"outcome": {"outcome": "selected", "optionId": ["yes"]}}, None),
        ({"outcome": {"outcome": "selected"}}, None),
        ({"outcome": {"outcome": "cancelled", "optionId": "yes"}}, None),
        ({"outcome": {"optionId": "yes"}}, None),
        ({"outcome": {"outcome": "allowed", "optionId": "yes"}}, None),
        ({"outcome": "selected", "optionId": "yes"}, None),
        ({"optionId": "yes"}, None),
        ({"outcome": None}, None),
        ({}, None),
    ],
    ids=repr,
)
def test_i1_only_a_clear_selection_of_an_offered_option_counts(answer: Json, selected: str | None) -> None:
    assert permission.selected_choice(answer, OFFERED) == selected


@pytest.mark.parametrize(
    ("answer", "cancelled"),
    [
        ({"outcome": {"outcome": "cancelled"}}, True),
        ({"outcome": {"outcome": "selected", "optionId": "yes"}}, False),
        ({"outcome": "cancelled"}, False),
        ({}, False),
    ],
    ids=repr,
)
def test_a_cancelled_dialog_is_told_from_a_refused_one(answer: Json, cancelled: bool) -> None:
    assert permission.is_cancelled(answer) == cancelled


@pytest.mark.parametrize(
    ("params", "is_one"),
    [({"subagentOrigin": {"subagentId": "child-1"}}, True), ({"subagentOrigin": None}, False), ({}, False)],
    ids=repr,
)
def test_a_subagents_question_is_told_from_others(params: Json, is_one: bool) -> None:
    assert permission.is_of_subagent(params) == is_one


@pytest.mark.parametrize(
    ("choices", "refusal"),
    [
        ([ONCE, DENY, ABORT], "no"),
        ([ABORT, ONCE, DENY], "no"),
        ([ABORT, ONCE], "stop"),
        ([choice("never", "denied", "session"), ABORT], "stop"),
        ([ONCE, choice("never", "deniedPolicyAmendment", "localPersistent")], None),
        ([ONCE, ALWAYS], None),
        ([], None),
    ],
    ids=["denial", "denial after abort", "abort", "abort before lasting", "only lasting", "none", "nothing"],
)
def test_a_refusal_is_a_plain_denial_before_an_abort(choices: list[Json], refusal: str | None) -> None:
    assert permission.refusal(permission.options(choices), choices) == refusal


def test_a_refusal_for_this_call_before_one_for_good() -> None:
    choices = [choice("never", "deniedForSession", "session"), DENY]
    assert permission.refusal(permission.options(choices), choices) == "no"


# -- what it is about


def test_i3_a_command_is_shown_as_it_is() -> None:
    command = "make install && echo '```'"
    asked = permission.question(
        {
            "toolName": "bash",
            "rawArgs": json.dumps({"command": command}),
            "subject": {"kind": "shell", "command": command},
        }
    )
    assert (asked["title"], asked["kind"]) == (command, "execute")
    assert f"\n{command}\n" in asked["content"][0]["content"]["text"]
    assert asked["rawInput"]["arguments"] == {"command": command}


@pytest.mark.parametrize(
    ("subject", "kind", "title"),
    [
        ({"kind": "fileAccess", "path": "/etc/hosts", "access": "write"}, "edit", "tool: /etc/hosts"),
        ({"kind": "fileAccess", "path": "/etc/hosts", "access": "read"}, "read", "tool: /etc/hosts"),
        ({"kind": "fileAccess", "path": "/etc/hosts", "access": "delete"}, "delete", "tool: /etc/hosts"),
        ({"kind": "network", "host": "example.com", "port": 443}, "fetch", "tool: host: example.com"),
        ({"kind": "aura"}, "other", "tool"),
        ({}, "other", "tool"),
    ],
    ids=["write", "read", "delete", "network", "unknown", "nothing"],
)
def test_other_subjects(subject: Json, kind: str, title: str) -> None:
    asked = permission.question({"subject": subject})
    assert (asked["kind"], asked["title"]) == (kind, title)
    for value in subject.values():
        if value not in ("aura", subject.get("kind")):
            assert str(value) in asked["content"][0]["content"]["text"]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"subject": None},
        {"subject": "rm"},
        {"subject": {"stages": 3}},
        *({"subject": {"kind": odd, "access": odd, "path": odd, "stages": [odd]}} for odd in ODD),
    ],
    ids=repr,
)
def test_a_question_of_any_shape_can_be_asked(params: Json) -> None:
    asked = permission.question(params)
    assert asked["title"] and asked["kind"]
    assert permission.question(params | {"rawArgs": "{no json"})["rawInput"]["arguments"] == "{no json"


@pytest.mark.parametrize(
    ("requirement", "shown"),
    [(0, "part 1 of 2: git fetch (no rule decides it; writes to .git)"), (1, "part 2 of 2: make … (novel)")],
)
def test_i5_the_part_that_is_decided_is_named(requirement: int, shown: str) -> None:
    stages = [
        {"requirementId": {"sourceIndex": 0}, "argv": ["git", "fetch"], "argvComplete": True},
        {"requirementId": {"sourceIndex": 1}, "argv": ["make"], "argvComplete": False},
    ]
    stages[0]["resolution"] = {"kind": "unresolved", "diagnostic": "writes to .git"}
    stages[1]["resolution"] = {"kind": "novel", "diagnostic": 7}
    subject = {"kind": "shell", "command": "git fetch && make x", "stages": stages}
    asked = permission.question({"subject": subject, "currentRequirementId": {"sourceIndex": requirement}})
    assert shown in asked["content"][0]["content"]["text"]


def test_absurdly_long_arguments_are_shortened_and_others_are_whole() -> None:
    long = "x" * 500_000
    asked = permission.question({"rawArgs": json.dumps({"content": long}), "subject": {}})
    assert asked["rawInput"]["arguments"] == {"content": long}
    absurd = permission.question({"rawArgs": json.dumps({"content": long * 3}), "subject": {}})
    assert len(absurd["rawInput"]["arguments"]["content"]) < 10_000


def test_a_part_that_comes_alone_is_counted_as_the_host_does() -> None:
    stage = {"requirementId": 2, "argv": ["make"], "position": 3, "totalStages": 4, "resolution": 5}
    asked = permission.question({"subject": {"kind": "shell", "stages": [stage]}, "currentRequirementId": 2})
    assert asked["content"][0]["content"]["text"] == "part 3 of 4: make"


@pytest.mark.parametrize(
    ("params", "remark"),
    [
        ({"protectedWrite": True}, "This writes to a protected place."),
        ({"judgeEscalated": True}, "The automatic reviewer left this decision to you."),
        ({"subagentOrigin": {"subagentId": "s"}}, "A subagent asks for this."),
    ],
    ids=["protected", "escalated", "subagent"],
)
def test_what_makes_a_question_graver_is_said_in_words(params: Json, remark: str) -> None:
    subject = {"kind": "shell", "command": "make"}
    assert remark in permission.question({"subject": subject, **params})["content"][0]["content"]["text"]
    quiet = permission.question({"subject": subject, **dict.fromkeys(params)})
    assert remark not in quiet["content"][0]["content"]["text"]


def test_a_subject_nobody_knows_is_shown_with_all_its_words() -> None:
    subject = {"kind": "aura", "strength": 3, "target": "/srv", "more": {"a": 1}}
    text = permission.question({"subject": subject})["content"][0]["content"]["text"]
    assert text == "target: /srv\nstrength: 3"


# -- the request, and words that go with an answer


PARAMS: Json = {
    "approvalId": "a-1",
    "turnId": "t-1",
    "itemId": "i-1",
    "currentRequirementId": {"approvalId": "a-1", "sourceIndex": 2},
    "subject": {"kind": "fileAccess", "path": "/srv/x", "access": "write"},
}


@pytest.mark.acp(90)
def test_the_request_carries_what_is_decided_and_what_would_change() -> None:
    diff = {"type": "diff", "path": "/srv/x", "newText": "new"}
    asked = permission.request("ses", PARAMS, permission.question(PARAMS), OFFERED, [diff])
    assert asked["_meta"] == {
        "museApprovalId": "a-1",
        "museTurnId": "t-1",
        "museItemId": "i-1",
        "museRequirementId": {"approvalId": "a-1", "sourceIndex": 2},
    }
    assert (asked["sessionId"], asked["options"]) == ("ses", OFFERED)
    call = asked["toolCall"]
    assert (call["toolCallId"], call["status"], call["kind"]) == ("i-1", "pending", "edit")
    assert call["content"][0] == diff
    assert "path: /srv/x" in call["content"][1]["content"]["text"]
    bare = permission.request("ses", {"approvalId": "a-1"}, permission.question({"approvalId": "a-1"}), OFFERED, [])
    assert bare["toolCall"]["toolCallId"] == "a-1" and "content" not in bare["toolCall"]
    assert bare["_meta"] == {"museApprovalId": "a-1"}


@pytest.mark.parametrize(
    ("accepts", "takes"), [(True, True), (False, False), (None, False), (1, False), ("yes", False)], ids=repr
)
def test_feedback_goes_only_with_a_choice_that_accepts_it(accepts: Any, takes: bool) -> None:
    choices = [choice("no", "denied", acceptsFeedback=accepts), ONCE]
    assert permission.takes_feedback("no", choices) is takes
    assert not permission.takes_feedback("yes", choices)
    assert not permission.takes_feedback("other", choices)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"_meta": {"muse/feedback": " use the cache "}}, "use the cache"),
        ({"_meta": {"muse/feedback": "x" * 3000}}, "x" * 2000),
        ({"_meta": {"muse/feedback": "  "}}, None),
        ({"_meta": {"muse/feedback": ["no"]}}, None),
        ({"_meta": "muse/feedback"}, None),
        ({}, None),
    ],
    ids=["words", "long", "blank", "list", "no object", "nothing"],
)
def test_feedback_is_read_from_the_answer(answer: Json, words: str | None) -> None:
    assert permission.feedback_in(answer) == words


@pytest.mark.parametrize(
    ("resolved", "allowed"),
    [
        ({"policyResult": "allow"}, True),
        ({"decision": "approvedForSession"}, True),
        ({"decision": "denied", "policyResult": "deny"}, False),
        ({"decision": {"approved": True}}, False),
        ({}, False),
    ],
    ids=repr,
)
def test_a_settled_approval_is_consent_only_if_it_says_so(resolved: Json, allowed: bool) -> None:
    assert permission.is_allowed(resolved) is allowed
