"""What a host told that has died, and that was still held back: it counts, but nothing of it is asked or left running
on screen."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from adapter.msp.errors import HostClosed
from tests.consenting import Consenting, Json, consenting, settled

pytestmark = pytest.mark.anyio

QUESTION: Json = {"id": "q", "header": "Database", "question": "Which database?", "options": []}


def dies_while_it_reads(talk: Consenting) -> anyio.Event:
    """The host is asked for what was lost, and has died when the event is set."""
    gone, query = anyio.Event(), talk.host.query

    async def page(method: str, params: Json, **more: Any) -> Json:
        if method != "view/page":
            return await query(method, params, **more)
        await gone.wait()
        raise HostClosed("it died")

    talk.host.query = page  # type: ignore[method-assign]
    return gone


@pytest.mark.parametrize("noticed", ["first", "last"])
async def test_n3_a_host_that_dies_while_a_gap_is_read_leaves_nothing_that_is_asked(noticed: str) -> None:
    async with consenting(elicitation_form=True) as talk:
        turn = await talk.prompt()
        gone = dies_while_it_reads(talk)
        talk.host.tell("view/gap", {"after": "v1", "next": "v5"})
        call = {"itemId": "item-of-a", "turnId": turn, "kind": "toolCall", "revision": 1, "status": "inProgress"}
        talk.host.tell("item/started", {"item": {**call, "tool": "bash", "args": "{}"}})
        talk.host.tell("approval/requested", talk.approval(turn))
        talk.host.tell("userInput/request", {"userInputId": "u", "turnId": turn, "questions": [QUESTION]})
        await settled()
        if noticed == "first":
            talk.host.die()
            await settled()
        gone.set()
        talk.host.die()
        await talk.answer()
        await settled()
        assert [each for each in talk.shown if each.is_open] == []
        cards = {each["toolCallId"]: each["status"] for each in talk.updates if "status" in each}
        assert cards == {"item-of-a": "failed"}


async def test_h5_what_a_waiting_turn_said_is_not_shown_when_its_host_dies_but_with_the_next_message() -> None:
    async with consenting() as talk:
        turn = await talk.prompt()
        talk.host.tell("userInput/request", {"userInputId": "u", "turnId": turn, "questions": [QUESTION]})
        await talk.answer()
        said = {"itemId": "m", "turnId": turn, "kind": "agentMessage", "revision": 1, "status": "completed"}
        talk.host.tell("item/completed", {"item": {**said, "text": "by the way"}})
        talk.host.die()
        await settled()
        assert "by the way" not in talk.text()
        talk.host.gone = None
        await talk.prompt("go on")
        assert talk.text().endswith("by the way")
