"""Which host versions can be simulated and how they differ, as data (`msp.md §8, §9, §28`).

A profile is a set of names; nothing else in the host asks for a version number. Where the sources record nothing
for a version (the build of 1.0.1 and 1.4.13, the fingerprints of 1.0.1 and 1.1.1) the value here is made up and shows
it: such a fingerprint is mostly zeros.
"""

from __future__ import annotations

from typing import Final

import msgspec

UNHEARD_OF: Final = frozenset({"hologramPanel", "session/auraChanged"})
"""An item kind and a notification that no version has; the script `unknown` sends them on purpose."""


class Profile(msgspec.Struct, frozen=True):
    """One host version."""

    version: str
    build: str
    fingerprint: str
    methods: frozenset[str]
    notifications: frozenset[str]
    capabilities: frozenset[str]
    kinds: frozenset[str]
    efforts: tuple[str, ...]
    parts: frozenset[str]
    """The `type`s of input parts it takes."""
    withheld: dict[str, frozenset[str]]
    """Members newer than the version, by what they are a member of: `initialize`, `session`, `item`, `start`,
    `history`, `snapshot`, `cumulative`, `session/list` and the methods of notifications; under `turnError` the error
    kinds it has no word for."""
    live_request: bool = True
    """Whether a live approval also comes as the request `approval/request`."""
    stage_request: bool = True
    """Whether the next stage of an approval also comes as a request."""
    compacts: bool = True
    launches_workflows: bool = True
    models_apply: bool = True
    """Whether selecting a model reaches the turns (1.1.1: no)."""

    def error_kind(self, kind: str) -> str:
        """The word of this version for the error of a turn."""
        older = {"authRequired": "modelError", "mcpLinkError": "configError"}
        return older.get(kind, kind) if kind in self.withheld.get("turnError", ()) else kind

    def sends(self, name: str) -> bool:
        """Whether a notification or an item kind of that name is sent."""
        return name in self.notifications or name in self.kinds or name in UNHEARD_OF


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_METHODS_1_0: Final = _names(
    """initialize session/start session/resume session/read session/list session/fork session/compact
    session/setModel session/setApprovalMode session/userShell turn/start turn/steer turn/interrupt turn/cancel
    turn/unqueue view/page view/unsubscribe approval/decide approval/listPending userInput/answer userInput/cancel
    userInput/clarify model/list subagent/stop subagent/interrupt subagent/close subagent/resume subagent/reopen
    subagent/readResult subagent/sendMessage subagent/followupTask"""
)
_METHODS_1_2: Final = _METHODS_1_0 | _names(
    "session/rename session/setReasoningEffort view/subscribe item/readOutput workflow/cancel"
)
_METHODS_1_3: Final = _METHODS_1_2 | _names(
    """usage/read skill/list goal/set goal/edit goal/pause goal/resume goal/clear task/background task/stop
    task/stopAll workflow/childControl"""
)
_METHODS_1_4_2: Final = _METHODS_1_3 | _names("feedback/submit session/delete")
_METHODS_1_4: Final = _METHODS_1_3 | _names(
    """session/leave session/sideChat userInput/interrupt task/list workflow/pause workflow/resume hook/list
    plugin/list recap/request recap/cancel feedback/submit"""
)

_NOTIFICATIONS_1_0: Final = _names(
    """turn/started turn/completed turn/unqueued turn/retracted turn/retryScheduled item/started item/updated
    item/completed item/delta approval/requested approval/updated approval/resolved userInput/requested
    userInput/settled view/gap session/modelChanged session/approvalModeChanged session/branchChanged
    session/goalChanged session/todoListChanged session/tokenUsage session/contextUsage"""
)
_NOTIFICATIONS_1_2: Final = _NOTIFICATIONS_1_0 | _names("session/nameChanged session/reasoningEffortChanged")
_NOTIFICATIONS_1_3: Final = _NOTIFICATIONS_1_2 | _names(
    """session/modelRouteUnserved session/statusChanged session/listChanged session/viewHealthChanged skill/changed
    usage/changed"""
)
_NOTIFICATIONS_1_4_2: Final = _NOTIFICATIONS_1_3 | _names("session/started session/closed session/deleteCompleted")
_NOTIFICATIONS_1_4: Final = _NOTIFICATIONS_1_3 | _names(
    """session/started session/closed session/leaveCompleted approval/reviewing turn/modelRetryScheduled
    turn/foregroundCompleted recap/completed"""
)

_KINDS_1_0: Final = _names(
    "userMessage agentMessage reasoning toolCall userShell subagent workflow reminderChild compaction"
)
_KINDS_1_4: Final = _KINDS_1_0 | _names(
    "hookRun sideChat webSearch monitorFeed damagedRange scheduledFire backgroundTerminalCompletion overdueNotice"
)

_WITHHELD_1_4_2: Final[dict[str, frozenset[str]]] = {
    "initialize": _names("sandboxAvailability sandboxUnavailableReason"),
    "session": _names("kind parentSessionId createdByClient nameOrigin generatedName sideFrom"),
    "item": _names(
        """displayLabel messagePhase toolReceipt cutOff blocking paused stopAvailable tokenBudget declaredPhase
        finalSummary childPromptRefs statusLine statusPhase statusStep statusProgress statusHealth statusAttempt
        statusChildren replayHint terminalRowAfterItemId workId"""
    ),
    "start": _names("permissionProfile recoveryMode"),
    "history": _names("lastTurn blockedPrompt queuedInputs recoveryObservation checkpointBoundary"),
    "session/nameChanged": _names("nameOrigin generatedName"),
    "approval/resolved": _names("decidedAt"),
    "userInput/settled": _names("decidedAt"),
    "turn/retracted": _names("outcome"),
    "turn/retryScheduled": _names("errorKind httpStatus system"),
    "turnRef": _names("displayText truncated"),
    "turnError": _names("mcpLinkError"),
}
_WITHHELD_1_3: Final = {
    **_WITHHELD_1_4_2,
    "start": _WITHHELD_1_4_2["start"] | _names("workspaceRoots"),
    "session/list": _names("appliedFilter"),
    "cumulative": _names("cacheReadTokens cacheWriteTokens cost"),
    "model": _names("reasoningEffortVariants defaultReasoningEffort"),
}
_WITHHELD_1_2: Final = {
    **_WITHHELD_1_3,
    "session": _WITHHELD_1_3["session"] | _names("attention title branch firstUserPrompt lastActivityAt"),
}
_WITHHELD_1_0: Final = {
    **_WITHHELD_1_2,
    "session": _WITHHELD_1_2["session"] | _names("name"),
    "item": _WITHHELD_1_3["item"] | _names("patchRef patchSummary"),
    "snapshot": _names("name reasoningEffort"),
    "start": _WITHHELD_1_3["start"] | _names("config"),
    "turnError": _WITHHELD_1_3["turnError"] | _names("authRequired"),
}

_EFFORTS: Final = ("none", "minimal", "low", "medium", "high", "xhigh", "max", "ultra")
_EFFORTS_1_0: Final = tuple(tier for tier in _EFFORTS if tier != "max")

PROFILES: Final[dict[str, Profile]] = {
    profile.version: profile
    for profile in (
        Profile(
            version="1.0.1",
            build="1.0.1-R1999.1",
            fingerprint="sha256:0000000000000000000000000000000000000000000000000000000000001001",
            methods=_METHODS_1_0,
            notifications=_NOTIFICATIONS_1_0,
            capabilities=_names("userShell"),
            kinds=_KINDS_1_0,
            efforts=_EFFORTS_1_0,
            parts=_names("text image"),
            withheld=_WITHHELD_1_0,
            compacts=False,
            launches_workflows=False,
        ),
        Profile(
            version="1.1.1",
            build="1.1.1-R2514.1",
            fingerprint="sha256:0000000000000000000000000000000000000000000000000000000000001101",
            methods=_METHODS_1_0,
            notifications=_NOTIFICATIONS_1_0,
            capabilities=_names("userShell"),
            kinds=_KINDS_1_0,
            efforts=_EFFORTS_1_0,
            parts=_names("text image"),
            withheld=_WITHHELD_1_0,
            compacts=False,
            launches_workflows=False,
            models_apply=False,
        ),
        Profile(
            version="1.2.1",
            build="1.2.1-R2847.1",
            fingerprint="sha256:c7ff6c5d1e89cd42f803aea1f05b8e72082f2099685802473eb726903484713b",
            methods=_METHODS_1_2,
            notifications=_NOTIFICATIONS_1_2,
            capabilities=_names("userShell"),
            kinds=_KINDS_1_0,
            efforts=_EFFORTS,
            parts=_names("text image skill"),
            withheld=_WITHHELD_1_2,
            stage_request=False,
            compacts=False,
        ),
        Profile(
            version="1.3.0",
            build="1.3.0-R3401.1",
            fingerprint="sha256:7469c9e352e67def4a59df7e439984d7194fa351e1c8b7abb34060fd977ced81",
            methods=_METHODS_1_3,
            notifications=_NOTIFICATIONS_1_3,
            capabilities=_names("userShell sessionMcp sessionListStream"),
            kinds=_KINDS_1_0,
            efforts=_EFFORTS,
            parts=_names("text image skill"),
            withheld=_WITHHELD_1_3,
            live_request=False,
            stage_request=False,
        ),
        Profile(
            version="1.4.2",
            build="1.4.2-R4684.1",
            fingerprint="sha256:61afea3112e0906e9dc3a536144278a74cb4b36fc6e20901a91d4432ba3568e2",
            methods=_METHODS_1_4_2,
            notifications=_NOTIFICATIONS_1_4_2,
            capabilities=_names("userShell sessionMcp sessionListStream feedback"),
            kinds=_KINDS_1_0,
            efforts=_EFFORTS,
            parts=_names("text image skill"),
            withheld=_WITHHELD_1_4_2,
        ),
        Profile(
            version="1.4.13",
            build="1.4.13-R5999.1",
            fingerprint="sha256:7fddaf646dbc317e5fcac0785e135eb04df14fbb0db1863089dfd6da21730e5b",
            methods=_METHODS_1_4,
            notifications=_NOTIFICATIONS_1_4,
            capabilities=_names("userShell sessionMcp sessionListStream feedback sessionRename"),
            kinds=_KINDS_1_4,
            efforts=_EFFORTS,
            parts=_names("text image skill video"),
            withheld={},
        ),
    )
}

DEFAULT: Final = "1.2.1"

_ALIASES: Final = {"1.4": "1.4.13", "1.3": "1.3.0", "1.2": "1.2.1", "1.1": "1.1.1", "1.0": "1.0.1"}


def profile(name: str) -> Profile:
    """The profile of that version, or of the release line `1.4` and so on.

    Raises:
        ValueError: there is none; the text lists those there are.
    """
    found = PROFILES.get(_ALIASES.get(name, name))
    if found is None:
        raise ValueError(f"no simulated host of version {name!r}; there are {', '.join(PROFILES)}")
    return found


NEWEST: Final = PROFILES["1.4.13"]
