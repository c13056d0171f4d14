"""Reads that do not come to their end: whoever ends them, in whatever phase, with the right answer and nothing left."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.adapter_process import Json
from tests.output_clients import Reader, error_of, reading
from tests.output_hosts import SESSION, release, stored
from tests.processes import assert_gone, wait_until
from tests.scripted_hosts import Placed, place
from tests.storing_hosts import HANDLE, StoringHost, read_by

PHASES = {
    "starting": "initialize",
    "identifying": "session/read",
    "scanning": "view/page",
    "reading": "item/readOutput",
}
"""The method a read host is asked in each phase of a read."""

each_phase = pytest.mark.parametrize("method", PHASES.values(), ids=PHASES)


class Waiting:
    """A read that waits for its host."""

    def __init__(self, client: Reader, host: Placed, read: int) -> None:
        self.client = client
        self.host = host
        self.read = read

    @property
    def read_host(self) -> int:
        """The process id of the newest read host."""
        return self.host.pids("serve.pids")[-1]

    def outcome(self) -> tuple[int, Json]:
        """Code and data of its end, which is no result."""
        return error_of(self.client.adapter.response(self.read)["error"])


@contextmanager
def waiting(tmp_path: Path, method: str, *args: str, **settings: Any) -> Iterator[Waiting]:
    """A read whose host does not answer `method` until it is released; in the end no process is left."""
    settings = {"workspace": str(tmp_path), "held": [method], **settings}
    host = place(tmp_path / "host", StoringHost, **settings)
    with reading(tmp_path, *args, muse=host.muse) as client:
        client.start()
        client.handle_of("go")
        it = Waiting(client, host, client.begin(HANDLE))
        wait_until(lambda: bool(read_by(host).received(method)))
        yield it
    assert_gone(host.pids())


# -- ended by the client


def close(it: Waiting) -> None:
    assert it.client.adapter.call("session/close", {"sessionId": SESSION}) == {}


def take_back(it: Waiting) -> None:
    it.client.adapter.notify("$/cancel_request", {"requestId": it.read})


def end_input(it: Waiting) -> None:
    it.client.adapter.close_input()


def terminate(it: Waiting) -> None:
    it.client.adapter.process.send_signal(signal.SIGTERM)


@each_phase
@pytest.mark.parametrize(
    ("end", "reason"),
    [
        (close, "sessionClosed"),
        (take_back, "cancelled"),
        (end_input, "adapterStopping"),
        (terminate, "adapterStopping"),
    ],
)
def test_a_read_ends_at_once_when_nobody_wants_it(
    tmp_path: Path, method: str, end: Callable[[Waiting], None], reason: str
) -> None:
    with waiting(tmp_path, method) as it:
        end(it)
        assert it.outcome() == (-32800, {"reason": reason})
        assert it.client.adapter.finish() == 0


@each_phase
def test_the_next_read_works_after_one_was_taken_back(tmp_path: Path, method: str) -> None:
    with waiting(tmp_path, method) as it:
        take_back(it)
        assert it.outcome() == (-32800, {"reason": "cancelled"})
        release(read_by(it.host))
        assert it.client.read_all(HANDLE, 65_536) == stored(300_000)
        assert it.client.adapter.finish() == 0


def test_a_cancel_of_the_turn_does_not_end_a_read(tmp_path: Path) -> None:
    with waiting(tmp_path, "item/readOutput") as it:
        it.client.adapter.notify("session/cancel", {"sessionId": SESSION})
        assert it.client.adapter.prompt(SESSION, "go")["stopReason"] == "end_turn"
        release(read_by(it.host))
        assert it.client.adapter.response(it.read)["result"]["byteLen"] > 0
        assert it.client.adapter.finish() == 0


def test_one_of_two_equal_reads_can_be_taken_back(tmp_path: Path) -> None:
    with waiting(tmp_path, "item/readOutput") as it:
        second = it.client.begin(HANDLE)
        take_back(it)
        assert it.outcome() == (-32800, {"reason": "cancelled"})
        release(read_by(it.host))
        assert it.client.adapter.response(second)["result"]["byteLen"] > 0
        assert len(read_by(it.host).received("item/readOutput")) == 1, "both were one question to the host"
        assert it.client.adapter.finish() == 0


# -- ended by the host


@each_phase
def test_a_read_host_that_dies_fails_its_reads_and_is_replaced(tmp_path: Path, method: str) -> None:
    with waiting(tmp_path, method) as it:
        died = it.read_host
        os.kill(died, signal.SIGKILL)
        code, data = it.outcome()
        if method == "initialize":
            assert (code, data) == (
                -32603,
                {"reason": "hostStartFailed", "retryable": True, "exitCode": -signal.SIGKILL},
            )
        else:
            assert (code, data) == (-32603, {"reason": "hostDied", "retryable": True})
        assert len(read_by(it.host).received(method)) == 1, "the adapter does not try again by itself"
        release(read_by(it.host))
        assert it.client.read_all(HANDLE, 65_536) == stored(300_000)
        assert it.read_host != died
        assert it.client.adapter.prompt(SESSION, "go")["stopReason"] == "end_turn", "turns do not notice"
        assert it.client.adapter.finish() == 0


def test_a_read_host_that_does_not_get_ready_costs_the_start_up_budget(tmp_path: Path) -> None:
    with waiting(tmp_path, "initialize", "--startup-timeout", "3") as it:
        assert it.outcome() == (-32603, {"reason": "hostStartTimeout", "retryable": True, "budgetSeconds": 3})
        assert it.client.adapter.prompt(SESSION, "go")["stopReason"] == "end_turn"
        assert it.client.adapter.finish() == 0


def test_a_program_that_was_replaced_meanwhile_is_not_read_from(tmp_path: Path) -> None:
    host = place(tmp_path / "host", StoringHost, workspace=str(tmp_path))
    with reading(tmp_path, muse=host.muse) as client:
        client.start()
        client.handle_of("go")
        place(tmp_path / "host", StoringHost, workspace=str(tmp_path), version="1.3.0", shown="1.3.0")
        assert client.refused(HANDLE) == (-32603, {"reason": "hostVersionUnverified", "hostVersion": "1.3.0"})
        assert client.adapter.prompt(SESSION, "go")["stopReason"] == "end_turn"
        assert client.adapter.finish() == 0
    assert_gone(host.pids())
    asked = {frame["method"] for frame in read_by(host).received()}
    assert asked <= {"initialize", "initialized"}, "nothing is asked of it"


# -- refused by the host, or not to be believed


LIES: list[Json] = [
    {"byteLen": 10},
    {"byteLen": 65_537},
    {"offsetBytes": 1},
    {"encoding": "latin1"},
    {"encoding": "base64"},
    {"content": "x" * 1_400_000},
    {"content": "", "byteLen": 0},
    {"encoding": "base64", "content": "QQ", "byteLen": 1},
    {"encoding": "base64", "content": "QR==", "byteLen": 1},
    {"mediaType": ""},
    {"mediaType": "x" * 257},
    {"eof": "no"},
    *({name: None} for name in ("content", "encoding", "mediaType", "offsetBytes", "byteLen", "eof")),
]


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: repr(lie)[:40])
def test_a_page_that_lies_is_refused(tmp_path: Path, lie: Json) -> None:
    host = place(tmp_path / "host", StoringHost, workspace=str(tmp_path), page=lie)
    with reading(tmp_path, muse=host.muse) as client:
        client.start()
        code, data = client.refused(client.handle_of("go"))
        assert (code, data["reason"]) == (-32603, "inconsistentPage")
        assert set(data) == {"reason", "retryable", "problem"} and data["problem"]
        assert client.adapter.finish() == 0


REFUSALS: list[tuple[str, Json, int, Json]] = [
    ("outputUnavailable", {"availability": "missing"}, -32002, {"availability": "missing"}),
    ("outputResultTooLarge", {}, -32603, {"reason": "pieceTooLarge", "retryable": False}),
    ("overloaded", {}, -32603, {"reason": "hostError", "retryable": True, "hostKind": "overloaded"}),
    ("invalidParams", {}, -32602, {"reason": "offsetInsideCharacter"}),
    ("invalidParams", {"alignedNextOffset": 3}, -32602, {"reason": "offsetInsideCharacter", "alignedNextOffset": 3}),
]


@pytest.mark.parametrize(("kind", "more", "code", "data"), REFUSALS)
def test_what_the_host_refuses_is_refused_in_our_words(
    tmp_path: Path, kind: str, more: Json, code: int, data: Json
) -> None:
    refusals = {"item/readOutput": {"code": -32000, "message": "no", "data": {"kind": kind, **more}}}
    host = place(tmp_path / "host", StoringHost, workspace=str(tmp_path), refusals=refusals)
    with reading(tmp_path, muse=host.muse) as client:
        client.start()
        assert client.refused(client.handle_of("go")) == (code, {"reason": kind, **data})
        assert len(read_by(host).received("item/readOutput")) == 1, "it is asked once"
        assert client.adapter.finish() == 0
