"""What is known to be harmless in a frame of either protocol, by the names of members, as data (`msp.md`, `acp.md`).

Only what is listed here goes into a redacted recording as it was, and only if it also looks as it should: a name may
mean something else in a frame of tomorrow.
"""

from __future__ import annotations

import re
from typing import Final


def names(text: str) -> frozenset[str]:
    """The words of a text: shorter to write, and to read, than a list."""
    return frozenset(text.split())


OBJECTS: Final = names("""
    _meta activeTurn agentCapabilities agentInfo amendment annotations answers apps appliedFilter approvalMode approvals
    attachments auth authMethods availableChoices availableCommands availableModes backgroundTerminalCompletion branch
    capabilities change checkpointBoundary childPromptRefs children clarification clientCapabilities clientInfo close
    config configOptions content contentChanges context contextUsage cost counts createdByClient cuaCardFacts cumulative
    current currentRequirementId cutPoint damagedRange data delete displayLabel drainTargetRunStream effectiveMode
    effectiveModel elicitation end entries error events exitStatus failed filter first forkedFrom fork form fs goal
    history hooks image input item items jobs last lastTurn list locations logout mcpCapabilities messages model
    modelVisibleContent models modes oneOf options origin outcome outputRef outputSpans page params patchRef
    patchSummary pendingApprovals pendingRequests pendingUserInputs plan plugins point position preview prompt
    promptCapabilities providers questions queuedInputs queuedTurns quota range reasoningEffort reasoningEffortVariants
    recoveryObservation replayHint requestedSchema requirementId resolution resolvedAnchor resource result resume schema
    selection serverInfo session sessionCapabilities sessionId sessions settlement sideFrom skills snapshot sourceRange
    stageEvidence stages start state statusAttempt statusChildren statusHealth statusProgress statusStep steps stream
    subagentOrigin subject suggestedPrefix target tasks terminal todoList tokenBudget tokenUsage toolCall toolReceipt
    trace update url usage userInputs userShell weekly window
    muse/feedback muse/fork muse/output muse/patch muse/truncated muse/usage
    terminal_exit terminal_info terminal_output
""")
"""Members that hold objects whose own members are the protocol's. In any other object names are somebody's too."""

WORDS: Final = names("""
    access accessibility action activation anchor applyOutcome approvalMode attention audience availability
    backgroundInitiator capability category change classification computerControl controlStatus currency decision
    defaultReasoningEffort direction disposition durability effectiveMode effectiveSource encoding errorKind event
    eventKind executionMode failureKind family field fields finishReason format framing grantedCapabilities handlerKind
    health history ifBusy inputMonitoring jsonrpc kind level limitKind mediaType messagePhase method mimeType mode
    nameOrigin noneReason operation optOutNotificationMethods outcome overrideKinds platformFamily platformOs
    policyResult pressure priority protocol qualification reasoningEffort recoveryMode requestedCapabilities
    requestedMode resolvedBy rowKinds runStatus sandboxAvailability sandboxUnavailableReason scope screenRecording
    screenshots sessionDurability sessionUpdate setup severity source status stopReason stream terminal terminalStatus
    tier transport trigger triggerSource type unit variants vcs
""")
"""Members that hold a word of the protocol, or several."""

IDS: Final = names("""
    activeTurnId after afterItemId allOf anyOf approvalId attachmentId before boundaryCursor callId cellItemId childId
    childRunId childSessionId choiceId commandId configId connectionId currentModeId cursor cutCursor
    decidedByCommandId earliestCursor elicitationId expectedTurnId id itemId jobId lastCommandId lastGoodTurnId
    lastTurnId latestBoundaryCursor messageId methodId modeId modelId monitorId next nextCursor optionId outputRef
    parentSessionId permissionProfile planId profileId providerId providerItemId reminderAgentId requestId
    resumeFromRunId sessionId sideSessionId sourceCommandId sourceRunRecordId strategyId subagentId summarizedThrough
    taskId terminalId terminalRowAfterItemId throughItemId toolCallId traceparent turnId uploadId userInputId viewCursor
    workId workflowRunId
""")
"""Members that hold an id or a cursor: made by a program, and needed to tell what belongs to what."""

TIMES: Final = names("""
    createdAt decidedAt drainedAt lastActivityAt lastAskedAt lastModified queuedAt readableAfterAt readableBeforeAt
    recordedAt releaseDate startedAt updatedAfter updatedAt voidedAt
""")

FACTS: Final = frozenset(
    (parent, name)
    for parent in ("agentInfo", "clientInfo", "createdByClient", "serverInfo")
    for name in ("name", "version")
) | {("schema", "fingerprint")}
"""Members with a name or a version that are harmless in the object that is named first."""

REASONS: Final = frozenset([("data", "reason")])
"""Members that hold a word of the protocol in the object that is named first, and elsewhere what somebody says."""

TOOLS: Final = names("""
    apply_patch bash edit_file execute glob grep list_dir list_files muse.subagent_spawn muse.workflow read_file
    read_skill request_user_input search shell web_fetch web_search write_file write_todos
""")
"""Names of tools that come with Muse; any other may be that of somebody's MCP server."""

TOOL_NAMES: Final = frozenset(["tool", "toolName", "sourceTool", "sourceToolName", "name"])

QUESTION_NAMES: Final = frozenset(["questions"])
"""Objects whose `id` is made up by the model, from what it was asked."""

OPEN: Final = names("args argv arguments env headers mcpServers properties rawArgs rawInput rawOutput structuredData")
"""Members of which nothing is known: what a model, a user or a server put there."""

ARGUMENTS: Final = names("""
    cmd command content contents cron description diff edits file_content file_path filePath filename glob header id
    input label line name new newText new_str new_string objective old oldText old_str old_string options patch
    patch_text path paths pattern prompt q query question questions regex replaceAll replace_all schedule script skill
    startLine start_line status text todos type url uri
""")
"""Names of arguments that tools of Muse have: a card is made of them. Any other name is the tool's, or somebody's."""

STREAMED: Final = names("""
    base64Data blob chunkBase64 content data delta diff newText oldText output summary text visibleOutput
""")
"""Members with text that comes in pieces, or of which pieces are read: their stand-ins must go together as they do."""

LEFT_OUT: Final = frozenset(["digest"])
"""Members that would tell by themselves what was in a text, and would be wrong about its stand-in."""

WORD: Final = re.compile(r"[A-Za-z][\w.$/+-]{0,79}|2\.0", re.ASCII)
ID: Final = re.compile(r"[\w.:+=~-]{1,256}", re.ASCII)
TIME: Final = re.compile(r"\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?)?", re.ASCII)
FACT: Final = re.compile(r"[\w .:+-]{1,100}", re.ASCII)
