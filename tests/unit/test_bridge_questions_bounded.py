"""More questions than anybody answers: as many are asked as there is room for, the others are refused at the host."""

from __future__ import annotations

from typing import Any, cast

import anyio
import pytest

from adapter.bridge.consent import child_sessions, client_questions, dialogs, refusals, stray_questions
from adapter.bridge.consent.room import Room
from adapter.bridge.consent.stray_questions import StrayQuestions
from adapter.msp.errors import MspError
from adapter.msp.host import Host
from tests.consenting import Consenting, Json, consenting, decided, selected, settled, updated
from tests.wired import until

pytestmark = pytest.mark.anyio

QUESTION: Json = {"id": "q", "header": "Q", "question": "Which?"}


def asks(talk: Consenting, turn: str, *names: str) -> None:
    for name in names:
        talk.host.tell("approval/requested", talk.approval(turn, name))
        talk.host.tell("approval/request", talk.approval(turn, name))


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for two questions in a session."""
    monkeypatch.setattr(client_questions, "MOST_OF_SESSION", 2)


@pytest.mark.usefixtures("two")
@pytest.mark.acp(91)
async def test_approvals_beyond_what_may_be_open_are_refused_and_that_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        asks(talk, turn, *"abcde")
        await until(lambda: len(decided(talk)) == 3)
        await settled()
        assert decided(talk) == [("c", 0, "no"), ("d", 0, "no"), ("e", 0, "no")]
        assert len(talk.shown) == 2
        assert caplog.text.count("more than may be open") == 1


@pytest.mark.usefixtures("two")
async def test_other_questions_count_too_and_are_left_unanswered() -> None:
    async with consenting(elicitation_form=True) as talk:
        turn = await talk.prompt()
        asks(talk, turn, "a")
        for name in "uvw":
            asked = {"userInputId": name, "turnId": turn, "itemId": "i", "questions": [QUESTION]}
            talk.host.tell("userInput/requested", asked)
        await until(lambda: len(talk.host.sent("userInput/cancel")) == 2)
        assert [each["userInputId"] for each in talk.host.sent("userInput/cancel")] == ["v", "w"]
        await talk.dialog(2)
        await settled()
        assert len(talk.shown) == 2


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("how", ["decided", "resolved", "turn over"])
async def test_what_is_open_no_more_makes_room(how: str) -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.acks["approval/decide"] = {"terminal": True}
        asks(talk, turn, "a", "b")
        await talk.dialog(2)
        if how == "decided":
            # Whether or not the host says that they are settled.
            for shown in talk.shown:
                shown.answer(selected("yes"))
            await until(lambda: len(decided(talk)) == 2)
        elif how == "resolved":
            for name in "ab":
                talk.host.tell("approval/resolved", {"approvalId": name, "itemId": f"item-of-{name}"})
        else:
            talk.complete(turn)
            turn = await talk.prompt()
        await settled()
        asks(talk, turn, "c", "d", "e")
        await talk.dialog(4)
        await until(lambda: ("e", 0, "no") in decided(talk))
        assert len(talk.shown) == 4


def cannot_tell() -> Json:
    raise MspError(-32603, "internal", "no list today")


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("kind", ["approvalNotFound", "approvalAlreadyResolved"])
async def test_a_decision_that_came_too_late_makes_room_whether_or_not_the_host_says_that_it_is_settled(
    kind: str,
) -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.list_pending = cannot_tell
        talk.host.refusals["approval/decide"] = [MspError(-32050, kind, "gone") for _ in "ab"]
        asks(talk, turn, "a", "b")
        await talk.dialog(2)
        for shown in talk.shown:
            shown.answer(selected("yes"))
        await until(lambda: len(decided(talk)) == 2)
        await settled()
        asks(talk, turn, "c", "d", "e")
        await talk.dialog(4)
        await until(lambda: ("e", 0, "no") in decided(talk))
        assert len(talk.shown) == 4


@pytest.mark.usefixtures("two")
@pytest.mark.parametrize("how", ["asked on", "not taken"])
async def test_a_subagent_that_is_stopped_since_it_asks_in_vain_makes_room(how: str) -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        asked = talk.approval("turn-of-kid", "a") | {"sessionId": "kid"}
        talk.host.acks["approval/decide"] = {"terminal": False}
        if how == "not taken":
            talk.host.list_pending = cannot_tell
            talk.host.refusals["approval/decide"] = [MspError(-32052, "approvalChoiceInvalid", "no") for _ in "12"]
        talk.conversation.children.adopt(cast(Host, talk.host), "kid", [("approval/requested", asked)])
        for number in (1, 2):
            (await talk.dialog(number)).answer(selected("yes"))
            await settled()
            if how == "asked on":
                talk.host.tell("approval/updated", updated(asked) | {"viewCursor": f"v{number}"}, "kid")
        await until(lambda: bool(talk.host.sent("turn/interrupt")))
        asks(talk, turn, "b", "c", "d")
        await talk.dialog(4)
        await until(lambda: ("d", 0, "no") in decided(talk))
        assert len(talk.shown) == 4


@pytest.mark.usefixtures("two")
async def test_the_next_stage_takes_the_place_of_the_last_one() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        asks(talk, turn, "a", "b")
        stage: Any = {"currentRequirementId": {"approvalId": "a", "sourceIndex": 1}}
        talk.host.tell("approval/requested", talk.approval(turn, "a") | stage)
        await talk.dialog(3)
        await settled()
        assert decided(talk) == []


@pytest.mark.usefixtures("two")
async def test_what_asks_more_than_can_be_refused_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "MOST_WAITING", 3)
    async with consenting() as talk:
        turn = await talk.prompt()
        asks(talk, turn, *(f"a{number}" for number in range(20)))
        await until(lambda: bool(talk.host.sent("turn/interrupt")))
        await settled()
        assert len(decided(talk)) <= 5 and {choice for _, _, choice in decided(talk)} == {"no"}
        assert len(talk.host.sent("turn/interrupt")) == 1


async def test_what_was_decided_and_is_never_settled_is_forgotten_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialogs, "REMEMBERED_APPROVALS", 3)
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.acks["approval/decide"] = {"terminal": True}
        for number in range(1, 10):
            asks(talk, turn, f"a{number}")
            (await talk.dialog(number)).answer(selected("yes"))
            await until(lambda: len(decided(talk)) == number)  # noqa: B023
        assert len(talk.conversation._dialogs._asked) == 3


async def test_the_sessions_of_a_connection_share_a_room() -> None:
    shared = Room(3)
    rooms = [Room(2, shared), Room(2, shared)]
    assert [room.take() for room in (*rooms, *rooms)] == [True, True, True, False]
    rooms[0].give_back()
    assert rooms[1].take() and not rooms[0].take()
    assert not rooms[1].take()


# -- in sessions that are not open here


async def test_of_subagents_only_those_that_wait_for_an_answer_are_listened_to(
    two: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child_sessions, "ASKING_CHILDREN", 3)
    async with consenting() as talk:
        turn = await talk.prompt()
        children, names = talk.conversation.children, [f"child-{number}" for number in range(8)]
        for name in names:
            asked = ("approval/requested", {"sessionId": name, **talk.approval(turn, name)})
            children.adopt(cast(Host, talk.host), name, [asked])
        await until(lambda: len(decided(talk)) == 6)
        assert [params["sessionId"] for params in talk.host.sent("approval/decide")] == names[2:]
        assert {choice for _, _, choice in decided(talk)} == {"no"}
        assert [name for name in names if talk.host.listens(name)] == [*names[:2], names[-1]]
        await talk.dialog(2)
        assert len(talk.shown) == 2


async def test_of_many_sessions_that_ask_it_is_not_found_out_whose_each_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stray_questions, "MOST_PLACED", 2)
    async with consenting() as talk:
        known = anyio.Event()

        async def query(method: str, params: Json, **more: Any) -> Json:
            await known.wait()
            return {"session": {"parentSessionId": "of somebody else"}}

        talk.host.query = query  # type: ignore[method-assign]
        strays = StrayQuestions(lambda: [talk.conversation], lambda session_id: False, talk.background)
        for name in "abcd":
            asked = {"sessionId": f"ses-{name}", **talk.approval("t", name)}
            strays.receive(cast(Host, talk.host), f"ses-{name}", "approval/requested", asked)
        await until(lambda: len(decided(talk)) == 2)
        assert decided(talk) == [("c", 0, "no"), ("d", 0, "no")]
        assert [name for name in "abcd" if talk.host.listens(f"ses-{name}")] == ["a", "b"]
        known.set()
        await until(lambda: len(decided(talk)) == 4)
        assert sorted(decided(talk)) == [(name, 0, "no") for name in "abcd"]
        strays.receive(cast(Host, talk.host), "ses-e", "approval/requested", talk.approval("t", "e"))
        assert talk.host.listens("ses-e"), "there is room again"
        assert talk.shown == []
