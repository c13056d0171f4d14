"""What `docs/recording.md` says of adding a verified version works, step by step."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from host_probe.surfaces import VerifiedSurface
from tests.conformance.test_verified_surfaces import missing
from tests.integration.recorded_run import SECONDS
from tests.integration.test_record_sessions import recording_muse, talk


@pytest.mark.parametrize("flags", [(), ("--redact",)], ids=["plain", "redacted"])
def test_the_recordings_that_are_made_by_the_steps_prove_the_version(tmp_path: Path, flags: tuple[str, ...]) -> None:
    muse = recording_muse(tmp_path, "1.2.1", *flags)
    adapter = talk(tmp_path, muse, "shell 300000")
    (item_id,) = {update["toolCallId"] for update in adapter.updates() if "toolCallId" in update}
    (session_id,) = {frame["params"]["sessionId"] for frame in adapter.frames if "method" in frame}

    def output(*words: str) -> int:
        command = [sys.executable, "-m", "adapter.cli.entry", "--muse", str(muse), "output", session_id, *words]
        environ = os.environ | {"HOME": str(tmp_path)}
        return subprocess.run(
            command, capture_output=True, timeout=SECONDS, check=False, env=environ, cwd=tmp_path
        ).returncode

    assert output() == 0
    assert output(item_id, "-o", "build.log") == 0
    assert output(item_id, "--offset", "13", "-o", "rest.log") == 1
    assert (tmp_path / "build.log").stat().st_size == 300_000

    for number, recording in enumerate(sorted(tmp_path.glob("out*"))):
        shutil.copytree(recording, tmp_path / "evidence" / f"{number}")
    assert missing(VerifiedSurface("1.2.1", "storedOutput", "evidence", "by the steps"), tmp_path) == []
