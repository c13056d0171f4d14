"""The phases of a session, one row of the matrix each: what the client does, and the moment at the host in which a
fault strikes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Literal, NamedTuple

from tests.adapter_process import Json
from tests.faults.matrix import steps
from tests.faults.matrix.cell import Cell

NEWEST: Final = "1.4.13"


class Phase(NamedTuple):
    """A row."""

    name: str
    told: str
    act: Callable[[Cell], Json]
    """What the client does in it; gives the answer that is judged."""
    at: Literal["spawn", "answer", "event", "note", "end"]
    """`answer`: the host answers `method`; `event`: it tells or asks that; `note`: it is told that."""
    method: str = ""
    arrange: Callable[[Cell], None] = steps.opened
    right: Callable[[Json], bool] = lambda result: True
    """Whether the result is what it would be without a fault."""
    needed: bool = True
    """Whether the client's answer waits for the host's."""
    retried: bool = False
    """Whether a host that ends meanwhile costs nothing, because the next one is asked."""
    turn: bool = False
    """Whether a turn runs whose end the client waits for."""
    more: bool = False
    """Whether the host has to be asked for more before the answer."""
    expects: Mapping[str, str] = {}
    """What comes instead, by fault or by group of faults, where it is not what the group says."""
    version: str = NEWEST
    after: int = 0
    restricted: bool = False
    """Whether it is about a host that was started without its tools for writing and running."""
    early: bool = False
    """Whether the moment is over before there can be a session."""


def ends_turn(result: Json) -> bool:
    return bool(result["stopReason"] == "end_turn")


def is_cancelled(result: Json) -> bool:
    return bool(result["stopReason"] == "cancelled")


STARTED: Final = "ok or -32603 hostStartFailed"
"""A host that fails before anybody has asked for one is replaced by the next one."""


def _start(name: str, told: str, at: Literal["spawn", "answer"], method: str = "", *, needed: bool = True) -> Phase:
    late = "-32603 hostStartTimeout"
    begins = {"lost": late, "mute": late, "deaf": late, "too-late": "ok", "closes-stdin": late}
    early = {"gone": STARTED, "malformed": STARTED, "refused": STARTED, **begins}
    asked = {"mute": "-32603 hostTimeout"}
    return Phase(
        name,
        told,
        steps.new,
        at,
        method,
        steps.nothing,
        early=True,
        retried=True,
        needed=needed,
        more=True,
        expects=early if needed else asked,
    )


def _opens(name: str, told: str, act: Callable[[Cell], Json], method: str, *, needed: bool = True) -> Phase:
    return Phase(name, told, act, "answer", method, steps.stored, needed=needed, retried=needed)


def _told(event: str, script: str = "hello") -> Phase:
    name = "tell-" + event.replace("/", "-")
    act = steps.prompting(script)
    return Phase(name, f"a turn is told of: {event}", act, "event", event, right=ends_turn, needed=False, turn=True)


def _command(name: str, text: str, method: str) -> Phase:
    return Phase(name, f"the command {text.split()[0]}", steps.prompting(text), "answer", method, right=ends_turn)


def _read(name: str, told: str, method: str) -> Phase:
    return Phase(name, told, steps.read, "answer", method, steps.output, version="1.2.1", restricted=True)


NO_SESSION: Final = {"error-sessionNotFound": "-32603 hostError", "error-sessionNotLoaded": "-32603 hostError"}
"""The client has named no session that could be unknown."""

EMPTY: Final = {"result-empty": "ok", "result-null": "ok"}
"""Nothing of the answer is needed."""

TAKEN_IN: Final = {"ignores": "-32603 hostTimeout", "lost": "ok", "error-sessionNotLoaded": "ok"}
"""The events of the turn say that a prompt was taken in, also without an answer; a host that has unloaded the session
is asked to load it again."""

UNKNOWN_END: Final = "-32603 turnEndUnknown"

PHASES: Final = (
    _start("start", "the host has been started", "spawn"),
    _start("handshake", "the host is greeted", "answer", "initialize"),
    _start(
        "abilities", "the host is asked what it can do: the first question", "answer", "session/rename", needed=False
    ),
    _start("abilities-list", "the last question", "answer", "session/list", needed=False),
    Phase("new", "a session is started", steps.new, "answer", "session/start", retried=True, expects=NO_SESSION),
    Phase("new-models", "its models are asked for", steps.new, "answer", "model/list", needed=False),
    Phase("new-skills", "its skills are asked for", steps.new, "answer", "skill/list", needed=False),
    _opens("load", "a stored session is opened", steps.load, "session/resume")._replace(more=True),
    _opens("load-page", "its past is read", steps.load, "view/page")._replace(retried=False),
    _opens("resume", "the same without its past", steps.resume, "session/resume"),
    Phase(
        "fork-read",
        "a session is looked at, to be copied",
        steps.fork,
        "answer",
        "session/read",
        retried=True,
        more=True,
        expects={**EMPTY, "result-wrong": "ok"},
    ),
    Phase("fork", "a session is copied", steps.fork, "answer", "session/fork", retried=True, more=True),
    Phase("fork-resume", "the copy is opened", steps.fork, "answer", "session/resume", retried=True),
    Phase("list", "the sessions are listed", steps.listing, "answer", "session/list", expects=NO_SESSION),
    Phase(
        "list-page", "their names are looked for", steps.listing, "answer", "view/page", needed=False, version="1.2.1"
    ),
    Phase(
        "prompt",
        "a prompt is taken in",
        steps.prompting("hello"),
        "answer",
        "turn/start",
        right=ends_turn,
        retried=True,
        expects=TAKEN_IN,
    ),
    _told("turn/started"),
    _told("item/started"),
    _told("item/delta"),
    _told("item/completed"),
    _told("session/tokenUsage"),
    _told("turn/completed")._replace(expects={"lost": UNKNOWN_END, "too-long": UNKNOWN_END}),
    Phase(
        "cancel",
        "a turn is stopped",
        steps.cancel,
        "answer",
        "turn/interrupt",
        steps.working,
        is_cancelled,
        needed=False,
    ),
    Phase(
        "unqueue",
        "a prompt that waits is taken back",
        steps.cancel_both,
        "answer",
        "turn/unqueue",
        steps.queued,
        is_cancelled,
        needed=False,
    ),
    Phase("steer", "words are added to a turn", steps.steer, "answer", "turn/steer", steps.working, expects=EMPTY),
    Phase(
        "ask-consent",
        "the host asks for consent",
        steps.approve,
        "event",
        "approval/request",
        right=ends_turn,
        needed=False,
        turn=True,
        more=True,
    ),
    Phase(
        "decide",
        "the host is told of a decision",
        steps.decide,
        "answer",
        "approval/decide",
        steps.asking,
        ends_turn,
        needed=False,
        turn=True,
    ),
    Phase(
        "decided",
        "the host tells of it",
        steps.decide,
        "event",
        "approval/resolved",
        steps.asking,
        ends_turn,
        needed=False,
        turn=True,
    ),
    Phase(
        "ask-question",
        "the host asks a question",
        steps.asking_for("ask"),
        "event",
        "userInput/request",
        right=ends_turn,
        needed=False,
        turn=True,
        more=True,
    ),
    Phase(
        "engaged",
        "the host is told that it is on screen",
        steps.asking_for("ask 600"),
        "note",
        "userInput/engaged",
        right=ends_turn,
        needed=False,
        turn=True,
        more=True,
    ),
    Phase(
        "answer-question",
        "the host is told the answer",
        steps.fill_in,
        "answer",
        "userInput/answer",
        steps.form,
        ends_turn,
        needed=False,
        turn=True,
    ),
    Phase(
        "decline-question",
        "the host is told that there is none",
        steps.decline,
        "answer",
        "userInput/cancel",
        steps.form,
        ends_turn,
        needed=False,
        turn=True,
    ),
    Phase("set-model", "a model is chosen", steps.choosing("model"), "answer", "session/setModel"),
    Phase(
        "set-effort", "an effort is chosen", steps.choosing("reasoning_effort"), "answer", "session/setReasoningEffort"
    ),
    Phase(
        "set-approvals",
        "an approval mode is chosen",
        steps.choosing("approval_mode"),
        "answer",
        "session/setApprovalMode",
    ),
    Phase(
        "move-leave",
        "a session moves: its host lets go of it",
        steps.prompting("hello"),
        "answer",
        "session/leave",
        steps.restricted,
        ends_turn,
    ),
    Phase(
        "move-greet",
        "the other host is greeted",
        steps.prompting("hello"),
        "answer",
        "initialize",
        steps.restricted,
        ends_turn,
        restricted=True,
        retried=True,
    ),
    Phase(
        "move-resume",
        "the other host loads it",
        steps.prompting("hello"),
        "answer",
        "session/resume",
        steps.restricted,
        ends_turn,
        restricted=True,
        retried=True,
    ),
    Phase(
        "move-questions",
        "what is open in it is asked for",
        steps.prompting("hello"),
        "answer",
        "approval/listPending",
        steps.restricted,
        ends_turn,
        restricted=True,
        needed=False,
        turn=True,
    ),
    Phase(
        "gap",
        "what was lost is read",
        steps.prompting("gap"),
        "answer",
        "view/page",
        right=ends_turn,
        needed=False,
        turn=True,
    ),
    _command("compact", "/compact", "session/compact"),
    _command("rename", "/rename a name", "session/rename"),
    _command("goal", "/goal ripe pears", "goal/set"),
    Phase(
        "stop-tool",
        "a tool in the background is stopped",
        steps.stop_task,
        "answer",
        "task/stop",
        steps.task_of("background 600"),
    ),
    Phase(
        "stop-agent", "a subagent is stopped", steps.stop_task, "answer", "subagent/stop", steps.task_of("subagent 600")
    ),
    Phase(
        "stop-workflow",
        "a workflow is stopped",
        steps.stop_task,
        "answer",
        "workflow/cancel",
        steps.task_of("workflow 600"),
    ),
    _read("read-greet", "a host for reading is greeted", "initialize"),
    _read("read-session", "it is asked for the session", "session/read"),
    _read("read-page", "it is asked for the history", "view/page"),
    _read("read-output", "it is asked for the bytes", "item/readOutput"),
    Phase(
        "patch",
        "the patch of an edit is read",
        steps.prompting("edit"),
        "answer",
        "item/readOutput",
        right=ends_turn,
        needed=False,
    ),
    Phase(
        "close-events",
        "a session is left: no more of its events",
        steps.close,
        "answer",
        "view/unsubscribe",
        needed=False,
    ),
    Phase("close", "the host lets go of it", steps.close, "answer", "session/leave", needed=False),
    Phase("closed", "the host tells that it has", steps.close, "event", "session/leaveCompleted", needed=False),
    Phase("delete", "a session is deleted", steps.delete, "answer", "session/delete", steps.stored, version="1.4.2"),
    Phase(
        "deleted",
        "the host tells what came of it",
        steps.delete,
        "event",
        "session/deleteCompleted",
        steps.stored,
        version="1.4.2",
    ),
)

BY_NAME: Final = {phase.name: phase for phase in PHASES}
