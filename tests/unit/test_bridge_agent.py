"""What the agent does before any host is asked."""

from __future__ import annotations

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import anyio
import pytest

from adapter.acp.params import Prompt
from adapter.bridge.agent import NOT_YET_OPEN, MuseAgent
from adapter.bridge.hosts.host_choice import HostChoice
from adapter.wire.background import Background
from adapter.wire.envelope import RpcError
from adapter.wire.peer import Call, Peer
from tests.wired import PATIENCE

pytestmark = pytest.mark.anyio


async def test_a_prompt_whose_session_opens_before_it_is_looked_at_is_not_told_that_it_is_being_opened() -> None:
    session: Any = SimpleNamespace(session_id="ses-1", listen=lambda: None)
    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            choice = HostChoice(environ={}, home=Path("/nowhere"), muse="simulated")
            agent = MuseAgent("0", choice, None, Background(tasks, logging.getLogger("tests")))
            agent.connect(cast(Peer, SimpleNamespace(writable=None, room=None)))
            answer = agent.admit_prompt(Prompt("ses-1", ()), cast(Call, None))
            agent._sessions.add(session)
            with pytest.raises(RpcError) as refused:
                await answer
    assert refused.value.code == -32600
    assert refused.value.data is not None and refused.value.data["details"] == NOT_YET_OPEN
