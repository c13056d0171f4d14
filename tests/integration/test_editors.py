"""The adapter as editors start it: by an absolute path, with the arguments and the environment of their settings, and
with what each of them says at first (`acp.md §2, §19`).

None of the editors is run here; what they send is told by their documentation and their sources.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.adapter_process import AdapterProcess, Json
from tests.documents import blocks, doc

ADAPTER: Final = Path(sys.executable).with_name("muse-adapter")
ARGS: Final = ["--muse", "simulated"]

BARE: Final = {"PATH": "/usr/bin:/bin"}
"""What a desktop gives to what it starts; HOME is added."""

FS: Final = {"fs": {"readTextFile": True, "writeTextFile": True}}


class Editor(NamedTuple):
    """What an editor says at `initialize`, the login it asks for by itself, and how it starts programs."""

    capabilities: Json
    info: Json | None
    login: str | None = None
    env: dict[str, str] = BARE
    by_shell: bool = False


EDITORS: Final[dict[str, Editor]] = {
    "Zed": Editor(
        FS | {"terminal": True, "auth": {"terminal": True}, "_meta": {"terminal_output": True, "terminal-auth": True}},
        {"name": "zed", "title": "Zed", "version": "0.210.0"},
    ),
    "JetBrains": Editor(FS | {"terminal": True}, {"name": "JetBrains.IDE", "version": "2025.3"}),
    "CodeCompanion": Editor(FS, {"name": "CodeCompanion.nvim", "version": "18.0.0"}, "muse-login"),
    "avante": Editor(FS, None, "muse-login"),
    "agent-shell": Editor(FS, None, env={"TERM": "dumb", **BARE}),
    "toad": Editor(
        FS | {"terminal": True},
        {"name": "toad", "title": "Toad", "version": "0.5.0"},
        env={"TOAD_CWD": "/", **BARE},
        by_shell=True,
    ),
}


@contextmanager
def started(editor: Editor, command: list[str], home: Path) -> Iterator[AdapterProcess]:
    """Started in a directory that is not the project's, as editors do."""
    if editor.by_shell:
        command = ["/bin/sh", "-c", shlex.join(command)]
    adapter = AdapterProcess([], {"HOME": str(home), **editor.env}, Path("/"), command)
    try:
        yield adapter
    finally:
        adapter.kill()


@pytest.mark.acp(110, 35)
@pytest.mark.parametrize("name", EDITORS)
def test_an_editor_gets_an_answer_to_its_first_prompt(tmp_path: Path, name: str) -> None:
    editor = EDITORS[name]
    project, home = tmp_path / "a project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    with started(editor, [str(ADAPTER), *ARGS], home) as adapter:
        params: Json = {"protocolVersion": 1, "clientCapabilities": editor.capabilities}
        offered = adapter.call("initialize", params | ({"clientInfo": editor.info} if editor.info else {}))
        logins = {method["id"]: method.get("type", "agent") for method in offered["authMethods"]}
        assert logins["muse-login"] == "agent"
        assert ("terminal" in logins.values()) == (name == "Zed")
        if editor.login is not None:
            assert adapter.call("authenticate", {"methodId": editor.login}) == {}
        session_id = adapter.new_session(project)
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.text(session_id) == "You said: hello — noted ✓"
        assert adapter.finish() == 0


def settings() -> list[Json]:
    """The agent of each block of settings with agent servers."""
    found = [json.loads(block) for block in blocks(doc("editors.md"), "json")]
    return [block["agent_servers"]["Muse"] for block in found if isinstance(block, dict) and "agent_servers" in block]


@pytest.mark.acp(110)
@pytest.mark.parametrize("server", settings(), ids=["Zed", "JetBrains"])
def test_the_settings_in_the_documents_start_it(tmp_path: Path, server: dict[str, Any]) -> None:
    assert server["command"].endswith("/muse-adapter")
    with started(EDITORS["Zed"], [str(ADAPTER), *server["args"], *ARGS], tmp_path) as adapter:
        assert server["env"] == {}
        adapter.initialize()
        assert adapter.prompt(adapter.new_session(tmp_path), "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0
