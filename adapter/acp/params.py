"""What a client asks for: the params of every method, checked (`acp.md §4, §11, §16`).

Each function takes the params as they came and gives a frozen view, or raises -32602 that names the field. `_meta`
never takes part, except that a valid trace context is passed on. Whether a path, a session or an option exists is not
decided here.
"""

from __future__ import annotations

import msgspec

from adapter.acp import errors
from adapter.acp.capabilities import AgentCapabilities, ClientCapabilities, read_client
from adapter.acp.content import Block, read_prompt
from adapter.acp.fields import Fields
from adapter.acp.mcp_servers import McpServer, read_mcp_servers
from adapter.acp.trace import TraceContext, read_trace
from adapter.acp.workspace import absolute_path, path_problem
from adapter.wire.envelope import Params, RpcError

MAX_PROTOCOL_VERSION = 65535

MAX_ADDITIONAL_DIRECTORIES = 64

FORK = "muse/fork"
"""The key of a cut point in `_meta` of `session/fork`."""


class Initialize(msgspec.Struct, frozen=True):
    """The newest version the client speaks, and what it can do."""

    protocol_version: int
    client: ClientCapabilities


class Authenticate(msgspec.Struct, frozen=True):
    """The login the client chose, by the id of an advertised method."""

    method_id: str


class Logout(msgspec.Struct, frozen=True):
    """Forget the login."""


class NewSession(msgspec.Struct, frozen=True):
    """The roots of the session are `cwd` and then `additional_directories`, all absolute."""

    cwd: str
    mcp_servers: tuple[McpServer, ...] = ()
    additional_directories: tuple[str, ...] = ()
    trace: TraceContext | None = None


class StoredSession(msgspec.Struct, frozen=True):
    """A session to load or to resume; its roots are those of this request, whatever they were before."""

    session_id: str
    cwd: str
    mcp_servers: tuple[McpServer, ...] = ()
    additional_directories: tuple[str, ...] = ()
    trace: TraceContext | None = None


class ForkSession(StoredSession, frozen=True):
    """A copy of a stored session, as a new one; up to `last_turn_id`, or all of it."""

    last_turn_id: str | None = None


class ListSessions(msgspec.Struct, frozen=True):
    """`cwd` filters; `cursor` is one of ours, or made up."""

    cwd: str | None = None
    cursor: str | None = None


class CloseSession(msgspec.Struct, frozen=True):
    """The session to end on this connection; it stays stored."""

    session_id: str


class DeleteSession(msgspec.Struct, frozen=True):
    """The session to take out of lists, known or not."""

    session_id: str


class SetMode(msgspec.Struct, frozen=True):
    """The mode to switch to; whether it was offered is not checked yet."""

    session_id: str
    mode_id: str


class SetConfigOption(msgspec.Struct, frozen=True):
    """`value` is a boolean exactly if the client said `type: "boolean"`."""

    session_id: str
    config_id: str
    value: str | bool


class Prompt(msgspec.Struct, frozen=True):
    """One turn; `blocks` may be empty."""

    session_id: str
    blocks: tuple[Block, ...]
    trace: TraceContext | None = None


class Cancel(msgspec.Struct, frozen=True):
    """The session whose running and queued prompts end."""

    session_id: str


def read_initialize(params: Params) -> Initialize:
    """The params of `initialize`. Only the version can be wrong; what else is not as expected counts as absent."""
    version = params.get("protocolVersion")
    if type(version) is not int:
        problem = "is required" if version is None else "must be an integer"
        raise errors.invalid_params("protocolVersion", problem)
    if not 0 <= version <= MAX_PROTOCOL_VERSION:
        raise errors.invalid_params("protocolVersion", f"must be from 0 to {MAX_PROTOCOL_VERSION}")
    return Initialize(version, read_client(params))


def read_authenticate(params: Params) -> Authenticate:
    """The params of `authenticate`."""
    return Authenticate(Fields(params).string("methodId"))


def read_logout(_params: Params) -> Logout:
    """The params of `logout`, which has none."""
    return Logout()


def read_new_session(params: Params, ours: AgentCapabilities) -> NewSession:
    """The params of `session/new`."""
    fields = Fields(params)
    return NewSession(
        cwd=absolute_path(fields, "cwd"),
        mcp_servers=read_mcp_servers(fields, ours),
        additional_directories=_additional_directories(fields, ours),
        trace=read_trace(params),
    )


def read_stored_session(params: Params, ours: AgentCapabilities) -> StoredSession:
    """The params of `session/load` and `session/resume`."""
    fields = Fields(params)
    return StoredSession(
        session_id=fields.id("sessionId"),
        cwd=absolute_path(fields, "cwd"),
        mcp_servers=read_mcp_servers(fields, ours),
        additional_directories=_additional_directories(fields, ours),
        trace=read_trace(params),
    )


def read_fork_session(params: Params, ours: AgentCapabilities) -> ForkSession:
    """The params of `session/fork`; where to cut stands in `_meta["muse/fork"].lastTurnId` (`peers.md §2`).

    Raises:
        RpcError: -32602; also for a cut point that cannot be read: a full copy would not be what was asked for.
    """
    stored = read_stored_session(params, ours)
    fields = Fields(params)
    last_turn_id = None
    if type(fields.value("_meta")) is dict and (meta := fields.object("_meta")).has(FORK):
        last_turn_id = meta.object(FORK).id("lastTurnId")
    return ForkSession(**msgspec.structs.asdict(stored), last_turn_id=last_turn_id)


def read_list_sessions(params: Params) -> ListSessions:
    """The params of `session/list`."""
    fields = Fields(params)
    cwd = absolute_path(fields, "cwd") if fields.has("cwd") else None
    return ListSessions(cwd, fields.optional_string("cursor"))


def read_close_session(params: Params) -> CloseSession:
    """The params of `session/close`."""
    return CloseSession(Fields(params).id("sessionId"))


def read_delete_session(params: Params) -> DeleteSession:
    """The params of `session/delete`."""
    return DeleteSession(Fields(params).id("sessionId"))


def read_set_mode(params: Params) -> SetMode:
    """The params of `session/set_mode`."""
    fields = Fields(params)
    return SetMode(fields.id("sessionId"), fields.string("modeId"))


def read_set_config_option(params: Params) -> SetConfigOption:
    """The params of `session/set_config_option`. A string counts as the id of a choice, whatever unknown `type` stands
    beside it (`acp.md §11`)."""
    fields = Fields(params)
    value = fields.value("value")
    if value is None:
        raise fields.refuse("value", "is required")
    if fields.value("type") == "boolean":
        if type(value) is not bool:
            raise fields.refuse("value", "must be true or false")
    elif type(value) is not str:
        raise fields.refuse("value", 'must be a string, or a boolean with type "boolean"')
    return SetConfigOption(fields.id("sessionId"), fields.string("configId"), value)


def read_prompt_request(params: Params, ours: AgentCapabilities) -> Prompt:
    """The params of `session/prompt`."""
    fields = Fields(params)
    return Prompt(fields.id("sessionId"), read_prompt(fields, ours.prompt), read_trace(params))


def read_cancel(params: Params) -> Cancel | None:
    """The params of `session/cancel`, None for unusable ones: a notification has nobody to tell."""
    try:
        return Cancel(Fields(params).id("sessionId"))
    except RpcError:
        return None


def _additional_directories(fields: Fields, ours: AgentCapabilities) -> tuple[str, ...]:
    """The extra roots of this session; what is not listed is not a root (`acp.md §4`)."""
    directories = fields.strings("additionalDirectories")
    if directories and not ours.additional_directories:
        raise fields.refuse("additionalDirectories", "additional directories are not supported by this Muse")
    if len(directories) > MAX_ADDITIONAL_DIRECTORIES:
        raise fields.refuse("additionalDirectories", f"must be at most {MAX_ADDITIONAL_DIRECTORIES}")
    for index, directory in enumerate(directories):
        problem = path_problem(directory)
        if problem is not None:
            raise fields.refuse(f"additionalDirectories[{index}]", problem)
    return directories
