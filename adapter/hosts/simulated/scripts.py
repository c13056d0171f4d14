"""What a simulated turn does, chosen by the first word of the prompt.

| prompt | the turn |
|---|---|
| a skill | an answer that names the skill and its arguments |
| anything else | a short answer that repeats the prompt's first line, in three deltas |
| `stream N [SIZE]` | N deltas of SIZE bytes of text (16 if not given), as fast as the pipe takes them |
| `think` | a reasoning item whose summary streams, then an answer |
| `quiet SECONDS` | nothing at all for so long, then an answer |
| `slow SECONDS` | one delta, then a wait that an interrupt ends, then the rest |
| `fail [KIND]` | two deltas, then the turn fails with that error kind (`modelError` if not given) |
| `fail launchError` | the same, but if the turn had to wait in the queue it fails without ever having started |
| `expire` | two deltas, then the turn fails because the login has expired; it is gone until the next one |
| `history N` | N short messages, kept and not streamed: a past of many pages |
| `retry` | a model call fails and is retried, then an answer |
| `gap [N]` | an answer of which N durable events (2 if not given) are lost on the way: `view/gap` |
| `todo` | the plan changes three times |
| `branch [NAME]` | the workspace is on another branch, or on none |
| `seen` | an answer that tells each part of the prompt: its characters, bytes, a skill's name |
| `recall` | an answer with the first prompt of the session |
| `roots` | an answer with the folders in force, one a line |
| `mcp` | an answer with the session's MCP servers, one a line: name, transport, mode |
| `skills` | the session has one skill more, `deploy`, and says so |
| `title TEXT` | the host names the session |
| `usage USED [WINDOW]` | the context is that full |
| `model-mismatch NAME` | another model than the session's is said to have answered |
| `hook`, `hook blocked` | a hook ran, or stopped something, where a version shows it |
| `websearch` | the provider searched the web, where a version shows it |
| `damage` | a part of the session's log is said to be unreadable, where a version shows it |
| `shell N` | a shell tool with N bytes of output: the visible text is bounded, the rest is a stored output |
| `shell binary N` | the same with bytes that are no text |
| `shell N WORD...` | the output has that availability; each further word is told by a later revision |
| `tool [STATUS]` | a tool call that ends with that status (`failed`, `timedOut`, ...) |
| `progress` | a long tool call that tells where it stands |
| `work SECONDS` | a tool call that takes so long within its turn; an interrupt ends it |
| `picture` | a tool call whose result is an image |
| `edit` | a file edit with a patch to read and its counts |
| `write PATH TEXT` | a file is written for real, in the session's folders; TEXT is all that follows, as it is |
| `replace PATH OLD NEW` | the first OLD in a file is replaced, for real |
| `delete PATH` | a file is deleted, for real |
| `ask-write PATH TEXT` | as `write`, after consent |
| `ask-replace PATH OLD NEW` | as `replace`, after consent |
| `approve` | a file write that asks for consent |
| `approve wide` | the same with every kind of choice: once, for the session, always, no with a reason, no |
| `approve empty`, `allowing`, `unheard` | the same with no choices, only allowing ones, or decisions nobody knows |
| `approve elsewhere [SECONDS]` | the same, settled by somebody else after a while |
| `approve lost` | the same, but `approval/requested` falls into a gap |
| `approve child` | a subagent asks for consent through the session |
| `approve kid` | a subagent asks in a session of its own, `kid-...` |
| `approve3` | a shell command of three parts; the first and the last ask for consent |
| `many N` | N commands at once, each with an approval of its own |
| `ask [SECONDS]` | two questions to the user, with a countdown if SECONDS are given |
| `ask multi`, `text`, `two` | a question with two or three answers, one without options, two with one answer each |
| `ask elsewhere` | a question that somebody else answers after 0.3 s |
| `background [SECONDS]` | a tool that goes on after its turn |
| `subagent` | a subagent that is started, works and reports |
| `subagent SECONDS` | a subagent that goes on beside its turn |
| `workflow [SECONDS]` | a workflow with two children, beside the turn; each takes so long |
| `compaction` | the context is compacted, then an answer |
| `unknown` | an item kind, a notification and a status that no version knows, then an answer |

A script is a generator of steps. To add one: write it, and name its word in `_SCRIPTS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from adapter.hosts.simulated import (
    scripts_agents,
    scripts_consent,
    scripts_files,
    scripts_questions,
    scripts_session,
    scripts_tools,
)
from adapter.hosts.simulated.steps import (
    Burst,
    Completed,
    Delta,
    End,
    ForgetLogin,
    LoseNext,
    Notify,
    Script,
    Started,
    Wait,
    chunks,
)
from adapter.hosts.simulated.turn import Turn

MESSAGE_BYTES: Final = 1024 * 1024
"""A streamed answer is cut into messages of about this size: a completed one must fit a frame."""

_WORDS: Final = ("Grüße ✓ ", "naïve ", "東京 ", "plain ")


def script_for(turn: Turn) -> Script:
    """The script of a prompt."""
    if turn.skill is not None:
        return scripts_session.skill(turn)
    word = turn.words[0].lower() if turn.words else ""
    return _SCRIPTS.get(word, _answer)(turn)


def say(turn: Turn, text: str) -> Script:
    """An assistant message, streamed in three deltas."""
    message = turn.item("agentMessage", text="")
    yield Started(message, kept=False)
    for piece in chunks(text, 3):
        yield Delta(message, piece)
    yield Completed(message, {"messagePhase": "finalAnswer"})


def _answer(turn: Turn) -> Script:
    yield from say(turn, f"You said: {turn.first_line} — noted ✓")
    if turn.steered:
        yield from say(turn, f"And then: {turn.steered[-1]} ✓")


def _stream(turn: Turn) -> Script:
    count, size = turn.number(1, 100), turn.number(2, 16)
    texts = tuple(sized(word, size) for word in _WORDS)
    per_message = max(1, MESSAGE_BYTES // max(1, size))
    while count > 0:
        message = turn.item("agentMessage", text="")
        yield Started(message, kept=False)
        yield Burst(message, texts, min(count, per_message))
        count -= per_message
        yield Completed(message, {"messagePhase": "finalAnswer" if count <= 0 else "commentary"})


def sized(word: str, size: int) -> str:
    """`word` repeated and padded to exactly `size` bytes of UTF-8."""
    width = len(word.encode())
    return word * (size // width) + "." * (size % width)


def _think(turn: Turn) -> Script:
    thought = turn.item("reasoning", summary=[])
    yield Started(thought, kept=False)
    for index, part in enumerate(("Reading the question… ", "Weighing two options — the naïve one wins.")):
        for piece in chunks(part, 2):
            yield Delta(thought, piece, f"summary.{index}")
    yield Completed(thought)
    yield from say(turn, "Having thought about it: yes ✓")


def _slow(turn: Turn) -> Script:
    message = turn.item("agentMessage", text="")
    yield Started(message, kept=False)
    yield Delta(message, "This takes a while… ")
    yield Wait(turn.seconds(1, 30.0))
    yield Delta(message, "done ✓")
    yield Completed(message, {"messagePhase": "finalAnswer"})


def _quiet(turn: Turn) -> Script:
    yield Wait(turn.seconds(1, 1.0))
    yield from say(turn, "Sorry — I was far away ✓")


def _branch(turn: Turn) -> Script:
    name = turn.words[1] if len(turn.words) > 1 else None
    yield Notify("session/branchChanged", {"branch": name, "workspaceRoot": turn.workspace, "vcs": "git"})
    yield from say(turn, "Another branch, the same code ✓")


def _fail(turn: Turn) -> Script:
    kind = turn.words[1] if len(turn.words) > 1 else "modelError"
    message = turn.item("agentMessage", text="")
    yield Started(message, kept=False)
    yield Delta(message, "Let me see… ")
    yield Delta(message, "hm —")
    yield Completed(message, status="failed")
    text = f"simulated failure of kind {kind}"
    yield End("failed", text, {"kind": kind, "message": text, "retryable": kind == "modelError"})


def logged_out(turn: Turn) -> Script:
    """A turn of a host that has no login."""
    text = "not logged in; run muse login (simulated)"
    yield End("failed", text, {"kind": turn.profile.error_kind("authRequired"), "message": text, "retryable": False})


def unlinked(turn: Turn, server: str) -> Script:
    """A turn of a session with a required MCP server that cannot be started."""
    text = f"the required MCP server {server} cannot be started (simulated)"
    yield End("failed", text, {"kind": turn.profile.error_kind("mcpLinkError"), "message": text, "retryable": False})


def _expire(turn: Turn) -> Script:
    message = turn.item("agentMessage", text="")
    yield Started(message, kept=False)
    yield Delta(message, "Let me see… ")
    yield Delta(message, "hm —")
    yield Completed(message, status="failed")
    yield ForgetLogin()
    yield from logged_out(turn)


def _history(turn: Turn) -> Script:
    for index in range(turn.number(1, 100)):
        yield Completed(turn.item("agentMessage", text=f"Message № {index}", messagePhase="commentary"))


def _retry(turn: Turn) -> Script:
    params = {
        "turnId": turn.id,
        "attempt": 1,
        "nextAttempt": 2,
        "maxAttempts": 3,
        "retryDelayMs": 50,
        "reason": "provider stream disconnected",
        "errorKind": "modelError",
        "httpStatus": 503,
    }
    yield Notify("turn/retryScheduled", params)
    yield Wait(0.05)
    yield from say(turn, "The second attempt worked ✓")


def _gap(turn: Turn) -> Script:
    yield from say(turn, "Before the gap — ")
    yield LoseNext(turn.number(1, 2))
    for index in range(turn.number(1, 2)):
        yield Completed(turn.item("agentMessage", text=f"Lost on the way: {index} ✗"))
    yield Completed(turn.item("agentMessage", text="After the gap ✓"))


def _todo(turn: Turn) -> Script:
    texts = ("Read the code", "Change it", "Test it — twice")
    for done in range(len(texts) + 1):
        states = ["completed"] * done + ["inProgress"] + ["pending"] * len(texts)
        items = [{"text": text, "status": states[at], "activeForm": text} for at, text in enumerate(texts)]
        params = {"items": items, "revision": done + 1, "sourceTool": "write_todos"}
        yield Notify("session/todoListChanged", params)
    yield from say(turn, "The plan is done ✓")


def _unknown(turn: Turn) -> Script:
    yield Completed(turn.item("hologramPanel", fallbackText="A hologram ✨", depthOfField=3))
    yield Notify("session/auraChanged", {"aura": "violet"})
    yield Completed(turn.tool("read_file", '{"path":"a.txt"}'), {"visibleOutput": "…"}, status="evaporated")
    yield from say(turn, "Nothing of that is known ✓")


_SCRIPTS: Final[dict[str, Callable[[Turn], Script]]] = {
    "stream": _stream,
    "think": _think,
    "slow": _slow,
    "quiet": _quiet,
    "branch": _branch,
    "fail": _fail,
    "expire": _expire,
    "history": _history,
    "retry": _retry,
    "gap": _gap,
    "todo": _todo,
    "unknown": _unknown,
    "shell": scripts_tools.shell,
    "edit": scripts_tools.edit,
    "tool": scripts_tools.tool,
    "progress": scripts_tools.progress,
    "work": scripts_tools.work,
    "picture": scripts_tools.picture,
    "background": scripts_tools.background,
    "approve": scripts_consent.approve,
    "approve3": scripts_consent.approve3,
    "many": scripts_consent.many,
    "ask": scripts_questions.ask,
    "write": scripts_files.script("write"),
    "replace": scripts_files.script("replace"),
    "delete": scripts_files.script("delete"),
    "ask-write": scripts_files.script("write", asks=True),
    "ask-replace": scripts_files.script("replace", asks=True),
    "subagent": scripts_agents.subagent,
    "workflow": scripts_agents.workflow,
    "compaction": scripts_agents.compaction,
    "seen": scripts_session.seen,
    "recall": scripts_session.recall,
    "roots": scripts_session.roots,
    "mcp": scripts_session.mcp,
    "skills": scripts_session.skills,
    "title": scripts_session.title,
    "usage": scripts_session.usage,
    "model-mismatch": scripts_session.model_mismatch,
    "hook": scripts_session.hook,
    "websearch": scripts_session.websearch,
    "damage": scripts_session.damage,
}

WORDS: Final = frozenset(_SCRIPTS)
"""The words that choose a script."""
