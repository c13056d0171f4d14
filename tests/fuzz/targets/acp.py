"""The params of a client's requests (`acp.md §4, §5, §11, §16`): a frozen view, or -32602 with the path of the member
that is wrong and nothing of what was sent; and of a prompt that is taken, every word reaches the host in its order."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from adapter.acp import params as acp
from adapter.acp.capabilities import AgentCapabilities, PromptCapabilities
from adapter.acp.content import EmbeddedText, Image, ResourceLink, Text
from adapter.bridge.slash_commands.slash import read_goal, read_slash
from adapter.bridge.stored_output.contract import MAX_BYTES, MAX_LENGTH
from adapter.bridge.stored_output.request import read_request
from adapter.bridge.tool_cards.tasks import read_request as read_task
from adapter.bridge.turns import prompt_input
from adapter.wire.envelope import INVALID_PARAMS, RpcError
from adapter.wire.framing import MSP_FRAME_CAP, encode_frame
from tests.fuzz.reading import objects

MOST_LINES: Final = 12
TELLING: Final = 16
"""Characters from which a text is not told by chance."""

OURS: Final = AgentCapabilities(
    prompt=PromptCapabilities(image=True, embedded_context=True),
    **dict.fromkeys(("mcp_http", "load_session", "list_sessions", "additional_directories"), True),
)
READERS: Final[dict[str, Callable[[dict[str, Any]], Any]]] = {
    "initialize": acp.read_initialize,
    "authenticate": acp.read_authenticate,
    "session/new": lambda params: acp.read_new_session(params, OURS),
    "session/load": lambda params: acp.read_stored_session(params, OURS),
    "session/fork": lambda params: acp.read_fork_session(params, OURS),
    "session/list": acp.read_list_sessions,
    "session/close": acp.read_close_session,
    "session/set_mode": acp.read_set_mode,
    "session/set_config_option": acp.read_set_config_option,
    "session/prompt": lambda params: acp.read_prompt_request(params, OURS),
    "session/cancel": acp.read_cancel,
    "_muse/readOutput": read_request,
    "_muse/task": read_task,
}
PATH: Final = re.compile(r"[A-Za-z_/]*(?:\[\d+\])?(?:\.[A-Za-z_/]+(?:\[\d+\])?)*")


def one(data: bytes) -> None:
    """Each line is `{"method", "params"}`."""
    for frame in objects(data)[:MOST_LINES]:
        method, params = frame.get("method"), frame.get("params")
        reader = READERS.get(method) if isinstance(method, str) else None
        if reader is None or not isinstance(params, dict):
            continue
        try:
            view = reader(params)
        except RpcError as error:
            _check_refusal(error, params)
            continue
        repr(view)
        if isinstance(view, acp.Prompt):
            _prompt(view)
        elif method == "_muse/readOutput":
            assert 0 <= view.offset <= MAX_BYTES and 1 <= view.length <= MAX_LENGTH


def _check_refusal(error: RpcError, params: dict[str, Any]) -> None:
    assert error.code == INVALID_PARAMS and error.data is not None
    assert error.data["reason"] == "invalidParams"
    assert PATH.fullmatch(error.data["field"]), error.data["field"]
    told = json.dumps([error.message, error.data], ensure_ascii=False)
    for text in _texts(params):
        assert len(text) < TELLING or text not in told, "nothing of what was sent is told"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for member in value.values() if isinstance(value, dict) else value:
            yield from _texts(member)


def _prompt(prompt: acp.Prompt) -> None:
    parts = prompt_input.input_parts(prompt.blocks)
    encode_frame({"params": {"input": parts}}, 2 * MSP_FRAME_CAP)
    whole = prompt_input.text_of(parts)
    at = 0
    for block in prompt.blocks:
        words = block.text if isinstance(block, Text | EmbeddedText) else ""
        at = whole.find(words, at)
        assert at >= 0, "every word reaches the host, in its order"
        at += len(words)
    pictures = [part["base64Data"] for part in parts if part["type"] == "image"]
    assert pictures == [block.data for block in prompt.blocks if isinstance(block, Image)]
    for block in prompt.blocks:
        if isinstance(block, ResourceLink):
            found = prompt_input._local_file(block.uri)
            assert found is None or (found[0].startswith("/") and "\0" not in found[0])
    try:
        prompt_input.require_fit(prompt.blocks, 4096 + prompt_input.ENVELOPE_BYTES)
    except RpcError as error:
        _check_refusal(error, {})
    slash = read_slash(prompt.blocks)
    if slash is not None:
        assert slash.name and not any(character.isspace() for character in slash.name)
        verb, objective = read_goal(slash.arguments)
        assert verb in ("show", "set", "edit", "pause", "resume", "clear", "refuse")
        assert objective in slash.arguments.lower() or objective in slash.arguments
