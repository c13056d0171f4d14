"""`muse-adapter output` against the simulated host, with a session that an adapter made: lists, bytes, ranges, going on
and refusals."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from tests.adapter_process import running_adapter
from tests.output_command import LONG, MIDDLE, TEXT, Done, Store, ended, on_terminal, reason, simulated, start

pytestmark = pytest.mark.skipif(os.name != "posix", reason="terminals, signals and stand-ins that are scripts")


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


def test_a_list_that_nobody_reads_ends_it_quietly(store: Store) -> None:
    read, written = os.pipe()
    os.close(read)
    try:
        process = start("--muse", "simulated", "output", store.session_id, environ=store.environ(), stdout=written)
    finally:
        os.close(written)

    assert ended(process) == Done(141, b"", "")


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
    assert (other.code, other.stdout, reason(other)) == (4, b"", "outputNotFound")


def test_the_patch_of_an_edit_is_read_like_any_output(store: Store) -> None:
    patch = orjson.loads(store.read(store.patch).stdout)

    assert "grüßt" in patch["files"][0]["newText"]


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
    assert done.stderr.endswith(f"the next one that can be read from is {MIDDLE + 1}\n")


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
    ("session", "item", "options", "code", "said"),
    [
        ("no-such-session", "text", [], 4, "sessionNotStored"),
        (None, "no-such-item", [], 4, "outputNotFound"),
        (None, "text", ["--ref", "muse-output://x"], 4, "outputNotFound"),
        (None, "missing", [], 4, "outputUnavailable"),
        (None, "text", ["--offset", "20001"], 1, "offsetOutOfRange"),
        (None, "text", ["--offset", "13"], 1, "offsetInsideCharacter"),
    ],
)
def test_a_check_that_fails_is_named_and_leaves_the_file_alone(
    store: Store, tmp_path: Path, session: str | None, item: str, options: list[str], code: int, said: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"before")

    item_id = getattr(store, item, item)
    done = store.run("output", session or store.session_id, item_id, "-o", str(file), *options)

    assert (done.code, reason(done)) == (code, said)
    assert file.read_bytes() == b"before"


def test_a_list_of_a_session_that_is_not_stored_is_refused(store: Store) -> None:
    done = store.run("output", "no-such-session")

    assert (done.code, done.stdout, reason(done)) == (4, b"", "sessionNotStored")


@pytest.mark.parametrize(("version", "build"), [("1.1.1", "1.1.1-R2514.1"), ("1.3.0", "1.3.0-R3401.1")])
def test_a_version_that_is_not_verified_is_refused_and_named(store: Store, version: str, build: str) -> None:
    done = store.run("output", store.session_id, store.text, muse=f"simulated:{version}")

    assert (done.code, done.stdout, reason(done)) == (5, b"", "outputNotAdvertised")
    assert build in done.stderr


def test_without_muse_there_is_no_host(store: Store, tmp_path: Path) -> None:
    done = store.run("output", store.session_id, muse=str(tmp_path / "muse"))

    assert (done.code, reason(done)) == (3, "museNotFound")


def test_a_file_that_cannot_be_written_is_named(store: Store, tmp_path: Path) -> None:
    done = store.read(store.text, "-o", str(tmp_path))

    assert (done.code, reason(done)) == (6, "notWritten")
    assert str(tmp_path) in done.stderr
