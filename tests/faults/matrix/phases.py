"""The phases of a session, one row of the matrix each: what the client does, and the moment at the host in which a
fault strikes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple

from tests.adapter_process import Json
from tests.faults.matrix import expectations as come
from tests.faults.matrix import shown, steps
from tests.faults.matrix.cell import CANCEL_SECONDS, Cell
from tests.faults.matrix.shown import Shown

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
    shows: Shown = shown.nothing
    """What is wrong with what the client was shown or told where the result is right."""
    whole: bool = True
    """Whether that has to be so whatever the fault is, and not only if it is harmless."""
    hosts: int = 0
    """How many hosts are started in it."""
    seconds: float = 0.0
    """What it waits for besides."""
    needed: bool = True
    """Whether the client's answer waits for the host's."""
    retried: bool = False
    """Whether a host that ends meanwhile costs nothing, because the next one is asked."""
    answered: bool = False
    """Whether the client has its answer before that."""
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
    left: bool = False
    """Whether the host is not needed afterwards."""
    forms: bool = True
    """Whether the client shows forms."""
    refuses: bool = False
    """Whether it is about consent that is not given, where kinds of faults are tried that differ for that."""
    early: bool = False
    """Whether the moment is over before there can be a session."""


def ends_turn(result: Json) -> bool:
    return bool(result["stopReason"] == "end_turn")


def is_cancelled(result: Json) -> bool:
    return bool(result["stopReason"] == "cancelled")


def _phase(name: str, told: str, act: Callable[[Cell], Json], method: str, **more: Any) -> Phase:
    return Phase(name, told, act, **{"at": "answer", "method": method, **more})


def _start(name: str, told: str, method: str = "", **more: Any) -> Phase:
    usual = {"arrange": steps.nothing, "early": True, "retried": True, "more": True, "hosts": 2, "shows": shown.opened}
    return _phase(name, told, steps.new, method, **{**usual, "expects": come.STARTING, **more})


def _stored(name: str, told: str, act: Callable[[Cell], Json], method: str, **more: Any) -> Phase:
    return _phase(name, told, act, method, arrange=steps.stored, **{"retried": True, **more})


def _in_turn(name: str, told: str, act: Callable[[Cell], Json], method: str, **more: Any) -> Phase:
    """A turn runs, and its end is waited for."""
    return _phase(name, told, act, method, **{"right": ends_turn, "needed": False, "turn": True, **more})


def _told(event: str, **more: Any) -> Phase:
    name = "tell-" + event.replace("/", "-")
    usual = {"at": "event", "shows": shown.hello}
    return _in_turn(name, f"a turn is told of: {event}", steps.prompting("hello"), event, **{**usual, **more})


def _sent_again(name: str, told: str, act: Callable[[Cell], Json], method: str, **more: Any) -> Phase:
    usual = {"expects": come.SENT_AGAIN, "shows": shown.chosen}
    return _phase(name, told, act, method, retried=True, **{**usual, **more})


def _command(name: str, text: str, method: str, **more: Any) -> Phase:
    expects = {**come.SENT_AGAIN, **more.pop("expects", {}), **come.IN_WORDS}
    act = steps.prompting(text)
    return _sent_again(name, f"the command `{text}`", act, method, right=ends_turn, expects=expects, **more)


def _moves(name: str, told: str, method: str, **more: Any) -> Phase:
    """A session goes to a host that was started without its tools for writing and running."""
    usual = {"arrange": steps.restricted, "right": ends_turn, "restricted": True, "shows": shown.hello, "hosts": 1}
    return _phase(name, told, steps.prompting("hello"), method, **{**usual, **more})


def _read(name: str, told: str, method: str, **more: Any) -> Phase:
    usual = {"arrange": steps.output, "version": "1.2.1", "restricted": True, "more": True, "expects": come.READ}
    usual |= {"shows": shown.bytes_read, "hosts": 1}
    return _phase(name, told, steps.read, method, **{**usual, **more})


def _stops(name: str, told: str, script: str, method: str) -> Phase:
    arrange = steps.task_of(script)
    return _phase(name, told, steps.stop_task, method, arrange=arrange, expects=come.TASK, shows=shown.stopped)


def _refusal(name: str, told: str, act: Callable[[Cell], Json], **more: Any) -> Phase:
    """Consent is refused, and the turn goes on without."""
    usual = {"arrange": steps.asking, "shows": shown.says(shown.REFUSED), "refuses": True}
    return _in_turn(name, told, act, "approval/decide", **{**usual, **more})


def _unanswered(name: str, told: str, act: Callable[[Cell], Json]) -> Phase:
    """The turn ends with its question open."""
    arrange = steps.asking
    usual = {"right": is_cancelled, "needed": False, "refuses": True, "seconds": CANCEL_SECONDS}
    return _phase(name, told, act, "turn/interrupt", arrange=arrange, **usual)


DONE: Final = shown.says(shown.CONSENTED)
ANSWERED: Final = shown.says(shown.CHOSEN)
DECLINED: Final = shown.says("The question was cancelled ✓ I go on without an answer.")
COMPACTED: Final = shown.carries_out("The context is compacted: 161000 tokens have become 31000.")
RENAMED: Final = shown.carries_out("The session is called “a name” now.")
# Without the turn in its answer it cannot be known at once that the session wakes up.
PEARS: Final = shown.carries_out("You said: ripe pears — noted ✓", besides="The goal is set.")
EDITED: Final = shown.says("The greeting is complete ✓")

PHASES: Final = (
    # a host is started
    _start("start", "the host has been started", at="spawn"),
    _start("handshake", "the host is greeted", "initialize", expects=come.GREETING),
    _start("abilities", "it is asked what it can do", "session/rename", needed=False, expects=come.SILENT),
    _start("abilities-list", "the last question of these", "session/list", needed=False, expects=come.SILENT),
    # a session is opened
    _phase(
        "new",
        "a session is started",
        steps.new,
        "session/start",
        retried=True,
        shows=shown.opened,
        expects=come.NO_SESSION,
    ),
    _phase("new-models", "its models are asked for", steps.new, "model/list", needed=False, shows=shown.opened),
    _phase(
        "new-skills",
        "its skills are asked for",
        steps.new,
        "skill/list",
        needed=False,
        answered=True,
        shows=shown.opened,
    ),
    _stored(
        "load",
        "a stored session is opened",
        steps.load,
        "session/resume",
        more=True,
        shows=shown.past,
        expects=come.READ_ON,
    ),
    _stored(
        "load-page",
        "its past is read",
        steps.load,
        "view/page",
        retried=False,
        shows=shown.past,
        expects=come.LAST_PAGE,
    ),
    _stored("resume", "the same without its past", steps.resume, "session/resume"),
    _phase(
        "fork-read",
        "a session is looked at, to be copied",
        steps.fork,
        "session/read",
        retried=True,
        more=True,
        shows=shown.opened,
        expects=come.LOOKED_AT,
    ),
    _phase("fork", "a session is copied", steps.fork, "session/fork", retried=True, more=True, shows=shown.opened),
    _phase("fork-resume", "the copy is opened", steps.fork, "session/resume", retried=True, shows=shown.opened),
    _phase(
        "list", "the sessions are listed", steps.listing, "session/list", shows=shown.listed, expects=come.NO_SESSION
    ),
    _phase(
        "list-page",
        "their names are looked for",
        steps.listing,
        "view/page",
        needed=False,
        shows=shown.listed,
        version="1.2.1",
    ),
    # a turn
    _phase(
        "prompt",
        "a prompt is taken in",
        steps.prompting("hello"),
        "turn/start",
        right=ends_turn,
        shows=shown.hello,
        retried=True,
        expects=come.TAKEN_IN,
    ),
    _told("turn/started"),
    _told("item/started"),
    _told("item/delta"),
    _told("item/completed"),
    _told("session/tokenUsage"),
    _told("turn/completed", expects=come.UNTOLD),
    _in_turn(
        "gap",
        "what was lost is read",
        steps.prompting("gap"),
        "view/page",
        turn=False,
        shows=shown.says(shown.GAP),
        whole=False,
        expects=come.LATE,
    ),
    _phase(
        "cancel",
        "a turn is stopped",
        steps.cancel,
        "turn/interrupt",
        arrange=steps.working,
        right=is_cancelled,
        seconds=CANCEL_SECONDS,
        needed=False,
    ),
    _phase(
        "unqueue",
        "a prompt that waits is taken back",
        steps.cancel_both,
        "turn/unqueue",
        arrange=steps.queued,
        right=is_cancelled,
        seconds=CANCEL_SECONDS,
        needed=False,
    ),
    _phase(
        "steer",
        "words are added to a turn",
        steps.steer,
        "turn/steer",
        arrange=steps.working,
        shows=shown.steered,
        expects=come.STEERED,
    ),
    # questions
    _in_turn(
        "ask-consent", "the host asks for consent", steps.approve, "approval/request", at="event", more=True, shows=DONE
    ),
    _in_turn("decide", "it is told of a decision", steps.decide, "approval/decide", arrange=steps.asking, shows=DONE),
    _in_turn(
        "decided", "it tells of it", steps.decide, "approval/resolved", at="event", arrange=steps.asking, shows=DONE
    ),
    _in_turn(
        "ask-question",
        "it asks a question",
        steps.asking_for("ask"),
        "userInput/request",
        at="event",
        more=True,
        shows=shown.says(shown.CHOSEN),
    ),
    _in_turn(
        "engaged",
        "it is told that the question is on screen",
        steps.asking_for("ask 600"),
        "userInput/engaged",
        at="note",
        more=True,
        shows=shown.says(shown.CHOSEN),
    ),
    _in_turn(
        "answer-question",
        "it is told the answer",
        steps.fill_in,
        "userInput/answer",
        arrange=steps.form,
        shows=ANSWERED,
    ),
    _in_turn(
        "decline-question",
        "or that there is none",
        steps.decline,
        "userInput/cancel",
        arrange=steps.form,
        shows=DECLINED,
    ),
    _in_turn(
        "clarify",
        "or something else, in words",
        steps.prompting("as you like it"),
        "userInput/clarify",
        arrange=steps.asked_in_text,
        shows=shown.clarified("The question was clarified ✓ You said: as you like it"),
        forms=False,
    ),
    # consent that is not given
    _refusal("reject", "it is told that the client rejects", steps.reject),
    _refusal(
        "refuse-error", "or that the client cannot ask", steps.refuse_by_error, shows=shown.ends_saying(shown.REFUSED)
    ),
    _refusal("refuse-oddly", "or that it has chosen what was not offered", steps.refuse_oddly),
    _unanswered("refuse-stopping", "the client answers with an end of the turn", steps.refuse_by_stopping),
    _unanswered("left-open", "it stops the turn, and allows when that has ended", steps.allow_too_late),
    _in_turn(
        "form-error",
        "it cannot show the form",
        steps.refuse_form,
        "userInput/cancel",
        arrange=steps.form,
        shows=shown.ends_saying("I go on without an answer."),
    ),
    # what can be set
    _sent_again("set-model", "a model is chosen", steps.choosing("model"), "session/setModel"),
    _sent_again(
        "set-effort",
        "an effort is chosen",
        steps.choosing("reasoning_effort"),
        "session/setReasoningEffort",
        expects=come.PER_TURN,
    ),
    _sent_again("set-approvals", "an approval mode", steps.choosing("approval_mode"), "session/setApprovalMode"),
    _moves(
        "move-leave",
        "a session moves: its host lets go of it",
        "session/leave",
        restricted=False,
        needed=False,
        left=True,
        expects=come.KEPT,
    ),
    _moves("move-greet", "the other host is greeted", "initialize", more=True, expects=come.GREETED),
    _moves("move-resume", "the other host loads it", "session/resume", after=1, more=True, expects=come.MOVED),
    _moves(
        "move-questions",
        "what is open in it is asked for",
        "approval/listPending",
        needed=False,
        more=True,
        expects=come.BESIDE,
    ),
    # commands and tasks
    _command("compact", "/compact", "session/compact", shows=COMPACTED, expects=come.TOLD),
    _command("rename", "/rename a name", "session/rename", shows=RENAMED),
    _command("goal", "/goal ripe pears", "goal/set", shows=PEARS, expects=come.TAKEN_IN),
    _stops("stop-tool", "a tool in the background is stopped", "background 600", "task/stop"),
    _stops("stop-agent", "a subagent is stopped", "subagent 600", "subagent/stop"),
    _stops("stop-workflow", "a workflow is stopped", "workflow 600", "workflow/cancel"),
    # stored output
    _read("read-greet", "a host for reading is greeted", "initialize", expects=come.READ_GREET),
    _read("read-session", "it is asked for the session", "session/read", expects=come.READ_SESSION),
    _read("read-page", "it is asked for the history", "view/page"),
    _read("read-output", "it is asked for the bytes", "item/readOutput", more=False, expects=come.READ_OUTPUT),
    _in_turn(
        "patch", "the patch of an edit is read", steps.prompting("edit"), "item/readOutput", turn=False, shows=EDITED
    ),
    # a session is left
    _phase("close-events", "no more of its events", steps.close, "view/unsubscribe", needed=False),
    _phase("close", "its host lets go of it", steps.close, "session/leave", needed=False),
    _phase("closed", "and tells that it has", steps.close, "session/leaveCompleted", at="event", needed=False),
    _stored(
        "delete",
        "a session is deleted",
        steps.delete,
        "session/delete",
        retried=False,
        version="1.4.2",
        shows=shown.deleted,
        whole=False,
        expects=come.EMPTY,
    ),
    _stored(
        "deleted",
        "the host tells what came of it",
        steps.delete,
        "session/deleteCompleted",
        at="event",
        retried=False,
        version="1.4.2",
        shows=shown.deleted,
        whole=False,
        expects=come.UNCONCLUDED,
    ),
    # the client goes
    _phase("shutdown", "the client goes", steps.nothing_asked, "", at="end", needed=False),
    _phase("shutdown-turn", "it goes while a turn runs", steps.nothing_asked, "", at="end", arrange=steps.working),
)

BY_NAME: Final = {phase.name: phase for phase in PHASES}
