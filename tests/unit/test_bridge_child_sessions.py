"""What subagents ask in sessions of their own: shown in the parent's, answered under their ids, gone with them."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from adapter.bridge.consent import child_sessions
from adapter.msp.event_routing import EVENTS_LOST
from tests.consenting import Consenting, Json, consenting, selected, settled
from tests.wired import until

pytestmark = pytest.mark.anyio


def subagent(talk: Consenting, child_id: str, *, session_id: str = "ses-1", over: bool = False, **members: Any) -> None:
    """The host tells of a subagent."""
    item = {"itemId": f"item-of-{child_id}", "kind": "subagent", "subagentId": f"agent-{child_id}", **members}
    item |= {"childSessionId": child_id, "status": "completed" if over else "inProgress", "revision": 2 if over else 1}
    talk.host.tell(f"item/{'completed' if over else 'started'}", {"item": item}, session_id)


def adopt(talk: Consenting, child_id: str = "kid", approval_id: str = "a", **changes: Any) -> None:
    """A subagent asks, for the first time."""
    params = talk.approval(f"turn-of-{child_id}", approval_id, sessionId=child_id, **changes)
    host: Any = talk.host
    talk.conversation.children.adopt(host, child_id, [("approval/request", params)])


def decided(talk: Consenting) -> list[tuple[str, str]]:
    return [(params["sessionId"], params["choiceId"]) for params in talk.host.sent("approval/decide")]


def card(talk: Consenting, item_id: str) -> Any:
    """How a card stands."""
    statuses = [each["status"] for each in talk.updates if each.get("toolCallId") == item_id and "status" in each]
    return statuses[-1] if statuses else None


async def test_i2_a_child_asks_in_the_parents_session_and_is_answered_under_its_own_id() -> None:
    async with consenting() as talk:
        await talk.prompt()
        adopt(talk)
        shown = await talk.dialog()
        assert shown.params["sessionId"] == "ses-1"
        assert "A subagent asks for this." in str(shown.params["toolCall"])
        shown.answer(selected("yes"))
        await until(lambda: bool(decided(talk)))
        assert decided(talk) == [("kid", "yes")]
        resolved = {"approvalId": "a", "itemId": "item-of-a", "decision": "approved", "policyResult": "allow"}
        talk.host.tell("approval/resolved", resolved, "kid")
        assert card(talk, "item-of-a") == "completed"


@pytest.mark.acp(79)
async def test_i2_what_was_settled_elsewhere_leaves_the_screen() -> None:
    async with consenting() as talk:
        await talk.prompt()
        adopt(talk)
        shown = await talk.dialog()
        talk.host.tell("approval/resolved", {"approvalId": "a", "decision": "denied"}, "kid")
        await until(lambda: shown.withdrawn)
        assert decided(talk) == [] and card(talk, "item-of-a") == "failed"


@pytest.mark.parametrize("known", [{}, {"viewCursor": "c1", "sourceRange": {}}], ids=["no place", "a place"])
async def test_i2_what_a_child_asks_and_what_is_settled_among_lost_events_is_read_back(known: Json) -> None:
    async with consenting() as talk:
        await talk.prompt()
        adopt(talk, **known)
        first = await talk.dialog()
        talk.host.pending["approvals"] = [talk.approval("turn-of-kid", "b", sessionId="kid")]
        talk.host.tell(EVENTS_LOST, {}, "kid")
        second = await talk.dialog(2)
        await until(lambda: first.withdrawn)
        second.answer(selected("yes"))
        await until(lambda: bool(decided(talk)))
        assert decided(talk) == [("kid", "yes")]


async def test_what_is_read_back_of_a_child_that_is_over_is_not_asked() -> None:
    async with consenting() as talk:
        await talk.prompt()
        subagent(talk, "kid")
        adopt(talk)
        await talk.dialog()
        asked_what_is_open, told_what_is_open = anyio.Event(), anyio.Event()

        async def query(method: str, params: Json, **more: Any) -> Json:
            asked_what_is_open.set()
            await told_what_is_open.wait()
            return {"approvals": [talk.approval("turn-of-kid", "b", sessionId="kid")], "userInputs": []}

        talk.host.query = query  # type: ignore[method-assign]
        talk.host.tell(EVENTS_LOST, {}, "kid")
        await asked_what_is_open.wait()
        subagent(talk, "kid", over=True)
        told_what_is_open.set()
        await settled()
        assert len(talk.shown) == 1


async def test_j7_nothing_else_of_a_child_is_shown() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        adopt(talk)
        await talk.dialog()
        before = len(talk.updates)
        message = {"itemId": "m", "kind": "agentMessage", "turnId": turn, "revision": 1, "status": "completed"}
        talk.host.tell("item/completed", {"item": message | {"text": "mine alone"}}, "kid")
        talk.host.tell("item/delta", {"itemId": "m", "delta": "mine"}, "kid")
        call = {"itemId": "c", "kind": "toolCall", "tool": "bash", "args": "{}", "revision": 1, "status": "inProgress"}
        talk.host.tell("item/started", {"item": call}, "kid")
        talk.host.tell("session/todoListChanged", {"items": [{"content": "x", "status": "pending"}]}, "kid")
        await settled()
        assert talk.updates[before:] == []


async def test_a_child_that_is_over_asks_nothing_any_more() -> None:
    async with consenting() as talk:
        await talk.prompt()
        subagent(talk, "kid")
        adopt(talk)
        shown = await talk.dialog()
        subagent(talk, "kid", over=True)
        await until(lambda: shown.withdrawn)
        assert card(talk, "item-of-a") == "failed"
        assert not talk.host.listens("kid")


async def test_the_end_of_a_childs_turn_takes_its_dialogs_but_not_its_subagents() -> None:
    async with consenting() as talk:
        await talk.prompt()
        adopt(talk)
        grandchild = talk.approval("turn-of-kid", "b", subagentOrigin={"subagentId": "agent-grandkid"})
        talk.host.tell("approval/requested", grandchild, "kid")
        await talk.dialog(2)
        talk.host.tell("turn/completed", {"turnId": "turn-of-kid", "terminal": "completed"}, "kid")
        await settled()
        gone = {each.params["_meta"]["museApprovalId"]: each.withdrawn for each in talk.shown}
        assert gone == {"a": True, "b": False}


async def test_the_children_of_a_child_are_known() -> None:
    async with consenting() as talk:
        await talk.prompt()
        assert not talk.conversation.children.knows("kid")
        subagent(talk, "kid")
        assert talk.conversation.children.knows("kid")
        adopt(talk)
        subagent(talk, "grandkid", session_id="kid")
        assert talk.conversation.children.knows("grandkid")


async def test_only_so_many_children_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_sessions, "REMEMBERED_CHILDREN", 3)
    async with consenting() as talk:
        for number in range(5):
            subagent(talk, f"kid-{number}")
        known = [number for number in range(5) if talk.conversation.children.knows(f"kid-{number}")]
        assert known == [2, 3, 4]


@pytest.mark.acp(73)
async def test_a_cancel_refuses_what_children_ask_and_nothing_said_later_counts() -> None:
    async with consenting() as talk:
        await talk.prompt()
        adopt(talk)
        shown = await talk.dialog()
        talk.conversation.cancel()
        await until(lambda: bool(decided(talk)))
        shown.answer(selected("yes"))
        await settled()
        assert decided(talk) == [("kid", "no")]


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
async def test_what_cannot_be_shown_stops_the_child(known: bool) -> None:
    async with consenting() as talk:
        await talk.prompt()
        if known:
            subagent(talk, "kid")
        adopt(talk, availableChoices=[])
        method = "subagent/stop" if known else "turn/interrupt"
        await until(lambda: bool(talk.host.sent(method)))
        [stop] = talk.host.sent(method)
        if known:
            assert (stop["sessionId"], stop["subagentId"]) == ("ses-1", "agent-kid")
        else:
            assert (stop["sessionId"], stop["turnId"]) == ("kid", "turn-of-kid")


@pytest.mark.parametrize("forms", [True, False], ids=["forms", "no forms"])
async def test_a_childs_question_is_a_form_or_declined(forms: bool) -> None:
    """In text it cannot be asked: the next message is for the parent."""
    question = {"id": "name", "header": "Name", "question": "What is it called?", "options": []}
    params = {"sessionId": "kid", "userInputId": "u", "turnId": "turn-of-kid", "questions": [question]}
    async with consenting(elicitation_form=forms) as talk:
        await talk.prompt()
        host: Any = talk.host
        talk.conversation.children.adopt(host, "kid", [("userInput/request", params)])
        if forms:
            form = await talk.dialog()
            assert form.params["sessionId"] == "ses-1"
            form.answer({"action": "accept", "content": {"name": "orchard"}})
        method = "userInput/answer" if forms else "userInput/cancel"
        await until(lambda: bool(talk.host.sent(method)))
        sent: list[Json] = talk.host.sent(method)
        assert sent[0]["sessionId"] == "kid"
        assert talk.text() == "" and talk.answers == []


async def test_a_dead_host_leaves_no_dialog_of_a_child() -> None:
    async with consenting() as talk:
        await talk.prompt()
        adopt(talk)
        shown = await talk.dialog()
        talk.host.die()
        await until(lambda: shown.withdrawn)
        assert card(talk, "item-of-a") == "failed"
