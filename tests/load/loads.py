"""What is done to the adapter, each in a small and a big form, and what has to come of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.load.client import LoadClient, load_client
from tests.load.hosts import LoadHost, RunningHost
from tests.scripted_hosts import place


class Taken(msgspec.Struct, frozen=True):
    """What one run took: MiB of memory at most, descriptors before and after, seconds; `told` is for people."""

    peak: float
    descriptors: tuple[int, int]
    seconds: float
    told: str


Run = Callable[[LoadClient, int], str]


class Load(msgspec.Struct, frozen=True):
    """`run` does it `small` or `big` times and says what came of it."""

    name: str
    unit: str
    small: int
    big: int
    run: Run
    host: type[LoadHost] = LoadHost
    settings: dict[str, Any] = {}
    sized: str | None = None
    """The setting of the host that is the size."""


def measure(load: Load, size: int, home: Path) -> Taken:
    settings = dict(load.settings) | ({load.sized: size} if load.sized else {})
    host = place(home / "host", load.host, **settings)
    with load_client(home, host.muse) as client:
        client.new_session()
        before = client.descriptors()
        began = time.monotonic()
        told = load.run(client, size)
        seconds = time.monotonic() - began
        taken = Taken(client.peak(), (before, client.descriptors()), seconds, told)
        assert client.finish() == 0
    return taken


def slow_reader(client: LoadClient, size: int) -> str:
    """A message in `size` pieces to a client that reads slowly."""
    session_id = client.new_session()
    client.slow = True
    client.answer(client.play(session_id, "deltas", count=size, text="x"))
    assert client.message(session_id) == "x" * size
    return f"{size:,} pieces in {client.chunks:,} updates"


def streamed_output(client: LoadClient, size: int) -> str:
    """One command with much output."""
    session_id = client.new_session()
    client.answer(client.play(session_id, "output", count=size, text="0123456789\n"))
    return f"{client.bytes / 1024 / 1024:.1f} MiB written"


def cards(client: LoadClient, size: int) -> str:
    """Commands with outputs of 64 KiB each."""
    session_id = client.new_session()
    client.answer(client.play(session_id, "cards", count=size, size=64 * 1024))
    statuses = [card["status"] for card in client.cards.values()]
    assert statuses == ["completed"] * size
    return f"{client.bytes / 1024 / 1024:.1f} MiB written"


def opened_and_closed(client: LoadClient, size: int) -> str:
    for _ in range(size):
        client.call("session/close", {"sessionId": client.new_session()})
    return ""


def left_open(client: LoadClient, size: int) -> str:
    for _ in range(size):
        client.new_session()
    return ""


def prompts(client: LoadClient, size: int) -> str:
    session_id = client.new_session()
    for _ in range(size):
        client.answer(client.play(session_id, "nothing"))
        client.text.clear()
    return ""


def history(client: LoadClient, size: int) -> str:
    client.call("session/load", {"sessionId": "ses-stored", "cwd": str(client.home), "mcpServers": []})
    turns = size // 5
    assert client.message("ses-stored") == "".join(f"answer {turn}\n" for turn in range(turns))
    assert len(client.cards) == turns
    return ""


def stderr(client: LoadClient, size: int) -> str:
    session_id = client.new_session()
    client.answer(client.play(session_id, "stderr", size=size, line=100))
    return ""


def hole(client: LoadClient, size: int) -> str:
    session_id = client.new_session()
    client.answer(client.play(session_id, "hole", count=size, size=64 * 1024))
    assert client.message(session_id) == "found"
    assert [card["status"] for card in client.cards.values()] == ["completed"] * size
    return f"{len(client.cards)} cards"


def loaded_running(client: LoadClient, size: int) -> str:
    client.call("session/load", {"sessionId": "ses-stored", "cwd": str(client.home), "mcpServers": []})
    client.wait_for(lambda: client.message("ses-stored").count("x") >= 5 * size)
    assert client.message("ses-stored") == "".join(f"answer {turn}\n" for turn in range(200)) + "x" * 5 * size
    return ""


LOADS: Final = {
    load.name: load
    for load in [
        Load("slow", "pieces", 100_000, 1_000_000, slow_reader),
        Load("output", "pieces", 100_000, 900_000, streamed_output),
        Load("cards", "calls", 200, 2_000, cards),
        Load("closed", "sessions", 100, 1_000, opened_and_closed),
        Load("open", "sessions", 100, 1_000, left_open),
        Load("prompts", "prompts", 100, 1_000, prompts),
        Load("history", "events", 20_000, 200_000, history, sized="events"),
        Load("stderr", "bytes", 10_000_000, 100_000_000, stderr),
        Load("hole", "calls", 100, 1_000, hole, settings={"keeps": True}),
        Load("running", "pieces", 3_000, 30_000, loaded_running, host=RunningHost, sized="noise"),
    ]
}
