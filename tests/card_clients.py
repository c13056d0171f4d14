"""A client that draws cards as an editor would, from the updates it was sent."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from tests.adapter_process import AdapterProcess, Json, permission, running_adapter

TERMINALS: Final[Json] = {"_meta": {"terminal_output": True}}
TASKS: Final[Json] = {"_meta": {"muse/asyncTasks": 1}}


class CardClient:
    """One session of an adapter. `cards` are drawn by the rules of the protocol: what an update gives takes the place
    of what was there, what it leaves out stays."""

    def __init__(self, adapter: AdapterProcess, cwd: Path, session_id: str) -> None:
        self.adapter = adapter
        self.cwd = cwd
        self.session_id = session_id

    @property
    def cards(self) -> dict[str, Json]:
        """The cards as they are now, in order, each with `printed`: what its terminal was told."""
        cards: dict[str, Json] = {}
        for update in self.adapter.updates(self.session_id):
            if update["sessionUpdate"] not in ("tool_call", "tool_call_update"):
                continue
            card_id = update["toolCallId"]
            assert (update["sessionUpdate"] == "tool_call") == (card_id not in cards), (
                "a card is opened once, and first"
            )
            card = cards.setdefault(card_id, {"printed": ""})
            assert card.get("status") not in ("completed", "failed") or update.keys() <= {
                *("sessionUpdate", "toolCallId", "_meta"),
            }, "an ended card keeps what it shows"
            card |= {name: value for name, value in update.items() if name != "sessionUpdate"}
            card["printed"] += update.get("_meta", {}).get("terminal_output", {}).get("data", "")
        return cards

    def prompt(self, text: str) -> list[Json]:
        """The cards that a prompt has opened, as they are when it is answered."""
        before = len(self.cards)
        assert self.adapter.prompt(self.session_id, text)["stopReason"] == "end_turn"
        return list(self.cards.values())[before:]

    def card(self, text: str) -> Json:
        """The one card that a prompt has opened."""
        [card] = self.prompt(text)
        return card

    def wait_for_card(self, **members: Any) -> Json:
        """The first update of a card not yet waited for that has these members."""
        return self.adapter.wait_for_update(lambda update: "toolCallId" in update and members.items() <= update.items())


def diffs(card: Json) -> list[Json]:
    """The diffs a card shows."""
    return [item for item in card.get("content", []) if item["type"] == "diff"]


def text(card: Json) -> str:
    """The text a card shows."""
    shown = [item["content"]["text"] for item in card.get("content", []) if item["type"] == "content"]
    return "\n".join(shown)


@contextmanager
def drawing(
    home: Path, muse: str = "simulated", capabilities: Json | None = None, env: dict[str, str] | None = None
) -> Iterator[CardClient]:
    """A client with one session in `home`, which allows what it is asked for; in the end every frame is checked."""
    with running_adapter(home, muse=muse, env=env) as adapter:
        adapter.answer = allow
        adapter.initialize(clientCapabilities=capabilities or {})
        yield CardClient(adapter, home, adapter.new_session(home))
        assert adapter.finish() == 0
        assert b"Traceback" not in adapter.stderr, adapter.stderr.decode()


@contextmanager
def loaded(
    home: Path, session_id: str, muse: str = "simulated", capabilities: Json | None = None
) -> Iterator[CardClient]:
    """The same with a session that is loaded."""
    with running_adapter(home, muse=muse) as adapter:
        adapter.answer = allow
        adapter.initialize(clientCapabilities=capabilities or {})
        adapter.call("session/load", {"sessionId": session_id, "cwd": str(home), "mcpServers": []})
        yield CardClient(adapter, home, session_id)
        assert adapter.finish() == 0
        assert b"Traceback" not in adapter.stderr, adapter.stderr.decode()


def allow(request: Json) -> Json | None:
    """Allow what is asked for, once."""
    if request["method"] != "session/request_permission":
        return None
    return permission(next(o["optionId"] for o in request["params"]["options"] if o["kind"] == "allow_once"))
