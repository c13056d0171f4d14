"""What is done to the adapter, each in a small and a big form, and what has to come of it."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import msgspec

from tests.load.client import LoadClient, load_client
from tests.load.hosts import DeafHost, LoadHost, RunningHost
from tests.output_clients import page_bytes, simulated_bytes
from tests.scripted_hosts import place

MIB: Final = 1024 * 1024

STORED: Final = "ses-stored"
TURNS_APART: Final = 5
"""Events of a stored turn."""

DEAF_SECONDS: Final = 3.0
"""How long a client reads nothing of what comes; it would fill every bound in a tenth of that."""

OUTPUT: Final = 8 * MIB

METHOD: Final = "_muse/readOutput"
KEY: Final = "muse/output"


class Taken(msgspec.Struct, frozen=True):
    """What one run took: MiB of memory at most, descriptors before and after, seconds; `told` is for people."""

    peak: float
    descriptors: tuple[int, int]
    seconds: float
    told: str


class Load(msgspec.Struct, frozen=True):
    """`run` does it `small` or `big` times, with a client and the folder of its host, and says what came of it."""

    name: str
    what: str
    unit: str
    small: int
    big: int
    run: Callable[[LoadClient, int, Path], str]
    host: type[LoadHost] | str = LoadHost
    settings: dict[str, Any] = {}
    sized: str | None = None
    """The setting of the host that is the size."""
    growth: float = 1.3
    """What the big form may take, as a multiple of the small one."""


def measure(load: Load, size: int, home: Path) -> Taken:
    """Do it once, with an adapter of its own."""
    folder = home / "host"
    settings = load.settings | ({load.sized: size} if load.sized else {})
    muse = load.host if isinstance(load.host, str) else place(folder, load.host, **settings).muse
    with load_client(home, muse, {KEY: 1}) as client:
        client.new_session()
        before = client.descriptors()
        began = time.monotonic()
        told = load.run(client, size, folder)
        seconds = time.monotonic() - began
        taken = Taken(client.peak(), (before, client.descriptors()), seconds, told)
        assert client.finish() == 0
    return taken


# -- text and cards


def slow_reader(client: LoadClient, size: int, folder: Path) -> str:
    session_id = client.new_session()
    client.slow = True
    client.answer(client.play(session_id, "deltas", count=size, text="x"))
    assert client.message(session_id) == "x" * size
    return f"all of it, in {client.chunks:,} updates"


def long_output(client: LoadClient, size: int, folder: Path) -> str:
    session_id = client.new_session()
    client.answer(client.play(session_id, "output", count=size, text="0123456789\n"))
    [card] = client.cards.values()
    text = card["content"][0]["content"]["text"]
    assert card["status"] == "completed" and f"of {11 * size} bytes" in text, text[-500:]
    assert client.bytes < 2 * 11 * size + MIB
    return f"its ends on one card; {client.bytes / MIB:.1f} MiB written"


def many_cards(client: LoadClient, size: int, folder: Path) -> str:
    session_id = client.new_session()
    client.answer(client.play(session_id, "cards", count=size, size=64 * 1024))
    return _all_completed(client, size)


def hole(client: LoadClient, size: int, folder: Path) -> str:
    session_id = client.new_session()
    client.answer(client.play(session_id, "hole", count=size, size=64 * 1024))
    assert client.message(session_id) == "found"
    return _all_completed(client, size)


def _all_completed(client: LoadClient, size: int) -> str:
    assert Counter(card["status"] for card in client.cards.values()) == {"completed": size}
    return f"{size:,} cards, all completed"


def stderr(client: LoadClient, size: int, folder: Path) -> str:
    session_id = client.new_session()
    client.answer(client.play(session_id, "stderr", size=size * MIB, line=100))
    assert client.message(session_id) == "done"
    return "the turn goes on; the end of it is kept"


# -- sessions


def opened_and_closed(client: LoadClient, size: int, folder: Path) -> str:
    for _ in range(size):
        session_id = client.new_session()
        client.answer(client.play(session_id, "nothing"))
        client.call("session/close", {"sessionId": session_id})
        client.text.clear()
    return "each answered"


def prompts(client: LoadClient, size: int, folder: Path) -> str:
    session_id = client.new_session()
    for _ in range(size):
        client.answer(client.play(session_id, "nothing"))
        assert client.message(session_id) == "done"
        client.text.clear()
    return "each answered"


def history(client: LoadClient, size: int, folder: Path) -> str:
    client.call("session/load", {"sessionId": STORED, "cwd": str(client.home), "mcpServers": []})
    turns = size // TURNS_APART
    assert client.message(STORED) == "".join(f"answer {turn}\n" for turn in range(turns))
    return f"{_all_completed(client, turns)}, and all text"


def loaded_running(client: LoadClient, size: int, folder: Path) -> str:
    client.call("session/load", {"sessionId": STORED, "cwd": str(client.home), "mcpServers": []})
    whole = "".join(f"answer {turn}\n" for turn in range(RunningHost.events // TURNS_APART))
    whole += "x" * RunningHost.pages * size
    client.wait_for(lambda: len(client.message(STORED)) >= len(whole))
    assert client.message(STORED) == whole
    return "all text, in order"


# -- sides that do not read


def deaf_host(client: LoadClient, size: int, folder: Path) -> str:
    session_id = client.new_session()
    too_large = client.answer(client.prompt(session_id, "x" * 31 * MIB))
    assert too_large["error"]["code"] == -32602, "more than fits a line to the host"
    asked = [client.prompt(session_id, "x" * 9 * MIB) for _ in range(size)]
    client.notify("session/cancel", {"sessionId": session_id})
    answers = [client.answer(request_id) for request_id in asked]
    ends = Counter(_end(answer) for answer in answers)
    assert set(ends) <= {"cancelled", "tooManyRequests"} and ends["cancelled"] >= min(size, 7), ends
    return ", ".join(f"{count} {end}" for end, count in sorted(ends.items()))


def deaf_client(client: LoadClient, size: int, folder: Path) -> str:
    sessions = [client.new_session() for _ in range(size)]
    client.stop_reading()
    asked = [client.play(session_id, "flood", turns=size) for session_id in sessions]
    time.sleep(DEAF_SECONDS)
    for session_id in sessions:
        client.notify("session/cancel", {"sessionId": session_id})
        # Each has to be read by itself.
        time.sleep(0.05)
    deadline = time.monotonic() + 20
    interrupted: set[str] = set()
    while len(interrupted) < size and time.monotonic() < deadline:
        time.sleep(0.05)
        if (folder / "interrupted").exists():
            interrupted = set((folder / "interrupted").read_text().split())
    assert len(interrupted) == size, "the host is told while the client does not read"
    client.read_on()
    assert {_end(client.answer(request_id)) for request_id in asked} == {"cancelled"}
    return "each stopped at once"


def outputs(client: LoadClient, size: int, folder: Path) -> str:
    session_id = client.new_session()
    client.answer(client.prompt(session_id, f"shell  {OUTPUT}"))
    [card] = [card for card in client.cards.values() if card.get("_meta", {}).get(KEY)]
    handle = card["_meta"][KEY]
    wanted = {"sessionId": session_id, "itemId": handle["itemId"], "outputRef": handle["outputRef"]}
    client.stop_reading()
    asked = [client.ask(METHOD, wanted | {"offsetBytes": 0, "lengthBytes": MIB - number}) for number in range(size)]
    time.sleep(DEAF_SECONDS)
    client.read_on()
    answers = [client.answer(request_id) for request_id in asked]
    assert all("result" in answer for answer in answers), next(answer for answer in answers if "error" in answer)
    whole, total = simulated_bytes(handle), 0
    for number, answer in enumerate(answers):
        page = page_bytes(answer["result"])
        assert 0 < len(page) <= MIB - number and page == whole[: len(page)], f"wrong bytes of read {number}"
        assert answer["result"]["byteLen"] == len(page), answer["result"]["byteLen"]
        total += len(page)
    assert total > size * MIB // 2, "reads are shorter than they may be"
    return f"{total / MIB:.0f} MiB read"


def _end(answer: dict[str, Any]) -> str:
    if "error" in answer:
        return str(answer["error"]["data"]["reason"])
    return str(answer["result"]["stopReason"])


LOADS: Final = {
    load.name: load
    for load in [
        Load(
            "slow", "a message in pieces of one character; the client reads 4 KiB every 50 ms", "pieces",
            100_000, 1_000_000, slow_reader,
        ),
        Load("output", "the output of one command in pieces", "pieces", 80_000, 800_000, long_output, growth=2.0),
        Load("cards", "commands with outputs of 64 KiB in one turn", "commands", 200, 2_000, many_cards),
        Load(
            "hole", "commands with outputs of 64 KiB while a gap is read", "commands",
            200, 2_000, hole, settings={"keeps": True},
        ),
        Load("stderr", "what the host writes to stderr", "MiB", 10, 100, stderr),
        Load("sessions", "sessions opened, used and closed", "sessions", 1_000, 10_000, opened_and_closed),
        Load("prompts", "prompts in one session", "prompts", 1_000, 10_000, prompts),
        Load("history", "a stored session loaded", "events", 20_000, 200_000, history, sized="events"),
        Load(
            "running", "a stored session loaded while five times so many pieces of a message come", "pieces",
            3_000, 30_000, loaded_running, host=RunningHost, sized="noise",
        ),
        Load(
            "deaf-host", "prompts of 9 MiB, then a cancel; the host reads nothing", "prompts",
            8, 64, deaf_host, host=DeafHost,
        ),
        Load(
            "deaf-client", "endless answers in as many sessions, then a cancel for each; the client reads nothing",
            "sessions", 2, 20, deaf_client,
        ),
        Load(
            "outputs", "reads of 1 MiB of stored output at once; the client reads nothing at first", "reads",
            8, 64, outputs, host="simulated:1.2.1",
        ),
    ]
}  # fmt: skip
