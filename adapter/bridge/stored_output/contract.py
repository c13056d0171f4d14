"""The numbers and names both sides of the extension agree on."""

from __future__ import annotations

from typing import Any, Final

KEY: Final = "muse/output"
"""Where both sides put what they have to say, under `_meta`."""

METHOD: Final = "_muse/readOutput"
CONTRACT_VERSION: Final = 1

MAX_LENGTH: Final = 1024 * 1024
"""Bytes one read may ask for: base64 of it, with the rest of the frame, stays far below what clients take as a line."""

DEFAULT_LENGTH: Final = 64 * 1024
MAX_BYTES: Final = 2**53 - 1
"""The largest offset and length: what a JSON number holds exactly everywhere."""

HISTORY_PAGES: Final = 20
HISTORY_PAGE_EVENTS: Final = 100
"""How far back a reference is looked for. Farther would make a read as slow as loading the session."""

READ_SECONDS: Final = 20.0
"""From a ready read host to the answer."""

CONCURRENT_READS: Final = 4

REST_FACTOR: Final = 9
LONGEST_REST: Final = 0.25
"""While a prompt is being answered, the place of a read stays empty for so many times as long as the read took, and for
so many seconds at most: ten clients that read without a pause would be felt in the text that streams."""


def advertisement() -> dict[str, Any]:
    """What `initialize` says when stored output can be read."""
    return {"version": CONTRACT_VERSION, "method": METHOD, "maxLengthBytes": MAX_LENGTH}
