"""The checklist for agents that `docs/conformance.md` answers: its points in a few words, and which tests show them.

A test shows a point by its marker, `@pytest.mark.acp(51, 53)`. A point without a test needs a reason.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Final

TESTS: Final = Path(__file__).parent

AREAS: Final[dict[str, dict[int, str]]] = {
    "Transport and framing": {
        1: "stdout carries JSON objects of JSON-RPC 2.0 and no other byte",
        2: "lines end in LF, are UTF-8 and strict JSON",
        3: "text leaves as UTF-8; lone surrogates are replaced",
        4: "stdin and stdout may be pipes, sockets, files or terminals; stderr may be closed or unread",
        5: "input may be cut anywhere, have CRLF, blank lines and a BOM",
        6: "a line that is not JSON: -32700, and on it goes",
        7: "invalid UTF-8: -32700, and on it goes",
        8: "JSON nested very deeply: an error, and on it goes",
        9: "a bare JSON value: -32600",
        10: "a batch: one -32600, nothing of it is done",
        11: "an object that is no message: -32600",
        12: "another `jsonrpc` than 2.0: -32600",
        13: "ids that cannot be ids are refused, all others come back exactly",
        14: "an id that is still in use is refused with a null id",
        15: "one answer to each request, none to a notification",
        16: "answers to nothing are ignored",
        17: "a line that is too long: an error, bounded memory, and on it goes",
        18: "a line without end does not fill the memory",
        19: "a client that does not read stops the reading, and nothing is lost",
        20: "fast: round trips, and many updates",
        21: "the end of input ends turns, answers, hosts and the process",
        22: "the last line may lack its newline",
        23: "SIGTERM and SIGINT end it in order, without orphans",
        24: "a stdout that is gone ends it with an exit code",
        25: "quick to `initialize`, without network and login",
    },
    "Initialize": {
        26: "the answer is version 1, whatever whole number was asked for",
        27: "versions that are no whole numbers: -32602",
        28: "capabilities, agent and login methods are always told",
        29: "what is advertised works, what is not is -32601",
        30: "markers are objects, booleans are booleans",
        31: "odd capabilities of the client count as absent",
        32: "nothing before `initialize`, which may be tried again",
        33: "a second `initialize` leaves sessions alone",
        34: "a client without capabilities can have a turn",
    },
    "Authentication": {
        35: "always an `agent` method; `terminal` only where the client takes it",
        36: "what the registry checks: an empty home, the first line is the answer",
        37: "`authenticate` with an id it cannot run: -32602; else sessions work afterwards",
        38: "without a login sessions and prompts are -32000, `initialize` is not",
        39: "the login command's exit codes, wherever the word `login` stands",
        40: "after `logout` a new session is -32000, and nothing secret is left",
        41: "a login that runs out in a turn: -32000",
    },
    "Sessions": {
        42: "a `cwd` that cannot be used is refused",
        43: "the session works in its `cwd`, wherever the process runs",
        44: "ids of sessions are unique and cannot be guessed",
        45: "nothing is said of a session before its id is",
        46: "commands follow the answer",
        47: "missing and null lists of MCP servers are empty ones",
        48: "MCP servers that are taken, and those that are refused before anything is made",
        49: "an MCP server that fails does not cost the session",
        50: "additional directories: checked, exact, or refused",
        51: "`session/load` shows all, in order, before it answers",
        52: "`session/load` of an unknown id: -32002, nothing shown",
        53: "`session/load` of an open session is defined",
        54: "`session/resume` shows nothing before it answers, and the context is there",
        55: "`session/list`: filter, paging, order, no side effects",
        56: "`session/close` answers what is pending and frees what was used",
        57: "`session/delete` may be repeated",
        58: "an unknown session: -32002, in a cancel nothing",
        59: "a thousand sessions leave nothing behind",
    },
    "Prompt turn": {
        60: "blocks as advertised; others are refused by index before the host hears of them",
        61: "broken blocks are refused, extra members are not, an empty prompt is no crash",
        62: "bad base64 and unknown image types are refused",
        63: "all updates of a turn precede its answer",
        64: "a turn shows something before it ends",
        65: "stop reasons are those of the protocol, and true",
        66: "a host that fails in a turn: an error with details, and the session goes on",
        67: "two prompts at once in one session do not mix",
        68: "sessions do not wait for each other",
        69: "message ids: the same in a message, another in the next",
        70: "the chunks are the host's text, byte for byte",
        71: "slash commands work, unknown ones are text",
    },
    "Cancellation": {
        72: "a cancel in a stream is answered `cancelled`, and nothing follows",
        73: "a cancel does not wait for an open permission request",
        74: "a cancel ends the tools and their cards first",
        75: "a cancel behind its prompt in one write works; an idle one does nothing",
        76: "cancelling twice, or too late, does no harm",
        77: "`session/cancel` as a request is no crash",
        78: "`$/cancel_request` for prompts, other requests and nothing",
        79: "what we asked and no longer need is taken back",
    },
    "Updates and tool calls": {
        80: "every message is as the schema says",
        81: "a card is opened, updated, ended once, and none is left open",
        82: "kinds of tools are those of the protocol",
        83: "diffs are whole texts with absolute paths, within a bound",
        84: "places are absolute, lines begin at 1",
        85: "updates carry the whole content; long output is cut with a note",
        86: "plans are complete, and statuses move forward",
        87: "usage is whole numbers, and no size is made up",
        88: "titles: what changed, and null clears",
        89: "notices and compactions only where the client takes them",
    },
    "Permission and elicitation": {
        90: "asked before it is done, with input, title, kind, and both kinds of options",
        91: "no clear answer is no consent",
        92: "`always` holds as far as it says",
        93: "several questions at once, answered in any order",
        94: "forms only where the client has them; answers are checked",
    },
    "Options, modes, commands": {
        95: "unknown options and values: -32602; else the complete list",
        96: "boolean options only where the client has them",
        97: "modes and the mode option agree, each change is told once",
        98: "changes in a running turn are taken",
        99: "options and commands belong to their session",
    },
    "Extensions, errors, security": {
        100: "unknown methods: -32601 as requests, nothing as notifications",
        101: "`_meta` is no parameter; trace context goes through",
        102: "no members of our own on the protocol's types",
        103: "errors: a code, a sentence, and nothing secret",
        104: "logs: nothing secret, and they never block",
        105: "a fault in one request harms no other",
        106: "nothing of the client is used that it did not offer",
        107: "a hundred thousand odd lines: one answer each, flat memory",
    },
    "With others": {
        108: "acpx",
        109: "the registry's checks",
        110: "started as editors start it",
    },
}

POINTS: Final[dict[int, str]] = {number: what for area in AREAS.values() for number, what in area.items()}

REASONS: Final[dict[int, str]] = {
    20: "`make bench` measures both beside plain loops on the same machine; a limit in seconds would judge the machine",
    108: "`make interop` runs acpx with the adapter, check by check: `interop/acpx_checks.py`",
}
"""Why a point has no test here, or what else shows it."""


def shown_in(path: Path) -> Iterator[tuple[int, str]]:
    """The points that tests in a file show, with the tests' names."""
    tree = ast.parse(path.read_text("utf-8"))
    where = path.relative_to(TESTS.parent).as_posix()
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                    numbers = [*_numbers(node.decorator_list), *_numbers(method.decorator_list)]
                    yield from ((number, f"{where}::{node.name}::{method.name}") for number in numbers)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from ((number, f"{where}::{node.name}") for number in _numbers(node.decorator_list))


def _numbers(decorators: list[ast.expr]) -> Iterator[int]:
    for decorator in decorators:
        if isinstance(decorator, ast.Call) and ast.unparse(decorator.func) == "pytest.mark.acp":
            yield from (int(ast.literal_eval(argument)) for argument in decorator.args)


def shown() -> dict[int, list[str]]:
    """The tests of each point that has any, by their places in the order of files."""
    found: dict[int, list[str]] = {}
    for path in sorted(TESTS.rglob("test_*.py")):
        for number, test in shown_in(path):
            found.setdefault(number, []).append(test)
    return found


def document() -> str:
    """`docs/conformance.md`."""
    tests = shown()
    lines = [
        "# What is asked of an agent",
        "",
        "What the first version of ACP asks of an agent, and what clients rely on beyond that, in points that can be",
        "tested. The list was made for this adapter, from the specification, its schema and the registry's rules; it",
        "is nobody's official one. Beside each point stand the tests that show it, named from `tests/` on: they carry",
        "a marker, `@pytest.mark.acp(number)`, and `pytest -m acp` runs them all. `make docs` writes this page.",
    ]
    for title, points in AREAS.items():
        lines += ["", f"## {title}", "", "| | point | shown by |", "|---|---|---|"]
        lines += [f"| {number} | {what} | {_shown_by(number, tests)} |" for number, what in points.items()]
    return "\n".join(lines) + "\n"


def _shown_by(number: int, tests: dict[int, list[str]]) -> str:
    told = [f"`{test.removeprefix('tests/')}`" for test in tests.get(number, [])]
    if number in REASONS:
        told.append(REASONS[number])
    return "<br>".join(told)
