"""A host that repeats what it was told, wherever it can say something: what of it reaches the log, and the client.

The log has nothing of it, whatever it is: no value of the environment, nothing of the settings of MCP servers, no word
of a prompt. The client is told why something failed, without what the environment and the servers' settings hold.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import orjson
import pytest

from tests.adapter_process import AdapterProcess, Json, permission, running_adapter
from tests.integration.hosts_that_tell import PLACES, Telltale
from tests.scripted_hosts import place

KEPT: Final = {
    "DEMO_API_KEY": "canary-quince-0815",
    "DEMO_PASSWORD": "canary medlar with spaces",
    "HTTPS_PROXY": "http://ada:canary-plum-0815@proxy.invalid:3128",
}
"""Which nobody but the host is told. What is looked for is the canary in it."""

SERVERS: Final = [
    {
        "name": "local",
        "command": "/bin/true",
        "args": ["--token", "canary-argument-0815"],
        "env": [{"name": "ORCHARD", "value": "canary-env-0815"}, {"name": "LEVEL", "value": "info"}],
    },
    {
        "type": "http",
        "name": "web",
        "url": "https://mcp.invalid/?token=canary-query-0815",
        "headers": [{"name": "X-Orchard", "value": "canary-header-0815"}],
    },
]
PROMPT: Final = "canary-prompt-0815 said the user"
FILE: Final = "canary-file-0815"

SECRETS: Final = (
    *("canary-quince-0815", "canary medlar", "canary-plum-0815", "canary-argument-0815", "canary-env-0815"),
    *("canary-query-0815", "canary-header-0815"),
)


@pytest.mark.acp(103, 104)
@pytest.mark.parametrize("where", PLACES)
def test_q2_what_a_host_repeats_is_in_no_log_and_no_secret_of_it_in_an_error(tmp_path: Path, where: str) -> None:
    host = place(tmp_path / "host", Telltale, place=where)
    with running_adapter(tmp_path, "--log-level", "debug", muse=host.muse, env=KEPT) as adapter:
        adapter.answer = lambda request: permission("yes")
        adapter.initialize()
        converse(adapter, tmp_path, where)
        adapter.finish()
        told = b"".join(line for line in adapter.lines)
        assert [secret for secret in SECRETS if secret.encode() in told] == []
        assert b"canary" not in adapter.stderr, adapter.stderr.decode()
        assert b"Traceback" not in adapter.stderr


def converse(adapter: AdapterProcess, cwd: Path, where: str) -> None:
    """Everything that makes the host speak, as far as it lets us."""
    adapter.response(adapter.begin("session/list", {}))
    opened = adapter.response(adapter.begin("session/new", {"cwd": str(cwd), "mcpServers": SERVERS}))
    if "result" not in opened:
        return
    session_id = opened["result"]["sessionId"]
    blocks: list[Json] = [
        {"type": "text", "text": PROMPT},
        {"type": "resource", "resource": {"uri": "file:///x", "text": FILE}},
    ]
    for _ in range(2):
        prompt = adapter.begin("session/prompt", {"sessionId": session_id, "prompt": blocks})
        if where == "turn/interrupt":
            adapter.notify("session/cancel", {"sessionId": session_id})
        adapter.response(prompt)
    load = {"sessionId": session_id, "cwd": str(cwd), "mcpServers": SERVERS}
    adapter.response(adapter.begin("session/resume", load))


def test_the_host_has_something_to_tell(tmp_path: Path) -> None:
    """Else the silence would show nothing."""
    host = place(tmp_path / "host", Telltale, place="turn/start")
    with running_adapter(tmp_path, muse=host.muse, env=KEPT) as adapter:
        adapter.initialize()
        converse(adapter, tmp_path, "turn/start")
        adapter.finish()
        heard = orjson.dumps(host.received()).decode()
        assert all(secret in heard for secret in SECRETS[3:]) and PROMPT in heard and FILE in heard
        error = [frame["error"] for frame in adapter.frames if "error" in frame][-1]
        assert "[hidden]" in error["data"]["details"] and PROMPT in error["data"]["details"]
