"""What a recording is, as label and text: the head of the ladder, in the terminal and on the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from adapter.acp.text import one_line
from adapter.cli.inspect import words
from adapter.cli.inspect.ladder import Ladder
from adapter.cli.inspect.members import Members
from adapter.cli.inspect.recording import Recording

_NAMED: Final = 5
"""Sessions that are named."""


class Sides(NamedTuple):
    """What the two ends of a recording are called."""

    client: str
    server: str


def sides(recording: Recording) -> Sides:
    """MSP is spoken by a client to a host, ACP by an editor to an agent."""
    return Sides("editor", "agent") if recording.protocol == "acp" else Sides("client", "host")


def title(recording: Recording, name: str) -> str:
    """What the recording is called: its scenario, else the name of its folder."""
    return one_line(recording.about.text("scenario") or name or "recording")


def facts(recording: Recording, ladder: Ladder) -> list[tuple[str, str]]:
    """In the order of interest; what is not known is left out."""
    about, totals, side = recording.about, ladder.totals, sides(recording)
    lasted = "not recorded" if totals.lasted_ms is None else words.lasted(totals.lasted_ms)
    if totals.lasted_ms is not None and not totals.timed:
        lasted += f" from the first to the last notification, by the {side.server}'s clock"
    told = [
        ("about", about.text("description")),
        ("protocol", recording.protocol.upper()),
        (side.client, _told(recording, "client", "clientInfo")),
        (side.server, _told(recording, "server", "serverInfo" if recording.protocol == "msp" else "agentInfo")),
        ("version", about.text("versionOutput")),
        ("provenance", words.listed([about.text("provenance"), about.text("provenanceNote")])),
        ("recorded", about.text("recordedAt")),
        ("redacted", "yes: texts are stand-ins" if about.flag("redacted") else ""),
        (
            "frames",
            f"{totals.frames['client']:,} from the {side.client} ({words.size(totals.sizes['client'])}), "
            f"{totals.frames['server']:,} from the {side.server} ({words.size(totals.sizes['server'])})",
        ),
        ("duration", lasted),
        ("ended", "" if ladder.ending is None else ladder.ending.words),
        ("holds", _counts(ladder)),
        *_sessions(ladder),
    ]
    return [(label, one_line(text, words.QUOTED)) for label, text in told if text]


def _counts(ladder: Ladder) -> str:
    counts = (
        (len(ladder.sessions), "session", ""),
        (len(ladder.turns), "turn", ""),
        (len(ladder.asked), "question to the user", "questions to the user"),
        (len(ladder.reads), "read", ""),
        (len(ladder.totals.unanswered), "request without an answer", "requests without an answer"),
        (len(ladder.totals.failed) + (ladder.ending is not None and ladder.ending.failed), "failure", ""),
        (len({one.method for one in ladder.totals.lacking}), "method not available", "methods not available"),
        (ladder.totals.probes, "probe", ""),
    )
    return words.listed(words.counted(count, noun, plural) for count, noun, plural in counts if count)


def _told(recording: Recording, direction: str, member: str) -> str:
    """The name and version that a side told of itself in the handshake."""
    for line in recording.script.lines:
        if line.direction == direction and line.frame is not None:
            said = Members(line.frame.get("params" if direction == "client" else "result")).inner(member)
            if said:
                return f"{said.text('name')} {said.text('version')}".strip()
    return ""


def _sessions(ladder: Ladder) -> Sequence[tuple[str, str]]:
    named = [
        (session.label, words.listed([session.id, words.quoted(session.name) if session.name else ""]))
        for session in ladder.sessions[:_NAMED]
    ]
    more = len(ladder.sessions) - _NAMED
    return [*named, ("", f"and {words.counted(more, 'session')} more")] if more > 0 else named
