"""`muse-adapter doctor`, run as a process: the document, the hosts it works with, and that it changes nothing."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from adapter.cli.doctor.finding import WHY
from adapter.msp.abilities import NOBODY
from tests.doctor_command import assert_shape, begin, checks, doctor, document, environ
from tests.doctor_hosts import Patient
from tests.output_command import Store, ended, on_terminal, start
from tests.processes import assert_gone
from tests.screens import VERSIONS
from tests.scripted_hosts import Json, place

pytestmark = pytest.mark.skipif(os.name != "posix", reason="terminals, signals and stand-ins that are scripts")

FIXTURES = Path(__file__).parents[2] / "fixtures" / "hosts"
CLIENTS = ["baseline", "zed", "jetbrains", "acpx", "muse/output"]


# -- the document


@pytest.mark.parametrize("version", VERSIONS)
def test_each_simulated_version_is_told_in_one_document_of_the_shape_that_is_documented(
    tmp_path: Path, version: str
) -> None:
    found = document(tmp_path, muse=f"simulated:{version}")

    assert_shape(found)
    made = checks(found)
    assert list(made) == list(WHY)
    assert found["ok"] is True
    assert (found["host"]["version"], found["host"]["source"]) == (version, "simulated")
    assert {made[name]["status"] for name in ("executable", "version", "handshake", "sessionStore")} == {"pass"}
    assert made["surfaces"]["status"] == ("pass" if version == "1.2.1" else "warn")
    assert made["handshake"]["details"]["serverVersion"] == version
    assert [offer["client"] for offer in found["negotiation"]] == CLIENTS


def test_the_table_ends_with_what_a_newer_version_lacks(tmp_path: Path) -> None:
    done = doctor(tmp_path, muse="simulated:1.3.0")

    assert (done.code, done.stderr) == (0, "")
    text = " ".join(done.stdout.decode().split())
    assert "Stored output is not offered, because this host is 1.3.0-R3401.1; it is verified on 1.2.1 only." in text
    # Another test may have left a host of its own for a moment.
    assert "Everything works." in text or "It works, but look at leftovers." in text
    assert b"\x1b" not in done.stdout


@pytest.mark.parametrize("scenario", sorted(path.name for path in (FIXTURES / "1.2.1").iterdir()))
def test_a_recording_plays_its_handshake_and_what_it_lacks_is_skipped(tmp_path: Path, scenario: str) -> None:
    found = document(tmp_path, muse=f"recorded:{FIXTURES / '1.2.1' / scenario}")

    made = checks(found)
    assert found["ok"] is True
    assert (found["host"]["version"], found["host"]["source"]) == ("1.2.1", "recorded")
    assert made["handshake"]["status"] == "pass"
    assert (made["sessionStore"]["status"], made["login"]["status"]) == ("skipped", "skipped")
    assert "recording" in made["sessionStore"]["summary"]


def test_a_recording_that_asked_for_no_capabilities_plays_its_handshake(tmp_path: Path) -> None:
    """And nobody has said that others may be asked for."""
    recording = tmp_path / "recording"
    shutil.copytree(FIXTURES / "1.2.1" / "handshake", recording)
    manifest = recording / "manifest.json"
    about = json.loads(manifest.read_text())
    about["variables"].remove("params.capabilities")
    manifest.write_text(json.dumps(about))
    transcript = recording / "transcript.ndjson"
    transcript.write_text(transcript.read_text().replace(r",\"capabilities\":{}", ""))
    made = checks(document(tmp_path, muse=f"recorded:{recording}"))
    assert made["handshake"]["status"] == "pass"


def test_a_folder_without_a_recording_fails_with_why(tmp_path: Path) -> None:
    made = checks(document(tmp_path, muse=f"recorded:{tmp_path}"))
    assert (made["executable"]["status"], made["handshake"]["status"]) == ("fail", "skipped")
    assert "transcript.ndjson" in made["executable"]["summary"]


def test_without_muse_everything_else_is_told(tmp_path: Path) -> None:
    found = document(tmp_path, muse=None, PATH="/usr/bin:/bin")

    assert_shape(found)
    made = checks(found)
    assert made["executable"]["status"] == "fail"
    for name in ("version", "surfaces", "handshake", "login", "sessionStore"):
        assert (made[name]["status"], made[name]["details"]["because"]) == ("skipped", "executable")
    assert {made[name]["status"] for name in ("environment", "terminal", "dependencies")} == {"pass"}
    assert found["host"] == {"path": None, "version": None, "build": None, "source": None}
    assert len(found["negotiation"]) == len(CLIENTS)
    reasons = {one["reason"] for offer in found["negotiation"] for one in offer["withheld"]}
    assert any("no Muse was found" in reason for reason in reasons)


def test_without_muse_the_last_sentence_says_what_to_do(tmp_path: Path) -> None:
    done = doctor(tmp_path, muse=str(tmp_path / "missing"))
    assert done.code == 1
    assert "One check failed: executable. Install Muse" in " ".join(done.stdout.decode().split())


# -- a Muse of its own


def test_a_muse_is_told_with_where_it_is_and_what_it_said(tmp_path: Path) -> None:
    muse = place(tmp_path / "bin", Patient, version="1.2.1", durable=False).muse
    found = document(tmp_path, muse=None, PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin")

    made = checks(found)
    assert found["host"] == {"path": muse, "version": "1.2.1", "build": None, "source": "PATH"}
    assert made["executable"]["details"]["source"] == "PATH"
    assert made["handshake"]["details"]["flags"] == ["--disable-write", "--disable-shell"]
    assert (made["handshake"]["status"], made["handshake"]["details"]["durable"]) == ("warn", False)


def test_a_host_of_another_version_than_the_binary_says_is_a_warning(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Patient, version="1.3.0", said="Muse Code 1.2.1 (1.2.1-R2847.1)")
    made = checks(document(tmp_path, muse=placed.muse))

    assert made["handshake"]["status"] == "warn"
    assert "1.3.0" in made["handshake"]["summary"] and "1.2.1-R2847.1" in made["handshake"]["summary"]


@pytest.mark.parametrize(
    ("stored", "status", "count"),
    [(450, "pass", "450 stored"), (6001, "warn", "6,001 stored"), (0, "pass", "0 stored")],
)
def test_stored_sessions_are_counted_page_by_page(tmp_path: Path, stored: int, status: str, count: str) -> None:
    placed = place(tmp_path / "host", Patient, stored=stored)
    made = checks(document(tmp_path, muse=placed.muse))

    assert made["sessionStore"]["status"] == status
    assert made["sessionStore"]["summary"].startswith(f"{count} session")
    pages = [frame for frame in placed.received("session/list") if "filter" not in frame["params"]]
    assert len(pages) == max(1, -(-stored // 200))


def test_a_store_without_end_is_counted_as_far_as_its_bound(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Patient, stored=10**9)
    made = checks(document(tmp_path, muse=placed.muse))

    assert made["sessionStore"]["status"] == "warn"
    assert made["sessionStore"]["details"]["complete"] is False
    assert made["sessionStore"]["summary"].startswith("At least ")


def test_a_host_that_refuses_for_lack_of_a_login_fails(tmp_path: Path) -> None:
    fault = {"at": "session/list", "do": "error", "kind": "authRequired", "message": "not logged in", "times": None}
    made = checks(document(tmp_path, MUSE_SIMULATED_FAULTS=json.dumps([fault])))

    assert (made["login"]["status"], made["sessionStore"]["status"]) == ("fail", "skipped")
    assert "muse-adapter login" in made["login"]["fix"]


# -- it changes nothing


def snapshot(home: Path) -> dict[str, tuple[int, int]]:
    return {str(path): (path.stat().st_mtime_ns, path.stat().st_size) for path in home.rglob("*")}


def test_nothing_on_disk_is_changed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    before = snapshot(tmp_path)

    document(tmp_path)
    document(tmp_path, "--read", store.session_id, store.text)

    assert snapshot(tmp_path) == before


def test_a_host_is_asked_only_what_changes_nothing(tmp_path: Path) -> None:
    placed = place(tmp_path / "host", Patient)
    home = tmp_path / "home"
    home.mkdir()
    document(home, muse=placed.muse)

    asked = placed.received()
    about = [frame for frame in asked if "sessionId" in frame.get("params", {})]
    assert {frame["params"]["sessionId"] for frame in about} == {NOBODY}
    others = {frame["method"] for frame in asked if frame not in about}
    assert others == {"initialize", "initialized", "session/list"}
    assert len(placed.pids("serve.pids")) == 1, "one host for everything"
    assert snapshot(home) == {}, "not even remembered"
    assert_gone(placed.pids())


def test_a_read_is_walked_step_by_step(tmp_path: Path) -> None:
    store = Store(tmp_path)

    found = document(tmp_path, "--read", store.session_id, store.text)

    reads = [check for check in found["checks"] if check["id"].startswith("read.")]
    assert [check["id"] for check in reads] == [f"read.{number}" for number in range(1, 14)]
    assert {check["status"] for check in reads} == {"pass"}
    stopped = document(tmp_path, "--read", store.session_id, "no-such-item")
    assert stopped["ok"] is False


# -- no secrets


def test_no_secret_is_told(tmp_path: Path) -> None:
    canary = "canary-0815-4711"
    secrets = dict.fromkeys(("META_API_KEY", "SOME_TOKEN", "DB_PASSWORD"), canary)
    values = {"MUSE_EXPERIMENTAL_THING": canary, "https_proxy": f"http://user:{canary}@proxy:3128"}
    words = f"META_API_KEY={canary} https://u:{canary}@h/ Bearer {canary}\n"
    placed = place(tmp_path / "host", Patient, said=f"{canary} is no version", stderr=words, version=f"1.2.1 {canary}")
    for arguments in ([], ["--json"], ["--log-level", "debug"]):
        for muse in (placed.muse, "simulated"):
            done = doctor(tmp_path, *arguments, muse=muse, **secrets, **values)
            assert canary.encode() not in done.stdout
            assert canary not in done.stderr
            assert b"META_API_KEY" in done.stdout, "its name is"


# -- the command line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--client", "vim"], "vim"),
        (["--client-capabilities", "/no/such/file"], "/no/such/file"),
        (["--read", "only-one"], "--read"),
        (["--wait", "0"], "--wait"),
        (["--wait", "1e9"], "--wait"),
        (["--support", "-o", "-"], "stdout has the report"),
        (["--nonsense"], "--nonsense"),
        (["more"], "more"),
    ],
)
def test_a_wrong_command_line_starts_nothing(tmp_path: Path, arguments: list[str], words: str) -> None:
    placed = place(tmp_path / "host", Patient)
    done = doctor(tmp_path, *arguments, muse=placed.muse)

    assert (done.code, done.stdout) == (2, b"")
    assert words in done.stderr and "Traceback" not in done.stderr
    assert placed.pids() == []


def test_the_clients_that_were_asked_for_are_shown(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps({"_meta": {"muse/output": 1}}))

    def clients(*arguments: str) -> list[str]:
        return [offer["client"] for offer in document(tmp_path, *arguments)["negotiation"]]

    assert clients("--client", "zed", "--client", "acpx") == ["zed", "acpx"]
    assert clients("--client-capabilities", str(file)) == ["mine"]
    assert clients("--client", "zed", "--client-capabilities", str(file)) == ["zed", "mine"]
    namesake = file.rename(tmp_path / "zed.json")
    assert clients("--client", "zed", "--client-capabilities", str(namesake)) == ["zed", "zed.json"]


def test_a_bundle_is_written_beside_the_report(tmp_path: Path) -> None:
    file = tmp_path / "bundle.zip"

    done = doctor(tmp_path, "--json", "--support", "-o", str(file))

    assert done.code == 0 and json.loads(done.stdout)["ok"] is True
    assert str(file) in done.stderr, "what was written is told beside the document"
    with zipfile.ZipFile(file) as bundle:
        assert json.loads(bundle.read("report.json"))["schema"] == 1
    again = doctor(tmp_path, "--support", "-o", str(file))
    assert again.code == 1 and f"{file} cannot be written" in again.stderr
    assert doctor(tmp_path, "-o", str(file)).code == 2, "without --support there is no such file"


@pytest.mark.skipif(os.name != "posix", reason="elsewhere paths are characters")
def test_bytes_that_are_no_characters_cost_no_report(tmp_path: Path) -> None:
    half = "caf\udce9"
    odd = {f"MUSE_{half}": "1", "XDG_CACHE_HOME": f"/nowhere/{half}", "PATH": f"/nowhere/{half}:/usr/bin:/bin"}
    for muse in ("simulated", f"/nowhere/{half}/muse"):
        found = document(tmp_path, muse=muse, **odd)
        assert_shape(found)
        assert "MUSE_caf\ufffd" in checks(found)["environment"]["details"]["set"]
        assert b"caf\xef\xbf\xbd" in doctor(tmp_path, muse=muse, **odd).stdout
    file = tmp_path / "bundle.zip"
    done = doctor(tmp_path, "--support", "-o", str(file), **odd)
    assert done.code == 0, done.stderr
    with zipfile.ZipFile(file) as bundle:
        assert all(json.loads(bundle.read(name)) for name in bundle.namelist() if name.endswith(".json"))


# -- where it goes


def test_a_terminal_gets_colours_and_a_pipe_none(tmp_path: Path) -> None:
    class Home:
        @staticmethod
        def environ(**more: str) -> dict[str, str]:
            return environ(tmp_path, **more)

    store: Any = Home()
    code, shown = on_terminal(store, "doctor")
    assert code == 0
    assert "\x1b[32m✓ pass" in shown and "─" in shown


def test_a_reader_that_has_enough_ends_it_quietly(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = start("--muse", "simulated", "doctor", environ=environ(tmp_path), stdout=writing)
    os.close(writing)
    done = ended(process)
    assert (done.code, done.stderr) == (141, "")


def test_a_full_disk_is_told(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        done = ended(start("--muse", "simulated", "doctor", environ=environ(tmp_path), stdout=full))
    assert done.code == 1
    assert done.stderr.startswith("muse-adapter: cannot write to stdout: ")


@pytest.mark.skipif(os.name != "posix", reason="it takes a shell")
@pytest.mark.parametrize(("closing", "said"), [(">&-", True), (">&- 2>&-", False), (">&- <&-", True)])
def test_a_report_that_nobody_can_get_is_no_success(tmp_path: Path, closing: str, said: bool) -> None:
    program = f'"$0" -m adapter.cli.entry --muse simulated doctor {closing}'
    done = subprocess.run(
        ["sh", "-c", program, sys.executable], env=environ(tmp_path), capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert ("closed" in done.stderr and done.stderr.count("\n") == 1) if said else done.stderr == ""


def test_warnings_of_the_adapter_do_not_reach_stdout(tmp_path: Path) -> None:
    process = begin(tmp_path, "--json", "--log-level", "debug")
    found: Json = json.loads(ended(process).stdout)
    assert found["ok"] is True
