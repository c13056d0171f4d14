"""Text of a turn that goes on while no prompt is open: kept, within bounds, for the next one."""

from __future__ import annotations

from typing import Final

from adapter.acp.updates import ChunkVariant, TextChunk

HELD_CHARS: Final = 64 * 1024
"""Characters kept; what comes after them is left out, and the text says so."""


class HeldText:
    """Pieces of messages in order, those of one message joined."""

    def __init__(self) -> None:
        self._pieces: list[tuple[ChunkVariant, str, list[str]]] = []
        self._room = HELD_CHARS
        self._left_out = 0

    def add(self, variant: ChunkVariant, message_id: str, text: str) -> None:
        """Keep a piece of a message, as far as there is room."""
        kept = text[: self._room]
        self._left_out += len(text) - len(kept)
        self._room -= len(kept)
        if not kept:
            return
        if self._pieces and self._pieces[-1][:2] == (variant, message_id):
            self._pieces[-1][2].append(kept)
        else:
            self._pieces.append((variant, message_id, [kept]))

    def take(self, session_id: str) -> list[TextChunk]:
        """What was kept, as updates; nothing is kept afterwards."""
        chunks = [TextChunk(session_id, variant, "".join(parts), name) for variant, name, parts in self._pieces]
        if self._left_out:
            variant, name, _ = self._pieces[-1]
            notice = f"\n\n[muse-adapter left out {self._left_out} characters that came meanwhile]\n\n"
            chunks.append(TextChunk(session_id, variant, notice, name))
        self._pieces, self._room, self._left_out = [], HELD_CHARS, 0
        return chunks
