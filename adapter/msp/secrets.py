"""Keeping secrets out of what a person or a log gets to see of a host's words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

MIN_SECRET_LENGTH: Final = 6
"""Shorter environment values are words like `true`; hiding those would hide the message."""

HIDDEN: Final = "[hidden]"

_NAME: Final = r"(?:key|token|secret|password|passwd|credentials?|_pat)"
_SECRET_VARIABLE: Final = re.compile(rf"{_NAME}$", re.IGNORECASE)
# Each is tried at the beginning of a word only: from every character on, a long word would take a second and more.
_PATTERNS: Final = (
    re.compile(r"(?i)\b((?:bearer|basic)\s+)[A-Za-z0-9._~+/=-]{6,}"),
    re.compile(r"(?i)(?<![a-z0-9+.-])([a-z0-9+.-]+://)[^\s/@]+(?=@)"),
    # `NAME=value`, `name: value`, `"name": "value"`, `--name value`
    re.compile(rf"(?i)(?<![A-Z0-9_.-])([A-Z0-9_.-]*{_NAME}[\"']?\s*[=:]\s*[\"']?)(?!\[hidden)[^\s,;&\"'}}]+"),
    re.compile(rf"(?i)(?<![a-z0-9-])((?=[a-z0-9-]*--)[a-z0-9-]*{_NAME}\s+)[^\s-]\S*"),
)


def scrub(text: str, environ: Mapping[str, str]) -> str:
    """`text` without secrets: values of variables that are named like one, and whatever stands where secrets stand."""
    for name, value in environ.items():
        if len(value) >= MIN_SECRET_LENGTH and _SECRET_VARIABLE.search(name):
            text = text.replace(value, HIDDEN)
    for pattern in _PATTERNS:
        text = pattern.sub(rf"\1{HIDDEN}", text)
    return text
