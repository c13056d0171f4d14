"""Our MSP client against the official transcripts: driven through the same dialogue, it sends frames that match.

The recorded host is the judge: it goes on only while every frame of ours matches the transcript, and exits with a
code of its own otherwise.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import anyio
import pytest

from adapter.msp.errors import MspError
from adapter.msp.host import Host
from adapter.msp.host_command import HostCommand
from adapter.msp.vocabulary import METHODS
from tests import corpus

pytestmark = [corpus.needs_corpus, pytest.mark.anyio]

SECONDS = 30.0


class Dialogue:
    """The recorded client's side of a transcript, and what it was answered."""

    def __init__(self, scenario: str) -> None:
        frames = corpus.frames(scenario)
        client = [frame.message for frame in frames if frame.sender == "client"]
        self.answers = {
            frame.message["id"]: frame.message
            for frame in frames
            if frame.sender == "server" and "method" not in frame.message
        }
        self.handshake, *self.calls = [
            message for message in client if message.get("method") not in {None, "initialized"}
        ]
        self.capabilities: dict[str, Any] = self.handshake["params"].get("capabilities", {})


def recorded_host(scenario: str, capabilities: dict[str, Any]) -> Host:
    argv = [sys.executable, "-m", "adapter.hosts.recorded", str(corpus.CORPUS / scenario), "serve"]
    return Host(HostCommand(argv=argv, environ=dict(os.environ)), "1.0.0", capabilities=capabilities)


async def ask(host: Host, request: dict[str, Any]) -> dict[str, Any]:
    """What our client gets for a request of the recorded one: `{"result": …}` or `{"error": {code, kind}}`."""
    method, params = request["method"], dict(request.get("params", {}))
    try:
        if METHODS[method].kind == "command":
            command_id = params.pop("commandId")
            return {"result": await host.command(method, params, command_id=command_id)}
        return {"result": await host.query(method, params)}
    except MspError as error:
        return {"error": (error.code, error.kind)}


def recorded(answer: dict[str, Any]) -> dict[str, Any]:
    if "result" in answer:
        return {"result": answer["result"]}
    return {"error": (answer["error"]["code"], answer["error"]["data"]["kind"])}


@pytest.mark.parametrize("scenario", corpus.scenarios())
async def test_our_client_says_what_the_transcript_says(scenario: str) -> None:
    dialogue = Dialogue(scenario)
    host = recorded_host(scenario, dialogue.capabilities)
    with anyio.fail_after(SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(host.run)
            handshake = await host.ready()
            assert handshake.server_name == dialogue.answers[dialogue.handshake["id"]]["result"]["serverInfo"]["name"]
            for call in dialogue.calls:
                if "id" in call:
                    assert await ask(host, call) == recorded(dialogue.answers[call["id"]])
                else:
                    host.notify(call["method"], call["params"])
            await host.close()
    assert host.exit_code == 0
