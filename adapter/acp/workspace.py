"""The directory a session works in: what counts as an absolute path, and whether the directory can be used.

A path is never completed, expanded or resolved here: `.` and `~` would silently become the adapter's own directory
(`fault-cases.md N3, N4`).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import PureWindowsPath

from adapter.acp import errors
from adapter.acp.fields import Fields
from adapter.acp.text import one_line
from adapter.wire.envelope import RpcError


def absolute_path(fields: Fields, name: str) -> str:
    """The required absolute path `name`, as the client wrote it.

    Raises:
        RpcError: -32602; missing, not a string, or not absolute.
    """
    path = fields.string(name)
    problem = path_problem(path)
    if problem is not None:
        raise fields.refuse(name, problem)
    return path


def path_problem(path: str) -> str | None:
    """Why `path` is no absolute path, or None if it is one."""
    if not path:
        return "must not be empty"
    if "\0" in path:
        return "must not hold a NUL character"
    if not _is_absolute(path):
        return "must be an absolute path"
    return None


def _is_absolute(path: str) -> bool:
    if sys.platform == "win32":
        return PureWindowsPath(path).is_absolute()
    return path.startswith("/")


def require_directory(path: str, field: str = "cwd") -> None:
    """Check that `path` is a directory this process can work in. Touches the disk.

    Raises:
        RpcError: -32602 that names the field, the directory and the reason.
    """
    problem = _directory_problem(path)
    if problem is not None:
        raise unusable_directory(path, problem, field)


def require_roots(cwd: str, additional: Sequence[str]) -> tuple[str, ...]:
    """The roots of a session, its own folder first, links followed, so that none of them leads out of what was named.
    Touches the disk.

    Raises:
        RpcError: -32602 that names the field: a directory that cannot be used, or that is there twice.
    """
    require_directory(cwd)
    roots = [real_path(cwd)]
    for index, path in enumerate(additional):
        field = f"additionalDirectories[{index}]"
        require_directory(path, field)
        root = real_path(path)
        if root in roots:
            raise unusable_directory(path, "is one of the session's directories already", field)
        roots.append(root)
    return tuple(roots)


def unusable_directory(path: str, problem: str, field: str = "cwd") -> RpcError:
    """The error that names the directory and the reason; a directory is no secret, and without it the user looks for
    the fault in the wrong place."""
    return errors.invalid_params(field, f"{one_line(path)} {problem}")


def real_path(path: str) -> str:
    """Where a path leads, links followed, be there anything or not. Touches the disk."""
    return os.path.realpath(path)


def same_directory(one: str, other: str) -> bool:
    """Whether two spellings name the same directory, links followed. Touches the disk."""
    return real_path(one) == real_path(other)


def _directory_problem(path: str) -> str | None:
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 (pathlib would change the spelling of the path)
    except (FileNotFoundError, NotADirectoryError):
        return "does not exist"
    except PermissionError:
        return "cannot be reached: no permission"
    except (OSError, ValueError):
        return "cannot be used"
    if not stat.S_ISDIR(mode):
        return "is not a directory"
    if not os.access(path, os.R_OK | os.X_OK):
        return "cannot be opened: no permission"
    return None
