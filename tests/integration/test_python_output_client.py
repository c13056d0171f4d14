"""A client on the official Python package reads stored output through its extension call, and gets the exact bytes."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import acp
import pytest
from acp import schema

from adapter.hosts.simulated.outputs import new_output, stored_bytes
from tests.integration.test_python_acp_client import Conversation, conversation

SIZE = 300_000
KEY = "muse/output"

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    """The client knows only asyncio."""
    return "asyncio"


def opting_in() -> schema.ClientCapabilities:
    return schema.ClientCapabilities(field_meta={KEY: 1})


def handle_of(talk: Conversation, session_id: str) -> dict[str, Any]:
    """What the client was told about reading, last."""
    cards = [*talk.editor.of_type(session_id, schema.ToolCallStart)]
    cards += talk.editor.of_type(session_id, schema.ToolCallProgress)
    found = [card.field_meta[KEY] for card in cards if card.field_meta and KEY in card.field_meta]
    handle: dict[str, Any] = found[-1]
    return handle


async def read_all(talk: Conversation, handle: dict[str, Any], length: int) -> bytes:
    """Every byte, as `docs/stored-output.md` tells a client to read."""
    whole = b""
    # The package puts the underscore in front of a method of an extension.
    method = handle["method"].removeprefix("_")
    ids = {name: handle[name] for name in ("sessionId", "itemId", "outputRef")}
    while True:
        page = await talk.agent.ext_method(method, {**ids, "offsetBytes": len(whole), "lengthBytes": length})
        content = page["content"]
        whole += base64.b64decode(content) if page["encoding"] == "base64" else content.encode()
        assert len(whole) == page["offsetBytes"] + page["byteLen"]
        if page["eof"]:
            return whole


@pytest.mark.parametrize(("prompt", "recipe"), [(f"shell {SIZE}", "lines"), (f"shell binary {SIZE}", "bytes")])
@pytest.mark.parametrize("length", [65_536, 1_048_576])
async def test_300_000_bytes_arrive_as_they_are(tmp_path: Path, prompt: str, recipe: str, length: int) -> None:
    async with conversation(tmp_path, capabilities=opting_in()) as talk:
        assert talk.initialized.agent_capabilities is not None
        assert talk.initialized.agent_capabilities.field_meta == talk.initialized.field_meta
        session_id = await talk.new_session(tmp_path)
        assert await talk.prompt(session_id, prompt) == "end_turn"
        handle = handle_of(talk, session_id)
        assert await read_all(talk, handle, length) == stored_bytes(new_output(handle["itemId"], recipe, SIZE), 0, SIZE)


async def test_they_are_still_there_when_the_session_is_loaded_after_a_restart(tmp_path: Path) -> None:
    async with conversation(tmp_path, capabilities=opting_in()) as talk:
        session_id = await talk.new_session(tmp_path)
        await talk.prompt(session_id, f"shell {SIZE}")
        handle = handle_of(talk, session_id)
    async with conversation(tmp_path, capabilities=opting_in()) as talk:
        await talk.agent.load_session(cwd=str(tmp_path), session_id=session_id, mcp_servers=[])
        assert handle_of(talk, session_id) == handle
        whole = stored_bytes(new_output(handle["itemId"], "lines", SIZE), 0, SIZE)
        assert await read_all(talk, handle, 100_000) == whole


async def test_a_refusal_is_an_error_that_names_its_reason(tmp_path: Path) -> None:
    async with conversation(tmp_path, capabilities=opting_in()) as talk:
        session_id = await talk.new_session(tmp_path)
        await talk.prompt(session_id, "shell 1000")
        handle = handle_of(talk, session_id)
        with pytest.raises(acp.RequestError) as refused:
            await talk.agent.ext_method("muse/readOutput", {**handle, "offsetBytes": 1001})
        assert (refused.value.code, refused.value.data) == (
            -32602,
            {
                "reason": "offsetOutOfRange",
                "details": "offsetBytes is beyond the output's 1000 bytes",
                "byteLen": 1000,
            },
        )


async def test_a_client_that_did_not_ask_is_told_so(tmp_path: Path) -> None:
    async with conversation(tmp_path) as talk:
        session_id = await talk.new_session(tmp_path)
        await talk.prompt(session_id, "shell 1000")
        with pytest.raises(acp.RequestError) as refused:
            await talk.agent.ext_method("muse/readOutput", {"sessionId": session_id})
        assert refused.value.code == -32601
        assert refused.value.data is not None
        assert refused.value.data["reason"] == "outputNotNegotiated"
