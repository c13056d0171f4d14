"""The bundle of `muse-adapter doctor --support`, with a host that tells everything it knows."""

from __future__ import annotations

import json
import os
import stat
import sys
import zipfile
from pathlib import Path
from typing import Final

import orjson
import pytest

from tests.doctor_command import doctor
from tests.doctor_hosts import Patient
from tests.scripted_hosts import Json, place

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-ins are scripts")

CANARIES: Final = {
    "META_API_KEY": "canary-key-0815",
    "ORCHARD": "canary-plums and medlars, in one value",
    "HTTPS_PROXY": "http://canaryman:canary-word@proxy.invalid:3128",
    "MUSE_UNHEARD_OF": "canary\twith\ttabs",
    "USER": "quincella",
    "LOGNAME": "quincella",
    "HOSTNAME": "medlarhost",
}


KEY_BLOCK: Final = "-----BEGIN " + "PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----"
"""In two pieces, because no file of a package may hold what looks like a key."""


class Talking(Patient):
    """Tells its environment wherever it can say something."""

    def everything(self) -> str:
        return f"{os.environ['HOME']} quincella@medlarhost " + " ".join(os.environ[name] for name in CANARIES)

    def show_version(self) -> None:
        print(self.everything())
        print(f"Muse Code 1.2.1 {self.everything()}", file=sys.stderr)

    def serve(self) -> None:
        for name, value in os.environ.items():
            print(f"{name} is {value}", file=sys.stderr)
        print(self.everything(), file=sys.stderr)
        print(json.dumps(dict(os.environ)), file=sys.stderr)
        # What no variable holds.
        print("sk-canary-0123456789, password is canaryword; https://h.invalid/?sig=canarysig", file=sys.stderr)
        print(KEY_BLOCK, "Cookie: a=canary", sep="\n", file=sys.stderr)
        print("the end of it", file=sys.stderr, flush=True)
        super().serve()

    def on_initialize(self, request: Json) -> None:
        self.answer(
            request,
            serverInfo={"name": self.everything(), "version": f"1.2.1 {self.everything()}"},
            schema={"version": 1, "fingerprint": self.everything()},
            grantedCapabilities=[self.everything()],
            sandboxAvailability="unavailable",
            sandboxUnavailableReason=self.everything(),
        )

    def on_session_list(self, request: Json) -> None:
        self.refuse(request, self.everything(), self.everything())


def test_a_host_that_tells_everything_is_not_passed_on(tmp_path: Path) -> None:
    home = tmp_path / "quincella"
    home.mkdir()
    placed = place(home / "bin", Talking)
    file = tmp_path / "report.zip"
    canaries = [*CANARIES.values(), "canary", "proxy.invalid", str(home)]

    done = doctor(home, "--support", "-o", str(file), muse=placed.muse, **CANARIES)

    assert f"{file} was written" in done.stderr
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    with zipfile.ZipFile(file) as bundle:
        members = {name: bundle.read(name) for name in bundle.namelist()}
    assert b"the end of it" in members["host-stderr.txt"]
    assert b"[hidden]" in members["report.json"] and b"[hidden]" in members["host-stderr.txt"]
    for name, data in {**members, "the file itself": file.read_bytes()}.items():
        for canary in canaries:
            assert canary.encode() not in data, (name, canary)
            # As JSON writes it inside a text of the host's.
            assert json.dumps(canary)[1:-1].encode() not in data, (name, canary)
    adapter = orjson.loads(members["adapter.json"])
    assert adapter["options"]["muse"] == "~/bin/muse"
    assert set(CANARIES) <= set(adapter["environment"])
    assert orjson.loads(members["report.json"])["host"]["path"] == "~/bin/muse"


def test_a_bundle_that_cannot_be_written_fails_and_the_report_is_there_all_the_same(tmp_path: Path) -> None:
    done = doctor(tmp_path, "--json", "--support", "-o", str(tmp_path / "nowhere" / "report.zip"))
    assert done.code == 1
    assert done.stderr == f"muse-adapter: {tmp_path}/nowhere/report.zip cannot be written: No such file or directory\n"
    assert orjson.loads(done.stdout)["ok"] is True


def test_without_muse_there_is_a_bundle_as_well(tmp_path: Path) -> None:
    file = tmp_path / "report.zip"
    done = doctor(tmp_path, "--support", "-o", str(file), muse=str(tmp_path / "nowhere"))
    assert done.code == 1
    with zipfile.ZipFile(file) as bundle:
        assert bundle.read("host-stderr.txt") == b"It said nothing."
        assert b"~/nowhere" in bundle.read("report.txt")
