"""What a refusal comes to: a failure, or the news that there is no such thing here."""

from __future__ import annotations

from typing import Final

from adapter.cli.inspect import words
from adapter.cli.inspect.members import Members
from adapter.cli.inspect.story import Frame, Kind, Said

_METHOD_NOT_FOUND: Final = -32601

_LACKING: Final = frozenset({"methodNotFound", "experimentalRequired", "capabilityRequired"})
"""Kinds of errors that say that a method is not there, or not for this client (`msp.md §7`)."""

_NEEDED: Final = frozenset(
    {
        *("initialize", "session/start", "session/resume", "turn/start"),
        *("session/new", "session/prompt", "session/request_permission"),
    }
)
"""Methods without which there is no conversation; all others are optional, and asking is how to learn of them
(`msp.md §28.6`, `acp.md §4`)."""


def is_lacking(error: Members) -> bool:
    """Whether a method was refused because it is not there."""
    return error.number("code") == _METHOD_NOT_FOUND or error.inner("data").text("kind") in _LACKING


def refused(frame: Frame, kind: Kind, session: str, turn: str) -> Said:
    """What an error says. A host or a client may lack what is optional, and whoever asked goes on without."""
    if is_lacking(frame.error) and frame.method not in _NEEDED:
        return Said(f"not available here: {words.error_words(frame.error)}", kind, session, turn, lacking=True)
    return Said(words.refusal(frame.error), kind, session, turn, failed=True)


def probed(frame: Frame) -> Said:
    """What was learnt from asking about a session that nobody has: every refusal but one means that the method is
    there."""
    if frame.shape != "answer":
        return Said("is it available?", "probe")
    if not frame.refused:
        return Said("available", "probe")
    how = "not available here" if is_lacking(frame.error) else "available"
    return Said(f"{how}: {words.error_name(frame.error)}", "probe")
