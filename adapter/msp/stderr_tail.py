"""The end of what a host wrote to stderr: drained from birth, kept bounded, scrubbed before anybody sees it."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping

TAIL_BYTES = 8 * 1024
TAIL_LINES = 100
"""What is kept for error messages; the official SDK keeps as much (`msp.md §23.2`)."""

MIN_SECRET_LENGTH = 6
"""Shorter environment values are words like `true`; hiding those would hide the message."""

_SECRET_NAME = re.compile(r"(key|token|secret|password|passwd|credentials?)$", re.IGNORECASE)
_BEARER = re.compile(r"(?i)\b(bearer\s+)[A-Za-z0-9._~+/=-]+")
_URL_USERINFO = re.compile(r"(?i)\b([a-z][a-z0-9+.-]*://)[^\s/@]+@")
_ASSIGNMENT = re.compile(r"(?i)\b([A-Z0-9_.-]*(?:key|token|secret|password)\s*[=:]\s*)[^\s,;&\"']+")
HIDDEN = "[hidden]"


class StderrTail:
    """Feed it what arrives; it remembers the last lines."""

    def __init__(self) -> None:
        self._lines: deque[bytes] = deque(maxlen=TAIL_LINES)
        self._open = b""

    def feed(self, data: bytes) -> None:
        """Take in bytes, cut anywhere."""
        *lines, rest = (self._open + data).split(b"\n")
        self._lines.extend(line[-TAIL_BYTES:] for line in lines if line.strip())
        self._open = rest[-TAIL_BYTES:]

    def text(self) -> str:
        """The last lines, at most `TAIL_BYTES` of them; not scrubbed."""
        lines = [*self._lines, self._open] if self._open.strip() else list(self._lines)
        tail = b"\n".join(lines)[-TAIL_BYTES:]
        return tail.decode("utf-8", "replace").lstrip("\ufffd").strip()


def scrub(text: str, environ: Mapping[str, str]) -> str:
    """`text` without secrets: values of variables that look like keys, bearer tokens, user info in URLs."""
    for name, value in environ.items():
        if _SECRET_NAME.search(name) and len(value) >= MIN_SECRET_LENGTH:
            text = text.replace(value, HIDDEN)
    text = _BEARER.sub(rf"\1{HIDDEN}", text)
    text = _URL_USERINFO.sub(rf"\1{HIDDEN}@", text)
    return _ASSIGNMENT.sub(rf"\1{HIDDEN}", text)
