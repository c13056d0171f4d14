"""The host's settings file, `settings.json` in the data directory: limits that tests want small (`msp.md §24`), and
habits that not every host has."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from adapter.wire.framing import MSP_FRAME_CAP


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What can be set; an empty file changes nothing."""

    frame_limit_bytes: int = MSP_FRAME_CAP
    """Longest line in either direction."""
    retain_events: int | None = None
    """How many of a session's newest events are still served; null for all."""
    page_events: int = 1000
    """Most events of one page, whatever the client asks for."""
    output_bytes: int = 6 * 1024 * 1024
    """Most bytes of one piece of a stored output."""
    history_mode: Literal["inline", "snapshot", "anchored", "none"] | None = None
    """What auto gives as history: inline, snapshot, anchored, or none as if it were too large; null for what fits."""
    reopen_approvals: bool = True
    """Whether what asked for consent when a host was killed asks again; else its turn has failed."""
    saves_empty: bool = True
    """Whether a session is stored before its first turn."""
    login: bool = False
    """Whether a login is needed: META_API_KEY, or the file that muse login writes."""
    login_read_once: bool = False
    """Whether a login is looked for only when the host starts, and not again at each turn."""
    login_at: Literal["turn", "session"] = "turn"
    """What fails without one: a turn, or already the opening of a session."""


class BadSettings(Exception):
    """The file cannot be used; the text says why."""


def read_settings(data_dir: Path) -> Settings:
    """The settings of a data directory; without a file the usual ones.

    Raises:
        BadSettings: there is a file and it is not what it should be.
    """
    path = data_dir / "settings.json"
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return Settings()
    except OSError as error:
        raise BadSettings(f"the settings cannot be read: {error}") from None
    try:
        return msgspec.json.decode(text, type=Settings)
    except (ValueError, msgspec.ValidationError) as error:
        raise BadSettings(f"the settings in {path.name} are not usable: {error}") from None
