"""What each side can do: the client's capabilities as we read them, ours as we advertise them (`acp.md §2, §16`)."""

from __future__ import annotations

from typing import Any

import msgspec

from adapter.acp.text import one_line

STORED_OUTPUT = "muse/output"
STEERING = "muse/steering"
SESSION_STEERING = "steering"
ASYNC_TASKS = "muse/asyncTasks"
"""The keys of our extensions in `_meta`, on both sides (`peers.md §2`)."""

EXTENSION_VERSION = 1

CLIENT_NAME_LENGTH = 100


class ClientCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What the client offers. Whatever it did not say, or said in an unexpected shape, is not offered."""

    read_text_file: bool = False
    write_text_file: bool = False
    terminal: bool = False
    auth_terminal: bool = False
    """It can run an interactive login, by the stable member or the older `_meta["terminal-auth"]`."""
    elicitation_form: bool = False
    elicitation_url: bool = False
    boolean_options: bool = False
    notices: bool = False
    compaction: bool = False
    terminal_output: bool = False
    """It shows output of commands that run on our side, by `_meta.terminal_output`."""
    stored_output: bool = False
    """It asked for the `muse/output` extension."""
    steering: bool = False
    """It asked for the `muse/steering` extension."""
    session_steering: bool = False
    """It asked for steering under its other name, `steering`."""
    async_tasks: bool = False
    """It asked for the `muse/asyncTasks` extension."""
    client_name: str = "unknown client"
    client_version: str = "unknown version"


def read_client(params: dict[str, Any]) -> ClientCapabilities:
    """The client's side of `initialize`. Never raises."""
    offered = _object(params, "clientCapabilities")
    fs = _object(offered, "fs")
    elicitation = _object(offered, "elicitation")
    session = _object(offered, "session")
    meta = _object(offered, "_meta")
    info = _object(params, "clientInfo")
    steering = meta.get(SESSION_STEERING)
    return ClientCapabilities(
        read_text_file=fs.get("readTextFile") is True,
        write_text_file=fs.get("writeTextFile") is True,
        terminal=offered.get("terminal") is True,
        auth_terminal=_object(offered, "auth").get("terminal") is True or meta.get("terminal-auth") is True,
        elicitation_form=_marked(elicitation, "form"),
        elicitation_url=_marked(elicitation, "url"),
        boolean_options=_marked(_object(session, "configOptions"), "boolean"),
        notices=_marked(session, "notices"),
        compaction=_marked(session, "compaction"),
        terminal_output=meta.get("terminal_output") is True,
        stored_output=_asked(meta, STORED_OUTPUT),
        steering=_asked(meta, STEERING),
        session_steering=steering is True or (type(steering) is dict and steering.get("supported") is True),
        async_tasks=_asked(meta, ASYNC_TASKS),
        client_name=_label(info, "name") or "unknown client",
        client_version=_label(info, "version") or "unknown version",
    )


def _object(members: dict[str, Any], name: str) -> dict[str, Any]:
    value = members.get(name)
    return value if type(value) is dict else {}


def _marked(members: dict[str, Any], name: str) -> bool:
    return type(members.get(name)) is dict


def _asked(meta: dict[str, Any], name: str) -> bool:
    """Whether the client speaks our version of an extension; True and 1.0 equal 1 in Python and are not 1 on the
    wire."""
    version = meta.get(name)
    return type(version) is int and version == EXTENSION_VERSION


def _label(members: dict[str, Any], name: str) -> str | None:
    value = members.get(name)
    return one_line(value, CLIENT_NAME_LENGTH) if type(value) is str else None


class PromptCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """Which blocks a prompt may hold beside text and links."""

    image: bool = False
    audio: bool = False
    embedded_context: bool = False


class AgentCapabilities(msgspec.Struct, frozen=True, kw_only=True):
    """What we advertise. The same value decides which methods exist and which params are accepted, so that
    advertised is implemented."""

    prompt: PromptCapabilities = PromptCapabilities()
    mcp_http: bool = False
    mcp_sse: bool = False
    load_session: bool = False
    list_sessions: bool = False
    resume_session: bool = False
    fork_session: bool = False
    close_session: bool = False
    delete_session: bool = False
    additional_directories: bool = False
    logout: bool = False
    modes: bool = False
    """Sessions have modes: said by `modes` in their results, not at `initialize`."""
    config_options: bool = False
    """Sessions have options: said by `configOptions` in their results, not at `initialize`."""

    def wire(self, meta: dict[str, Any] | None = None) -> dict[str, Any]:
        """The `agentCapabilities` of the `initialize` result; markers are objects, absent means no."""
        session = {
            "list": self.list_sessions,
            "resume": self.resume_session,
            "fork": self.fork_session,
            "close": self.close_session,
            "delete": self.delete_session,
            "additionalDirectories": self.additional_directories,
        }
        offered: dict[str, Any] = {
            "loadSession": self.load_session,
            "promptCapabilities": {
                "image": self.prompt.image,
                "audio": self.prompt.audio,
                "embeddedContext": self.prompt.embedded_context,
            },
            "mcpCapabilities": {"http": self.mcp_http, "sse": self.mcp_sse},
            "sessionCapabilities": {name: {} for name, is_offered in session.items() if is_offered},
        }
        if self.logout:
            offered["auth"] = {"logout": {}}
        if meta:
            offered["_meta"] = meta
        return offered
