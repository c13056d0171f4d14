"""Recordings on disk (`msp.md §31`): whatever is in them, they are played, shown as lines and as a page, or refused
with a reason; nothing in them can act on a terminal or a browser, and nothing is written that the host did not say."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from typing import Any, Final

import orjson

from adapter.cli.inspect.ladder import ladder_of
from adapter.cli.inspect.page import page
from adapter.cli.inspect.recording import NoRecording, read_recording
from adapter.cli.inspect.run import NotThere, _frame
from adapter.cli.inspect.terminal import Screen
from adapter.hosts.recorded.player import Mismatch, Player
from adapter.hosts.recorded.script import MANIFEST, TRANSCRIPT, Script, ScriptError, load_script
from tests.fuzz.memory import folder

_ACTING: Final = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SCRIPT_END: Final = re.compile(r"</script", re.IGNORECASE)
_PLACE: Final = folder("recordings")


def one(data: bytes) -> None:
    """The first line is the manifest, if it is not empty, and the rest the transcript."""
    manifest, _, transcript = data.partition(b"\n")
    (_PLACE / MANIFEST).unlink(missing_ok=True)
    if manifest:
        (_PLACE / MANIFEST).write_bytes(manifest)
    (_PLACE / TRANSCRIPT).write_bytes(transcript)
    _show()
    try:
        script = load_script(_PLACE)
    except ScriptError as error:
        assert str(error)
        return
    _play(script)


def _show() -> None:
    try:
        recording = read_recording(_PLACE)
    except NoRecording as error:
        assert str(error)
        return
    ladder = ladder_of(recording)
    assert len({entry.number for entry in ladder.entries}) == len(ladder.entries)
    text = StringIO()
    with redirect_stdout(text):
        screen = Screen(recording, ladder, "it")
        screen.head()
        screen.rungs(ladder.entries)
        screen.summary()
    assert not _ACTING.search(text.getvalue()), "nothing acts on a terminal"
    shown = page(recording, ladder, "it")
    assert len(_SCRIPT_END.findall(shown)) == _SCRIPTS, "nothing ends a script of the page"
    for number in (1, recording.script.lines[-1].number):
        try:
            assert not _ACTING.search(_frame(recording, number))
        except NotThere as error:
            assert str(error)


def _play(script: Script) -> None:
    player = Player(script)
    player.ended()
    played = len(player.opening())
    for line in script.lines:
        if line.direction != "client":
            continue
        answer = player.unreadable("is odd") if line.frame is None else player.feed(line.frame)
        if isinstance(answer, Mismatch):
            _check_mismatch(answer, line.frame)
        else:
            played += len(answer)
    player.unfinished()
    player.ended()
    assert played <= sum(line.direction == "server" for line in script.lines)


def _check_mismatch(mismatch: Mismatch, frame: dict[str, Any] | None) -> None:
    assert str(mismatch).startswith("Off script: ")
    if mismatch.reply is not None:
        reply = orjson.loads(mismatch.reply)
        assert frame is None or reply["id"] in (None, frame.get("id"))


def _scripts() -> int:
    """How many scripts a page has."""
    (_PLACE / TRANSCRIPT).write_bytes(b'{"dir":"client","raw":"{}"}')
    (_PLACE / MANIFEST).unlink(missing_ok=True)
    recording = read_recording(_PLACE)
    return len(_SCRIPT_END.findall(page(recording, ladder_of(recording), "it")))


_SCRIPTS: Final = _scripts()
