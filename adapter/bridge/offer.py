"""What `initialize` offers a client (`acp.md §2`), for serving and for `muse-adapter doctor` alike. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from adapter.acp.capabilities import AgentCapabilities, ClientCapabilities, PromptCapabilities
from adapter.bridge.extensions import advertised_to
from adapter.bridge.hosts.login_methods import login_methods
from adapter.bridge.stored_output.negotiation import Negotiation
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


class Settled(msgspec.Struct, frozen=True):
    """What holds for the connection from its first `initialize` on, also if the client initializes again."""

    client: ClientCapabilities
    output: Negotiation
    capabilities: AgentCapabilities

    @property
    def extensions(self) -> Params:
        """What is offered beyond the protocol."""
        return (self.output.meta() or {}) | advertised_to(self.client)


def capabilities_on(abilities: Abilities) -> AgentCapabilities:
    """What can be advertised on a host: what only some can do is offered if this one is known to."""
    return msgspec.structs.replace(
        ON_EVERY_HOST,
        fork_session="session/fork" in abilities.methods,
        delete_session="session/delete" in abilities.methods,
        additional_directories=abilities.workspace_roots,
    )


def initialize_result(settled: Settled, client: ClientCapabilities, muse: str | None, version: str) -> Params:
    """The answer to a client that says this of itself now. `muse` is which Muse the user has chosen, `version` the
    adapter's."""
    extensions = settled.extensions
    result: Params = {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": settled.capabilities.wire(extensions),
        "agentInfo": {"name": "muse-adapter", "title": "Muse Code", "version": version},
        "authMethods": login_methods(client, muse),
    }
    if extensions:
        # Clients in the field look in either place.
        result["_meta"] = extensions
    return result
