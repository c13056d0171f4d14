"""What can be wrong with a stored output on the simulated host, and what a read makes of it."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any, NamedTuple

import anyio
import pytest

from adapter.bridge.stored_output import host_reads
from adapter.bridge.stored_output.reader import OutputReader
from adapter.hosts.simulated.outputs import new_output, stored_bytes
from adapter.wire.envelope import RpcError
from tests.record_outputs import answer_of, reader_of
from tests.sim_driver import items_of, sim_host

Json = dict[str, Any]
Answer = Json | RpcError


class Stored(NamedTuple):
    """A session on disk, and what names the output in it."""

    home: Path
    workspace: Path
    names: Json


def store(tmp_path: Path, *prompts: str) -> Stored:
    """Run turns on a host that then ends; the output is that of the first tool call."""
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    workspace.mkdir(parents=True)
    with sim_host(home, "1.2.1") as host:
        host.handshake()
        session_id = host.start(workspaceRoot=str(workspace))
        turns = [host.turn(session_id, prompt) for prompt in prompts]
        tool = items_of(turns[0], "toolCall")[-1]
    return Stored(
        home, workspace, {"sessionId": session_id, "itemId": tool["itemId"], "outputRef": tool["outputRef"]["id"]}
    )


def ask(
    stored: Stored, *changes: Json, faults: list[Json] | None = None, muse: str = "simulated:1.2.1"
) -> list[Answer]:
    """The answers to one read after the other; the host that reads has these faults."""
    environ = {"MUSE_SIMULATED_HOME": str(stored.home), "MUSE_SIMULATED_FAULTS": json.dumps(faults or [])}

    async def read_all() -> list[Answer]:
        async with reader_of(muse, str(stored.workspace), environ) as output:
            return [await read(output, stored.names | each) for each in changes or ({},)]

    return anyio.run(read_all)


async def read(output: OutputReader, params: Json) -> Answer:
    with anyio.fail_after(30):
        return await answer_of(output, params)


def reason_of(answer: Answer) -> str:
    assert isinstance(answer, RpcError), answer
    assert answer.data is not None
    return str(answer.data["reason"])


def bytes_of(answer: Answer) -> bytes:
    assert isinstance(answer, dict), answer
    text: str = answer["content"]
    return base64.b64decode(text) if answer["encoding"] == "base64" else text.encode()


@pytest.fixture
def output(tmp_path: Path) -> Stored:
    """20,000 bytes of text."""
    return store(tmp_path, "shell 20000")


def at_read(do: str, **members: Any) -> list[Json]:
    return [{"at": "item/readOutput", "do": do, **members}]


LIES: list[Json] = [
    {"byteLen": 4},
    {"byteLen": 70_000},
    {"offsetBytes": 1},
    {"encoding": "base64"},
    {"encoding": "utf16"},
    {"encoding": None},
    {"content": "QUJDRB==", "encoding": "base64", "byteLen": 4},
    {"content": "", "byteLen": 0, "eof": False},
    {"content": "x" * 100_000},
    {"mediaType": None},
    {"eof": None},
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: repr(lie)[:40])
def test_a_page_can_lie_once_and_is_true_again(output: Stored, lie: Json) -> None:
    first, second = ask(output, {}, {}, faults=at_read("result", set=lie))
    assert reason_of(first) == "inconsistentPage"
    assert bytes_of(second) == stored_bytes(new_output("", "lines", 20_000), 0, 20_000)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ({"do": "error", "kind": "outputResultTooLarge"}, "pieceTooLarge"),
        ({"do": "error", "kind": "outputUnavailable", "data": {"availability": "missing"}}, "outputUnavailable"),
        ({"do": "error", "kind": "notFound"}, "outputNotFound"),
        ({"do": "error", "kind": "internal"}, "hostError"),
        ({"do": "die"}, "hostDied"),
        ({"do": "exit", "code": 3}, "hostDied"),
        ({"do": "closeStdout"}, "hostDied"),
    ],
    ids=str,
)
def test_an_output_that_was_served_can_be_refused_the_next_time(output: Stored, fault: Json, reason: str) -> None:
    first, second = ask(output, {}, {"lengthBytes": 100}, faults=[{"at": "item/readOutput", "after": 1, **fault}])
    assert len(bytes_of(first)) == 20_000
    assert reason_of(second) == reason


@pytest.mark.parametrize("method", ["session/read", "view/page", "item/readOutput"])
def test_a_host_can_die_or_hang_in_each_phase(output: Stored, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (died,) = ask(output, faults=[{"at": method, "do": "die"}])
    assert reason_of(died) == "hostDied"
    monkeypatch.setattr(host_reads, "READ_SECONDS", 0.5)
    (hung,) = ask(output, faults=[{"at": method, "do": "hang"}])
    assert reason_of(hung) == "readTimeout"


@pytest.mark.parametrize("fault", [{"do": "die"}, {"do": "exit", "code": 2}, {"do": "error"}], ids=str)
def test_a_host_can_fail_its_handshake(output: Stored, fault: Json) -> None:
    (answer,) = ask(output, faults=[{"at": "handshake", **fault}])
    assert reason_of(answer) == "hostStartFailed"


def test_a_slow_handshake_and_a_slow_read_are_waited_for(output: Stored) -> None:
    faults = [{"at": "handshake", "do": "slow", "seconds": 0.5}, *at_read("slow", seconds=0.5)]
    (answer,) = ask(output, faults=faults)
    assert len(bytes_of(answer)) == 20_000


def test_another_version_can_answer_than_the_file_promised(output: Stored) -> None:
    (answer,) = ask(output, muse="simulated:1.3.0")
    assert reason_of(answer) == "hostVersionUnverified"


def test_an_output_behind_twenty_pages_of_history_is_not_found(tmp_path: Path) -> None:
    stored = store(tmp_path, "shell 20000", "history 2000")
    (answer,) = ask(stored)
    assert isinstance(answer, RpcError)
    assert answer.data is not None
    assert answer.data["reason"] == "outputNotFound"
    scanned = {name: answer.data[name] for name in ("pagesScanned", "eventsScanned", "historyExhausted")}
    assert scanned == {"pagesScanned": 20, "eventsScanned": 2000, "historyExhausted": False}


def test_an_output_within_twenty_pages_of_history_is_found(tmp_path: Path) -> None:
    stored = store(tmp_path, "shell 20000", "history 1900")
    assert len(bytes_of(ask(stored)[0])) == 20_000


def test_short_history_pages_count_as_pages(tmp_path: Path) -> None:
    stored = store(tmp_path, "shell 20000", "history 100")
    (stored.home / "settings.json").write_text(json.dumps({"pageEvents": 5}))
    (answer,) = ask(stored)
    assert isinstance(answer, RpcError)
    assert answer.data is not None
    assert (answer.data["pagesScanned"], answer.data["eventsScanned"]) == (20, 100)


def test_events_of_another_session_do_not_count(output: Stored) -> None:
    item = {"itemId": output.names["itemId"], "kind": "toolCall", "revision": 9, "outputRef": {"id": "forged"}}
    event = {"method": "item/completed", "params": {"sessionId": "elsewhere", "item": item}}
    faults = [{"at": "view/page", "do": "result", "set": {"events": [event]}}]
    (answer,) = ask(output, {"outputRef": "forged"}, faults=faults)
    assert reason_of(answer) == "outputNotFound"


def test_an_event_too_large_for_a_page_is_gone_past(tmp_path: Path) -> None:
    stored = store(tmp_path, "shell 20000", "say " + "x" * 60_000)
    # A page holds what a frame has left beside 64 KiB, and the last prompt is longer than that.
    (stored.home / "settings.json").write_text(json.dumps({"frameLimitBytes": 110_000}))
    (answer,) = ask(stored)
    assert len(bytes_of(answer)) == 20_000


def test_a_revision_of_another_availability_counts_at_the_next_read(tmp_path: Path) -> None:
    for word, served in (("missing available", True), ("available accessFailed", False)):
        stored = store(tmp_path / word.replace(" ", "-"), f"shell 20000 {word}")
        (answer,) = ask(stored)
        assert isinstance(answer, dict) is served
        assert served or reason_of(answer) == "outputUnavailable"


def test_binary_stays_binary_and_the_last_mebibyte_of_64_is_there(tmp_path: Path) -> None:
    size, page = 64 * 1024 * 1024, 1024 * 1024
    stored = store(tmp_path, f"shell binary {size}")
    last, end = ask(stored, {"offsetBytes": size - page, "lengthBytes": page}, {"offsetBytes": size})
    assert isinstance(last, dict)
    assert (last["encoding"], last["mediaType"], last["eof"]) == ("base64", "application/octet-stream", True)
    assert bytes_of(last) == stored_bytes(new_output("", "bytes", size), size - page, page)
    assert bytes_of(end) == b""
