"""The official Python client drives the simulated host: it refuses every host whose schema is not its own."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import muse_code
import pytest
from muse_code import (
    ApprovalDecisionInput,
    ApprovalFailure,
    MuseClient,
    MuseClientSpawnOptions,
    MuseGapFillError,
    ResumeSessionOptions,
    SendUserTurnOptions,
    StartSessionOptions,
    Turn,
)
from muse_code.connection import MspError
from muse_code.errors import MuseHostMismatchError

WAIT_SECONDS = 30.0
"""A bound for a hang, not a measure of speed."""


def run(work: Coroutine[Any, Any, None]) -> None:
    """Run one conversation within the bound."""
    asyncio.run(asyncio.wait_for(work, WAIT_SECONDS))


async def spawn(home: Path, profile: str = "1.4.13", *flags: str) -> MuseClient[Any]:
    """A client with its own host process."""
    options = MuseClientSpawnOptions(
        muse_bin=sys.executable,
        args=("-m", "adapter.hosts.simulated", "--profile", profile, "serve", *flags),
        client_info={"name": "official_client", "version": "1"},
        env={**os.environ, "MUSE_SIMULATED_HOME": str(home)},
        shutdown_timeout_ms=10_000,
    )
    return await MuseClient.spawn(options)


async def send(session: Any, text: str) -> Turn:
    """One prompt."""
    turn: Turn = await session.send_user_turn(SendUserTurnOptions(input=[{"type": "text", "text": text}]))
    return turn


async def terminal(turn: Turn) -> str:
    """How a turn ended."""
    outcome = await turn.completed
    assert outcome.kind == "completed"
    return outcome.params["terminal"]


def answers(session: Any) -> list[str]:
    """The assistant's messages in the client's own fold."""
    return [item["text"] for item in session.fold.items.list() if item["kind"] == "agentMessage"]


def test_it_accepts_the_handshake_streams_a_turn_and_closes_cleanly(tmp_path: Path) -> None:
    async def conversation() -> None:
        client = await spawn(tmp_path)
        result = client.initialize_result
        assert result["schema"]["fingerprint"] == muse_code.EXPECTED_SCHEMA_FINGERPRINT
        assert result["serverInfo"]["name"] == "muse-simulated-host"
        session = await client.start_session(StartSessionOptions(workspace_root=str(tmp_path)))
        turn = await send(session, "slow 0.3")
        # What came in the same read as the ack is in the fold before the turn can be listened to.
        texts = [delta["delta"] async for delta in turn.deltas()]
        assert await terminal(turn) == "completed"
        assert texts[-1] == "done ✓"
        assert answers(session) == ["This takes a while… done ✓"]
        await client.close()
        assert (await client.exit).kind == "cleanShutdown"

    run(conversation())


def test_it_refuses_an_older_host(tmp_path: Path) -> None:
    async def conversation() -> None:
        with pytest.raises(MuseHostMismatchError):
            await spawn(tmp_path, "1.3.0")

    run(conversation())


@pytest.mark.parametrize(("prompt", "stages"), [("approve", 1), ("approve3", 2)])
@pytest.mark.parametrize(("choice", "status"), [("allow_once", "completed"), ("abort", "rejected")])
def test_its_handler_answers_every_stage_of_an_approval_once(
    tmp_path: Path, prompt: str, stages: int, choice: str, status: str
) -> None:
    async def conversation() -> None:
        client = await spawn(tmp_path)
        session = await client.start_session(StartSessionOptions(workspace_root=str(tmp_path)))
        asked: list[int] = []
        failures: list[ApprovalFailure] = []

        def decide(request: Any) -> ApprovalDecisionInput:
            asked.append(request["currentRequirementId"]["sourceIndex"])
            return ApprovalDecisionInput(choice)

        session.on_approval(decide)
        session.on_approval_error(failures.append)
        turn = await send(session, prompt)
        assert await terminal(turn) == "completed"
        assert not failures
        assert len(asked) == len(set(asked)) == (stages if choice == "allow_once" else 1)
        tools = [item for item in session.fold.items.list() if item["kind"] == "toolCall"]
        assert [tool["status"] for tool in tools] == [status]
        assert len(session.fold.resolved_approvals()) == 1
        assert not session.fold.pending_approvals()
        await client.close()

    run(conversation())


def test_its_handler_answers_many_approvals_at_once(tmp_path: Path) -> None:
    async def conversation() -> None:
        client = await spawn(tmp_path)
        session = await client.start_session(StartSessionOptions(workspace_root=str(tmp_path)))

        def decide(request: Any) -> ApprovalDecisionInput:
            return ApprovalDecisionInput("abort" if "part-1" in request["rawArgs"] else "allow_once")

        session.on_approval(decide)
        assert await terminal(await send(session, "many 3")) == "completed"
        tools = [str(item["status"]) for item in session.fold.items.list() if item["kind"] == "toolCall"]
        assert sorted(tools) == ["completed", "completed", "rejected"]
        assert not session.fold.pending_approvals()
        assert answers(session)[-1] == "2 of 3 parts are made."
        await client.close()

    run(conversation())


def test_its_handler_answers_for_a_subagent(tmp_path: Path) -> None:
    async def conversation() -> None:
        client = await spawn(tmp_path)
        session = await client.start_session(StartSessionOptions(workspace_root=str(tmp_path)))
        session.on_approval(lambda request: ApprovalDecisionInput("allow_once"))
        assert await terminal(await send(session, "approve child")) == "completed"
        assert answers(session)[-1] == "The subagent has done it ✓"
        await client.close()

    run(conversation())


def test_it_resumes_in_a_second_host_and_goes_on(tmp_path: Path) -> None:
    async def conversation() -> None:
        first = await spawn(tmp_path)
        session = await first.start_session(StartSessionOptions(workspace_root=str(tmp_path)))
        await terminal(await send(session, "first"))
        session_id = session.session_id
        await first.close()
        second = await spawn(tmp_path)
        resumed = await second.resume_session(ResumeSessionOptions(session_id=session_id))
        assert await terminal(await send(resumed, "second")) == "completed"
        assert answers(resumed)[-1] == "You said: second — noted ✓"
        await second.close()

    run(conversation())


def test_an_approval_of_a_killed_host_is_answered_in_the_next_one(tmp_path: Path) -> None:
    async def conversation() -> None:
        first = await spawn(tmp_path)
        session = await first.start_session(StartSessionOptions(workspace_root=str(tmp_path)))
        opened = asyncio.Event()
        lost: list[str] = []

        async def never(request: Any) -> ApprovalDecisionInput:
            lost.append(request["approvalId"])
            opened.set()
            await asyncio.sleep(WAIT_SECONDS)
            raise AssertionError("the host is dead by then")

        session.on_approval(never)
        await send(session, "approve")
        await opened.wait()
        lease = tmp_path / "sessions" / session.session_id / "lease"
        os.kill(int(lease.read_text()), signal.SIGKILL)
        await first.exit

        found: list[str] = []

        def allow(request: Any) -> ApprovalDecisionInput:
            found.append(request["approvalId"])
            return ApprovalDecisionInput("allow_once")

        second = await spawn(tmp_path)
        resumed = await second.resume_session(ResumeSessionOptions(session.session_id, on_approval=allow))
        (turn_id,) = [item["turnId"] for item in session.fold.items.list() if item["kind"] == "toolCall"]
        assert await terminal(resumed.turn(str(turn_id))) == "completed"
        assert len(found) == 1
        assert found != lost, "an approval that is opened again has a new id"
        await second.close()
        await first.close()

    run(conversation())


def test_its_fold_fills_a_gap(tmp_path: Path) -> None:
    async def conversation() -> None:
        client = await spawn(tmp_path)
        session = await client.start_session(StartSessionOptions(workspace_root=str(tmp_path)))
        failures: list[MuseGapFillError] = []
        session.on_gap_error(failures.append)
        await terminal(await send(session, "gap 3"))
        while not session.fold.current:  # noqa: ASYNC110 -- the client says when a fill failed, not when it is done
            await asyncio.sleep(0.01)
        assert not failures
        assert [text for text in answers(session) if text.startswith("Lost")] == [
            f"Lost on the way: {index} ✗" for index in range(3)
        ]
        await client.close()

    run(conversation())


def test_every_script_that_needs_nobody_goes_through_its_fold(tmp_path: Path) -> None:
    async def conversation() -> None:
        client = await spawn(tmp_path)
        session = await client.start_session(StartSessionOptions(workspace_root=str(tmp_path)))
        prompts = ["think", "stream 500 8", "shell 100000", "edit", "todo", "subagent", "workflow", "unknown"]
        prompts += ["write a.txt Grüße", "replace a.txt Grüße Hallo", "delete a.txt", "hook blocked", "websearch"]
        prompts += ["damage", "seen", "roots", "mcp", "skills", "title Namen", "usage 900 1000", "model-mismatch other"]
        for prompt in prompts:
            assert await terminal(await send(session, prompt)) == "completed"
        failed = await (await send(session, "fail stepLimit")).completed
        assert failed.kind == "completed"
        assert failed.params["error"]["kind"] == "stepLimit"
        assert session.fold.session_state.has("session/todoListChanged")
        await client.close()

    run(conversation())


def test_a_host_error_reaches_it_with_its_kind(tmp_path: Path) -> None:
    async def conversation() -> None:
        client = await spawn(tmp_path)
        with pytest.raises(MspError) as caught:
            await client.resume_session(ResumeSessionOptions(session_id="01900000-0000-7000-8000-000000000000"))
        assert caught.value.code == -32020
        await client.close()

    run(conversation())
