"""What a client of a running adapter has on its screen, and sessions that were there before."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.adapter_process import AdapterProcess, Json, permission, running_adapter
from tests.output_clients import stored
from tests.processes import wait_until

VERSIONS = ["1.0.1", "1.1.1", "1.2.1", "1.3.0", "1.4.2", "1.4.13"]
PROMPTS = ["hello", "think", "tool", "tool failed", "edit", "picture", "approve", "shell 300", "and goodbye ✓"]
CARD_MEMBERS = ("title", "kind", "status", "content", "locations", "rawInput", "name")


class Shown(NamedTuple):
    """Something on a client's screen: a message, whole, or a card as it is in the end."""

    variant: str
    text: str
    card: Json

    @property
    def status(self) -> str | None:
        return self.card.get("status")


def told(updates: list[Json]) -> list[Shown]:
    """What a client has on its screen in the end, in the order in which it appeared."""
    texts: dict[str, str] = {}
    cards: dict[str, Json] = {}
    order: dict[tuple[str, str], None] = {}
    for update in updates:
        variant = update["sessionUpdate"]
        if variant.endswith("_chunk"):
            name = update["messageId"]
            texts[name] = texts.get(name, "") + update["content"]["text"]
            order[variant, name] = None
        elif variant in ("tool_call", "tool_call_update"):
            name = update["toolCallId"]
            assert (variant == "tool_call") == (name not in cards), "a card is opened once, and first"
            cards.setdefault(name, {}).update({key: update[key] for key in CARD_MEMBERS if key in update})
            order["card", name] = None
    return [Shown(variant, texts.get(name, ""), cards.get(name, {})) for variant, name in order]


def cards_of(screen: list[Shown]) -> list[Shown]:
    return [shown for shown in screen if shown.variant == "card"]


def without_user(screen: list[Shown]) -> list[Shown]:
    return [shown for shown in screen if shown.variant != "user_message_chunk"]


def allow(adapter: AdapterProcess) -> None:
    """Say yes to whatever is asked."""
    adapter.answer = lambda request: permission(
        next(option["optionId"] for option in request["params"]["options"] if option["kind"] == "allow_once")
    )


def before_answer(adapter: AdapterProcess, method: str, params: Json) -> list[Json]:
    """The updates that came between a request and its answer, which must be an object."""
    start = len(adapter.frames)
    request = adapter.begin(method, params)
    assert isinstance(adapter.response(request)["result"], dict)
    frames = adapter.frames[start:]
    end = next(at for at, frame in enumerate(frames) if frame.get("id") == request and "method" not in frame)
    return [frame["params"]["update"] for frame in frames[:end] if frame.get("method") == "session/update"]


def a_session(home: Path, *prompts: str, version: str = "1.2.1") -> tuple[str, list[Json]]:
    """A session in which these turns have run, in an adapter that is gone; its id and what was shown."""
    with running_adapter(home, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        allow(adapter)
        session_id = adapter.new_session(home)
        for prompt in prompts:
            adapter.prompt(session_id, prompt)
        assert adapter.finish() == 0
        return session_id, adapter.updates(session_id)


LEAVES = "simulated:1.4.13"
"""The version that can be asked to let go of a session; others keep it for as long as they live."""


def assert_free(home: Path, session_id: str) -> None:
    """Wait until another adapter can open the session."""
    with running_adapter(home, muse=LEAVES) as other:
        other.initialize()

        def opens() -> bool:
            answer = other.response(other.begin("session/resume", stored(session_id, home)))
            assert "result" in answer or answer["error"]["data"]["reason"] == "sessionInUse", answer
            return "result" in answer

        wait_until(opens)
        assert other.finish() == 0
