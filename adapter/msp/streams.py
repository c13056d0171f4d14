"""Text that grows piece by piece, and what of the final text a reader has not seen yet (`msp.md §13.1`)."""

from __future__ import annotations

from typing import Any, Final

# A field's text kept for comparison with the final one. A final item must fit one frame (10 MiB), so text that grew
# past this cannot be the beginning of it.
STREAMED_TEXT_LIMIT: Final = 10 * 1024 * 1024

# Pieces of a text that are kept as they came; a piece has ten times the size of the few characters in it, so more of
# them are joined.
CHUNKS_APART: Final = 256

# Summary parts of one reasoning item; a higher index is not a part any model wrote.
SUMMARY_PARTS_LIMIT: Final = 1000

MESSAGE_FIELD: Final = "text"
OUTPUT_FIELD: Final = "output"
SUMMARY_PREFIX: Final = "summary."

_OUTPUT_KINDS: Final = frozenset({"toolCall", "userShell"})


class StreamedText:
    """What has been shown of one field, up to `STREAMED_TEXT_LIMIT` characters; `whole` was shown at once, and somebody
    keeps it anyway."""

    __slots__ = ("_apart", "_length", "_pieces")

    def __init__(self, whole: str = "") -> None:
        self._pieces = [whole]
        # How many pieces at the end are as they came.
        self._apart = 0
        self._length = len(whole)

    def append(self, text: str) -> None:
        self._length += len(text)
        if self._length <= STREAMED_TEXT_LIMIT:
            self._pieces.append(text)
            self._apart += 1
            if self._apart == CHUNKS_APART:
                self._pieces[-CHUNKS_APART:] = ["".join(self._pieces[-CHUNKS_APART:])]
                self._apart = 0

    @property
    def is_full(self) -> bool:
        """Whether it grew past the limit, so that nothing changes it any more."""
        return self._length > STREAMED_TEXT_LIMIT

    def text(self) -> str:
        """The text so far; its beginning, if it grew past the limit."""
        if len(self._pieces) > 1:
            self._pieces = ["".join(self._pieces)]
            self._apart = 0
        return self._pieces[0]

    def become(self, whole: str) -> None:
        """Let the text be this one, which somebody keeps anyway: it takes no room then. What was shown beyond it stays
        shown: of a longer text that comes after it only the rest is missing."""
        self._pieces, self._apart, self._length = [whole], 0, max(self._length, len(whole))

    @property
    def length(self) -> int:
        """Characters that are kept."""
        return sum(map(len, self._pieces))

    def missing_from(self, final: str) -> str | None:
        """What of `final` was not shown yet; None when it does not continue what was shown."""
        shown = self.text()
        if self.is_full or not final.startswith(shown):
            return None
        return final[self._length :]


def is_streamable(kind: str, field: str) -> bool:
    """Whether deltas of `field` mean anything for an item of this kind; unknown paths are ignored."""
    if field == MESSAGE_FIELD:
        return kind == "agentMessage"
    if field == OUTPUT_FIELD:
        return kind in _OUTPUT_KINDS
    index = field.removeprefix(SUMMARY_PREFIX)
    return (
        kind == "reasoning"
        and index != field
        and index.isascii()
        and index.isdigit()
        and int(index[:9]) < SUMMARY_PARTS_LIMIT
    )


def whole_texts(kind: str, raw: dict[str, Any]) -> list[tuple[str, str]]:
    """The streamable texts that a full item carries, as (field, text) in reading order."""
    if kind == "agentMessage":
        text = raw.get("text")
        return [(MESSAGE_FIELD, text)] if isinstance(text, str) else []
    if kind in _OUTPUT_KINDS:
        output = raw.get("visibleOutput")
        return [(OUTPUT_FIELD, output)] if isinstance(output, str) else []
    if kind == "reasoning":
        summary = raw.get("summary")
        parts = enumerate(summary[:SUMMARY_PARTS_LIMIT] if isinstance(summary, list) else ())
        return [(f"{SUMMARY_PREFIX}{index}", part) for index, part in parts if isinstance(part, str)]
    return []
