"""What the requests, answers and notifications of MSP say, in words (`msp.md §5-18`).

Items, approvals and questions are in modules of their own. Methods that are not listed are still shown, by their name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from adapter.cli.inspect.members import Members
from adapter.cli.inspect.words import after, blocks, counted, lasted, listed, quoted, read_served, read_wanted

Says = Callable[[Members], str]


def _initialize(params: Members) -> str:
    client, capabilities = params.inner("clientInfo"), params.inner("capabilities")
    return listed(
        [
            f"{client.text('name')} {client.text('version')}".strip() or "a client without a name",
            after("asks for", ", ".join(capabilities.texts("requestedCapabilities"))),
            "experimental" if capabilities.flag("experimentalApi") else "",
        ]
    )


def _initialized(result: Members) -> str:
    server = result.inner("serverInfo")
    granted = result.texts("grantedCapabilities")
    return listed(
        [
            f"{server.text('name')} {server.text('version')}".strip() or "a host without a name",
            "grants " + (", ".join(granted) or "nothing"),
            result.text("sessionDurability"),
            after("sandbox", result.text("sandboxAvailability")),
        ]
    )


def _start(params: Members) -> str:
    roots = params.texts("workspaceRoots") or [params.text("workspaceRoot")]
    return listed(
        [
            after("in", ", ".join(root for root in roots if root)),
            after("model", params.text("modelId")),
            params.text("approvalMode"),
        ]
    )


def _resume(params: Members) -> str:
    return listed([after("history", params.text("history")), after("after", params.text("cursor"))])


def _opened(result: Members) -> str:
    """What the answers that open a session have in common (`msp.md §10`)."""
    session, history = result.inner("session"), result.inner("history")
    items = len(history.objects("items") or history.inner("snapshot").inner("state").objects("items"))
    served = history.text("mode")
    return listed(
        [
            session.text("status") or "opened",
            after("named", quoted(session.text("name", "title"))) if session.text("name", "title") else "",
            counted(session.number("turnCount") or 0, "turn") if session.number("turnCount") else "",
            f"history {served}, {counted(items, 'item')}" if served and items else after("history", served),
            history.text("noneReason"),
            after("waiting for", counted(len(result.objects("pendingRequests")), "answer"))
            if result.objects("pendingRequests")
            else "",
        ]
    )


def _broadcast_session(params: Members) -> str:
    session = params.inner("session")
    return listed([session.text("status"), after("in", session.text("workspaceRoot")), session.text("name", "title")])


def _listing(params: Members) -> str:
    return listed(
        [
            after("in", params.text("workspaceRoot")),
            "filtered" if params.inner("filter") else "",
            "goes on" if params.text("cursor") else "",
        ]
    )


def _prompt(params: Members) -> str:
    shell = params.inner("userShell").text("commandText")
    how = params.text("ifBusy")
    return listed(
        [
            blocks(params.objects("input")),
            after("runs", quoted(shell)) if shell else "",
            after("if busy:", how),
            after("effort", params.text("reasoningEffort")),
        ]
    )


def _page(params: Members) -> str:
    limit = params.number("limit")
    return listed(
        [
            params.text("direction") or "forward",
            after("from", params.text("cursor", "anchor")) or "from an end",
            "" if limit is None else f"up to {limit:,} events",
        ]
    )


def _paged(result: Members) -> str:
    more = "more follow" if result.text("nextCursor") else "the end"
    return listed([counted(len(result.objects("events")), "event"), more])


def _row_count(name: str, noun: str) -> Says:
    def said(result: Members) -> str:
        more = "more follow" if result.text("nextCursor") else ""
        return listed([counted(len(result.objects(name)), noun), more])

    return said


def _tokens(params: Members) -> str:
    total, all_of_them = params.number("totalTokens"), params.inner("cumulative").number("totalTokens")
    return listed(
        [
            "" if total is None else f"{total:,} tokens",
            "" if all_of_them is None else f"{all_of_them:,} in all",
            params.text("modelId"),
        ]
    )


def _context(params: Members) -> str:
    used, window = params.number("usedTokens"), params.number("windowTokens")
    of = "" if window is None else f" of {window:,}"
    return listed(["" if used is None else f"{used:,}{of} tokens in use", after("pressure", params.text("pressure"))])


def _status(params: Members) -> str:
    return listed([params.text("status"), *params.texts("attention")])


def _goal(params: Members) -> str:
    goal = params.inner("goal")
    return listed([quoted(goal.text("objective")), goal.text("status")]) if goal else "no goal"


def _todos(params: Members) -> str:
    items = params.objects("items")
    done = sum(1 for item in items if item.text("status") == "completed")
    return f"{counted(len(items), 'entry', 'entries')}, {done:,} done"


def _retry(params: Members) -> str:
    delay = params.number("retryDelayMs")
    attempt, most = params.number("nextAttempt"), params.number("maxAttempts")
    return listed(
        [
            "" if attempt is None else f"attempt {attempt}" + ("" if most is None else f" of {most}"),
            "" if delay is None else f"in {lasted(delay)}",
            params.text("reason", "errorKind"),
        ]
    )


def _gap(params: Members) -> str:
    return f"events are missing after {params.text('after')} and before {params.text('next')}"


def _one(*names: str, label: str = "", quote: bool = False) -> Says:
    def said(members: Members) -> str:
        value = members.text(*names)
        shown = quoted(value) if quote and value else value
        return after(label, shown) if label else shown

    return said


def _nothing(members: Members) -> str:
    return ""


def generic_answer(result: Members) -> str:
    """An answer of which only the form is known: its status, or how many of something it lists."""
    lists = [name for name, value in result.raw.items() if isinstance(value, list)]
    status = result.text("status", "outcome", "applyOutcome")
    counts = [f"{len(result.raw[name]):,} {name}" for name in lists]
    return listed([status, result.text("reason"), *counts]) or ("answered" if result else "done")


SAYS: Final[Mapping[str, Says]] = {
    "initialize": _initialize,
    "session/start": _start,
    "session/resume": _resume,
    "session/fork": lambda params: after("after turn", params.inner("cutPoint").text("lastTurnId")),
    "session/list": _listing,
    "session/rename": _one("name", quote=True),
    "session/setModel": lambda params: params.inner("model").text("modelId"),
    "session/setReasoningEffort": _one("reasoningEffort"),
    "session/setApprovalMode": _one("mode"),
    "session/userShell": _one("commandText", quote=True),
    "turn/start": _prompt,
    "turn/steer": _prompt,
    "turn/interrupt": lambda params: "and take the prompt back" if params.flag("retract") else "",
    "view/page": _page,
    "view/subscribe": _one("after", label="after"),
    "item/readOutput": read_wanted,
    "goal/set": _one("objective", quote=True),
    "goal/edit": _one("objective", quote=True),
    "task/stop": _one("taskId"),
    "task/background": _one("taskId"),
    "workflow/cancel": _one("workflowRunId"),
    # Notifications.
    "session/started": _broadcast_session,
    "session/listChanged": _broadcast_session,
    "session/closed": _one("reason", label="because of"),
    "session/leaveCompleted": lambda params: listed([params.text("outcome"), params.text("reason")]),
    "session/statusChanged": _status,
    "session/nameChanged": _one("name", quote=True),
    "session/modelChanged": lambda params: listed([params.text("modelId"), after("by", params.text("source"))]),
    "session/modelRouteUnserved": _one("modelId", label="nobody serves"),
    "session/reasoningEffortChanged": _one("reasoningEffort"),
    "session/approvalModeChanged": lambda params: listed([params.text("mode"), after("by", params.text("source"))]),
    "session/branchChanged": _one("branch"),
    "session/goalChanged": _goal,
    "session/todoListChanged": _todos,
    "session/tokenUsage": _tokens,
    "session/contextUsage": _context,
    "session/viewHealthChanged": _one("health"),
    "turn/retryScheduled": _retry,
    "turn/modelRetryScheduled": _retry,
    "turn/foregroundCompleted": _nothing,
    "turn/retracted": _one("outcome"),
    "turn/unqueued": lambda params: "taken back before it began",
    "view/gap": _gap,
}
"""By method of a request or a notification."""

ANSWERS: Final[Mapping[str, Says]] = {
    "initialize": _initialized,
    "session/start": _opened,
    "session/resume": _opened,
    "session/read": _opened,
    "session/fork": _opened,
    "session/sideChat": _opened,
    "session/list": _row_count("sessions", "session"),
    "model/list": _row_count("models", "model"),
    "skill/list": _row_count("skills", "skill"),
    "task/list": _row_count("tasks", "task"),
    "turn/start": _one("disposition", "status"),
    "view/page": _paged,
    "view/subscribe": _one("viewCursor", label="head is"),
    "item/readOutput": read_served,
    "approval/decide": lambda result: "settled" if result.flag("terminal") else "the next stage follows",
}
"""By method of the request that is answered."""
