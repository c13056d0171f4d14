"""The ladder as one page for a browser: nothing is fetched, and nothing a recording says can act.

The page's policy lets run only the script and the style whose digests it names. What was recorded is data in it, and
is shown as text. `page.html`, `page.css`, `page_texts.js` and `page.js` beside this file are what it is made of.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import tempfile
from contextlib import suppress
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import msgspec

from adapter.cli.inspect.facts import facts, sides, title
from adapter.cli.inspect.ladder import Ladder
from adapter.cli.inspect.recording import Recording
from adapter.cli.inspect.tables import summaries
from adapter.wire.regular_files import open_regular

_SIGN: Final = b'<meta name="generator" content="muse-adapter inspect">'
"""By which a page made here is known."""

_SIGN_WITHIN: Final = 1024
"""Bytes of a file that are searched for it."""

_PLACE: Final = re.compile(r"\{\{(\w+)\}\}")
_ESCAPED: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""What could end a script, begin a comment, or end a line of one; JSON has another way to write each."""


class NoPage(ValueError):
    """The page was not written; the message says why."""


def write_page(path: Path, recording: Recording, ladder: Ladder, name: str) -> None:
    """Write the page, readable for its owner alone, as prompts are in it; an older page of its kind is replaced.

    Raises:
        NoPage: there is something else, or the file cannot be written.
    """
    _require_ours(path)
    data = page(recording, ladder, name).encode("utf-8", "replace")
    try:
        made, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(made, "wb") as file:
                file.write(data)
            Path(temporary).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(temporary).unlink()
            raise
    except OSError as error:
        raise NoPage(f"{path} cannot be written: {error.strerror or error}") from None


def _require_ours(path: Path) -> None:
    try:
        with open_regular(path) as file:
            if _SIGN in file.read(_SIGN_WITHIN):
                return
    except FileNotFoundError:
        return
    except OSError as error:
        raise NoPage(f"{path} cannot be written: {error.strerror or error}") from None
    raise NoPage(f"{path} is something else than a page of a recording, and is left as it is")


def page(recording: Recording, ladder: Ladder, name: str) -> str:
    """The page as text."""
    style, script = _part("page.css"), _part("page_texts.js") + _part("page.js")
    parts = {
        "title": escape(title(recording, name)),
        "style": style,
        "style_digest": _digest(style),
        "script": script,
        "script_digest": _digest(script),
        "recording": _json(_data(recording, ladder, name)),
    }
    # All at once: what is put in is not looked at again.
    return _PLACE.sub(lambda place: parts[place.group(1)], _part("page.html"))


def _part(name: str) -> str:
    return files("adapter.cli.inspect").joinpath(name).read_text("utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return re.sub("[<>&\u2028\u2029]", lambda found: _ESCAPED[found.group()], text)


def _data(recording: Recording, ladder: Ladder, name: str) -> dict[str, Any]:
    """What `page.js` reads."""
    return {
        "title": title(recording, name),
        "sides": sides(recording)._asdict(),
        "facts": facts(recording, ladder),
        "notes": recording.notes,
        "summaries": [summary._asdict() for summary in summaries(ladder)],
        "sessions": [{"number": one.number, "name": one.name or one.id} for one in ladder.sessions],
        "turns": [
            {"number": one.number, "session": _number_of(one.session, ladder), "last": one.last, "prompt": one.prompt}
            for one in ladder.turns
        ],
        "rows": [msgspec.structs.asdict(entry) for entry in ladder.entries],
        "ending": ladder.ending,
        "frames": [(line.number, line.raw) for line in recording.script.lines],
    }


def _number_of(session_id: str, ladder: Ladder) -> int | None:
    return next((one.number for one in ladder.sessions if one.id == session_id), None)
