"""What the host says to a decision: too late, another stage, not now, or nothing at all."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from adapter.bridge.consent import dialogs
from adapter.msp import session
from adapter.msp.errors import MspError, RequestTimeout
from tests.consenting import (
    Consenting,
    Json,
    consenting,
    decided,
    selected,
    settled,
    stage,
    updated,
)
from tests.wired import until

pytestmark = pytest.mark.anyio

CANCELLED: Json = {"stopReason": "cancelled"}
END_TURN: Json = {"stopReason": "end_turn"}

STALE = MspError(-32053, "approvalRequirementStale", "another stage", data=stage(1))


def lists(talk: Consenting, how: str, *approvals: Json) -> None:
    """What the host says when it is asked what is open."""

    async def query(method: str, params: Json, **more: Any) -> Json:
        if how == "silent":
            await anyio.sleep_forever()
        if how == "refused":
            raise MspError(-32601, "methodNotFound", method)
        return {"approvals": [each | {"sessionId": "ses-1"} for each in approvals], "userInputs": []}

    talk.host.query = query  # type: ignore[method-assign]


@pytest.mark.parametrize("kind", ["approvalNotFound", "approvalAlreadyResolved"])
async def test_a_decision_that_comes_too_late_is_no_failure(kind: str) -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.refusals["approval/decide"] = [MspError(-32050, kind, "gone")]
        talk.host.tell("approval/request", talk.approval(turn))
        (await talk.dialog()).answer(selected("yes"))
        await settled()
        assert decided(talk) == [("a", 0, "yes")]
        assert talk.host.sent("turn/interrupt") == []
        talk.complete(turn)
        assert await talk.answer() == END_TURN


@pytest.mark.parametrize(("again", "asked"), [("gone", 1), ("the same", 1), ("another stage", 2)])
async def test_a_decision_that_failed_at_the_host_is_looked_after(again: str, asked: int) -> None:
    """Some hosts report a failure although they took the decision."""
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        talk.host.refusals["approval/decide"] = [MspError(-32603, "internal", "unflushed records")]
        if again != "gone":
            pending = params | {"sessionId": "ses-1"} | (stage(1) if again == "another stage" else {})
            talk.host.pending = {"approvals": [pending], "userInputs": []}
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("yes"))
        await talk.dialog(asked)
        await settled()
        assert decided(talk) == [("a", 0, "yes")] * (2 if again == "the same" else 1)
        assert talk.host.sent("turn/interrupt") == []


async def test_a_decision_the_host_is_silent_about_is_looked_after() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        talk.host.refusals["approval/decide"] = [RequestTimeout("approval/decide", 30.0)]
        talk.host.pending = {"approvals": [params | {"sessionId": "ses-1"} | stage(1)], "userInputs": []}
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("yes"))
        (await talk.dialog(2)).answer(selected("no"))
        await until(lambda: len(decided(talk)) == 2)
        assert decided(talk) == [("a", 0, "yes"), ("a", 1, "no")]


async def test_a_decision_is_not_repeated_after_a_stop() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        talk.host.pending = {"approvals": [params | {"sessionId": "ses-1"}], "userInputs": []}

        def fail(decision: Json) -> Json:
            talk.host.decide = None
            talk.conversation.cancel()
            raise MspError(-32603, "internal", "unflushed records")

        talk.host.decide = fail
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("yes"))
        await until(lambda: len(decided(talk)) == 2)
        assert decided(talk) == [("a", 0, "yes"), ("a", 0, "no")]
        talk.complete(turn, "cancelled")
        assert await talk.answer() == CANCELLED


REFUSALS = [
    MspError(-32054, "approvalReviewerUnavailable", "nobody there"),
    MspError(-32052, "approvalChoiceInvalid", "no such choice"),
    MspError(-32053, "approvalRequirementStale", "another stage", data=stage(0)),
    MspError(-32030, "commandRejected", "busy", data={"reason": "runtime_busy"}),
    RequestTimeout("approval/decide", 30.0),
]
each_refusal = pytest.mark.parametrize("refusal", REFUSALS, ids=lambda error: getattr(error, "kind", "silence"))


@pytest.fixture
def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long for a host."""
    monkeypatch.setattr(dialogs, "UPDATE_SECONDS", 0.05)
    monkeypatch.setattr(session, "LOOK_SECONDS", 0.05)


@each_refusal
@pytest.mark.usefixtures("hurried")
async def test_i1_a_host_that_takes_nothing_is_asked_about_twice_and_the_transcript_says_what_came_of_it(
    refusal: Exception,
) -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        talk.host.refusals["approval/decide"] = [refusal, refusal]
        talk.host.pending = {"approvals": [params | {"sessionId": "ses-1"}], "userInputs": []}
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("yes"))
        (await talk.dialog(2)).answer(selected("always"))
        await until(lambda: bool(talk.host.sent("turn/interrupt")))
        assert decided(talk) == [("a", 0, "yes"), ("a", 0, "always")], "each is what was picked for it"
        assert talk.text().startswith("Muse did not take your decision")
        assert len(talk.shown) == 2


@pytest.mark.usefixtures("hurried")
async def test_i1_a_failure_inside_the_host_is_tried_once_more_and_told_if_that_fails_too() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        talk.host.refusals["approval/decide"] = [MspError(-32603, "internal", "unflushed records")] * 2
        talk.host.pending = {"approvals": [params | {"sessionId": "ses-1"}], "userInputs": []}
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("yes"))
        await until(lambda: bool(talk.host.sent("turn/interrupt")))
        assert decided(talk) == [("a", 0, "yes")] * 2 and len(talk.shown) == 1
        assert "unflushed records" in talk.text()


@pytest.mark.parametrize("listing", ["refused", "silent", "nothing"])
@pytest.mark.usefixtures("hurried")
async def test_i1_a_stage_that_was_told_before_the_refusal_is_asked(listing: str) -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        lists(talk, listing)

        def refuse(decision: Json) -> Json:
            talk.host.decide = None
            talk.host.tell("approval/updated", updated(params | stage(1)))
            raise STALE

        talk.host.decide = refuse
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("yes"))
        (await talk.dialog(2)).answer(selected("no"))
        await until(lambda: len(decided(talk)) == 2)
        assert decided(talk) == [("a", 0, "yes"), ("a", 1, "no")]
        assert talk.host.sent("turn/interrupt") == []


@pytest.mark.parametrize("listing", ["refused", "silent", "nothing"])
async def test_i1_a_stage_that_is_told_after_the_refusal_is_asked(listing: str) -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        lists(talk, listing)
        talk.host.refusals["approval/decide"] = [STALE]
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("yes"))
        await until(lambda: len(decided(talk)) == 1)
        await settled()
        talk.host.tell("approval/updated", updated(params | stage(1)))
        (await talk.dialog(2)).answer(selected("no"))
        await until(lambda: len(decided(talk)) == 2)
        assert decided(talk) == [("a", 0, "yes"), ("a", 1, "no")]
        assert talk.host.sent("turn/interrupt") == [] and talk.text() == ""


@pytest.mark.parametrize("listing", ["refused", "silent", "as before"])
@pytest.mark.usefixtures("hurried")
async def test_i1_a_stage_that_only_the_refusal_names_is_asked(listing: str) -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        lists(talk, listing, params)
        talk.host.refusals["approval/decide"] = [STALE, MspError(-32052, "approvalChoiceInvalid", "no such choice")]
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("yes"))
        (await talk.dialog(2)).answer(selected("always"))
        third = await talk.dialog(3)
        assert third.params["_meta"]["museRequirementId"]["sourceIndex"] == 1, "no stage comes back"
        third.answer(selected("no"))
        await until(lambda: len(decided(talk)) == 3)
        assert decided(talk) == [("a", 0, "yes"), ("a", 1, "always"), ("a", 1, "no")]
        assert talk.host.sent("turn/interrupt") == []


@pytest.mark.usefixtures("hurried")
async def test_i1_where_nothing_is_left_to_ask_the_transcript_says_so() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.refusals["approval/decide"] = [STALE]
        talk.host.tell("approval/request", talk.approval(turn))
        (await talk.dialog()).answer(selected("yes"))
        await until(lambda: "does not ask for this any more" in talk.text())
        assert len(talk.shown) == 1 and talk.host.sent("turn/interrupt") == []


# -- taken, and asked on


@pytest.mark.parametrize("overtakes", [False, True])
async def test_what_the_host_still_asks_after_a_decision_is_put_once_more_and_then_stopped(overtakes: bool) -> None:
    """The consent given before allows nothing of it."""
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        talk.host.acks["approval/decide"] = {"terminal": False}
        talk.host.tell("approval/request", params)
        for number in (1, 2):
            (await talk.dialog(number)).answer(selected("yes"))
            if overtakes:
                await until(lambda: len(decided(talk)) == number)  # noqa: B023
            else:
                await settled()
            assert decided(talk) == [("a", 0, "yes")] * number
            talk.host.tell("approval/updated", updated(params) | {"viewCursor": f"v{number}"})
        await until(lambda: bool(talk.host.sent("turn/interrupt")))
        talk.host.tell("approval/updated", updated(params) | {"viewCursor": "v3"})
        talk.complete(turn, "cancelled")
        assert await talk.answer() == CANCELLED
        assert len(talk.shown) == 2 and len(talk.host.sent("turn/interrupt")) == 1


@pytest.mark.parametrize("change", [{"kind": "persistence", "status": "succeeded"}, {"kind": "unheard of"}, None])
async def test_that_a_rule_was_kept_asks_nothing_again(change: Json | None) -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        talk.host.acks["approval/decide"] = {"terminal": False}
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("always"))
        await settled()
        kept = updated(params) | {"change": change, "viewCursor": "v1"}
        talk.host.tell("approval/updated", kept)
        await settled()
        assert len(talk.shown) == 1
        talk.host.tell("approval/updated", updated(params | stage(1)) | {"viewCursor": "v2"})
        assert (await talk.dialog(2)).params["_meta"]["museRequirementId"]["sourceIndex"] == 1


async def test_what_overtakes_the_refusal_of_a_decision_does_not_hide_it() -> None:
    """The host tells the same question again before it says that it took nothing."""
    async with consenting() as talk:
        turn = await talk.prompt()
        params = talk.approval(turn)
        talk.host.refusals["approval/decide"] = [MspError(-32052, "approvalChoiceInvalid", "not now")]
        talk.host.pending = {"approvals": [params | {"sessionId": "ses-1"}], "userInputs": []}
        talk.host.tell("approval/request", params)
        (await talk.dialog()).answer(selected("yes"))
        await until(lambda: bool(decided(talk)))
        talk.host.tell("approval/updated", updated(params) | {"viewCursor": "v1"})
        (await talk.dialog(2)).answer(selected("no"))
        await settled()
        assert decided(talk) == [("a", 0, "yes"), ("a", 0, "no")]
