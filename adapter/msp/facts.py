"""Which news of a session are facts with one present value, and which are only passed on (`msp.md §9`, `§18`)."""

from __future__ import annotations

from typing import Final

# Facts hold one present value each; the latest one counts, wherever in the view it was read.
FACTS: Final[dict[str, str]] = {
    "session/todoListChanged": "todoList",
    "session/tokenUsage": "tokenUsage",
    "session/contextUsage": "contextUsage",
    "session/modelChanged": "model",
    "session/reasoningEffortChanged": "reasoningEffort",
    "session/approvalModeChanged": "approvalMode",
    "session/branchChanged": "branch",
    "session/nameChanged": "name",
    "session/goalChanged": "goal",
    "session/statusChanged": "status",
    "session/viewHealthChanged": "viewHealth",
    "usage/changed": "subscriptionUsage",
}

# Notices are passed on and not kept.
NOTICES: Final[dict[str, str]] = {
    "session/started": "started",
    "session/listChanged": "listRow",
    "session/leaveCompleted": "left",
    "session/modelRouteUnserved": "modelRouteUnserved",
    "turn/foregroundCompleted": "foregroundCompleted",
    "turn/retracted": "turnRetracted",
    "approval/reviewing": "approvalReviewing",
    "skill/changed": "skills",
    "plugin/changed": "plugins",
    "plugin/marketplaceChanged": "pluginMarketplace",
    "recap/completed": "recap",
    "monitor/inboxItemAdmitted": "monitorAdmitted",
    "monitor/inboxItemDrained": "monitorDrained",
    "monitor/inboxItemVoided": "monitorVoided",
}

# Members of a snapshot's `state` that have the shape of the fact's own notification.
SNAPSHOT_FACTS: Final[dict[str, str]] = {
    "todoList": "todoList",
    "contextUsage": "contextUsage",
    "effectiveModel": "model",
    "reasoningEffort": "reasoningEffort",
    "approvalMode": "approvalMode",
    "branch": "branch",
}

# Members of a snapshot's `state` that are one member of the fact's notification: the fact, and that member.
SNAPSHOT_VALUES: Final[dict[str, tuple[str, str]]] = {
    "goal": ("goal", "goal"),
    "name": ("name", "name"),
    "tokenUsage": ("tokenUsage", "cumulative"),
}

# Page events that are worth a second look although they were seen before: in the order of the view they decide what
# stands, also against an older event that only the page brought.
DECIDED_BY_ORDER: Final = FACTS.keys() | {"approval/requested", "approval/updated"}
