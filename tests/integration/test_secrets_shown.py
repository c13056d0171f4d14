"""What the commands for people show and write: no secret, and nothing that others on the machine can read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tests.adapter_process import running_adapter
from tests.doctor_command import doctor
from tests.integration.hosts_that_tell import Telltale
from tests.integration.test_doctor_support import CANARIES, Talking
from tests.integration.test_record_redacted import CANARY, PROMPTS, converse
from tests.integration.test_record_sessions import recording_muse
from tests.integration.test_secrets_told import KEPT, SECRETS
from tests.output_command import ended, start
from tests.scripted_hosts import place
from tests.unit.test_cli_options import muse_adapter

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the stand-ins are scripts")

SHOWN = ["canary-key-0815", "canary-word", "sk-canary", "canaryword", "canarysig", "a=canary", "\ncanary"]
"""Secrets by the name of their variable, by their place in a URL or a sentence, and by how they look."""


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["table", "json"])
def test_q2_a_doctor_shows_no_secret(tmp_path: Path, form: tuple[str, ...]) -> None:
    placed = place(tmp_path / "bin", Talking)
    done = doctor(tmp_path, *form, muse=placed.muse, **CANARIES)
    shown = done.stdout.decode() + done.stderr
    assert "[hidden]" in shown
    assert [secret for secret in SHOWN if secret in shown] == []


@pytest.mark.parametrize("where", ["spawn", "noise", "handshake", "session/list"])
@pytest.mark.parametrize("words", [("doctor",), ("output", "ses-1")], ids=["doctor", "output"])
def test_q2_a_command_shows_no_secret_of_a_host_that_fails(tmp_path: Path, where: str, words: tuple[str, ...]) -> None:
    host = place(tmp_path / "host", Telltale, place=where)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
    done = ended(start("--muse", host.muse, *words, environ={**environ, "HOME": str(tmp_path), **KEPT}))
    shown = done.stdout.decode() + done.stderr
    assert done.code != 0 or where == "session/list"
    assert [secret for secret in SECRETS if secret in shown] == []


def test_q2_nothing_is_shown_of_a_redacted_recording_and_nobody_else_can_read_one(tmp_path: Path) -> None:
    home = tmp_path / CANARY
    home.mkdir()
    converse(home, home / f"project-{CANARY}", recording_muse(tmp_path, "1.4.13", "--redact"), *PROMPTS)
    page = tmp_path / "page.html"
    shown = muse_adapter("inspect", str(tmp_path / "out"), "--html", str(page)).stdout
    shown += muse_adapter("inspect", str(tmp_path / "out")).stdout
    assert "session/start" in shown and "session/start" in page.read_text("utf-8")
    assert CANARY not in shown and CANARY not in page.read_text("utf-8")
    kept = [page, tmp_path / "out", *(tmp_path / "out").rglob("*")]
    assert [path for path in kept if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


def test_q2_the_cache_holds_no_secret_and_nobody_else_can_read_it(tmp_path: Path) -> None:
    host = place(tmp_path / "bin", Telltale, place="version")
    with running_adapter(tmp_path, muse=host.muse, env=KEPT) as adapter:
        adapter.initialize(clientCapabilities={"_meta": {"muse/output": 1}})
        adapter.new_session(tmp_path)
        assert adapter.finish() == 0
    kept = list((tmp_path / ".cache").rglob("*"))
    assert [path for path in kept if stat.S_IMODE(path.stat().st_mode) & 0o077] == []
    written = b"".join(path.read_bytes() for path in kept if path.is_file()).decode()
    assert "versions.json" in {path.name for path in kept} and "1.2.1" in written
    assert [secret for secret in SECRETS if secret in written] == []
