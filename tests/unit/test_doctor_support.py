"""The bundle for a report of a fault: what is in it, and that nothing is in it that is nobody's business."""

from __future__ import annotations

import base64
import io
import json
import os
import socket
import stat
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adapter.bridge.hosts.host_choice import HostChoice, version_cache
from adapter.cli.doctor.facts import MuseFacts
from adapter.cli.doctor.redaction import Redaction
from adapter.cli.doctor.report import Check, HostFacts, Offer, Report, Withheld
from adapter.cli.doctor.support import CONTENTS, Bundle, announcement, write
from host_probe import BinaryIdentity, HostVersion

KEY = "sk-quince-0123456789"
PHRASE = "a phrase of words that a table breaks into several lines, since it is longer than any line can be here"
ODD = 'half "quoted"\nwith \\ and a new line'
USER = "quincella"
MACHINE = "medlarhost"


class Told:
    """A machine with secrets, and everything that is told of it mentions all of them."""

    def __init__(self, tmp_path: Path) -> None:
        self.home = tmp_path / "home" / USER
        self.home.mkdir(parents=True)
        self.environ = {
            "HOME": str(self.home),
            "USER": USER,
            "HOSTNAME": MACHINE,
            "META_API_KEY": KEY,
            "ORCHARD": "plum-value-42",
            "NOTE": PHRASE,
            "ODD": ODD,
            "SHORT": "true",
            "PATH": f"{self.home}/bin:/usr/bin",
            "MUSE_EXECUTABLE": str(self.home / "bin" / "muse"),
        }
        mentioned = [*self.environ.values(), f"user={USER}", f"{USER}@{MACHINE}.example", "Bearer abcdefgh12345"]
        self.leak = " | ".join(mentioned)
        self.canaries = [KEY, "plum-value-42", PHRASE, "a phrase of words", ODD, str(self.home), USER, MACHINE]
        self.canaries += ["abcdefgh12345", json.dumps(ODD)[1:-1]]

    @property
    def choice(self) -> HostChoice:
        return HostChoice(self.environ, self.home, str(self.home / "bin" / "muse"))

    def bundle(self, **options: Any) -> Bundle:
        check = Check(
            id="handshake",
            status="fail",
            summary=f"It said {self.leak}.",
            details={"why": "Because.", "said": [{"deep": self.leak}], "seconds": 0.5},
            fix=f"Try {self.leak}.",
        )
        report = Report(
            adapter={"version": "0.1.0", "path": self.leak},
            host=HostFacts(str(self.home / "bin" / "muse"), "1.2.1", "1.2.1-R2847.1", "--muse"),
            checks=(check,),
            negotiation=(Offer(f"{USER}-editor", ("loadSession",), (Withheld("muse/output", self.leak),)),),
        )
        facts = MuseFacts(command=(str(self.home / "bin" / "muse"),), last_words=self.leak)
        given = {"muse": str(self.home / "bin" / "muse"), "log_level": "debug", "nothing": None, **options}
        return Bundle(report, facts, self.choice, given, self.environ)


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    monkeypatch.chdir(tmp_path)
    return Told(tmp_path)


def members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(file.read_bytes())) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def assert_silent(file: Path, canaries: list[str]) -> None:
    """No byte of it, packed or not, tells any of them."""
    for data in (file.read_bytes(), *members(file).values()):
        for canary in canaries:
            assert canary.encode() not in data, canary


def test_nothing_in_it_tells_a_secret_or_a_name(told: Told) -> None:
    cache = version_cache(told.choice)
    assert cache is not None
    cache.put(
        BinaryIdentity(str(told.home / "bin" / "muse"), 1, 2, 3, ("--token", KEY, ODD)),
        HostVersion("1.2.1", None, told.leak),
    )
    file = write(told.bundle(socket=told.leak))
    assert_silent(file, told.canaries)
    found = members(file)
    # It is all there, so the silence shows something.
    assert b"[hidden]" in found["report.txt"] and b"[hidden]" in found["host-stderr.txt"]
    assert b"[user]" in found["report.json"] and b"[host]" in found["report.json"]
    content = json.loads(found["remembered.json"])
    assert content["file"] == "~/.cache/muse-adapter/versions.json"
    assert content["content"]["entries"][0]["identity"]["real_path"] == "~/bin/muse"
    assert content["content"]["entries"][0]["identity"]["arguments"] == ["--token", "[hidden]", "[hidden]"]


def test_what_it_says_it_holds_is_what_it_holds(told: Told) -> None:
    found = members(write(told.bundle()))
    assert set(found) == set(CONTENTS)
    report = json.loads(found["report.json"])
    assert (report["schema"], report["ok"], report["checks"][0]["id"]) == (1, False, "handshake")
    assert report["checks"][0]["details"]["seconds"] == 0.5
    assert report["host"] == {"path": "~/bin/muse", "version": "1.2.1", "build": "1.2.1-R2847.1", "source": "--muse"}
    assert report["negotiation"][0]["offered"] == ["loadSession"]
    assert b"handshake" in found["report.txt"] and b"\x1b" not in found["report.txt"]
    adapter = json.loads(found["adapter.json"])
    assert adapter["options"] == {"muse": "~/bin/muse", "log_level": "debug"}
    assert adapter["environment"] == sorted(told.environ)
    assert json.loads(found["remembered.json"]) == {
        "file": "~/.cache/muse-adapter/versions.json",
        "problem": "there is none",
    }


def test_a_cache_that_cannot_be_used_is_told_of_and_not_packed(told: Told) -> None:
    cache = version_cache(told.choice)
    assert cache is not None
    cache.file.parent.mkdir(parents=True)
    cache.file.write_text(f'{{"entries": ["{KEY}"], "format": 2}}')
    found = members(write(told.bundle()))
    assert "problem" in json.loads(found["remembered.json"])
    assert "content" not in json.loads(found["remembered.json"])
    assert_silent(next(Path.cwd().glob("*.zip")), told.canaries)


def test_a_host_that_said_nothing_is_no_empty_file(told: Told) -> None:
    silent = Bundle(told.bundle().report, MuseFacts(), told.choice, {}, told.environ)
    assert members(write(silent))["host-stderr.txt"] == b"It said nothing."


def test_nothing_is_remembered_of_a_stand_in(told: Told) -> None:
    choice = HostChoice(told.environ, told.home, "simulated")
    found = members(write(Bundle(told.bundle().report, MuseFacts(), choice, {}, told.environ)))
    assert json.loads(found["remembered.json"]) == {"problem": "nothing is remembered of a stand-in"}


# -- the file


def test_only_its_owner_can_read_it(told: Told) -> None:
    before = os.umask(0)
    try:
        file = write(told.bundle())
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with zipfile.ZipFile(file) as archive:
        assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o600}


def test_by_default_it_has_a_name_of_its_own_here(told: Told) -> None:
    files = [write(told.bundle()) for _ in range(3)]
    assert [file.parent for file in files] == [Path()] * 3
    first = files[0].name.removesuffix(".zip")
    assert first.startswith("muse-adapter-report-20")
    assert [file.name for file in files[1:]] == [f"{first}-2.zip", f"{first}-3.zip"]
    assert all(members(file) for file in files)


def test_a_file_that_is_there_is_left_as_it_is(told: Told) -> None:
    for name, make in (("pears", lambda path: path.write_text("pears")), ("folder", Path.mkdir)):
        make(Path(name))
        with pytest.raises(FileExistsError):
            write(told.bundle(), Path(name))
    assert Path("pears").read_text() == "pears"


def test_a_link_is_not_followed(told: Told) -> None:
    Path("link.zip").symlink_to("elsewhere.zip")
    with pytest.raises(FileExistsError):
        write(told.bundle(), Path("link.zip"))
    assert not Path("elsewhere.zip").exists()


def test_where_nothing_can_be_written_nothing_is_left(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(FileNotFoundError):
        write(told.bundle(), Path("nowhere/report.zip"))

    class Full(io.BytesIO):
        def write(self, _data: Any) -> int:
            raise OSError(28, "No space left on device")

    opened = []

    def full(fd: int, _mode: str) -> Full:
        os.close(fd)
        opened.append(fd)
        return Full()

    with monkeypatch.context() as patched:
        patched.setattr("adapter.cli.doctor.support.os.fdopen", full)
        with pytest.raises(OSError, match="No space"):
            write(told.bundle(), Path("report.zip"))
    assert opened and not Path("report.zip").exists()


@pytest.mark.parametrize(
    "secret",
    ["sk-quince-0123456789", "ghp_0123456789abcdefABCD", "AKIA" + "IOSFODNN7EXAMPLE", "eyJhbGciOi.eyJzdWIi.c2ln"],
)
def test_what_only_looks_like_a_secret_is_in_no_member(told: Told, secret: str) -> None:
    """No variable holds it: it is in a path that was given, or Muse says it."""
    muse = told.home / "bin" / secret / "muse"
    cache = version_cache(told.choice)
    assert cache is not None
    cache.put(BinaryIdentity(str(muse), 1, 2, 3, ()), HostVersion("1.2.1", None, f"Muse Code 1.2.1 {secret}"))
    bundle = told.bundle(muse=str(muse))
    facts = msgspec.structs.replace(bundle.facts, last_words=f"password is {secret}\nCookie: {secret}\nso {secret}")
    file = write(msgspec.structs.replace(bundle, facts=facts))
    assert_silent(file, [secret])
    assert members(file)["host-stderr.txt"].decode().count("[hidden]") == 3


def test_what_is_in_it_and_where_it_is_is_told(told: Told) -> None:
    said = announcement(Path("pears.zip"))
    assert said.startswith("pears.zip was written")
    for name in CONTENTS:
        assert f"  {name}" in said
    assert "hidden where they were recognized" in said
    assert said.endswith(
        "What Muse has written may hold more than a program can recognize. Look through it before you send it."
    )


# -- what is hidden


def redaction(users: list[str], machines: list[str], environ: dict[str, str], home: str = "/home/anne") -> Redaction:
    return Redaction(environ, Path(home), users, machines)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/anne/work, x/home/anne, /home/annette", "~/work, x~, /home/annette"),
        ("anne, Anne, annette, anne-book, anne_1", "[user], [user], annette, [host], [user]_1"),
        ("anne-book.lan and anne-bookshelf", "[host].lan and [user]-bookshelf"),
        ("root and muse", "root and muse"),
        ("al and 3.11.7 and production", "al and 3.11.7 and production"),
        ("/usr/bin/env", "/usr/bin/env"),
        ("/srv/medlar/missing", "[hidden]"),
        ("/opt/muse/none", "/opt/muse/none"),
        ("token=abcdef", "token=[hidden]"),
    ],
)
def test_only_what_tells_something_is_hidden(text: str, shown: str) -> None:
    environ = {
        "PYTHON_VERSION": "3.11.7",
        "NODE_ENV": "production",
        "_": "/usr/bin/env",
        "CERT": "/srv/medlar/missing",
        "MUSE_EXECUTABLE": "/opt/muse/none",
    }
    hides = redaction(["anne", "root", "al", "muse"], ["anne-book", "localhost"], environ)
    assert hides.text(text) == shown


def test_a_value_within_another_one_does_not_save_it() -> None:
    hides = redaction([], [], {"SHORT": "plum-12", "LONG": "plum-12-and-more"})
    assert hides.text("plum-12-and-more, plum-12") == "[hidden], [hidden]"


@pytest.mark.parametrize(
    "told",
    [
        "it says 'a\\tb \"ü\" c'",
        'it says "a\\tb \\"ü\\" c"',
        'it says "a\\tb \\"\\u00fc\\" c"',
        'it says a b "ü" c',
        'it says a\tb "ü" c',
    ],
    ids=["quoted", "JSON", "ASCII", "folded", "itself"],
)
def test_a_value_is_found_however_it_is_spelled(told: str) -> None:
    shown = redaction([], [], {"ODD": 'a\tb "ü" c'}).text(told)
    assert "[hidden]" in shown and "ü" not in shown and "u00fc" not in shown


def test_a_value_is_found_where_its_password_is_hidden_already() -> None:
    hides = redaction([], [], {"HTTPS_PROXY": "http://anne:quince@proxy.invalid:3128"})
    assert hides.text("by http://[hidden]@proxy.invalid:3128.") == "by [hidden]."


def test_the_user_and_the_machine_are_those_that_run_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "medlar.example.org")
    monkeypatch.setenv("LOGNAME", "quincella")
    hides = Redaction.here({}, Path("/home/greengage"))
    assert (
        hides.text("greengage quincella medlar medlar.example.org /home/greengage") == "[user] [user] [host] [host] ~"
    )


def test_a_link_to_the_home_directory_is_home_as_well(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    hides = redaction([], [], {}, str(tmp_path / "link"))
    assert hides.text(f"{tmp_path}/real/a {tmp_path}/link/b") == "~/a ~/b"


def test_home_is_home_whatever_the_user_is_called() -> None:
    environ = {"HOME": "/home/ada-quince", "USER": "ada-quince", "CONFIG": "/home/ada-quince/nowhere.d"}
    hides = redaction(["ada-quince"], [], environ, "/home/ada-quince")
    assert hides.text("/home/ada-quince/bin, ada-quince, /home/ada-quince/nowhere.d") == "~/bin, [user], [hidden]"


def test_a_machine_is_hidden_by_its_short_name_as_well() -> None:
    hides = Redaction.here({"HOSTNAME": "medlarhost.orchard.example"}, Path("/home/greengage"))
    assert hides.text("on medlarhost, medlarhost.orchard.example") == "on [host], [host]"


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("DEMO_PASSWORD", "plum", "[hidden]"),
        ("DEMO_TOKEN", "production", "[hidden]"),
        ("ORCHARD", "production", "production"),
        ("DEMO_PASSWORD", "1.2.3", "[hidden]"),
        ("ORCHARD", "1.20.30", "1.20.30"),
        ("ORCHARD", "10.20.30.40", "[hidden]"),
    ],
)
def test_what_tells_nothing_depends_on_the_name(name: str, value: str, shown: str) -> None:
    assert redaction([], [], {name: value}).text(f"it is {value}.") == f"it is {shown}."


def test_a_value_in_another_code_is_a_value() -> None:
    hides = redaction([], [], {"ORCHARD": "plum value/42"})
    code = base64.b64encode(b"plum value/42").decode()
    assert hides.text(f"PLUM VALUE/42, plum%20value%2F42, plum+value%2F42, {code}") == (
        "[hidden], [hidden], [hidden], [hidden]"
    )


def test_values_keep_their_shape() -> None:
    value = {"plum-12": ["plum-12", 1, None, True, {"a": ("plum-12",)}]}
    assert redaction([], [], {"A": "plum-12"}).value(value) == {
        "plum-12": ["[hidden]", 1, None, True, {"a": ["[hidden]"]}],
    }
