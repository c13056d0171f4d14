"""What came of a peer, as it is kept and as it stands on the page."""

from __future__ import annotations

from typing import Final

import msgspec

DELTAS: Final = 5_000


class PeerRow(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one adapter. Seconds, and the medians of their ratios to ours; None where it did not do that."""

    name: str
    version: str
    start: float | None = None
    start_ratio: float | None = None
    stream: float | None = None
    stream_ratio: float | None = None
    reason: str = ""
    deltas: int = DELTAS

    def row(self) -> str:
        """Its row on the page."""
        rate = None if self.stream is None else self.deltas / self.stream
        start = None if self.start is None else self.start * 1000
        cells = [
            self.name,
            self.version,
            *(_number(start, 0), _number(self.start_ratio, 2), _number(rate, 0), _number(self.stream_ratio, 2)),
            self.reason.replace("|", "\\|").replace("\n", " "),
        ]
        return f"| {' | '.join(cells)} |"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:,.{digits}f}"
