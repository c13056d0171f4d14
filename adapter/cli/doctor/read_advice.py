"""What to do when a read stops, by the reason of its refusal. Commands in it are those that use the Muse that was
chosen."""

from __future__ import annotations

import shlex
from typing import Final

from adapter.bridge.hosts.host_choice import HostChoice, resolve_muse
from adapter.bridge.stored_output.errors import NOT_STORED
from adapter.msp.errors import HostStartError

_IN_A_TERMINAL: Final = "un `{serve}` in a terminal to see what it says."
_FAULT_OF_MUSE: Final = "Report it as a fault of Muse: "

ODD_ANSWER: Final = f"{_FAULT_OF_MUSE}it did not say which session it has, or has two."
"""In place of the advice for a session that is not stored, where the host says something else."""

NO_VERSION: Final = "See the checks `executable` and `version`."
"""Where the version cannot be told."""

FIXES: Final[dict[str, str]] = {
    "outputNotAdvertised": "Use a version of Muse on which reading is verified; nothing else is missing on this one.",
    "invalidParams": "Give the ids as a card's handle or `{output} SESSION` shows them.",
    "hostStartTimeout": "Try again, with a longer --startup-timeout if the store is large.",
    "hostStartFailed": f"R{_IN_A_TERMINAL}",
    "hostVersionUnverified": "Finish or undo the update of Muse: it starts another version than its file says.",
    "sessionNotStored": "Look at the id, and whether the session was made by another user or on another machine.",
    "workspaceMismatch": "Nothing can be done: a session without a folder cannot be opened by an editor.",
    "outputNotFound": "List what can be read with `{output} {session}`; what is far back is not found.",
    "outputUnavailable": "Nothing can be done: the host does not have the bytes.",
    "offsetInsideCharacter": f"{_FAULT_OF_MUSE}an output begins with a character.",
    "pieceTooLarge": "Have the client ask for shorter pieces.",
    "hostError": "See what the host says; the refusal is its own.",
    "inconsistentPage": f"{_FAULT_OF_MUSE}what it sent cannot be trusted.",
    "readTimeout": "Try again; a host that stays this slow is overloaded or hangs.",
    "hostDied": f"Try again. If it happens again: r{_IN_A_TERMINAL}",
}


def advice(reason: str, details: str, choice: HostChoice, session_id: str) -> str | None:
    """What to do, None if nothing is known. `details` are the sentence of the refusal."""
    if reason == "sessionNotStored" and details != NOT_STORED:
        return ODD_ANSWER
    fix = FIXES.get(reason)
    if fix is None:
        return None
    return fix.format(serve=serve_command(choice), output=output_command(choice), session=shlex.quote(session_id))


def output_command(choice: HostChoice) -> str:
    """How stored output is read on the command line, to be followed by a session."""
    return shlex.join(["muse-adapter", *(["--muse", choice.muse] if choice.muse else []), "output"])


def serve_command(choice: HostChoice) -> str:
    """How the host is started by hand."""
    try:
        muse = resolve_muse(choice)
    except HostStartError:
        muse = ["muse"]
    return shlex.join([*muse, "serve"])
