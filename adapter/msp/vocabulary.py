"""The words of MSP this adapter knows, as data (`msp.md §7`, `§8`, `§9`, `§13`, `§27`, `§28`).

Nothing here is used to refuse what a host sends: a host's vocabulary is open. The tables say what a word means when it
is known, and the closed enums say what we may send.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Final, Literal, NamedTuple

# First versions a name is known in. 1.2.1 was never published as a schema: its rows are what was observed on a host.
V101: Final = "1.0.1"
V121: Final = "1.2.1"
V13: Final = "1.3"
V1413: Final = "1.4.13"


class Method(NamedTuple):
    """One request we can send: commands carry a `commandId`, queries change nothing."""

    kind: Literal["command", "query"]
    since: str
    required: frozenset[str]


def _command(since: str, *required: str) -> Method:
    return Method("command", since, frozenset({"commandId", *required}))


def _query(since: str, *required: str) -> Method:
    return Method("query", since, frozenset(required))


METHODS: Final[dict[str, Method]] = {
    "initialize": _query(V101, "clientInfo"),
    # sessions
    "session/start": _command(V101),
    "session/resume": _command(V101, "sessionId"),
    "session/read": _query(V101, "sessionId"),
    "session/list": _query(V101),
    "session/fork": _command(V101, "sessionId"),
    "session/sideChat": _command(V1413, "sessionId"),
    "session/leave": _command(V1413, "sessionId"),
    "session/rename": _command(V121, "sessionId", "name"),
    "session/compact": _command(V101, "sessionId"),
    "session/setModel": _command(V101, "sessionId", "model"),
    "session/setReasoningEffort": _command(V121, "sessionId", "reasoningEffort"),
    "session/setApprovalMode": _command(V101, "sessionId", "mode"),
    "session/userShell": _command(V101, "sessionId", "commandText"),
    # turns
    "turn/start": _command(V101, "sessionId", "input"),
    "turn/steer": _command(V101, "sessionId", "expectedTurnId", "input"),
    "turn/interrupt": _command(V101, "sessionId"),
    "turn/cancel": _command(V101, "sessionId"),
    "turn/unqueue": _command(V101, "sessionId", "turnId"),
    # the view and stored output
    "view/page": _query(V101, "sessionId", "limit"),
    "view/subscribe": _query(V121, "sessionId"),
    "view/unsubscribe": _query(V101, "sessionId"),
    "item/readOutput": _query(V121, "sessionId", "itemId", "outputRef"),
    # questions the host asks
    "approval/decide": _command(V101, "sessionId", "approvalId", "requirementId", "choiceId"),
    "approval/listPending": _query(V101, "sessionId"),
    "userInput/answer": _command(V101, "sessionId", "userInputId", "answers"),
    "userInput/cancel": _command(V101, "sessionId", "userInputId"),
    "userInput/clarify": _command(V101, "sessionId", "userInputId", "clarification"),
    "userInput/interrupt": _command(V1413, "sessionId", "userInputId"),
    # catalogues
    "model/list": _query(V101),
    "usage/read": _query(V13),
    "skill/list": _query(V13, "sessionId"),
    "hook/list": _query(V1413, "sessionId"),
    "plugin/list": _query(V1413, "sessionId"),
    # goals, tasks, subagents, workflows
    "goal/set": _command(V13, "sessionId", "objective"),
    "goal/edit": _command(V13, "sessionId", "objective"),
    "goal/pause": _command(V13, "sessionId"),
    "goal/resume": _command(V13, "sessionId"),
    "goal/clear": _command(V13, "sessionId"),
    "task/background": _command(V13, "sessionId", "taskId"),
    "task/stop": _command(V13, "sessionId", "taskId"),
    "task/stopAll": _command(V13, "sessionId"),
    "task/list": _query(V1413, "sessionId"),
    "subagent/stop": _command(V101, "sessionId", "subagentId"),
    "subagent/interrupt": _command(V101, "sessionId", "subagentId"),
    "subagent/close": _command(V101, "sessionId", "subagentId"),
    "subagent/resume": _command(V101, "sessionId", "subagentId"),
    "subagent/reopen": _command(V101, "sessionId", "subagentId"),
    "subagent/readResult": _command(V101, "sessionId", "subagentId"),
    "subagent/sendMessage": _command(V101, "sessionId", "subagentId", "body"),
    "subagent/followupTask": _command(V101, "sessionId", "subagentId", "body"),
    "workflow/cancel": _command(V121, "sessionId", "workflowRunId"),
    "workflow/childControl": _command(V13, "sessionId", "workflowRunId", "childId", "attempt", "action"),
    "workflow/pause": _command(V1413, "sessionId", "workflowRunId"),
    "workflow/resume": _command(V1413, "sessionId", "workflowRunId"),
    "recap/request": _command(V1413, "sessionId"),
    "recap/cancel": _command(V1413, "sessionId"),
}


class Delivery(IntFlag):
    """How a notification travels (`msp.md §9`)."""

    VIEW = 1  # has a `viewCursor`, goes to subscribers
    DURABLE = 2  # has a `sourceRange`, `view/page` returns it
    PROTECTED = 4  # is never dropped and cannot be opted out of
    BROADCAST = 8  # host state, not bound to a subscription
    FROM_CLIENT = 16  # we send it


_VD: Final = Delivery.VIEW | Delivery.DURABLE

NOTIFICATIONS: Final[dict[str, Delivery]] = {
    "initialized": Delivery.FROM_CLIENT,
    "userInput/engaged": Delivery.FROM_CLIENT,
    "turn/started": _VD,
    "turn/completed": _VD,
    "turn/unqueued": _VD,
    "turn/retracted": _VD,
    "turn/retryScheduled": _VD,
    "turn/modelRetryScheduled": _VD,
    "turn/foregroundCompleted": _VD,
    "item/started": _VD,  # of a delta-streamed kind it may come without a `sourceRange`
    "item/updated": _VD,
    "item/completed": _VD,
    "item/delta": Delivery.VIEW,
    "approval/requested": _VD,
    "approval/reviewing": _VD,
    "approval/updated": _VD,
    "approval/resolved": _VD | Delivery.PROTECTED,
    "userInput/requested": _VD,
    "userInput/settled": _VD | Delivery.PROTECTED,
    "view/gap": Delivery.PROTECTED,
    "session/modelChanged": _VD,
    "session/modelRouteUnserved": _VD,
    "session/reasoningEffortChanged": _VD,
    "session/approvalModeChanged": _VD,
    "session/branchChanged": _VD,
    "session/nameChanged": _VD,
    "session/goalChanged": _VD,
    "session/todoListChanged": _VD,
    "session/tokenUsage": _VD,
    "session/contextUsage": _VD,
    "monitor/inboxItemAdmitted": _VD,
    "monitor/inboxItemDrained": _VD,
    "monitor/inboxItemVoided": _VD,
    "session/started": Delivery.BROADCAST,
    "session/closed": Delivery.BROADCAST,
    "session/leaveCompleted": Delivery.BROADCAST | Delivery.PROTECTED,
    "session/statusChanged": Delivery.BROADCAST,
    "session/listChanged": Delivery.BROADCAST,
    "session/viewHealthChanged": Delivery.BROADCAST,
    "skill/changed": Delivery.BROADCAST,
    "usage/changed": Delivery.BROADCAST,
    "plugin/changed": Delivery.BROADCAST,
    "plugin/marketplaceChanged": Delivery.BROADCAST,
    "recap/completed": Delivery.BROADCAST,
}

SERVER_REQUESTS: Final[frozenset[str]] = frozenset({"approval/request", "userInput/request"})


class ErrorRow(NamedTuple):
    """What an error code means when `error.data` does not say more (`msp.md §7`)."""

    kind: str
    retryable: bool = False
    override_kinds: frozenset[str] = frozenset()


ERRORS: Final[dict[int, ErrorRow]] = {
    -32700: ErrorRow("parseError"),
    -32600: ErrorRow("invalidRequest", override_kinds=frozenset({"notInitialized", "alreadyInitialized"})),
    -32601: ErrorRow("methodNotFound", override_kinds=frozenset({"experimentalRequired"})),
    -32602: ErrorRow("invalidParams", override_kinds=frozenset({"experimentalRequired"})),
    -32603: ErrorRow("internal", override_kinds=frozenset({"pageEventTooLarge", "outputResultTooLarge"})),
    -32001: ErrorRow("overloaded", retryable=True),
    -32002: ErrorRow("inputTooLarge"),
    -32010: ErrorRow("capabilityRequired"),
    -32011: ErrorRow("notFound"),
    -32013: ErrorRow("interrupted"),
    -32014: ErrorRow("cancelled"),
    -32020: ErrorRow("sessionNotFound"),
    -32021: ErrorRow("sessionInUse"),
    -32022: ErrorRow("sessionAmbiguous"),
    -32023: ErrorRow("forkBoundaryInvalid"),
    -32024: ErrorRow("sessionNotLoaded"),
    -32025: ErrorRow("sessionStreamMismatch"),
    -32030: ErrorRow("commandRejected"),
    -32031: ErrorRow("backpressured", retryable=True),
    -32032: ErrorRow("skillNotFound"),
    -32033: ErrorRow("computerUseUnavailable"),
    -32034: ErrorRow("marketplaceNotFound"),
    -32035: ErrorRow("pluginNotFound"),
    -32036: ErrorRow("marketplaceAlreadyExists"),
    -32037: ErrorRow("pluginMutationsDisabled"),
    -32038: ErrorRow("uploadNotFound"),
    -32040: ErrorRow("viewTruncated"),
    -32041: ErrorRow("outputUnavailable"),
    -32042: ErrorRow("boundaryPruned", override_kinds=frozenset({"boundaryUnusable", "noBoundary"})),
    -32050: ErrorRow("approvalNotFound"),
    -32051: ErrorRow("approvalAlreadyResolved"),
    -32052: ErrorRow("approvalChoiceInvalid"),
    -32053: ErrorRow("approvalRequirementStale"),
    -32054: ErrorRow("approvalReviewerUnavailable"),
    -32055: ErrorRow("userInputNotFound"),
    -32056: ErrorRow("userInputAlreadySettled"),
    -32057: ErrorRow("userInputAnswerInvalid"),
}

ITEM_KINDS: Final[frozenset[str]] = frozenset(
    {
        "userMessage",
        "agentMessage",
        "reasoning",
        "toolCall",
        "userShell",
        "subagent",
        "workflow",
        "reminderChild",
        "compaction",
        "hookRun",
        "sideChat",
        "webSearch",
        "monitorFeed",
        "damagedRange",
        "scheduledFire",
        "backgroundTerminalCompletion",
        "overdueNotice",
    }
)

# Every status but this one is terminal, unknown ones included (`msp.md §13.1`).
OPEN_STATUS: Final = "inProgress"
ITEM_STATUSES: Final[frozenset[str]] = frozenset(
    {OPEN_STATUS, "completed", "failed", "cancelled", "rejected", "timedOut"}
)

CAPABILITIES: Final[frozenset[str]] = frozenset({"userShell", "sessionMcp", "sessionListStream", "sessionRename"})

# Closed enums: the host refuses any other word in what we send (`msp.md §27`).
APPROVAL_MODES: Final = ("allowAll", "promptUnmatched", "onRequest", "denyUnmatched")
REASONING_EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra")
IF_BUSY: Final = ("queue", "steer", "replace")
INPUT_PART_TYPES: Final = ("text", "image", "skill", "video")
SKILL_SOURCES: Final = ("bundled", "user", "project", "plugin")
HISTORY_PREFERENCES: Final = ("auto", "inline", "snapshot", "anchored")
PAGE_DIRECTIONS: Final = ("forward", "backward")
OUTPUT_ENCODINGS: Final = ("utf8", "base64")
COMMAND_ACK_STATUSES: Final = ("accepted", "noop")
RECOVERY_MODES: Final = ("on", "off")
MCP_TRANSPORTS: Final = ("stdio", "streamableHttp")
MCP_SERVER_MODES: Final = ("required", "optional")
MCP_STDIO_FRAMINGS: Final = ("auto", "contentLength", "lineDelimitedJson")
USER_INPUT_SELECTION_MODES: Final = ("single", "multiple")
SESSION_LIST_TEXT_FIELDS: Final = ("name", "title")
WORKFLOW_CHILD_ACTIONS: Final = ("skip", "retry")

# Open on the wire, but the only anchor a host is known to accept (`msp.md §11.2`).
LATEST_COMPACTION: Final = "latestCompaction"

_MACOS_ONLY: Final = "computer use is set up at the Mac itself; an editor session has nothing to show for it"
_PLUGIN_ADMIN: Final = "installing plugins is administration of the host, not part of a conversation"
_SKILL_ADMIN: Final = "skills are listed and invoked here; changing which are installed is administration of the host"

# Names of the protocol we decided not to carry, each with the reason.
EXCLUDED: Final[dict[str, str]] = {
    "computerUseSettings/read": _MACOS_ONLY,
    "computerUseSettings/update": _MACOS_ONLY,
    "computerUseSetup/read": _MACOS_ONLY,
    "computerUseSetup/start": _MACOS_ONLY,
    "computerUseSetup/check": _MACOS_ONLY,
    "computerUseSetup/changed": _MACOS_ONLY,
    "computerUseSetup": _MACOS_ONLY,
    "computerUseHostSetup": _MACOS_ONLY,
    "plugin/install": _PLUGIN_ADMIN,
    "plugin/marketplaceAdd": _PLUGIN_ADMIN,
    "plugin/marketplaceUpdate": _PLUGIN_ADMIN,
    "plugin/marketplaceRemove": _PLUGIN_ADMIN,
    "skill/import": _SKILL_ADMIN,
    "skill/setActivation": _SKILL_ADMIN,
    "media/upload": "it uploads video only, and no ACP prompt block carries video",
    "feedback/submit": "feedback reports go to the vendor; an adapter must not send them on a user's behalf",
    "feedback": "the capability of feedback/submit",
}
