"""What kind of host a session runs on: sessions with the same profile share one."""

from __future__ import annotations

from typing import Final

import msgspec

RESTRICTING_FLAGS: Final = ("--disable-write", "--disable-shell")


class LaunchProfile(msgspec.Struct, frozen=True):
    """How a host is started. `restricted`: its own tools neither write files nor run commands."""

    restricted: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """What `serve` is started with; a version that lacks one of them cannot be used with this profile."""
        return RESTRICTING_FLAGS if self.restricted else ()


USUAL: Final = LaunchProfile()
RESTRICTED: Final = LaunchProfile(restricted=True)
