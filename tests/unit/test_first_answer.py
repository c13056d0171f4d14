"""What is said and started before there is an event loop, and what is left to the connection."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from adapter.bridge.hosts.host_choice import HostChoice, version_cache
from adapter.bridge.stored_output.contract import KEY
from adapter.cli.first_answer import AT_ONCE, Greeting, greet
from adapter.msp.process_mark import has_ended
from adapter.wire.framing import ACP_FRAME_CAP
from host_probe import Abilities, identify, parse_version

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it is all left to the connection")

ASKS: Final = {"protocolVersion": 1, "clientCapabilities": {"_meta": {KEY: 1}}}
DOES_NOT: Final = {"protocolVersion": 1}


def request(params: Any = DOES_NOT, method: str = "initialize", request_id: Any = 7) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}) + b"\n"


def forget(greeting: Greeting) -> None:
    """End the host, if one has been started."""
    launched = greeting.launched
    if launched is not None:
        launched.process.kill()
        launched.process.wait()
        has_ended(launched.process.pid)
        for fd in (launched.stdin, launched.stdout, launched.stderr):
            os.close(fd)
    if greeting.asked_version is not None:
        with greeting.asked_version.process as process:
            process.kill()
        has_ended(process.pid)


class Client:
    """A client and what an adapter has of it: `stdin` and `stdout`."""

    def __init__(self, choice: HostChoice) -> None:
        self.choice = choice
        self.stdin, self.to_adapter = os.pipe()
        self.from_adapter, self.stdout = os.pipe()
        self.greeting = Greeting()

    def says(self, data: bytes, cap: int = ACP_FRAME_CAP) -> Greeting:
        """What comes of it when this is there at first."""
        os.write(self.to_adapter, data)
        self.greeting = greet(self.choice, cap, self.stdin, self.stdout)
        return self.greeting

    def hears(self) -> bytes:
        """What it has been told."""
        os.set_blocking(self.from_adapter, False)
        try:
            return os.read(self.from_adapter, 1 << 20)
        except BlockingIOError:
            return b""

    def leave(self) -> None:
        forget(self.greeting)
        for fd in (self.stdin, self.to_adapter, self.from_adapter, self.stdout):
            with contextlib.suppress(OSError):
                os.close(fd)


@pytest.fixture
def muse(tmp_path: Path) -> Path:
    """A program that says nothing and ends with its input."""
    path = tmp_path / "muse"
    path.write_text("#!/bin/sh\nexec cat >/dev/null\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def choice(tmp_path: Path, muse: Path) -> HostChoice:
    """Of a program of which everything is known."""
    choice = HostChoice({"PATH": os.environ["PATH"]}, tmp_path, str(muse))
    cache, identity = version_cache(choice), identify([str(muse)], choice.environ)
    assert cache is not None and identity is not None
    cache.put(identity, parse_version(b"Muse Code 1.2.1\n", b""))
    cache.put_abilities(identity, Abilities(frozenset({"session/fork"})))
    return choice


@pytest.fixture
def client(choice: HostChoice) -> Iterator[Client]:
    client = Client(choice)
    try:
        yield client
    finally:
        client.leave()


def test_what_is_known_is_answered_and_the_host_is_started(client: Client) -> None:
    greeting = client.says(request(ASKS))
    answer = orjson.loads(client.hears())
    assert answer["id"] == 7
    assert answer["result"]["_meta"][KEY]["version"] == 1
    assert answer["result"]["agentCapabilities"]["sessionCapabilities"].keys() >= {"fork", "list"}
    assert "delete" not in answer["result"]["agentCapabilities"]["sessionCapabilities"]
    assert greeting.settled is not None and greeting.settled.output.offered
    assert greeting.launched is not None and greeting.launched.process.poll() is None
    assert not greeting.ahead.strip()


def test_what_came_behind_the_request_is_still_to_be_worked_on(client: Client) -> None:
    behind = request({}, "session/new", 8) + b'{"half'
    greeting = client.says(request() + behind)
    assert greeting.ahead == b"\n" + behind
    assert [orjson.loads(line)["id"] for line in client.hears().splitlines()] == [7]


@pytest.mark.parametrize("request_id", [0, -1, "", "seven", 2**63])
def test_the_id_comes_back_as_it_was(client: Client, request_id: Any) -> None:
    client.says(request(request_id=request_id))
    assert orjson.loads(client.hears())["id"] == request_id


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(request()[:-1], id="half a line"),
        pytest.param(b"\n" + request(), id="a blank line before"),
        pytest.param(b"garbage\n" + request(), id="garbage before"),
        pytest.param(request({}, "session/new"), id="another request"),
        pytest.param(request({}), id="no version"),
        pytest.param(request({"protocolVersion": "one"}), id="no number"),
        pytest.param(request([]), id="no object"),
        pytest.param(request(request_id=None), id="no id"),
        pytest.param(request(request_id="x" * 5000), id="too long an id"),
        pytest.param(b'{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":1}}\n', id="a notification"),
        pytest.param(b"[" + request()[:-1] + b"]\n", id="a batch"),
        pytest.param(b"\xff\n", id="no text"),
    ],
)
def test_what_is_not_as_usual_is_left_to_the_connection(client: Client, data: bytes) -> None:
    assert client.says(data) == Greeting(data)
    assert client.hears() == b""


def test_so_is_a_line_above_the_cap(client: Client) -> None:
    assert client.says(request(), cap=40) == Greeting(request())


@pytest.mark.parametrize("ending", [b"\r\n", b"\n"])
def test_a_mark_before_the_first_line_and_a_cr_behind_it_are_none_of_it(client: Client, ending: bytes) -> None:
    client.says(b"\xef\xbb\xbf" + request()[:-1] + ending)
    assert orjson.loads(client.hears())["id"] == 7


def test_of_a_client_that_has_said_nothing_yet_nothing_is_known(client: Client) -> None:
    assert greet(client.choice, ACP_FRAME_CAP, client.stdin, client.stdout) == Greeting()


def test_the_end_of_input_is_left_to_the_connection(client: Client) -> None:
    os.close(client.to_adapter)
    assert greet(client.choice, ACP_FRAME_CAP, client.stdin, client.stdout) == Greeting()


def test_a_file_is_read_by_the_connection_alone(client: Client, tmp_path: Path) -> None:
    path = tmp_path / "input"
    path.write_bytes(request())
    with path.open("rb") as file:
        assert greet(client.choice, ACP_FRAME_CAP, file.fileno(), client.stdout) == Greeting()
        assert file.read() == request()


def test_an_unknown_host_is_started_and_the_answer_left_to_the_connection(client: Client, muse: Path) -> None:
    muse.write_text("#!/bin/sh\nexec cat >/dev/null # another one\n")
    greeting = client.says(request(ASKS))
    assert (greeting.ahead, greeting.settled, client.hears()) == (request(ASKS), None, b"")
    assert greeting.launched is not None
    # Both at once: neither waits for the other.
    asked = greeting.asked_version
    assert asked is not None and asked.argv == [str(muse), "--version"]
    assert asked.identity == identify([str(muse)], client.choice.environ)


def test_a_host_of_a_known_version_is_not_asked_for_it(client: Client, choice: HostChoice) -> None:
    cache, identity = version_cache(choice), identify([str(choice.muse)], choice.environ)
    assert cache is not None and identity is not None
    cache.file.unlink()
    cache.put(identity, parse_version(b"Muse Code 1.2.1\n", b""))
    greeting = client.says(request(ASKS))
    assert greeting.launched is not None and greeting.settled is None and greeting.asked_version is None


def test_nor_is_one_whose_client_does_not_want_to_know(client: Client, muse: Path) -> None:
    muse.write_text("#!/bin/sh\nexec cat >/dev/null # another one\n")
    greeting = client.says(request(DOES_NOT))
    assert greeting.launched is not None and greeting.asked_version is None


def test_its_version_need_not_be_known_to_a_client_that_does_not_ask(client: Client, choice: HostChoice) -> None:
    cache, identity = version_cache(choice), identify([str(choice.muse)], choice.environ)
    assert cache is not None and identity is not None
    cache.file.unlink()
    cache.put_abilities(identity, Abilities())
    greeting = client.says(request(DOES_NOT))
    assert greeting.settled is not None and not greeting.settled.output.asked


@pytest.mark.parametrize("wrong", ["missing", "not executable", "no program"])
def test_a_host_that_cannot_be_started_is_told_of_by_the_connection(client: Client, muse: Path, wrong: str) -> None:
    if wrong == "missing":
        muse.unlink()
    elif wrong == "not executable":
        muse.chmod(0o644)
    else:
        muse.write_bytes(b"\x7fELF")
    assert client.says(request()) == Greeting(request())
    assert client.hears() == b""


@pytest.mark.parametrize("full", ["full", "nobody reads"])
def test_what_cannot_be_written_at_once_is_left_to_the_connection(client: Client, full: str) -> None:
    if full == "full":
        os.set_blocking(client.stdout, False)
        with contextlib.suppress(BlockingIOError):
            while os.write(client.stdout, bytes(AT_ONCE)):
                pass
    else:
        os.close(client.from_adapter)
    greeting = client.says(request())
    assert (greeting.ahead, greeting.settled) == (request(), None)
    assert greeting.launched is not None


def test_a_client_behind_a_socket_is_answered_too(choice: HostChoice) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(request())
        greeting = greet(choice, ACP_FRAME_CAP, ours.fileno(), ours.fileno())
        assert orjson.loads(theirs.recv(1 << 16))["id"] == 7
        assert greeting.launched is not None
        forget(greeting)


def test_an_answer_for_which_there_is_room_only_in_part_is_written_whole(choice: HostChoice) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        theirs.sendall(request())
        writes = os.write

        def little(fd: int, data: bytes) -> int:
            if fd != ours.fileno():
                return writes(fd, data)
            calls.append(len(data))
            if len(calls) % 2 == 0:
                raise BlockingIOError
            return writes(fd, data[:100])

        calls: list[int] = []
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(os, "write", little)
            greeting = greet(choice, ACP_FRAME_CAP, ours.fileno(), ours.fileno())
        assert orjson.loads(theirs.recv(1 << 16))["id"] == 7 and greeting.settled is not None
        forget(greeting)


def test_nothing_of_an_event_loop_is_imported_for_it() -> None:
    shown = "import sys, adapter.cli.first_answer; print(*sorted({'anyio', 'asyncio', 'trio'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", shown], capture_output=True, check=True).stdout == b"\n"
