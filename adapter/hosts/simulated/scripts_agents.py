"""Scripts with subagents, workflows and compactions."""

from __future__ import annotations

from adapter.hosts.simulated.scripts_tools import closing
from adapter.hosts.simulated.steps import Completed, Script, Spawn, Started, Updated, Wait
from adapter.hosts.simulated.turn import Turn


def subagent(turn: Turn) -> Script:
    """`subagent [SECONDS]`: accepted, running, reporting, closed; with SECONDS it goes on beside the turn."""
    agent = turn.item(
        "subagent",
        subagentId=f"{turn.id}-agent",
        objective="survey the failing tests",
        role="worker",
        depth=1,
        agentPath=".agents/researcher.md",
        childSessionId=f"{turn.id}-child",
        controlStatus="accepted",
        fallbackText="Subagent: survey the failing tests",
    )
    seconds = turn.seconds(1, 0.0)
    yield Started(agent)

    def work() -> Script:
        yield Updated(agent, {"controlStatus": "running"})
        if seconds:
            yield Wait(seconds)
        yield Updated(agent, {"controlStatus": "resultReady"})
        result = {
            "summary": "two tests fail — both naïve",
            "text": "retry::ladder, retry::jitter ✗",
            "artifactRefs": [],
        }
        usage = {"inputTokens": 900, "outputTokens": 80, "cachedTokens": 0, "reasoningTokens": 0}
        closed = {"controlStatus": "closed", "result": {**result, "evidenceRefs": []}, "usage": usage}
        yield Completed(agent, {**closed, "durationMs": 20})

    if seconds:
        yield Spawn(agent, work())
        yield from closing(turn, "The subagent is on its way ✓")
        return
    yield from work()
    yield from closing(turn, "The subagent found two failing tests ✗")


def workflow(turn: Turn) -> Script:
    """`workflow [SECONDS]`: launched by the turn, finished beside it."""
    if not turn.profile.launches_workflows:
        yield from closing(turn, "workflow_launch_unavailable: this version starts no workflows — sorry.")
        return
    run = turn.item(
        "workflow",
        workflowRunId=f"{turn.id}-run",
        entryId="triage-batch",
        scriptId="triage@sha256:aa10",
        triggerSource="modelProposal",
        children=[],
        stopAvailable=True,
    )
    seconds = turn.seconds(1, 0.05)
    yield Started(run)

    def children(*statuses: str) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = []
        for index, status in enumerate(statuses, 1):
            row: dict[str, object] = {"childId": f"c{index}", "attempt": 1, "status": status, "phase": "triage"}
            row["label"] = f"triage № {index}"
            if status == "terminal":
                row["terminal"] = "completed"
            rows.append(row)
        return rows

    def rest() -> Script:
        yield Updated(run, {"children": children("started", "scheduled")})
        yield Wait(seconds)
        yield Updated(run, {"children": children("terminal", "started")})
        yield Wait(seconds)
        summary = "Workflow triage-batch completed: 2/2 children succeeded ✓"
        yield Completed(
            run, {"children": children("terminal", "terminal"), "message": summary, "finalSummary": summary}
        )

    yield Spawn(run, rest())
    yield from closing(turn, "The workflow is on its way ✓")


def compaction(turn: Turn) -> Script:
    """`compaction`: the context is summarised, then an answer."""
    yield from compact(turn, "auto")
    yield from closing(turn, "Much shorter now ✓")


def compact(turn: Turn, trigger: str) -> Script:
    """The compaction item alone; `trigger` is `manual` or `auto`."""
    item = turn.item("compaction", trigger=trigger)
    yield Started(item)
    members = {"strategyId": "summary-v2", "tokensBefore": 161_000, "tokensAfter": 31_000}
    through = f"run:{turn.id}:seq:{len(turn.view.events)}"
    yield Completed(item, {**members, "outcome": "compacted", "summarizedThrough": through})
