"""What has to come of a fault in a phase, by fault or group of faults, where it is not what the group says."""

from __future__ import annotations

from typing import Final

_TIMEOUT: Final = "-32603 hostTimeout"
_UNKNOWN_END: Final = "-32603 turnEndUnknown"
_LATE: Final = "-32603 hostStartTimeout"
_FAILED: Final = "-32603 hostStartFailed"
_NOT_STORED: Final = "-32002 sessionNotStored"
_HOST_ERROR: Final = "-32603 hostError"

HELD: Final = "-32600 hostBusy"
"""Another host has not let go of the session for as long as is waited (`cell.HELD_SECONDS`)."""

NO_SESSION: Final = {"error-sessionNotFound": _HOST_ERROR, "error-sessionNotLoaded": _HOST_ERROR}
"""The client has named no session that could be unknown."""

EMPTY: Final = {"result-empty": "ok", "result-null": "ok"}
"""Nothing of the answer is needed."""

STEERED: Final = {**EMPTY, "error-commandRejected": "-32600 turnNotRunning"}
"""The turn that is steered may be over."""

TASK: Final = {**EMPTY, "error-notFound": "-32600 taskEnded"}
"""A task that the host does not know any more is over."""

LOOKED_AT: Final = {**EMPTY, "result-wrong": "ok"}
"""Of a session that is to be copied only the folder is looked at, where the host tells it."""

SENT_AGAIN: Final = {**EMPTY, "error-sessionNotLoaded": "ok"}
"""A host that has unloaded the session is asked to load it again."""

PER_TURN: Final = {**SENT_AGAIN, "error-methodNotFound": "ok"}
"""A host without a standing effort is told it with each prompt."""

IN_WORDS: Final = dict.fromkeys(("error-commandRejected", "error-methodNotFound", "error-invalidParams"), "ok")
"""A refusal of a slash command is told in words."""

TAKEN_IN: Final = {"ignores": _TIMEOUT, "lost": "ok", "error-sessionNotLoaded": "ok"}
"""The same; and the events of the turn say that a prompt was taken in, also without an answer."""

TOLD: Final = {**SENT_AGAIN, **TAKEN_IN, "malformed": "ok"}
"""The same; and an event tells all that the answer should."""

STARTING: Final = {
    **dict.fromkeys(("gone", "malformed", "refused"), f"ok or {_FAILED}"),
    **dict.fromkeys(("lost", "mute", "deaf", "closes-stdin"), f"ok or {_LATE}"),
    "too-late": "ok",
}
"""A host that fails before anybody has asked for one is replaced by the next one."""

GREETING: Final = {**STARTING, "closes-stdin": "ok", "stops-reading": _TIMEOUT}
"""One that has answered the greeting counts as ready."""

SILENT: Final = {"mute": _TIMEOUT}
"""The next thing it is asked has no answer."""

GREETED: Final = {
    **dict.fromkeys(("gone", "malformed", "refused"), _FAILED),
    **dict.fromkeys(("lost", "mute"), _LATE),
    **dict.fromkeys(("deaf", "stops-reading"), _TIMEOUT),
    **dict.fromkeys(("too-late", "result-empty", "result-null", "result-wrong"), "ok"),
    "closes-stdin": f"-32603 hostDied or {_TIMEOUT}",
}
"""Who waits for a host is told how it failed; what a greeting lacks is not missed."""

MOVED: Final = {
    "closes-stdin": f"ok or {_TIMEOUT}",
    **dict.fromkeys(("error-sessionInUse", "error-sessionBusy", "error-notFound", "error-viewTruncated"), "ok"),
    **dict.fromkeys(("error-methodNotFound", "error-sessionNotFound"), "-32002 sessionLost"),
}
"""A prompt that a host cannot be sent is sent to the next one, and of one that it has not read nobody knows; a session
that is held is waited for, and loaded anew where it cannot be gone on with."""

READ_ON: Final = {"closes-stdin": "-32603 hostDied"}
"""The host has loaded the session, and cannot be asked for its past."""

LAST_PAGE: Final = {"closes-stdin": "ok or -32603 hostDied"}
"""Then it is asked for models, and is answered before it closes stdin or not."""

BESIDE: Final = {
    **SILENT,
    **dict.fromkeys(("closes-stdin", "stops-reading"), f"ok or {_TIMEOUT}"),
    **dict.fromkeys(("killed-late", "half-then-killed", "closes-stdout", "endless"), f"ok or {_HOST_ERROR}"),
}
"""The prompt may have been sent before, and read or not, and the host may have begun with it before it died."""

KEPT: Final = {
    **dict.fromkeys(("ignores", "error-internal", "error-sessionNotLoaded", "error-authRequired"), HELD),
    **dict.fromkeys(("error-unknown", "error-bare", "error-text", "error-without-code", "error-methodNotFound"), HELD),
}
"""The host has not let go of the session."""

LATE: Final = {"gone": "ok or -32603 hostDied", "mute": "ok or cancelled"}
"""The end of the turn may have been told before."""

UNTOLD: Final = {"lost": _UNKNOWN_END, **dict.fromkeys(("too-long", "cut", "broken-text"), "ok")}
"""Nobody tells what became of the turn, unless it is known that something was lost."""

UNCONCLUDED: Final = {"too-long": _TIMEOUT}
"""What cannot be read has not been told."""

READ: Final = {
    **dict.fromkeys(("lost", "mute", "stops-reading"), "-32603 readTimeout"),
    **dict.fromkeys(("malformed", "error-text", "error-without-code"), "-32603 inconsistentPage"),
    "refused": _HOST_ERROR,
    "closes-stdin": "-32603 hostDied or -32603 readTimeout",
}
"""`docs/stored-output.md`, checks 7 to 12; what goes into a pipe as its reader goes has no answer."""

READ_SESSION: Final = {
    **READ,
    **dict.fromkeys(("result-empty", "result-null", "result-wrong", "error-sessionNotFound"), _NOT_STORED),
}

READ_OUTPUT: Final = {
    **READ,
    **dict.fromkeys(("closes-stdin", "stops-reading"), "ok"),
    "error-notFound": "-32002 outputNotFound",
    "error-outputUnavailable": "-32002 outputUnavailable",
    "error-invalidParams": "-32602 offsetInsideCharacter",
    "error-outputResultTooLarge": "-32603 pieceTooLarge",
}

READ_GREET: Final = {
    **GREETED,
    "closes-stdin": f"-32603 hostDied or {_TIMEOUT} or -32603 readTimeout",
    "stops-reading": "-32603 readTimeout",
    **dict.fromkeys(("result-empty", "result-null", "result-wrong"), "-32603 hostVersionUnverified"),
}
