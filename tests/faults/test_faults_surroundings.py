"""Q3, Q4: what of its surroundings the adapter hands on to whatever it starts of Muse, by which way of starting it."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from adapter.bridge.hosts.host_choice import NESTED_MARKERS
from adapter.msp.process_mark import VARIABLE
from host_probe.launch import PROBE_ENVIRONMENT
from tests.adapter_process import Json, permission, running_adapter
from tests.documents import doc
from tests.output_command import ended, start
from tests.processes import descendants

KEY: Final = "quince-medlar-4711"
HELD: Final = {
    "META_API_KEY": f"{KEY}-own",
    "OTHER_VENDOR_KEY": f"{KEY}-other",
    "HTTPS_PROXY": f"http://ada:{KEY}-proxy@proxy.invalid:3128",
    "NO_PROXY": "localhost",
    "CLAUDECODE": "1",
}
SERVERS: Final = [
    {"name": "local", "command": "/bin/true", "args": ["-v"], "env": [{"name": "DEMO_KEY", "value": f"{KEY}-env"}]},
    {
        "type": "http",
        "name": "web",
        "url": "https://mcp.invalid/",
        "headers": [{"name": "Authorization", "value": f"Bearer {KEY}-header"}],
    },
]
PROBE_WORDS: Final = ({"--version"}, {"serve", "--help"}, {"logout"})
"""What is asked of Muse beside its work."""

MUSE: Final = """#!{python} -P
import json, os, sys
with open({runs!r}, "a") as runs:
    runs.write(json.dumps({{"argv": sys.argv[1:], "environ": dict(os.environ)}}) + "\\n")
os.execv(sys.executable, [sys.executable, "-P", "-m", "adapter.hosts.simulated", "--profile", "1.4.13", *sys.argv[1:]])
"""


class Muse:
    """A simulated Muse that writes down how it is started."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / "muse"
        self._runs = directory / "runs"
        self.path.write_text(MUSE.format(python=sys.executable, runs=str(self._runs)))
        self.path.chmod(0o755)

    def runs(self) -> list[Json]:
        return [json.loads(line) for line in self._runs.read_text().splitlines()]


@pytest.fixture
def muse(tmp_path: Path) -> Iterator[Muse]:
    muse = Muse(tmp_path)
    yield muse
    # Whatever a test did with it, no run of it was told a key in its arguments.
    assert muse.runs()
    for run in muse.runs():
        assert KEY not in json.dumps(run["argv"]), run["argv"]


def serve(home: Path, muse: Muse) -> list[bytes]:
    """A conversation that starts hosts of every kind; gives the command lines that could be seen meanwhile."""
    seen: list[bytes] = []

    def answer(request: Json) -> Json:
        pids = [adapter.process.pid, *(row.pid for row in descendants(adapter.process.pid))]
        seen.extend(Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids if Path(f"/proc/{pid}").exists())
        return permission(request["params"]["options"][0]["optionId"])

    with running_adapter(home, "--log-level", "debug", muse=str(muse.path), env=HELD) as adapter:
        adapter.answer = answer
        adapter.initialize(clientCapabilities={"_meta": {"muse/output": 1}})
        session_id = adapter.call("session/new", {"cwd": str(home), "mcpServers": SERVERS})["sessionId"]
        adapter.prompt(session_id, f"approve {KEY}-prompt")
        adapter.call("logout", {})
        adapter.finish()
        # The value of the header is in no frame to the client, and no value is in the log.
        assert KEY.encode() not in adapter.stderr
    return seen


def test_q4_no_key_is_on_a_command_line(tmp_path: Path, muse: Muse) -> None:
    seen = serve(tmp_path, muse)
    assert len(seen) >= 2 and any(b"serve" in words for words in seen)
    assert not any(KEY.encode() in words for words in seen)
    assert {"serve", "logout", "--version"} <= {word for run in muse.runs() for word in run["argv"]}


@pytest.mark.parametrize("words", [["doctor"], ["login"], ["output", "ses-gone"]], ids=" ".join)
def test_q3_q4_commands_hand_on_the_same_and_no_key_in_words(tmp_path: Path, muse: Muse, words: list[str]) -> None:
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
    done = ended(start("--muse", str(muse.path), *words, environ={**environ, "HOME": str(tmp_path), **HELD}))
    assert KEY.encode() not in done.stdout and KEY not in done.stderr
    assert_policy(muse, tmp_path)


def test_q3_a_host_has_what_the_policy_says_and_nothing_else(tmp_path: Path, muse: Muse) -> None:
    serve(tmp_path, muse)
    assert_policy(muse, tmp_path)
    # MCP servers are the host's to start: what they are given is in no environment that we make.
    assert f"{KEY}-env" not in json.dumps(muse.runs()) and f"{KEY}-header" not in json.dumps(muse.runs())


def test_q3_the_policy_is_written_down() -> None:
    policy = doc("configuration.md").partition("The host gets the environment of the adapter")[2].partition("\n## ")[0]
    assert policy
    for name in (*NESTED_MARKERS, *PROBE_ENVIRONMENT):
        assert f"`{name}" in policy, name
    assert "env -u" in policy


def assert_policy(muse: Muse, home: Path) -> None:
    """Each run has our environment without the marks of nested runs, and with what is documented to be added."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MUSE_", "XDG_"))}
    wanted = {**inherited, "HOME": str(home), **HELD}
    for run in muse.runs():
        asked = any(words <= set(run["argv"]) for words in PROBE_WORDS)
        found = {name: value for name, value in run["environ"].items() if name != VARIABLE}
        # Python adds this to its own environment where no locale is set.
        found = {name: value for name, value in found.items() if name != "LC_CTYPE" or name in wanted}
        added = PROBE_ENVIRONMENT if asked else {}
        assert found == {name: value for name, value in wanted.items() if name not in NESTED_MARKERS} | added
