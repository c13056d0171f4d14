"""Approvals as questions: what is offered, what an answer means, and that consent is never invented."""

from __future__ import annotations

import json
from typing import Any

import pytest

from adapter.bridge import permission

Json = dict[str, Any]


def choice(choice_id: str, decision: str, scope: str | None = "once", **more: Any) -> Json:
    return {"choiceId": choice_id, "label": f"Label of {choice_id}", "decision": decision, "scope": scope, **more}


ONCE = choice("yes", "approved")
ALWAYS = choice("always", "approvedForSession", "session", rulePreview="make *")
DENY = choice("no", "denied")
ABORT = choice("stop", "abort")


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
    [option] = permission.options([choice("c", decision, scope)])
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
    assert [option["name"] for option in options][1] == "Label of always (make *)"
    assert options[3]["name"] == "no"
    assert all("\n" not in option["name"] and len(option["name"]) <= 256 for option in options)


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
        ([choice("never", "denied", "session"), ABORT], "never"),
        ([ONCE, ALWAYS], None),
        ([], None),
    ],
    ids=["denial", "denial after abort", "abort", "lasting denial", "none", "nothing"],
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
        ({"kind": "fileAccess", "path": "/etc/hosts", "access": "write"}, "edit", "tool: path: /etc/hosts"),
        ({"kind": "fileAccess", "path": "/etc/hosts", "access": "read"}, "read", "tool: path: /etc/hosts"),
        ({"kind": "fileAccess", "path": "/etc/hosts", "access": "delete"}, "delete", "tool: path: /etc/hosts"),
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


@pytest.mark.parametrize("params", [{}, {"subject": None}, {"subject": "rm"}, {"subject": {"stages": 3}}], ids=repr)
def test_a_question_of_any_shape_can_be_asked(params: Json) -> None:
    asked = permission.question(params)
    assert asked["title"] and asked["kind"]
    assert permission.question(params | {"rawArgs": "{no json"})["rawInput"]["arguments"] == "{no json"


@pytest.mark.parametrize(("requirement", "shown"), [(0, "part 1 of 2: git fetch"), (1, "part 2 of 2: make …")])
def test_i5_the_part_that_is_decided_is_named(requirement: int, shown: str) -> None:
    stages = [
        {"requirementId": {"sourceIndex": 0}, "argv": ["git", "fetch"], "argvComplete": True},
        {"requirementId": {"sourceIndex": 1}, "argv": ["make"], "argvComplete": False},
    ]
    subject = {"kind": "shell", "command": "git fetch && make x", "stages": stages}
    asked = permission.question({"subject": subject, "currentRequirementId": {"sourceIndex": requirement}})
    assert shown in asked["content"][0]["content"]["text"]


def test_absurdly_long_arguments_are_shortened_and_others_are_whole() -> None:
    long = "x" * 500_000
    asked = permission.question({"rawArgs": json.dumps({"content": long}), "subject": {}})
    assert asked["rawInput"]["arguments"] == {"content": long}
    absurd = permission.question({"rawArgs": json.dumps({"content": long * 3}), "subject": {}})
    assert len(absurd["rawInput"]["arguments"]["content"]) < 10_000
