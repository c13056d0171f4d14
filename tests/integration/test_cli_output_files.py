"""`muse-adapter output` and where its bytes go: files that cannot be written, that fill up, and that hold a part."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Final

import pytest

from tests.output_command import LONG, MIDDLE, SECONDS, TEXT, Done, Store, ended, reason, simulated, start
from tests.output_hosts import ITEM, SESSION, OutputHost, methods, stored
from tests.processes import wait_until
from tests.scripted_hosts import place

pytestmark = pytest.mark.skipif(os.name != "posix", reason="terminals, signals and stand-ins that are scripts")

PIECE: Final = 1024 * 1024

SIZE: Final = stored(LONG).rindex(b"\n") + 1
"""Bytes of an output of three pieces that ends with a whole character."""

NOT_WRITTEN: Final = 6

Json = dict[str, Any]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("home"))


class FirstPieceOnly(OutputHost):
    """Answers the first read, and no other before it is released."""

    def receive(self, frame: Json) -> None:
        later = frame["method"] == "item/readOutput" and frame["params"]["offsetBytes"] > 0
        self.silent = ("item/readOutput",) if later and not self.released() else ()
        super().receive(frame)


class SecondPieceLost(OutputHost):
    """Dies of the second read."""

    def receive(self, frame: Json) -> None:
        if frame["method"] == "item/readOutput" and frame["params"]["offsetBytes"] > 0 and not self.released():
            os._exit(9)
        super().receive(frame)


def not_written(done: Done, where: object) -> None:
    assert (done.code, done.stdout, reason(done)) == (NOT_WRITTEN, b"", "notWritten")
    assert f"notWritten: {where}: " in done.stderr


# -- nowhere to write


def test_a_folder_is_no_file(store: Store, tmp_path: Path) -> None:
    not_written(store.read(store.text, "-o", str(tmp_path)), tmp_path)


def test_a_folder_that_is_not_there_is_not_made(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "no" / "file"

    not_written(store.read(store.text, "-o", str(file)), file)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "posix" and os.geteuid() == 0, reason="root may write anywhere")
def test_a_file_that_may_not_be_written_stays(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")
    file.chmod(0o400)

    not_written(store.read(store.text, "-o", str(file)), file)
    assert file.read_bytes() == b"before"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_device_that_is_full_is_named(store: Store) -> None:
    not_written(store.read(store.text, "-o", "/dev/full"), "/dev/full")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_stdout_is_named(store: Store) -> None:
    with Path("/dev/full").open("wb") as full:
        arguments = ("--muse", "simulated", "output", store.session_id, store.text)
        done = ended(start(*arguments, environ=store.environ(), stdout=full))

    not_written(done, "stdout")


def test_a_pipe_without_a_reader_is_not_waited_for(store: Store, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    not_written(store.read(store.text, "-o", str(pipe)), pipe)


def test_a_pipe_with_a_reader_gets_all(store: Store, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()), daemon=True)
    reader.start()

    done = store.read(store.long, "-o", str(pipe))

    reader.join(SECONDS)
    assert done == Done(0, b"", "")
    assert got == [simulated("lines", LONG)]


def test_a_dash_is_stdout(store: Store, tmp_path: Path) -> None:
    assert store.read(store.text, "-o", "-") == Done(0, TEXT, "")

    done = store.read(store.text, "-o", "-", "--resume")

    assert (done.code, done.stdout) == (2, b"")
    assert "--resume" in done.stderr


# -- a part


def test_a_part_that_ends_inside_a_character_is_of_something_else(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"x" * MIDDLE)

    done = store.read(store.text, "-o", str(file), "--resume")

    assert (done.code, reason(done)) == (1, "offsetInsideCharacter")
    assert "without --resume" in done.stderr and "--offset" not in done.stderr
    assert file.read_bytes() == b"x" * MIDDLE


def test_a_disk_that_fills_up_leaves_a_part_to_go_on_with(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "file"
    limit = PIECE + PIECE // 2
    arguments = ["--muse", "simulated", "output", store.session_id, store.long, "-o", str(file)]
    code = (
        f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}));"
        "os.execv(sys.executable, [sys.executable, '-m', 'adapter.cli.entry', *sys.argv[1:]])"
    )
    full = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
        env=store.environ(),
    )

    not_written(Done(full.returncode, full.stdout, full.stderr.decode()), file)
    assert file.read_bytes() == simulated("lines", LONG)[:limit]
    assert store.read(store.long, "-o", str(file), "--resume") == Done(0, b"", "")
    assert file.read_bytes() == simulated("lines", LONG)


def test_what_an_interrupt_leaves_is_gone_on_with(store: Store, tmp_path: Path) -> None:
    placed = place(tmp_path / "muse", FirstPieceOnly, size=SIZE)
    file = tmp_path / "file"
    file.write_bytes(b"of something else, and replaced")
    read = ["--muse", placed.muse, "output", SESSION, ITEM, "-o", str(file)]
    process = start(*read, environ=store.environ())
    wait_until(lambda: methods(placed).count("item/readOutput") == 2)
    process.send_signal(signal.SIGINT)

    assert ended(process) == Done(130, b"", "")
    part = file.read_bytes()
    assert PIECE - 4 < len(part) <= PIECE and stored(SIZE).startswith(part)
    (placed.directory / "released").touch()
    assert ended(start(*read, "--resume", environ=store.environ())) == Done(0, b"", "")
    assert file.read_bytes() == stored(SIZE)


def test_what_a_host_that_dies_leaves_is_gone_on_with(store: Store, tmp_path: Path) -> None:
    placed = place(tmp_path / "muse", SecondPieceLost, size=SIZE)
    file = tmp_path / "file"
    read = ["--muse", placed.muse, "output", SESSION, ITEM, "-o", str(file)]

    done = ended(start(*read, environ=store.environ()))

    assert (done.code, reason(done)) == (1, "hostDied")
    part = file.read_bytes()
    assert PIECE - 4 < len(part) <= PIECE and stored(SIZE).startswith(part)
    (placed.directory / "released").touch()
    assert ended(start(*read, "--resume", environ=store.environ())) == Done(0, b"", "")
    assert file.read_bytes() == stored(SIZE)


# -- what is said of it


def test_a_wrong_digest_after_resume_says_to_read_without_it(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"?" * 6_400)

    done = store.read(store.text, "-o", str(file), "--resume")

    assert reason(done) == "digestMismatch"
    assert "without --resume" in done.stderr and str(file) in done.stderr
