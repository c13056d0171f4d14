"""What `initialize` offers a client (`acp.md §2`), for serving and for `muse-adapter doctor` alike. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from adapter.acp.capabilities import AgentCapabilities, ClientCapabilities, PromptCapabilities
from adapter.bridge.hosts.login_methods import login_methods
from adapter.bridge.stored_output.negotiation import Negotiation
from adapter.bridge.tool_cards import tasks
from adapter.bridge.turns import steering
from adapter.wire.envelope import Params
from host_probe import Abilities

PROTOCOL_VERSION: Final = 1

ON_EVERY_HOST: Final = AgentCapabilities(
    prompt=PromptCapabilities(image=True, embedded_context=True),
    mcp_http=True,
    load_session=True,
    list_sessions=True,
    resume_session=True,
    close_session=True,
    logout=True,
    modes=True,
    config_options=True,
)


def capabilities_on(abilities: Abilities) -> AgentCapabilities:
    """What can be advertised on a host: what only some can do is offered if this one is known to."""
    return msgspec.structs.replace(
        ON_EVERY_HOST,
        fork_session="session/fork" in abilities.methods,
        delete_session="session/delete" in abilities.methods,
        additional_directories=abilities.workspace_roots,
    )


def extensions_for(client: ClientCapabilities, output: Negotiation) -> Params:
    """What is offered beyond the protocol, to a client that asked for it."""
    offered = output.meta() or {}
    return offered | steering.advertisement(client) | (tasks.advertisement() if client.async_tasks else {})


def initialize_result(
    ours: AgentCapabilities, client: ClientCapabilities, extensions: Params, muse: str | None, version: str
) -> Params:
    """The answer. `muse` is which Muse the user has chosen, `version` the adapter's."""
    result: Params = {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": ours.wire(extensions),
        "agentInfo": {"name": "muse-adapter", "title": "Muse Code", "version": version},
        "authMethods": login_methods(client, muse),
    }
    if extensions:
        # Clients in the field look in either place.
        result["_meta"] = extensions
    return result
