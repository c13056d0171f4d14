"""Text as clients show it: one-line titles and fences that hold."""

from __future__ import annotations

import re

TITLE_LENGTH = 256
"""Characters of a title; longer ones break the layout of cards (`acp.md §7`)."""

_DIRECTIONS = re.compile(r"[\u202a-\u202e\u2066-\u2069]+")
"""Marks that turn the direction of all that follows, so that a line says something else than it is."""

_BLANKS_AND_CONTROLS = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_BACKTICKS = re.compile(r"`+")
_NOT_INFO = re.compile(r"[^\w.+#-]")


def one_line(text: str, limit: int = TITLE_LENGTH) -> str:
    """`text` as one line of at most `limit` characters, without controls; what was cut off shows as an ellipsis."""
    # Only the beginning can show, so a text of megabytes is not searched; blanks may fold together, hence the factor.
    text = text.strip()
    if len(text) <= limit and text.isprintable() and "  " not in text:
        # The common case, kept fast: of all blanks, controls and marks only a single space is printable.
        return text
    beginning = text[: 4 * limit]
    line = _BLANKS_AND_CONTROLS.sub(" ", _DIRECTIONS.sub("", beginning)).strip()
    if len(line) <= limit and len(beginning) == len(text):
        return line
    return line[: limit - 1].rstrip() + "…"


def fenced(text: str, info: str = "") -> str:
    """`text` as a Markdown code block whose fence is longer than any run of backticks inside; `info` names its
    language."""
    longest = max(map(len, _BACKTICKS.findall(text))) if "`" in text else 0
    fence = "`" * max(3, longest + 1)
    end = "" if not text or text.endswith("\n") else "\n"
    return f"{fence}{info and _NOT_INFO.sub('', info)}\n{text}{end}{fence}"
