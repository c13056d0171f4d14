"""Messages of a host that cannot be read: told at once, and then not faster than pages can be read."""

from __future__ import annotations

import anyio
import pytest

from adapter.msp import losses
from adapter.msp.event_routing import EVENTS_LOST, EventRouting
from adapter.msp.losses import MAX_SESSIONS, Losses
from adapter.wire.envelope import Params
from tests.wired import PATIENCE, until

pytestmark = pytest.mark.anyio

ABOUT_A = b'{"jsonrpc":"2.0","method":"item/delta","params":{"sessionId":"a","delta":"\xff'


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (ABOUT_A, ["a"]),
        (b'  {"sessionId" : "a"', ["a"]),
        (b'{"params":{', [None]),
        (b'{"sessionId":"\\u0061"', [None]),
        (b'{"sessionId":"' + b"a" * 201, [None]),
        (b'{"x":"' + b"y" * losses.HEAD_BYTES + b'","sessionId":"a"', [None]),
        (b"warning: the cache is cold", []),
        (b"", []),
        (b'["sessionId"', []),
    ],
)
def test_a2_whom_an_unreadable_line_was_about(line: bytes, told: list[str | None]) -> None:
    heard: list[str | None] = []
    Losses(heard.append).note(line)
    assert heard == told


async def test_a2_many_unreadable_lines_are_told_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(losses, "PAUSE_SECONDS", 0.05)
    heard: list[str | None] = []
    lost = Losses(heard.append)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lost.run)
            for name in (b"a", b"b", b"b", b"c"):
                lost.note(b'{"sessionId":"' + name + b'"')
            assert heard == ["a"], "the first at once"
            await until(lambda: sorted(map(str, heard[1:])) == ["b", "c"])
            lost.note(ABOUT_A)
            await until(lambda: heard[3:] == ["a"])
            for number in range(MAX_SESSIONS + 2):
                lost.note(b'{"sessionId":"%d"' % number)
            await until(lambda: heard[-1] is None)
            assert len(heard) <= 6, "so many are told of as one"
            tasks.cancel_scope.cancel()


async def test_a2_who_listens_is_told_of_what_is_lost() -> None:
    routing = EventRouting()
    heard: list[tuple[str, str]] = []

    def listen(session: str) -> None:
        def sink(method: str, params: Params) -> None:
            heard.append((session, method))

        routing.listen(session, sink)

    listen("a")
    listen("b")
    routing.lose("b")
    routing.lose("nobody")
    assert heard == [("b", EVENTS_LOST)]
    routing.lose(None)
    assert heard[1:] == [("a", EVENTS_LOST), ("b", EVENTS_LOST)]
    async with routing.opening():
        routing.lose("c")
        listen("c")
    assert heard[3:] == [("c", EVENTS_LOST)]
