"""To whom stored output is offered, and what everybody else gets: a working adapter without it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.output_clients import KEY, OPT_IN, READ, error_of, handles
from tests.processes import assert_gone, wait_until
from tests.scripted_hosts import place
from tests.storing_hosts import HANDLE, SilentHost, StoringHost

ADVERTISED = {"version": 1, "method": READ, "maxLengthBytes": 1_048_576}


def asking(value: Any) -> Json:
    """The capabilities of a client that sends this value."""
    return {"_meta": {KEY: value}}


def assert_offered(answer: Json) -> None:
    """In both places where clients look, and the same."""
    assert answer["agentCapabilities"]["_meta"][KEY] == ADVERTISED
    assert answer["_meta"][KEY] == ADVERTISED


def assert_without(adapter: AdapterProcess, cwd: Path, prompt: str, refusal: Json) -> None:
    """Nothing speaks of stored output, a read says why, and turns work as ever."""
    session_id = adapter.new_session(cwd)
    assert adapter.prompt(session_id, prompt)["stopReason"] == "end_turn"
    assert any(update["sessionUpdate"] == "tool_call" for update in adapter.updates(session_id))
    assert handles(adapter.updates(session_id)) == []
    assert not any(KEY.encode() in line for line in adapter.lines)
    params = HANDLE | {"sessionId": session_id}
    assert error_of(adapter.refused(READ, params)) == (-32601, refusal)
    assert error_of(adapter.refused(READ, {})) == (-32601, refusal), "before the params are looked at"
    # Besides the host for turns only a look at a version may be going on, and that is brief.
    wait_until(lambda: len(adapter.children()) == 1)
    assert adapter.finish() == 0


# -- the client


def test_a_client_that_asks_is_told_in_both_places(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        assert_offered(adapter.initialize(**OPT_IN))
        assert adapter.finish() == 0


NO_CAPABILITIES: list[Json] = [
    *(asking(value) for value in (True, 1.0, "1", 2, None, [1])),
    {},
    {"_meta": {}},
    {"_meta": None},
    {"_meta": 1},
    {"muse/output": 1},
    {"_meta": {"muse/outputs": 1, "muse": {"output": 1}}},
]


@pytest.mark.parametrize("capabilities", NO_CAPABILITIES, ids=repr)
def test_any_other_value_is_a_no(tmp_path: Path, capabilities: Json) -> None:
    with running_adapter(tmp_path) as adapter:
        answer = adapter.initialize(clientCapabilities=capabilities)
        assert KEY not in answer["agentCapabilities"].get("_meta", {})
        assert_without(adapter, tmp_path, "shell 20000", {"reason": "outputNotNegotiated"})


def test_a_client_without_capabilities_has_not_asked(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        assert_without(adapter, tmp_path, "shell 20000", {"reason": "outputNotNegotiated"})


def test_what_was_settled_holds_whatever_the_client_says_later(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        assert_offered(adapter.initialize(**OPT_IN))
        assert_offered(adapter.initialize())
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "shell 20000")
        handle = handles(adapter.updates(session_id))[-1]
        assert_offered(adapter.initialize(clientCapabilities=asking(2)))
        ids = {name: handle[name] for name in HANDLE}
        assert adapter.call(READ, ids)["byteLen"] == 20_000
        assert adapter.finish() == 0


def test_who_did_not_ask_at_first_cannot_ask_later(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        assert "_meta" not in adapter.initialize(**OPT_IN)
        assert_without(adapter, tmp_path, "shell 20000", {"reason": "outputNotNegotiated"})


# -- the host


@pytest.mark.parametrize(
    ("version", "build"),
    [
        ("1.0.1", "1.0.1-R1999.1"),
        ("1.1.1", "1.1.1-R2514.1"),
        ("1.3.0", "1.3.0-R3401.1"),
        ("1.4.13", "1.4.13-R5999.1"),
    ],
)
def test_no_other_version_offers_it(tmp_path: Path, version: str, build: str) -> None:
    with running_adapter(tmp_path, "--log-level", "info", muse=f"simulated:{version}") as adapter:
        assert "_meta" not in adapter.initialize(**OPT_IN)
        assert "_meta" not in adapter.initialize(**OPT_IN)
        refusal = {"reason": "outputNotAdvertised", "hostVersion": build}
        assert_without(adapter, tmp_path, "shell 20000", refusal)
        assert adapter.stderr.count(b"stored output is not offered") == 1, "the reason is logged once"


@pytest.mark.parametrize("version", ["1.2.1", "1.2.1-R9", "1.2.1-R2847.1"])
def test_the_verified_release_offers_it_whatever_its_build(tmp_path: Path, version: str) -> None:
    host = place(tmp_path / "host", StoringHost, shown=version, version=version, workspace=str(tmp_path))
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        assert_offered(adapter.initialize(**OPT_IN))
        adapter.prompt(adapter.new_session(tmp_path), "go")
        assert adapter.call(READ, HANDLE)["byteLen"] > 0
        assert adapter.finish() == 0


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Muse Code 1.2.0 (scripted)", "1.2.0"),
        ("Muse Code 1.2.10 (scripted)", "1.2.10"),
        ("Muse Code 11.2.1 (scripted)", "11.2.1"),
        ("Muse Code 1.2.1x (scripted)", None),
        ("Muse Code 1.2.1-beta (scripted)", None),
        ("Muse Code 1.2.1.4 (scripted)", None),
        ("Muse Code v1.3.0-R3401.1", "1.3.0-R3401.1"),
        ("what is your question?", None),
    ],
)
def test_a_version_that_only_looks_like_it_does_not(tmp_path: Path, line: str, told: str | None) -> None:
    host = place(tmp_path / "host", StoringHost, version_line=line, workspace=str(tmp_path))
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        assert "_meta" not in adapter.initialize(**OPT_IN)
        assert_without(adapter, tmp_path, "go", {"reason": "outputNotAdvertised", "hostVersion": told})


def test_a_host_that_does_not_say_its_version_is_not_waited_for_long(tmp_path: Path) -> None:
    host = place(tmp_path / "host", SilentHost, workspace=str(tmp_path))
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        assert "_meta" not in adapter.initialize(**OPT_IN)
        assert_without(adapter, tmp_path, "go", {"reason": "outputNotAdvertised", "hostVersion": None})
    assert_gone(host.pids())


def test_without_muse_the_adapter_answers_all_the_same(tmp_path: Path) -> None:
    with running_adapter(tmp_path, muse=str(tmp_path / "nowhere")) as adapter:
        assert "_meta" not in adapter.initialize(**OPT_IN)
        refusal = {"reason": "outputNotAdvertised", "hostVersion": None}
        assert error_of(adapter.refused(READ, HANDLE)) == (-32601, refusal)
        error = adapter.refused("session/new", {"cwd": str(tmp_path), "mcpServers": []})
        assert error["data"]["reason"] == "museNotFound"
        assert adapter.finish() == 0
