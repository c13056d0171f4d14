"""What was recorded plays: a client that talks to the recording sees what it saw when it talked to the recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

from adapter.hosts.recorded import Mismatch, Player, Script, load_script
from tests.adapter_process import EXIT_SECONDS, INITIALIZE, AdapterProcess, permission, running_adapter
from tests.integration.recorded_run import HELLO, RECORD, SECONDS, python, record
from tests.integration.test_python_acp_client import conversation, pick
from tests.oracles.msp_types import check_transcript
from tests.record_fixtures import Recorder, handshake, host_command, prompt_turn

Json = dict[str, Any]

REPLAY = (sys.executable, "-P", "-m", "adapter.cli.entry", "replay")

each_version = pytest.mark.parametrize("version", ["1.0.1", "1.1.1", "1.2.1", "1.3.0", "1.4.13"])


def script(path: Path, *words: str | Path, then: str = "") -> Path:
    """An executable in the place of `muse` that passes on what it is started with."""
    command = " ".join(f"'{word}'" for word in words)
    path.write_text(f'#!/bin/sh\n{"" if then else "exec "}{command} "$@"\n{then}\n')
    path.chmod(0o755)
    return path


def recording_muse(tmp_path: Path, version: str, *flags: str) -> Path:
    """The simulated host with a recorder before it, as a recording is made of the hosts an adapter starts."""
    simulated = [sys.executable, "-P", *host_command(version, home=tmp_path / "data")[1:]]
    return script(tmp_path / "muse", *RECORD, tmp_path / "out", *flags, "--", *simulated)


def replaying_muse(tmp_path: Path, directory: Path) -> Path:
    """The recording in the place of `muse`; tells the exit codes of what was served in a file."""
    codes = tmp_path / "codes"
    return script(tmp_path / "replay", *REPLAY, directory, then=f'code=$?; echo "$1 $code" >> {codes}; exit $code')


def talk(home: Path, muse: Path, *prompts: str) -> AdapterProcess:
    """A conversation with the adapter, to its end."""
    with running_adapter(home, muse=str(muse)) as adapter:
        adapter.answer = lambda request: permission(request["params"]["options"][0]["optionId"])
        adapter.initialize()
        session_id = adapter.new_session(home)
        for prompt in prompts:
            assert adapter.prompt(session_id, prompt) == {"stopReason": "end_turn"}
        assert adapter.finish() == 0
    return adapter


def seen(adapter: AdapterProcess) -> Json:
    """What a client has seen of a session in the end, however it came in pieces, without ids the adapter has made."""
    cards: dict[str, Json] = {}
    for update in adapter.updates():
        if "toolCallId" in update:
            cards.setdefault(update["toolCallId"], {}).update(update | {"sessionUpdate": "card"})
    _, session, *prompts = [frame["result"] for frame in adapter.frames if "method" not in frame]
    asked = [frame["params"] for frame in adapter.frames if "method" in frame and "id" in frame]
    for question in asked:
        del question["_meta"]["museTurnId"]
    return {
        "session": session,
        "text": adapter.text(),
        "cards": cards,
        "asked": asked,
        "prompts": prompts,
    }


# -- a Muse host


@each_version
def test_an_adapter_sees_the_same_of_a_recorded_host(tmp_path: Path, version: str) -> None:
    prompts = ("hello", "shell 300", "approve")
    first = talk(tmp_path, recording_muse(tmp_path, version), *prompts)
    again = talk(tmp_path, replaying_muse(tmp_path, tmp_path / "out"), *prompts)

    was = seen(first)
    assert seen(again) == was
    assert (len(was["cards"]), len(was["asked"]), len(was["prompts"])) == (2, 1, 3)
    assert "serve 0" in (tmp_path / "codes").read_text().splitlines()
    about = load_script(tmp_path / "out").manifest
    assert "--disable-write" in about.serve_flags
    assert about.version_output is not None and about.version_output.startswith(f"Muse Code {version} ({version}-R")


def test_no_recording_is_left_of_runs_that_only_ask(tmp_path: Path) -> None:
    muse = recording_muse(tmp_path, "1.2.1")
    version = subprocess.run([muse, "--version"], capture_output=True, timeout=SECONDS, check=True)
    flags = subprocess.run([muse, "serve", "--help"], capture_output=True, timeout=SECONDS, check=True)

    assert version.stdout == b"Muse Code 1.2.1 (1.2.1-R2847.1)\n" and b"--disable-write" in flags.stdout
    assert not (tmp_path / "out").exists()


def test_a_recording_stands_where_fixtures_stand(tmp_path: Path) -> None:
    workspace = tmp_path / "project"
    workspace.mkdir()
    out = tmp_path / "fixtures" / "hosts" / "1.2.1" / "prompt-turn"
    words = [*RECORD, str(out), "--", *host_command("1.2.1", "serve", home=tmp_path / "data")]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        host = Recorder(process)
        handshake(host)
        prompt_turn(host, workspace)
        host.leave()

    recorded = load_script(out)
    about = orjson.loads((out / "manifest.json").read_bytes())
    assert [(line.direction, line.raw) for line in recorded.lines] == [
        (entry["dir"], entry["raw"]) for entry in host.entries
    ]
    check_transcript([(line.direction, line.frame) for line in recorded.lines], profile="1.2.1", closed=True)
    assert plays(recorded)
    assert about["provenance"] == "host-recorded" and about["scenario"] == "prompt-turn"
    hello = recorded.lines[1].frame
    assert hello is not None and about["schema"] == hello["result"]["schema"]
    assert about["host"] == {"name": "muse-simulated-host", "version": "1.2.1"}


def plays(recorded: Script) -> bool:
    """Whether the recorded client's own frames play the recording to its end."""
    player = Player(recorded)
    for line in recorded.lines:
        if line.direction == "client":
            assert line.frame is not None
            answer = player.feed(line.frame)
            assert not isinstance(answer, Mismatch), str(answer)
    return player.unfinished() is None


def test_several_at_once_get_a_folder_each(tmp_path: Path) -> None:
    with ThreadPoolExecutor(6) as pool:
        done = list(pool.map(lambda _: record(tmp_path / "out", ["cat"], HELLO), range(6)))

    assert [one.returncode for one in done] == [0] * 6
    assert {path.name for path in tmp_path.iterdir()} == {"out", *(f"out-{number}" for number in range(2, 7))}
    assert all(len(load_script(path).lines) == 2 for path in tmp_path.iterdir())


def test_what_a_command_was_started_with_is_not_recorded(tmp_path: Path) -> None:
    words = [*RECORD, str(tmp_path / "out"), "--", *python("import sys; sys.stdin.read()", "--api-key", "hunter2")]
    subprocess.run(words, input=HELLO, env=os.environ | {"META_API_KEY": "hunter3"}, timeout=SECONDS, check=True)

    written = b"".join(path.read_bytes() for path in (tmp_path / "out").iterdir())
    assert b"initialize" in written and b"hunter" not in written


def test_a_version_that_never_comes_is_not_waited_for(tmp_path: Path) -> None:
    program = (
        "import sys, time\nif '--version' in sys.argv: time.sleep(600)\n"
        'sys.stdin.readline(); print(\'{"id":1,"result":{"serverInfo":{"name":"m","version":"1"}}}\')'
    )
    done = record(tmp_path / "out", python(program, "serve"), HELLO)

    about = load_script(tmp_path / "out").manifest
    assert (done.returncode, about.version_output, about.serve_flags) == (0, None, ())


# -- an ACP agent


def recorded_agent(tmp_path: Path, *flags: str) -> Path:
    """A recording of the adapter, made by an editor that has it in its settings with `record` before it."""
    adapter_ = [sys.executable, "-P", "-m", "adapter.cli.entry", "--muse", "simulated:1.2.1"]
    talk_as_editor(tmp_path, [*RECORD, str(tmp_path / "agent"), *flags, "--", *adapter_], "hello", "approve")
    return tmp_path / "agent"


def talk_as_editor(home: Path, command: Sequence[str], *prompts: str) -> AdapterProcess:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
    editor = AdapterProcess([], environ | {"HOME": str(home)}, home, command)
    try:
        editor.answer = lambda request: permission(request["params"]["options"][0]["optionId"])
        assert editor.call("initialize", INITIALIZE)["agentInfo"]["name"] == "muse-adapter"
        session_id = editor.new_session(home)
        for prompt in prompts:
            assert editor.prompt(session_id, prompt) == {"stopReason": "end_turn"}
        assert editor.finish() == 0
    finally:
        editor.kill()
    return editor


def test_an_editor_sees_the_same_of_a_recorded_agent(tmp_path: Path) -> None:
    agent = recorded_agent(tmp_path)
    first = orjson.loads((agent / "manifest.json").read_bytes())
    assert first["protocol"] == "acp" and first["host"]["name"] == "muse-adapter"
    assert "versionOutput" not in first

    said = [line.frame for line in load_script(agent).lines if line.direction == "server"]
    again = talk_as_editor(tmp_path, [*REPLAY, str(agent)], "hello", "approve")
    assert again.frames == said


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_another_client_in_another_folder_talks_to_a_recorded_agent(tmp_path: Path, anyio_backend: str) -> None:
    agent, elsewhere = recorded_agent(tmp_path), tmp_path / "elsewhere"
    elsewhere.mkdir()
    async with conversation(elsewhere, command=[*REPLAY, str(agent)]) as talking:
        talking.editor.choose = pick("allow_once")
        session_id = await talking.new_session(elsewhere)
        assert await talking.prompt(session_id, "hello") == "end_turn"
        assert talking.editor.text(session_id) == "You said: hello — noted ✓"
        assert await talking.prompt(session_id, "approve") == "end_turn"
        assert len(talking.editor.asked) == 1


# -- what replay says


def replay(*words: str | Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([*REPLAY, *words], input=stdin, capture_output=True, timeout=EXIT_SECONDS, check=False)


def test_a_recorded_agent_is_no_muse_host(tmp_path: Path) -> None:
    agent = recorded_agent(tmp_path)

    for word in ("serve", "--version"):
        done = replay(agent, word)
        assert (done.returncode, done.stdout) == (3, b"") and b"of an ACP agent" in done.stderr
    assert replay(agent).returncode == 66


def test_a_torn_end_is_said_and_the_rest_plays(tmp_path: Path) -> None:
    record(tmp_path / "out", ["cat"], HELLO)
    with (tmp_path / "out" / "transcript.ndjson").open("ab") as transcript:
        transcript.write(b'{"dir":"server","raw":"{\\"id')
    done = replay(tmp_path / "out", stdin=HELLO)

    assert (done.returncode, done.stdout) == (0, HELLO)
    assert b"ends in the middle of line 3" in done.stderr


def test_help_for_serve_names_the_flags_of_the_recorded_host(tmp_path: Path) -> None:
    record(tmp_path / "out", ["cat"], HELLO)
    about = orjson.loads((tmp_path / "out" / "manifest.json").read_bytes()) | {"serveFlags": ["--disable-everything"]}
    (tmp_path / "out" / "manifest.json").write_bytes(orjson.dumps(about))

    shown = replay(tmp_path / "out", "serve", "--help")
    assert shown.returncode == 0 and b"  --disable-everything\n" in shown.stdout
    assert replay(tmp_path / "nowhere", "serve", "--help").returncode == 0


def test_its_help_tells_the_exit_codes() -> None:
    shown = replay("--help")

    assert shown.returncode == 0 and shown.stdout.startswith(b"usage: muse-adapter replay DIR\n")
    assert b"  65  " in shown.stdout and b"  66  " in shown.stdout
