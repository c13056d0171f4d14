"""What the simulated host has in version 1.4.2 and in no other: deletion; and what came with it (`msp.md §28.5`)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.sim_driver import Json, Refused, SimHost, items_of, methods, params_of, sim_host

NIL = "00000000-0000-0000-0000-000000000000"
NOBODY = "01900000-0000-7000-8000-00000000dead"


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SimHost]:
    """A host of that version that has shaken hands."""
    with sim_host(tmp_path / "home", "1.4.2") as running:
        running.handshake(requestedCapabilities=["sessionListStream"])
        yield running


def ended(host: SimHost, session: str) -> Json:
    """The end of a deletion, without the ids."""
    told = host.until_method("session/deleteCompleted", sessionId=session)
    return {key: told[key] for key in told if key not in ("sessionId", "commandId")}


def test_it_deletes_a_session_of_its_own_for_good(host: SimHost, tmp_path: Path) -> None:
    session = host.start()
    host.turn(session, "hello")
    assert host.command("session/delete", {"sessionId": session})["status"] == "accepted"
    assert ended(host, session) == {"outcome": "completed"}
    assert not (tmp_path / "home" / "sessions" / session).exists()
    assert host.ask("session/list")["sessions"] == []
    for method, params in (("session/read", {}), ("view/page", {"limit": 5}), ("session/resume", {})):
        with pytest.raises(Refused) as caught:
            host.command(method, {"sessionId": session, **params})
        assert caught.value.code == -32020
    with pytest.raises(Refused) as caught:
        host.command("session/delete", {"sessionId": session})
    assert (caught.value.code, caught.value.data["reason"]) == (-32030, "session_deleted")


def test_an_ack_is_not_the_end_and_a_second_deletion_meanwhile_finds_it_busy(host: SimHost) -> None:
    session = host.start()
    host.command("session/delete", {"sessionId": session})
    with pytest.raises(Refused) as caught:
        host.command("session/delete", {"sessionId": session})
    assert (caught.value.code, caught.value.data["reason"]) == (-32030, "runtime_busy")
    assert ended(host, session) == {"outcome": "completed"}
    assert methods(host.frames).count("session/deleteCompleted") == 1


def test_an_id_that_is_free_again_is_that_of_a_new_session(host: SimHost) -> None:
    for _ in range(2):
        session = host.start(sessionId="0190aaaa-0000-7000-8000-000000000003")
        host.command("session/delete", {"sessionId": session})
        assert ended(host, session) == {"outcome": "completed"}


def test_a_running_turn_keeps_its_session(host: SimHost) -> None:
    session = host.start()
    host.prompt(session, "slow 30")
    host.command("session/delete", {"sessionId": session})
    assert ended(host, session) == {"outcome": "failed", "reason": "writerBusy", "physicalChange": "none"}
    assert host.ask("session/read", {"sessionId": session})["session"]["status"] == "running"


def test_what_others_started_is_not_deleted(host: SimHost, tmp_path: Path) -> None:
    session = host.start()
    host.turn(session, "hello")
    fork = host.command("session/fork", {"sessionId": session})["session"]["sessionId"]
    host.close()
    with sim_host(tmp_path / "home", "1.4.2") as second:
        second.handshake()
        for target in (session, fork, NOBODY):
            second.command("session/delete", {"sessionId": target})
            told = ended(second, target)
            assert told == {"outcome": "failed", "reason": "ownershipUnavailable", "physicalChange": "none"}
        assert {row["sessionId"] for row in second.ask("session/list")["sessions"]} == {session, fork}


@pytest.mark.parametrize("target", [NIL, "kid", ""])
def test_only_a_uuid_that_is_not_nil_can_be_deleted(host: SimHost, target: str) -> None:
    with pytest.raises(Refused) as caught:
        host.command("session/delete", {"sessionId": target})
    assert caught.value.code == -32602


@pytest.mark.parametrize(("version", "flags"), [("1.3.0", []), ("1.4.13", []), ("1.4.2", ["--no-session-log"])])
def test_other_versions_and_hosts_that_keep_nothing_have_no_deletion(
    tmp_path: Path, version: str, flags: list[str]
) -> None:
    with sim_host(tmp_path, version, *flags) as host:
        host.handshake()
        with pytest.raises(Refused) as caught:
            host.command("session/delete", {"sessionId": NIL})
        assert caught.value.code == -32601


def test_it_filters_lists_announces_sessions_and_tells_costs_and_no_more(host: SimHost) -> None:
    session = host.start()
    assert params_of(host.frames, "session/started")[0]["session"]["sessionId"] == session
    frames = host.turn(session, "hello")
    (usage,) = params_of(frames, "session/tokenUsage")
    assert usage["cumulative"]["cost"]["usd"] > 0
    assert not any({"displayLabel", "messagePhase"} & set(item) for item in items_of(frames, "agentMessage"))
    chosen = {"sessionId": {"anyOf": [NOBODY]}}
    assert host.ask("session/list", {"filter": chosen}) == {
        "sessions": [],
        "nextCursor": None,
        "appliedFilter": chosen,
    }
    for method in ("session/leave", "userInput/interrupt", "task/list", "workflow/pause", "hook/list"):
        with pytest.raises(Refused) as caught:
            host.ask(method, {"sessionId": session})
        assert caught.value.code == -32601
    host.close()
    assert params_of(host.frames, "session/closed")[0]["reason"] == "hostShutdown"


# -- workspace roots


def folders(tmp_path: Path) -> list[str]:
    made = [tmp_path / name for name in ("first", "sécond", "third")]
    for folder in made:
        folder.mkdir()
    return [str(folder) for folder in made]


def said(host: SimHost, session: str, **params: Any) -> list[str]:
    (answer,) = items_of(host.turn(session, "roots", **params), "agentMessage")
    lines: list[str] = answer["text"].split("\n")
    return lines


def test_roots_are_kept_and_replaced_by_a_turn(host: SimHost, tmp_path: Path) -> None:
    first, second, third = folders(tmp_path)
    session = host.start(workspaceRoot=first, workspaceRoots=[first, second])
    assert said(host, session) == [first, second]
    assert said(host, session, workspaceRoots=[first, third]) == [first, third]
    assert said(host, session) == [first, third], "a replacement stays in force"
    host.kill()
    with sim_host(tmp_path / "home", "1.4.2") as again:
        again.handshake()
        again.command("session/resume", {"sessionId": session})
        assert said(again, session) == [first, third]


def test_roots_of_a_queued_turn_come_into_force_with_it(host: SimHost, tmp_path: Path) -> None:
    first, second, _ = folders(tmp_path)
    session = host.start(workspaceRoot=first)
    host.prompt(session, "slow 0.2")
    host.prompt(session, "roots", workspaceRoots=[first, second])
    assert host.until_method("turn/completed")["terminal"] == "completed"
    host.until_method("turn/completed")
    answers = [item["text"] for item in items_of(host.frames, "agentMessage")]
    assert answers[-1] == f"{first}\n{second}"


@pytest.mark.parametrize(
    "bad", [None, [], ["relative"], ["FIRST", "FIRST"], ["SECOND", "FIRST"], ["FIRST", "/no/such"]]
)
def test_roots_that_cannot_be_used_are_refused(host: SimHost, tmp_path: Path, bad: list[str] | None) -> None:
    first, second, _ = folders(tmp_path)
    named = {"FIRST": first, "SECOND": second}
    roots = None if bad is None else [named.get(one, one) for one in bad]
    session = host.start(workspaceRoot=first)
    with pytest.raises(Refused) as caught:
        host.start(workspaceRoot=first, workspaceRoots=roots)
    assert caught.value.code == -32602
    with pytest.raises(Refused) as caught:
        host.prompt(session, "roots", workspaceRoots=roots)
    assert caught.value.code == -32602
    with pytest.raises(Refused) as caught:
        host.prompt(session, "roots", workspaceRoots=[first], ifBusy="steer")
    assert caught.value.code == -32602


def test_an_older_version_knows_nothing_of_roots(tmp_path: Path) -> None:
    first, second, _ = folders(tmp_path)
    with sim_host(tmp_path / "home", "1.3.0") as host:
        host.handshake()
        session = host.start(workspaceRoot=first, workspaceRoots=[first, second])
        assert said(host, session, workspaceRoots=[first, second]) == [first]
