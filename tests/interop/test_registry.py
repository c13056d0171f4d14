"""The adapter passes what the registry of ACP agents checks, without Muse and without a login."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from tests.interop.registry import ANSWERS_THAT_COUNT, NEEDS_LOGIN, NO_METHOD, Json, login_kinds, probing
from tests.registry_entry import ENTRY

ADAPTER: Final = str(Path(sys.executable).with_name("muse-adapter"))
STARTED: Final[Json] = orjson.loads((ENTRY / "agent.json").read_bytes())["distribution"]["uvx"]
"""How the registry starts it; the program is the one named like the package."""

LISTED: Final = [str(Path(sys.executable).with_name(STARTED["package"].split("==")[0])), *STARTED.get("args", [])]
NOBODY: Final = "01900000-0000-7000-8000-00000000feed"


@pytest.mark.acp(36, 109, 25)
@pytest.mark.parametrize("muse", [[], ["--muse", "simulated"], ["--muse", "/no/such/muse"]], ids=str)
def test_the_first_line_is_an_answer_with_a_login_that_counts(tmp_path: Path, muse: list[str]) -> None:
    with probing([*LISTED, *muse], tmp_path) as agent:
        first = agent.first_line()
        assert first["jsonrpc"] == "2.0" and "error" not in first
        assert {"agent", "terminal"} == login_kinds(first)
        assert first["result"]["agentInfo"].keys() >= {"name", "version"}


def answering(answer: Json, banner: str = "") -> list[str]:
    """An agent that says the same to whatever it is asked."""
    line = orjson.dumps({"jsonrpc": "2.0", "id": 1} | answer).decode()
    return [sys.executable, "-c", f"print({banner!r}, end=''); input(); print({line!r}, flush=True); input()"]


def offering(**method: Any) -> Json:
    return {"result": {"authMethods": [{"id": "login", "name": "Log in"} | method]}}


def test_the_kind_of_a_login_is_told_as_the_registry_does(tmp_path: Path) -> None:
    told = {
        "agent": offering(),
        "terminal": offering(_meta={"terminal-auth": {}}),
    }
    for kind, answer in told.items():
        with probing(answering(answer), tmp_path) as agent:
            assert login_kinds(agent.first_line()) == {kind}


@pytest.mark.parametrize(
    "answer",
    [
        {"result": {}},
        {"result": {"authMethods": []}},
        offering(type="env_var"),
        offering(name=""),
        {"error": {"code": NEEDS_LOGIN, "message": "Authentication required"}},
    ],
    ids=str,
)
def test_an_agent_without_a_login_that_counts_is_told(tmp_path: Path, answer: Json) -> None:
    with probing(answering(answer), tmp_path) as agent:
        assert login_kinds(agent.first_line()) == set()


def test_an_agent_that_greets_first_is_told(tmp_path: Path) -> None:
    with probing(answering(offering(), "welcome\n"), tmp_path) as agent, pytest.raises(orjson.JSONDecodeError):
        agent.first_line()


def probes(cwd: Path) -> dict[str, Json]:
    """What is asked of every agent in the daily matrix."""
    stored = {"sessionId": NOBODY, "cwd": str(cwd), "mcpServers": []}
    return {
        "session/new": {"cwd": str(cwd), "mcpServers": []},
        "session/list": {},
        "session/fork": stored,
        "session/resume": stored,
        "session/stop": {"sessionId": NOBODY},
        "session/set_model": {"sessionId": NOBODY, "modelId": "m"},
    }


@pytest.mark.acp(109, 29)
@pytest.mark.parametrize("muse", ["simulated", "simulated:1.0.1", "/no/such/muse"])
def test_every_method_it_probes_is_answered_in_time_as_advertised(tmp_path: Path, muse: str) -> None:
    with probing([ADAPTER, "--muse", muse], tmp_path) as agent:
        offered = agent.first_line()["result"]["agentCapabilities"]["sessionCapabilities"]
        codes = {method: agent.code(method, params) for method, params in probes(tmp_path).items()}
    assert codes["session/stop"] == codes["session/set_model"] == NO_METHOD
    for method in ("session/list", "session/fork", "session/resume"):
        assert (codes[method] != NO_METHOD) == (method.removeprefix("session/") in offered)
        assert codes[method] in {*ANSWERS_THAT_COUNT, NO_METHOD, *({-32603} if "no/such" in muse else ())}
    assert codes["session/new"] in ({-32603} if "no/such" in muse else {None})
    assert NEEDS_LOGIN not in codes.values(), "nobody has said that there is no login"
