"""Write `adapter/hosts/recorder/shapes.json`: what a redacted recording may keep, by where it stands.

The official types of both protocols say which members there are; what is ours, or not in them yet, is added here. A
text is kept only where a program writes it: a word of the protocol, an id, a time. `python -m tests.write_shapes`
writes the file; a test compares.

Each type has its members, each with what may stand there, several with `|` between them: `w` a word, `i` an id, `t` a
time, `f` a name or version of a program, `b` the name of a tool, `r` a reason; `m` a method, `c` its params; `s` text
that comes in pieces, `x` other text; `n` a number, true or false; `a` the arguments of a tool, as JSON; `*` anything;
`Name` an object of this type, `{Name}` one with names that are somebody's. Lists are as what is in them.
"""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path
from types import ModuleType, UnionType
from typing import Annotated, Any, Final, ForwardRef, Literal, Union, get_args, get_origin, is_typeddict

import muse_code_msp
import muse_code_msp.experimental
import orjson
from pydantic import BaseModel

from adapter.hosts.recorder.harmless import names
from adapter.hosts.recorder.redact import SHAPES
from tests.oracles import acp_schema, msp_types, removed_types

ROOT: Final = Path(__file__).resolve().parents[1]


IDS: Final = names("""
    activeTurnId after afterItemId approvalId attachmentId before boundaryCursor callId cellItemId childRunId
    childSessionId choiceId commandId compactionId configId connectionId currentModeId cursor cutCursor
    decidedByCommandId earliestCursor elicitationId expectedTurnId itemId jobId lastCommandId lastGoodTurnId lastTurnId
    latestBoundaryCursor messageId methodId modeId modelId monitorId next nextCursor optionId outputRef parentSessionId
    planId profileId providerId providerItemId requestId resumeFromRunId sessionId sideSessionId sourceCommandId
    sourceRunRecordId strategyId subagentId summarizedThrough taskId terminalId terminalRowAfterItemId throughItemId
    toolCallId traceparent turnId uploadId userInputId viewCursor workId workflowRunId
""")
"""Ids and cursors that programs make, wherever they stand."""

WORDS: Final = names("""
    availability currency decision errorKind failureKind family finishReason format kind mediaType method mimeType
    operation optOutNotificationMethods outcome requestedCapabilities resolvedBy rowKinds status terminalStatus tier
    type
""")
"""Words for which the types have no list, wherever they stand."""

TIMES: Final = names("""
    createdAt decidedAt drainedAt lastActivityAt lastAskedAt lastModified queuedAt readableAfterAt readableBeforeAt
    recordedAt releaseDate startedAt updatedAfter updatedAt voidedAt
""")

STREAMED: Final = names("""
    base64Data blob chunkBase64 content data delta diff newText oldText output summary text visibleOutput
""")
"""Text that comes in pieces, or of which pieces are read: the stand-ins must go together as they do."""

TOOLS: Final = names("tool toolName sourceTool sourceToolName")
ARGUMENTS: Final = names("args arguments rawArgs rawInput rawOutput")

OPEN: Final = names("argv env headers mcpServers")
"""Whatever their types say: other clients have others, and as many as they like."""

CALL: Final = "c"

BY_PLACE: Final[dict[tuple[str, str], str]] = {
    **{(name, "name"): "f" for name in ("ClientInfo", "ServerInfo", "Implementation")},
    **{(name, "version"): "f" for name in ("ClientInfo", "ServerInfo", "Implementation")},
    **{(name, "id"): "i" for name in ("OutputRef", "RecordPosition", "StreamRef", "SessionMode", "TerminalAuthMethod")},
    **{(name, "id"): "i" for name in ("AuthMethodAgent", "SessionConfigOptionSelect", "SessionConfigOptionBoolean")},
    ("SchemaInfo", "fingerprint"): "f",
    ("SessionListSessionIdFilter", "anyOf"): "i",
    ("ItemDeltaParams", "field"): "w",
    ("UnframedViewNotification", "method"): "m",
    ("UnframedViewNotification", "params"): CALL,
    ("ErrorData", "reason"): "r",
    ("SessionConfigOptionSelect", "category"): "w",
    ("SessionConfigOptionBoolean", "category"): "w",
    ("UserInputOptionPreview", "content"): "x",
    ("UserInputClarification", "content"): "x",
    ("ModelCost", "output"): "x",
    ("ElicitationSchema", "type"): "w",
}

OUR_META: Final = {
    "muse/output": "n|OutputHandle",
    "muse/patch": "n|OutputHandle",
    "muse/truncated": "n|Truncated",
    "muse/usage": "n|MuseUsage",
    "muse/turn": "MuseTurn",
    "muse/fork": "n|Fork",
    "muse/steering": "n|Offer",
    "muse/asyncTasks": "n|Offer",
    "muse/activeTurnId": "i",
    "muse/feedback": "x",
    "terminal_output": "n|TerminalPiece",
    "terminal_info": "TerminalPiece",
    "terminal_exit": "TerminalPiece",
    "museApprovalId": "i",
    "museTurnId": "i",
    "museItemId": "i",
    "museToolCallId": "i",
    "museUserInputId": "i",
    "museToolName": "b",
    "museDecision": "w",
    "museScope": "w",
    "traceparent": "i",
}

OURS: Final[dict[str, dict[str, str]]] = {
    "SessionNotification": {"update": "Compaction|Notice"},
    **{name: {"name": "b"} for name in ("ToolCallStart", "ToolCallProgress", "ToolCallUpdate")},
    "Frame": {
        "jsonrpc": "w",
        "id": "i|n",
        "method": "m",
        "params": CALL,
        "error": "Error",
        "emittedAtMs": "n",
        "trace": "TraceContext",
    },
    "Error": {"code": "n", "message": "x", "data": "ErrorData"},
    # Both protocols', and what the adapter adds (`docs/errors.md`, `docs/stored-output.md`).
    "ErrorData": {
        **dict.fromkeys(names("budgetSeconds byteLen eventsScanned exitCode historyExhausted limit pagesScanned"), "n"),
        "details": "x|*",
        "hostKind": "r",
        "hostReason": "r",
        "hostVersion": "f",
    },
    "Meta": OUR_META,
    "OutputHandle": {
        **dict.fromkeys(names("byteLen maxLengthBytes version"), "n"),
        **dict.fromkeys(names("sessionId itemId outputRef"), "i"),
        **dict.fromkeys(names("availability mediaType"), "w"),
        "method": "m",
    },
    "Offer": {"version": "n", "method": "m", "actionsPerTask": "n"},
    "Truncated": {"source": "w", **dict.fromkeys(names("shownBytes totalBytes headBytes tailBytes"), "n")},
    "MuseUsage": {
        **dict.fromkeys(names("promptTokens outputTokens totalTokens cacheReadTokens cacheWriteTokens partial"), "n"),
        "pressure": "w",
    },
    "MuseTurn": {"terminal": "w", "reason": "x"},
    "Fork": {"lastTurnId": "i"},
    "TerminalPiece": {"terminal_id": "i", "data": "s", "exit_code": "n", "signal": "w", "cwd": "x"},
    "ReadOutput": {"sessionId": "i", "itemId": "i", "outputRef": "i", "offsetBytes": "n", "lengthBytes": "n"},
    "ReadOutputPage": {
        **dict.fromkeys(names("sessionId itemId outputRef"), "i"),
        **dict.fromkeys(names("offsetBytes byteLen eof"), "n"),
        **dict.fromkeys(names("encoding mediaType"), "w"),
        "content": "s",
    },
    "Steer": {"sessionId": "i", "expectedTurnId": "i", "prompt": "PromptParts", "_meta": "Meta"},
    "Steered": {"status": "w", "outcome": "w", "turnId": "i", "messageId": "i"},
    "Task": {"sessionId": "i", "target": "x", "action": "w"},
    # Of the protocols, and not in the packages.
    "Notice": {"sessionUpdate": "w", "severity": "w", "title": "x", "description": "x"},
    "Compaction": {
        "sessionUpdate": "w",
        "compactionId": "i",
        "status": "w",
        "summary": "s",
        "error": "x",
        "content": "PromptParts",
    },
}

METHODS: Final[dict[str, list[str]]] = {
    "_muse/readOutput": ["ReadOutput", "ReadOutputPage"],
    "_muse/steer": ["Steer", "Steered"],
    "_session/steering": ["Steer", "Steered"],
    "_muse/task": ["Task", ""],
}


class Shapes:
    """Types as they are read, and what is made of them."""

    def __init__(self) -> None:
        self.types: dict[str, dict[str, str]] = {}
        self.methods: dict[str, list[set[str]]] = {}

    def method(self, name: str, params: str, result: str) -> None:
        """Both protocols may have one of this name."""
        said = self.methods.setdefault(name, [set(), set()])
        said[0] |= set(params.split("|"))
        said[1] |= set(result.split("|"))

    def add(self, type_name: str, members: dict[str, str]) -> str:
        """One type. Names of the two protocols do not have to be different."""
        known = self.types.setdefault(type_name, {})
        for member, kinds in members.items():
            known[member] = joined({*known.get(member, "").split("|"), *kinds.split("|")})
        return type_name

    # -- MSP

    def of_msp(self, declared: Any, owner: str, member: str) -> str:
        if isinstance(declared, ForwardRef):
            declared = declared.__forward_arg__
        if not isinstance(declared, str):
            return joined(self.typed_dict(arm) for arm in _arms(declared))
        if BY_PLACE.get((owner, member)) == CALL:
            return CALL
        kinds = set()
        for part in re.sub(r"list\[([^\]]*)\]", r"\1", declared).split(" | "):
            if part.startswith("dict[") or part == "Any" or member in OPEN:
                kinds.add("*")
            elif part in ("str", "None"):
                kinds.add(text(owner, member) if part == "str" else "")
            elif part in ("int", "float", "bool"):
                kinds.add("n")
            elif part.startswith("Literal["):
                kinds.add("w")
            else:
                kinds |= set(self.named(part).split("|"))
        return joined(kinds)

    def named(self, name: str | None) -> str:
        """What a name of the types stands for."""
        if name is None:
            return ""
        found = next(vars(module)[name] for module in MODULES if hasattr(module, name))
        if found is str:
            # An open list of words, except of ids.
            return "i" if name.endswith("Id") else "w"
        if name == "RequestId":
            return "i|n"
        if get_origin(found) is Literal:
            return "w"
        return joined(self.typed_dict(arm) for arm in _arms(found))

    def typed_dict(self, declared: Any) -> str:
        if get_origin(declared) is list:
            return "w"
        if not is_typeddict(declared):
            return "x" if declared is str else "n" if declared is int else "*"
        name: str = declared.__name__.lstrip("_")
        if name not in self.types:
            self.types[name] = {}
            members = declared.__annotations__.items()
            self.add(name, {member: self.of_msp(hint, name, member) for member, hint in members})
        return name

    # -- ACP

    def of_acp(self, declared: Any, owner: str, member: str) -> str:
        if member == "_meta":
            return "Meta"
        if member in OPEN:
            return "*"
        if member in ARGUMENTS:
            return "a"
        origin = get_origin(declared)
        if origin is Annotated:
            return self.of_acp(get_args(declared)[0], owner, member)
        if origin is Literal:
            return "w"
        if origin is dict:
            value = self.of_acp(get_args(declared)[1], owner, member)
            return "*" if value in ("", "*", "x", "s") else joined(f"{{{kind}}}" for kind in value.split("|"))
        if origin in (list, Union, UnionType):
            return joined(kind for arm in get_args(declared) for kind in self.of_acp(arm, owner, member).split("|"))
        if declared is str:
            return text(owner, member)
        if declared in (int, float, bool):
            return "n"
        if declared is type(None):
            return ""
        if isinstance(declared, type) and issubclass(declared, Enum):
            return "w"
        if isinstance(declared, type) and issubclass(declared, BaseModel):
            return self.model(declared)
        return "*"

    def model(self, declared: type[BaseModel]) -> str:
        name = declared.__name__
        if "root" in declared.model_fields:
            return self.of_acp(declared.model_fields["root"].annotation, name, "root")
        if name not in self.types:
            self.types[name] = {}
            members = {field.alias or python: field.annotation for python, field in declared.model_fields.items()}
            self.add(name, {member: self.of_acp(hint, name, member) for member, hint in members.items()})
        return name


def text(owner: str, member: str) -> str:
    """What a text is that stands there."""
    if (owner, member) in BY_PLACE:
        return BY_PLACE[owner, member]
    if member in ARGUMENTS:
        return "a"
    if member in TOOLS:
        return "b"
    for kind, those in (("i", IDS), ("w", WORDS), ("t", TIMES), ("s", STREAMED)):
        if member in those:
            return kind
    return "x"


def joined(kinds: Any) -> str:
    return "|".join(sorted({one for kind in kinds for one in kind.split("|")} - {""}))


def _arms(declared: Any) -> tuple[Any, ...]:
    return get_args(declared) if get_origin(declared) in (Union, UnionType) else (declared,)


MODULES: Final[tuple[ModuleType, ...]] = (muse_code_msp, muse_code_msp.experimental, removed_types)


def reasons() -> list[str]:
    """The words that errors have for programs, from what is written about them and from the types."""
    found = {
        word
        for module in MODULES
        for name, words in vars(module).items()
        if name.endswith("_KNOWN_VALUES") and ("KIND" in name or "REASON" in name or "OUTCOME" in name)
        for word in words
    }
    for page in ("errors.md", "stored-output.md"):
        for line in (ROOT / "docs" / page).read_text("utf-8").splitlines():
            if line.startswith("| "):
                found |= set(re.findall(r"`([a-z][A-Za-z]{3,40})`", line))
    return sorted(found)


def shapes() -> dict[str, Any]:
    """All that is in the file."""
    made = Shapes()
    for name in ("ErrorData", "TraceContext"):
        made.named(name)
    for module in MODULES:
        for name, about in getattr(module, "METHODS", {}).items():
            made.method(name, *(made.named(about[part]) for part in ("params", "result")))
        for name, about in getattr(module, "NOTIFICATIONS", {}).items():
            made.method(name, made.named(about["params"]), "")
    for name, params in msp_types.SERVER_REQUESTS.items():
        made.method(name, made.named(params), "")
    for name, (params_, result) in (acp_schema.AGENT_METHODS | acp_schema.CLIENT_METHODS).items():
        made.method(name, made.of_acp(params_, "", ""), made.of_acp(result, "", ""))
    for name, params_ in (acp_schema.AGENT_NOTIFICATIONS | acp_schema.CLIENT_NOTIFICATIONS).items():
        made.method(name, made.of_acp(params_, "", ""), "")
    for name, (params, result) in METHODS.items():
        made.method(name, params, result)
    for name, members in OURS.items():
        made.add(name, members)
    blocks = made.types["PromptRequest"]["prompt"]
    for members in made.types.values():
        for member, kinds in members.items():
            members[member] = kinds.replace("PromptParts", blocks)
    return {
        "methods": {name: [joined(params), joined(result)] for name, (params, result) in sorted(made.methods.items())},
        "reasons": reasons(),
        "types": {name: dict(sorted(members.items())) for name, members in sorted(made.types.items())},
    }


def written() -> bytes:
    """The file."""
    return orjson.dumps(shapes(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


if __name__ == "__main__":
    SHAPES.write_bytes(written())
