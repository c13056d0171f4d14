"""What the requests and answers of ACP say, in words (`acp.md §2-10`); updates of a session are in the reader."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from adapter.cli.inspect.members import Members
from adapter.cli.inspect.words import after, blocks, counted, listed, quoted, read_served, read_wanted

Says = Callable[[Members], str]


def _initialize(params: Members) -> str:
    client = params.inner("clientInfo")
    return listed(
        [
            f"{client.text('name')} {client.text('version')}".strip() or "a client without a name",
            f"protocol {params.number('protocolVersion')}",
            after("can", ", ".join(name for name in params.inner("clientCapabilities").raw if name != "_meta")),
            after("extensions", ", ".join(params.inner("clientCapabilities").inner("_meta").raw)),
        ]
    )


def _initialized(result: Members) -> str:
    agent, capabilities = result.inner("agentInfo"), result.inner("agentCapabilities")
    return listed(
        [
            f"{agent.text('name')} {agent.text('version')}".strip() or "an agent without a name",
            f"protocol {result.number('protocolVersion')}",
            "loads sessions" if capabilities.flag("loadSession") else "",
            after("extensions", ", ".join(capabilities.inner("_meta").raw)),
        ]
    )


def _open(params: Members) -> str:
    servers = params.objects("mcpServers")
    return listed(
        [
            after("in", params.text("cwd")),
            after("with", ", ".join(params.texts("additionalDirectories"))),
            counted(len(servers), "MCP server") if servers else "",
        ]
    )


def _opened(result: Members) -> str:
    mode = result.inner("modes").text("currentModeId")
    options = [option.text("id") for option in result.objects("configOptions")]
    return listed(["open", after("mode", mode), after("options", " ".join(options))])


def _rows(result: Members) -> str:
    more = "more follow" if result.text("nextCursor") else ""
    return listed([counted(len(result.objects("sessions")), "session"), more])


def _option(params: Members) -> str:
    value = params.raw.get("value")
    return f"{params.text('configId')} = {value}"


def _file(params: Members) -> str:
    line = params.number("line")
    return listed([params.text("path"), "" if line is None else f"from line {line:,}"])


def _content(result: Members) -> str:
    return counted(len(result.text("content")), "character")


def _command(params: Members) -> str:
    return quoted(" ".join([params.text("command"), *params.texts("args")]))


def generic_answer(result: Members) -> str:
    """An answer of which only the form is known."""
    return "answered" if result else "done"


SAYS: Final[Mapping[str, Says]] = {
    "initialize": _initialize,
    "authenticate": lambda params: params.text("methodId"),
    "session/new": _open,
    "session/load": _open,
    "session/resume": _open,
    "session/fork": _open,
    "session/list": lambda params: listed([after("in", params.text("cwd")), after("from", params.text("cursor"))]),
    "session/prompt": lambda params: blocks(params.objects("prompt")),
    "session/set_mode": lambda params: params.text("modeId"),
    "session/set_config_option": _option,
    "_muse/readOutput": read_wanted,
    # Asked by the agent.
    "elicitation/create": lambda params: listed([quoted(params.text("message")), params.text("mode")]),
    "elicitation/complete": lambda params: params.text("elicitationId"),
    "fs/read_text_file": _file,
    "fs/write_text_file": _file,
    "terminal/create": _command,
    "terminal/output": lambda params: params.text("terminalId"),
    "terminal/wait_for_exit": lambda params: params.text("terminalId"),
    "terminal/kill": lambda params: params.text("terminalId"),
    "terminal/release": lambda params: params.text("terminalId"),
}
"""By method of a request or a notification."""

ANSWERS: Final[Mapping[str, Says]] = {
    "initialize": _initialized,
    "session/new": _opened,
    "session/load": _opened,
    "session/resume": _opened,
    "session/fork": _opened,
    "session/list": _rows,
    "session/prompt": lambda result: result.text("stopReason"),
    "_muse/readOutput": read_served,
    "elicitation/create": lambda result: result.text("action"),
    "fs/read_text_file": _content,
    "terminal/create": lambda result: result.text("terminalId"),
}
"""By method of the request that is answered."""


def _commands(update: Members) -> str:
    return counted(len(update.objects("availableCommands")), "command")


def _options(update: Members) -> str:
    options = update.objects("configOptions")
    return listed(f"{option.text('id')} = {option.raw.get('currentValue')}" for option in options)


def _plan(update: Members) -> str:
    entries = update.objects("entries")
    done = sum(1 for entry in entries if entry.text("status") == "completed")
    return f"plan: {counted(len(entries), 'entry', 'entries')}, {done:,} done"


def _usage(update: Members) -> str:
    used, window = update.number("used"), update.number("size")
    return f"{used or 0:,} of {window or 0:,} tokens in use"


UPDATES: Final[Mapping[str, Says]] = {
    "available_commands_update": _commands,
    "current_mode_update": lambda update: after("mode", update.text("currentModeId")),
    "config_option_update": _options,
    "plan": _plan,
    "usage_update": _usage,
    "session_info_update": lambda update: (
        after("title", quoted(update.text("title"))) if update.text("title") else "session facts"
    ),
    "notice": lambda update: listed([update.text("severity"), quoted(update.text("title"))]),
    "compaction_update": lambda update: after("compaction", update.text("status")),
}
"""By `sessionUpdate`, besides messages and tool calls (`acp.md §6`)."""
