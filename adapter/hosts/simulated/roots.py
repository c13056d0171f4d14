"""The folders a session works in (`msp.md §10.2, §12.1`): an ordered set, whose first is where commands run."""

from __future__ import annotations

from pathlib import Path

from adapter.hosts.simulated.errors import invalid
from adapter.hosts.simulated.profiles import Profile
from adapter.wire.envelope import Params

FIELD = "workspaceRoots"


def asked_roots(profile: Profile, params: Params, first: str | None) -> list[str] | None:
    """The roots a request names, None if it names none or the version does not know of them.

    Raises:
        RpcError: they are not different, absolute directories that exist, or do not begin with `first`.
    """
    if FIELD not in params or FIELD in profile.withheld.get("start", ()):
        return None
    roots = params[FIELD]
    if type(roots) is not list or not roots or any(type(path) is not str for path in roots):
        raise invalid(FIELD, "a list of paths is required")
    if any(not Path(path).is_absolute() or not Path(path).is_dir() for path in roots):
        raise invalid(FIELD, "they must be absolute paths of directories that exist")
    if len({Path(path).resolve() for path in roots}) != len(roots):
        raise invalid(FIELD, "they must be different directories")
    if first is not None and first != roots[0]:
        raise invalid(FIELD, "the first must be workspaceRoot")
    return list(roots)


def contains(roots: list[str], path: str) -> bool:
    """Whether a path, links followed, lies in one of the roots."""
    try:
        real = Path(path).resolve()
        return any(real.is_relative_to(Path(root).resolve()) for root in roots)
    except (OSError, ValueError, RuntimeError):
        # A link to itself, or a character no path can have.
        return False
