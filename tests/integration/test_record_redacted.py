"""A redacted recording of a real conversation has nothing in it of what is somebody's own, and plays.

To play means: a client that does the same (other words, another folder, other ids) gets the recorded answers, as many
and in the same order, with stand-ins for text; the recording ends with 0, and every number is right about its text.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson

from adapter.hosts.recorded import load_script
from tests.adapter_process import permission, running_adapter
from tests.integration.recorded_run import RECORD, SECONDS
from tests.integration.test_record_sessions import REPLAY, recording_muse, replaying_muse, script, talk_as_editor

Json = dict[str, Any]

CANARY = "hunter2"
"""In everything the user, the model, the files and the machine have."""

SERVERS = [
    {
        "name": f"{CANARY}-local",
        "command": f"/bin/{CANARY}",
        "args": [f"--token={CANARY}"],
        "env": [{"name": f"{CANARY}_KEY", "value": CANARY}],
    },
    {
        "type": "http",
        "name": f"{CANARY}-web",
        "url": f"https://{CANARY}.example/{CANARY}",
        "headers": [{"name": f"X-{CANARY}", "value": f"Bearer {CANARY}"}],
    },
]
PROMPTS = (f"say {CANARY} to everybody at /home/{CANARY}/x", "shell 300", "approve", "ask")


def converse(
    home: Path, folder: Path, muse: Path, *prompts: str, servers: list[Json] = SERVERS
) -> tuple[list[Json], str]:
    """What the client was answered, and the text it was told."""
    folder.mkdir(exist_ok=True)
    with running_adapter(home, muse=str(muse)) as adapter:
        adapter.answer = _allow
        adapter.initialize(clientCapabilities={"elicitation": {"form": {}}})
        session_id = adapter.call("session/new", {"cwd": str(folder), "mcpServers": servers})["sessionId"]
        answers = [adapter.prompt(session_id, prompt) for prompt in prompts]
        assert adapter.finish() == 0
    return answers, adapter.text()


def _allow(request: Json) -> Json:
    if request["method"] == "session/request_permission":
        return permission(request["params"]["options"][0]["optionId"])
    return {"result": {"action": "cancel"}}


def written(*directories: Path) -> bytes:
    """Every byte of everything, and all names."""
    paths = [path for directory in directories for path in directory.rglob("*") if path.is_file()]
    assert len(paths) >= 2 * len(directories)
    return b"".join(os.fsencode(path.relative_to(path.parents[1])) + path.read_bytes() for path in paths)


def test_a_recorded_host_is_redacted_and_plays_for_other_words_in_another_folder(tmp_path: Path) -> None:
    home = tmp_path / CANARY
    home.mkdir()
    recorded, told = converse(
        home, home / f"project-{CANARY}", recording_muse(tmp_path, "1.4.13", "--redact"), *PROMPTS
    )

    assert CANARY in told
    kept = written(tmp_path / "out")
    assert CANARY.encode() not in kept and b"say" not in kept and b"make-output" not in kept
    about = load_script(tmp_path / "out").manifest
    assert {"params.input[*].text", "params.workspaceRoot", "params.config.mcpServers"} <= about.variables
    assert b'"redacted": true' in kept

    own = ("other words", "and more", "and others", "and the last")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    played, text = converse(elsewhere, elsewhere / "x", replaying_muse(tmp_path, tmp_path / "out"), *own)
    assert played == recorded
    assert "serve 0" in (tmp_path / "codes").read_text().splitlines()
    assert len(text) == len(told)


def test_a_redacted_output_is_as_long_as_its_numbers_say(tmp_path: Path) -> None:
    environ = os.environ | {"HOME": str(tmp_path)}
    with running_adapter(tmp_path, muse=str(recording_muse(tmp_path, "1.2.1"))) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "shell 300000")
        assert adapter.finish() == 0
    item_id = next(update["toolCallId"] for update in adapter.updates() if "toolCallId" in update)

    def fetch(muse: Path, name: str) -> bytes:
        words = [sys.executable, "-m", "adapter.cli.entry", "--muse", str(muse), "output", session_id, item_id]
        done = subprocess.run(
            [*words, "-o", tmp_path / name],
            capture_output=True,
            timeout=SECONDS,
            check=False,
            env=environ,
            cwd=tmp_path,
        )
        assert done.returncode == 0, done.stderr
        return (tmp_path / name).read_bytes()

    simulated = [sys.executable, "-P", "-m", "adapter.hosts.simulated", "--profile", "1.2.1"]
    simulated += ["--data-dir", str(tmp_path / "data")]
    muse = script(tmp_path / "redacting", *RECORD, tmp_path / "read", "--redact", "--", *simulated)
    real, stand_in = fetch(muse, "real"), fetch(replaying_muse(tmp_path, tmp_path / "read"), "stand-in")

    assert "東京".encode() in real and len(real) == len(stand_in) == 300_000
    assert set(stand_in.decode()) <= set("x\né字")
    assert "東京" not in written(tmp_path / "read").decode()
    assert "serve 0" in (tmp_path / "codes").read_text().splitlines()


def test_a_recorded_agent_is_redacted_and_plays(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / f"home-{CANARY}", tmp_path / "elsewhere"
    home.mkdir()
    elsewhere.mkdir()
    adapter = [sys.executable, "-P", "-m", "adapter.cli.entry", "--muse", "simulated:1.2.1"]
    command = [*RECORD, str(tmp_path / "agent"), "--redact", "--", *adapter]
    first = talk_as_editor(home, command, f"say {CANARY}", "shell 300", "approve")

    assert CANARY.encode() in b"".join(first.lines)
    kept = written(tmp_path / "agent")
    assert CANARY.encode() not in kept and "東京".encode() not in kept and b"make-output" not in kept

    again = talk_as_editor(elsewhere, [*REPLAY, str(tmp_path / "agent")], "one thing", "another", "a third")
    assert again.process.returncode == 0
    assert [shape(frame) for frame in again.frames] == [shape(frame) for frame in first.frames]


def shape(frame: Json) -> tuple[Any, ...]:
    """What a frame is, whatever its text."""
    update = frame.get("params", {}).get("update", {})
    kinds = [update.get(name) for name in ("sessionUpdate", "toolCallId", "kind", "status")]
    return frame.get("method"), frame.get("id"), *kinds, frame.get("result", {}).get("stopReason")


def test_what_is_no_frame_is_redacted_too(tmp_path: Path) -> None:
    said = orjson.dumps({"id": 1, "method": "x"}) + f"\npanic at {CANARY}\n".encode() + b"\xff" + CANARY.encode()
    words = [*RECORD, str(tmp_path / "out"), "--redact", "--", "cat"]
    done = subprocess.run(words, input=said, capture_output=True, timeout=SECONDS, check=True)

    assert done.stdout == said
    assert CANARY.encode() not in written(tmp_path / "out") and b"base64" not in written(tmp_path / "out")
    assert len(load_script(tmp_path / "out").lines) == 6
