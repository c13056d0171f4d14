"""A prompt whose turn came to its end before the host died is answered with that end, wherever the end waits."""

from __future__ import annotations

from typing import Any, cast

import pytest

from adapter.msp.errors import HostClosed, MspError
from tests.talking import END_TURN, Talk, settled, talking, two_of_them

pytestmark = pytest.mark.anyio

Json = dict[str, Any]


def events(*told: tuple[str, Json]) -> list[Json]:
    """Stored events, from `v2` on."""
    place = {"sessionId": "ses-1", "sourceRange": {}}
    return [
        {"method": method, "params": {**place, "viewCursor": f"v{at}", **params}}
        for at, (method, params) in enumerate(told, 2)
    ]


def pages(talk: Talk, answer: Any) -> None:
    """Give the host pages: `answer` is called for each, and gives its events or raises."""

    async def query(method: str, params: Json, **more: Any) -> Json:
        if method != "view/page":
            raise MspError(-32601, "methodNotFound", method)
        return {"events": await answer(), "nextCursor": None}

    cast(Any, talk.host).query = query


async def test_an_end_behind_the_answer_to_the_prompt_before_counts() -> None:
    async with talking() as talk:
        await two_of_them(talk)
        hold = talk.conversation._gate
        hold.hold()
        talk.end("t1")
        talk.event("turn/started", turnId="t2")
        talk.message("t2", "all of it")
        talk.end("t2")
        talk.host.die()
        await settled()
        assert talk.log == []
        hold.release()
        assert await talk.answers(2) == {"one": END_TURN, "two": END_TURN}
        assert talk.log == [("one", END_TURN), "all of it", ("two", END_TURN)]


async def test_an_end_that_was_read_back_behind_another_counts() -> None:
    async with talking() as talk:
        item = {"itemId": "i-1", "kind": "agentMessage", "turnId": "t2", "revision": 1, "text": "all of it"}

        async def answer() -> list[Json]:
            talk.host.die()
            return events(
                ("turn/completed", {"turnId": "t1", "terminal": "completed"}),
                ("turn/started", {"turnId": "t2"}),
                ("item/completed", {"item": {**item, "status": "completed"}}),
                ("turn/completed", {"turnId": "t2", "terminal": "completed"}),
            )

        pages(talk, answer)
        talk.event("turn/started", turnId="t1", viewCursor="v1", sourceRange={})
        await two_of_them(talk)
        talk.event("view/gap", after="v1", next="v9")
        assert await talk.answers(2) == {"one": END_TURN, "two": END_TURN}
        assert talk.log == [("one", END_TURN), "all of it", ("two", END_TURN)]


@pytest.mark.parametrize("ended", [True, False])
async def test_an_end_that_came_while_a_gap_was_read_counts(ended: bool) -> None:
    async with talking() as talk:

        async def answer() -> list[Json]:
            talk.event("turn/completed", turnId="t1" if ended else "t0", terminal="completed", viewCursor="v9")
            talk.host.die()
            await settled()
            raise HostClosed("it died")

        pages(talk, answer)
        talk.prompt("one")
        await talk.starts(1)
        talk.ack("t1")
        await settled()
        talk.event("turn/started", turnId="t1", viewCursor="v1", sourceRange={})
        talk.event("view/gap", after="v1", next="v8")
        answers = await talk.answers(1)
        assert (answers["one"] == END_TURN) is ended
