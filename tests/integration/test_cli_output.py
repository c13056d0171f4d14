"""`muse-adapter output` as a process: against the simulated host with a session that an adapter made, and against
scripted hosts where the simulated one is too honest."""

from __future__ import annotations

import contextlib
import os
import pty
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson
import pytest

from adapter.hosts.simulated.outputs import new_output, stored_bytes
from tests.adapter_process import running_adapter
from tests.output_hosts import (
    ITEM,
    REF,
    SESSION,
    CrashingHost,
    DeafHost,
    OutputHost,
    methods,
    reference,
    revised,
    stored,
)
from tests.processes import assert_gone, wait_until
from tests.scripted_hosts import Placed, ScriptedHost, place

pytestmark = pytest.mark.skipif(os.name != "posix", reason="terminals, signals and stand-ins that are scripts")

Json = dict[str, Any]

SECONDS: Final = 60.0
"""How long a run may take; far more than any does, so that only a hang meets it."""

LONG: Final = 2_500_000
"""Bytes of an output of three pieces; too long for a digest."""

MIDDLE: Final = 13
"""An offset inside a character of the simulated host's text: its first line is `000000000 Grüße …`."""


class Done(NamedTuple):
    """How a run ended."""

    code: int
    stdout: bytes
    stderr: str


class Store:
    """A home with a stored session of several outputs; `table` is the list of them, without its head."""

    def __init__(self, home: Path) -> None:
        self.home = home
        with running_adapter(home) as adapter:
            adapter.initialize()
            self.session_id = adapter.new_session(home)
            for text in ("shell 20000", "shell binary 20000", f"shell {LONG}", "edit", "shell 0", "shell 5 missing"):
                adapter.prompt(self.session_id, text)
            adapter.finish()
        head, *lines = self.run("output", self.session_id).stdout.decode().splitlines()
        self.head = head.split("\t")
        self.table = [line.split("\t") for line in lines]
        self.text, self.binary, self.long, self.patch, self.empty, self.missing = (row[0] for row in self.table)

    def environ(self, **more: str) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
        return {**kept, "HOME": str(self.home), "TERM": "xterm", **more}

    def run(self, *arguments: str, muse: str = "simulated", **environ: str) -> Done:
        return ended(start("--muse", muse, *arguments, environ=self.environ(**environ)))

    def read(self, item_id: str, *arguments: str, **environ: str) -> Done:
        return self.run("output", self.session_id, item_id, *arguments, **environ)


def start(*arguments: str, environ: dict[str, str], **streams: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "adapter.cli.entry", *arguments],
        stdin=subprocess.DEVNULL,
        env=environ,
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    )


def ended(process: subprocess.Popen[bytes]) -> Done:
    try:
        stdout, stderr = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return Done(process.returncode, stdout or b"", (stderr or b"").decode())


def reason(done: Done) -> str:
    """The word on stderr, which must be one line."""
    assert done.stderr.startswith("muse-adapter: "), done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    return done.stderr.split(": ")[1]


def simulated(recipe: str, size: int) -> bytes:
    return stored_bytes(new_output("i", recipe, size), 0, size)


TEXT: Final = simulated("lines", 20_000)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("home"))


@pytest.fixture(autouse=True)
def _nothing_changes(store: Store) -> Iterator[None]:
    """No lease is taken and no event is added, whatever is read."""
    journal = store.home / ".local/share/muse-simulated/sessions" / store.session_id
    before = {path.name: path.read_bytes() for path in journal.iterdir()}
    yield
    assert {path.name: path.read_bytes() for path in journal.iterdir()} == before


# -- the list


def test_what_there_is_comes_as_lines_with_tabs(store: Store) -> None:
    assert store.head == ["item", "tool", "output", "bytes", "availability", "media type"]
    assert [row[1:2] + row[3:] for row in store.table] == [
        ["bash", "20000", "available", "text/plain"],
        ["bash", "20000", "available", "application/octet-stream"],
        ["bash", str(LONG), "available", "text/plain"],
        ["edit_file", str(len(store.read(store.patch).stdout)), "available", "application/json"],
        ["bash", "0", "available", "text/plain"],
        ["bash", "5", "missing", "text/plain"],
    ]


def test_a_terminal_shows_a_table_with_whole_ids(store: Store) -> None:
    code, shown = on_terminal(store, "output", store.session_id)

    assert code == 0
    assert all(row[0] in shown and row[2] in shown for row in store.table)
    assert f"{LONG:,}" in shown
    assert "\t" not in shown


def test_a_session_without_outputs_has_an_empty_list_and_a_note(store: Store) -> None:
    with running_adapter(store.home) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(store.home)
        adapter.prompt(session_id, "hello")
        adapter.finish()

    done = store.run("output", session_id)

    assert (done.code, done.stdout.count(b"\n")) == (0, 1)
    assert "no stored output" in done.stderr


def test_a_past_that_is_too_long_is_listed_as_far_as_it_goes(store: Store) -> None:
    with running_adapter(store.home) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(store.home)
        for text in ("shell 20000", "history 2000", "shell 20001"):
            adapter.prompt(session_id, text)
        adapter.finish()

    done = store.run("output", session_id)

    assert done.code == 0
    assert [line.split("\t")[3] for line in done.stdout.decode().splitlines()[1:]] == ["20001"]
    assert "newest 2000 events" in done.stderr


def test_an_output_can_be_read_while_a_client_has_the_session_open(store: Store) -> None:
    with running_adapter(store.home) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(store.home)
        adapter.prompt(session_id, "shell 20000")
        listed = store.run("output", session_id).stdout.decode().splitlines()
        done = store.run("output", session_id, listed[1].split("\t")[0])
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        adapter.finish()

    assert done == Done(0, TEXT, "")


# -- the bytes


def test_all_bytes_go_to_stdout_and_nothing_else(store: Store) -> None:
    assert store.read(store.text) == Done(0, TEXT, "")


def test_bytes_that_are_no_text_stay_as_they_are(store: Store) -> None:
    assert store.read(store.binary) == Done(0, simulated("bytes", 20_000), "")


def test_an_output_of_several_pieces_goes_to_a_file(store: Store, tmp_path: Path) -> None:
    done = store.read(store.long, "-o", str(tmp_path / "file"))

    assert done == Done(0, b"", "")
    assert (tmp_path / "file").read_bytes() == simulated("lines", LONG)


def test_an_empty_output_is_an_empty_file(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"before")

    assert store.read(store.empty, "-o", str(tmp_path / "file")).code == 0
    assert (tmp_path / "file").read_bytes() == b""


def test_an_output_is_named_by_its_id(store: Store) -> None:
    named = store.read(store.text, "--ref", store.table[0][2])
    other = store.read(store.text, "--ref", store.table[1][2])

    assert named == Done(0, TEXT, "")
    assert (other.code, other.stdout, reason(other)) == (1, b"", "outputNotFound")


@pytest.mark.parametrize(
    ("offset", "length"),
    [
        (0, 1),
        (0, MIDDLE),
        (12, 1),
        (MIDDLE + 1, 2000),
        (64, 64),
        (19_990, 10),
        (19_990, 500),
        (20_000, 1),
        (6400, None),
    ],
)
def test_a_range_is_exact_to_the_byte_also_inside_a_character(store: Store, offset: int, length: int | None) -> None:
    words = [] if length is None else ["--length", str(length)]
    end = len(TEXT) if length is None else offset + length

    assert store.read(store.text, "--offset", str(offset), *words) == Done(0, TEXT[offset:end], "")


def test_an_offset_inside_a_character_is_refused_with_the_next_one_that_is_not(store: Store) -> None:
    done = store.read(store.text, "--offset", str(MIDDLE))

    assert (done.code, done.stdout, reason(done)) == (1, b"", "offsetInsideCharacter")
    assert f"alignedNextOffset {MIDDLE + 1}" in done.stderr


# -- going on


@pytest.mark.parametrize("size", [None, 0, 1, MIDDLE, 6_400, 19_999, 20_000])
def test_a_part_is_completed(store: Store, tmp_path: Path, size: int | None) -> None:
    file = tmp_path / "file"
    if size is not None:
        file.write_bytes(TEXT[:size])

    assert store.read(store.text, "-o", str(file), "--resume") == Done(0, b"", "")
    assert file.read_bytes() == TEXT


def test_a_part_of_a_range_is_completed(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(TEXT[64:100])

    done = store.read(store.text, "--offset", "64", "--length", "6000", "-o", str(file), "--resume")

    assert done.code == 0
    assert file.read_bytes() == TEXT[64:6064]


def test_what_is_there_is_not_read_again(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"?" * (LONG - 100))

    assert store.read(store.long, "-o", str(file), "--resume").code == 0
    assert file.read_bytes() == b"?" * (LONG - 100) + simulated("lines", LONG)[-100:]


@pytest.mark.parametrize("size", [6_400, 20_000])
def test_a_part_of_something_else_is_told_by_the_digest(store: Store, tmp_path: Path, size: int) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"?" * size)

    done = store.read(store.text, "-o", str(file), "--resume")

    assert (done.code, reason(done)) == (1, "digestMismatch")


def test_a_file_that_is_longer_is_left_alone(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"?" * 20_001)

    done = store.read(store.text, "-o", str(file), "--resume")

    assert (done.code, reason(done)) == (1, "fileTooLong")
    assert file.read_bytes() == b"?" * 20_001


# -- refusals


@pytest.mark.parametrize(
    ("session", "item", "options", "said"),
    [
        ("no-such-session", "text", [], "sessionNotStored"),
        (None, "no-such-item", [], "outputNotFound"),
        (None, "text", ["--ref", "muse-output://x"], "outputNotFound"),
        (None, "missing", [], "outputUnavailable"),
        (None, "text", ["--offset", "20001"], "offsetOutOfRange"),
        (None, "text", ["--offset", "13"], "offsetInsideCharacter"),
    ],
)
def test_a_check_that_fails_is_named_and_leaves_the_file_alone(
    store: Store, tmp_path: Path, session: str | None, item: str, options: list[str], said: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")

    item_id = getattr(store, item, item)
    done = store.run("output", session or store.session_id, item_id, "-o", str(file), *options)

    assert (done.code, reason(done)) == (1, said)
    assert file.read_bytes() == b"before"


def test_a_list_of_a_session_that_is_not_stored_is_refused(store: Store) -> None:
    done = store.run("output", "no-such-session")

    assert (done.code, done.stdout, reason(done)) == (1, b"", "sessionNotStored")


@pytest.mark.parametrize(("version", "build"), [("1.1.1", "1.1.1-R2514.1"), ("1.3.0", "1.3.0-R3401.1")])
def test_a_version_that_is_not_verified_is_refused_and_named(store: Store, version: str, build: str) -> None:
    done = store.run("output", store.session_id, store.text, muse=f"simulated:{version}")

    assert (done.code, done.stdout, reason(done)) == (1, b"", "outputNotAdvertised")
    assert build in done.stderr


def test_without_muse_there_is_no_host(store: Store, tmp_path: Path) -> None:
    done = store.run("output", store.session_id, muse=str(tmp_path / "muse"))

    assert (done.code, reason(done)) == (3, "museNotFound")


def test_a_file_that_cannot_be_written_is_named(store: Store, tmp_path: Path) -> None:
    done = store.read(store.text, "-o", str(tmp_path))

    assert (done.code, reason(done)) == (1, "notWritten")
    assert str(tmp_path) in done.stderr


# -- hosts that are not as they should be


def scripted(
    store: Store, directory: Path, *arguments: str, script: type[ScriptedHost] = OutputHost, **settings: Any
) -> tuple[Done, Placed]:
    """A read of the one output a scripted host has."""
    placed = place(directory, script, **settings)
    done = store.run(*arguments, "output", SESSION, ITEM, muse=placed.muse)
    return done, placed


def test_every_piece_is_checked_and_nothing_else_is_asked(store: Store, tmp_path: Path) -> None:
    line = stored(100).index(b"\n") + 1
    size = LONG // line * line
    done, placed = scripted(store, tmp_path / "muse", size=size)

    assert done == Done(0, stored(size), "")
    pieces = Counter(methods(placed))
    asked = {"session/read": 4, "view/page": 4, "item/readOutput": 3}
    assert pieces == {"initialize": 1, "initialized": 1, **asked}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"version": "1.2.10"}, "hostVersionUnverified"),
        ({"page": {"byteLen": 7}}, "inconsistentPage"),
        ({"pages": [[revised(outputRef=reference(size=300_001))]]}, "inconsistentPage"),
        ({"pages": [[revised(outputRef=reference(digest="sha256:" + "0" * 64))]]}, "digestMismatch"),
        ({"refusals": {"item/readOutput": {"code": -32603, "message": "no", "data": {"kind": "odd"}}}}, "hostError"),
        ({"deaths": ["item/readOutput"]}, "hostDied"),
    ],
)
def test_a_host_that_fails_is_told_by_its_reason(store: Store, tmp_path: Path, settings: Json, said: str) -> None:
    done, placed = scripted(store, tmp_path / "muse", **settings)

    assert (done.code, reason(done)) == (1, said)
    assert_gone(placed.pids("serve"))


@pytest.mark.parametrize(
    ("script", "options", "said"),
    [(CrashingHost, [], "hostStartFailed"), (DeafHost, ["--startup-timeout", "1"], "hostStartTimeout")],
)
def test_a_host_that_does_not_start_has_an_exit_code_of_its_own(
    store: Store, tmp_path: Path, script: type[ScriptedHost], options: list[str], said: str
) -> None:
    done, placed = scripted(store, tmp_path / "muse", *options, script=script)

    assert (done.code, reason(done)) == (3, said)
    assert_gone(placed.pids("serve"))


# -- ends


def test_a_reader_that_goes_away_ends_it_quietly(store: Store) -> None:
    process = start("--muse", "simulated", "output", store.session_id, store.long, environ=store.environ())
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.read(100) == simulated("lines", 200)[:100]
    process.stdout.close()

    assert process.stderr.read() == b""
    assert process.wait(SECONDS) == 141
    process.stderr.close()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_it_quietly_and_leaves_a_part_to_go_on_with(
    store: Store, tmp_path: Path, signum: signal.Signals
) -> None:
    placed = place(tmp_path / "muse", OutputHost, size=LONG, held=["item/readOutput"])
    file = tmp_path / "file"
    file.write_bytes(stored(LONG)[:1000])
    command = ["--muse", placed.muse, "output", SESSION, ITEM, "--ref", REF, "-o", str(file), "--resume"]
    process = start(*command, environ=store.environ())
    wait_until(lambda: "item/readOutput" in methods(placed))
    process.send_signal(signum)

    assert ended(process) == Done(130, b"", "")
    assert_gone(placed.pids("serve"))
    assert file.read_bytes() == stored(LONG)[:1000]


# -- on a terminal


def on_terminal(store: Store, *arguments: str, stdout: int | None = None) -> tuple[int, str]:
    """Run with a terminal as stderr and, unless told otherwise, as stdout; gives the exit code and what was shown."""
    ours, theirs = pty.openpty()
    streams = {"stdout": theirs if stdout is None else stdout, "stderr": theirs}
    process = start("--muse", "simulated", *arguments, environ=store.environ(), **streams)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):
        while data := os.read(ours, 65536):
            shown += data
    os.close(ours)
    return process.wait(SECONDS), shown.decode()


def test_a_bar_shows_how_far_it_is(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "file"

    code, shown = on_terminal(store, "output", store.session_id, store.long, "-o", str(file))

    assert code == 0
    assert "reading" in shown
    assert "MiB" in shown
    assert f"{LONG:,} bytes" in shown
    assert file.stat().st_size == LONG


def test_a_digest_that_was_compared_is_mentioned(store: Store, tmp_path: Path) -> None:
    _, shown = on_terminal(store, "output", store.session_id, store.text, "-o", str(tmp_path / "file"))

    assert "their digest is right" in shown


def test_text_on_a_terminal_has_no_bar_beside_it(store: Store) -> None:
    code, shown = on_terminal(store, "output", store.session_id, store.text, "--length", "640")

    assert code == 0
    assert shown.replace("\r\n", "\n").encode() == TEXT[:640]


def test_bytes_that_are_no_text_do_not_go_to_a_terminal(store: Store) -> None:
    code, shown = on_terminal(store, "output", store.session_id, store.binary)

    assert code == 1
    assert "binaryOutput" in shown
    assert "\0" not in shown


def test_the_patch_of_an_edit_is_read_like_any_output(store: Store) -> None:
    patch = orjson.loads(store.read(store.patch).stdout)

    assert "grüßt" in patch["files"][0]["newText"]
