"""`muse-adapter output` where things go wrong or are shown: hosts that are not as they should be, early ends,
terminals."""

from __future__ import annotations

import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.output_command import LONG, SECONDS, TEXT, Done, Store, ended, on_terminal, reason, simulated, start
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


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("home"))


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
    ("settings", "code", "said"),
    [
        ({"version": "1.2.10"}, 5, "hostVersionUnverified"),
        ({"page": {"byteLen": 7}}, 1, "inconsistentPage"),
        ({"pages": [[revised(outputRef=reference(size=300_001))]]}, 1, "inconsistentPage"),
        ({"pages": [[revised(outputRef=reference(size=299_990))]]}, 1, "inconsistentPage"),
        ({"page": {"eof": False}}, 1, "inconsistentPage"),
        ({"pages": [[revised(outputRef=reference(digest="sha256:" + "0" * 64))]]}, 1, "digestMismatch"),
        ({"refusals": {"item/readOutput": {"code": -32603, "message": "no", "data": {"kind": "odd"}}}}, 1, "hostError"),
        ({"deaths": ["item/readOutput"]}, 1, "hostDied"),
    ],
)
def test_a_host_that_fails_is_told_by_its_reason(
    store: Store, tmp_path: Path, settings: Json, code: int, said: str
) -> None:
    done, placed = scripted(store, tmp_path / "muse", **settings)

    assert (done.code, reason(done)) == (code, said)
    assert_gone(placed.pids("serve.pids"))


@pytest.mark.parametrize(
    ("script", "options", "said"),
    [(CrashingHost, [], "hostStartFailed"), (DeafHost, ["--startup-timeout", "1"], "hostStartTimeout")],
)
def test_a_host_that_does_not_start_has_an_exit_code_of_its_own(
    store: Store, tmp_path: Path, script: type[ScriptedHost], options: list[str], said: str
) -> None:
    done, placed = scripted(store, tmp_path / "muse", *options, script=script)

    assert (done.code, reason(done)) == (3, said)
    assert_gone(placed.pids("serve.pids"))


def test_a_wrong_digest_of_a_whole_read_speaks_of_no_resume(store: Store, tmp_path: Path) -> None:
    wrong = reference(digest="sha256:" + "0" * 64)
    done, _ = scripted(store, tmp_path / "muse", pages=[[revised(outputRef=wrong)]])

    assert reason(done) == "digestMismatch"
    assert "read them again" in done.stderr and "resume" not in done.stderr


def test_a_start_that_takes_too_long_names_what_sets_how_long_it_may_take(store: Store, tmp_path: Path) -> None:
    done, _ = scripted(store, tmp_path / "muse", "--startup-timeout", "1", script=DeafHost)

    assert done.stderr.endswith("Muse was not ready within 1 s; --startup-timeout sets how long it may take\n")


def test_an_answer_that_our_own_limit_refuses_names_that(store: Store, tmp_path: Path) -> None:
    done, _ = scripted(store, tmp_path / "muse", "--msp-frame-cap", "20000", "--log-level", "error")

    assert (done.code, reason(done)) == (1, "inconsistentPage")
    assert "--msp-frame-cap" in done.stderr


def test_references_that_cannot_be_used_are_counted(store: Store, tmp_path: Path) -> None:
    events = [
        revised(1, "damaged", outputRef=reference(size=-1), patchRef=reference("")),
        revised(2, outputRef=reference(), patchRef=reference("patch", availability="")),
    ]
    placed = place(tmp_path / "muse", OutputHost, pages=[events])

    done = store.run("output", SESSION, muse=placed.muse)
    assert done.code == 0
    assert [line.split("\t")[0] for line in done.stdout.decode().splitlines()] == ["item", ITEM]
    assert done.stderr.count("\n") == 1 and done.stderr.endswith("cannot be right: 3\n")

    done = store.run("output", SESSION, "damaged", muse=placed.muse)
    assert (done.code, reason(done)) == (4, "outputNotFound")
    assert "cannot be right" in done.stderr


# -- ends


def test_a_reader_that_goes_away_ends_it_quietly(store: Store) -> None:
    process = start("--muse", "simulated", "output", store.session_id, store.long, environ=store.environ())
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.read(100) == simulated("lines", 200)[:100]
    process.stdout.close()

    assert process.stderr.read() == b""
    assert process.wait(SECONDS) == 141
    process.stderr.close()


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
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
    assert_gone(placed.pids("serve.pids"))
    assert file.read_bytes() == stored(LONG)[:1000]


# -- on a terminal


def test_a_bar_shows_how_far_it_is(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "file"

    code, shown = on_terminal(store, "output", store.session_id, store.long, "-o", str(file))

    assert code == 0
    assert "starting Muse" in shown
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    assert re.search(r"reading ━+ +2\.5/2\.5 MB +[\d.]+ [kMG]?B/s", plain), plain
    assert f"{LONG:,} bytes in {file}" in shown
    assert file.stat().st_size == LONG


def test_a_digest_that_was_compared_is_mentioned(store: Store, tmp_path: Path) -> None:
    _, shown = on_terminal(store, "output", store.session_id, store.text, "-o", str(tmp_path / "file"))

    assert f"20,000 bytes in {tmp_path / 'file'}, their digest is right\r\n" in shown


def test_bytes_that_go_elsewhere_than_to_the_terminal_are_counted_there(store: Store, tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        code, shown = on_terminal(store, "output", store.session_id, store.text, stdout=file.fileno())

    assert (code, (tmp_path / "file").read_bytes()) == (0, TEXT)
    assert shown.endswith("20,000 bytes on stdout, their digest is right\r\n")


def test_text_on_a_terminal_has_no_bar_beside_it(store: Store) -> None:
    code, shown = on_terminal(store, "output", store.session_id, store.text, "--length", "640")

    assert code == 0
    assert shown.replace("\r\n", "\n").encode() == TEXT[:640]


def test_bytes_that_are_no_text_do_not_go_to_a_terminal(store: Store) -> None:
    code, shown = on_terminal(store, "output", store.session_id, store.binary)

    assert code == 1
    assert "binaryOutput" in shown
    assert "\0" not in shown
