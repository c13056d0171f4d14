"""Where the Muse executable is. Looks at the file system only; starts nothing."""

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain, groupby
from pathlib import Path
from typing import Literal

import msgspec

Source = Literal["--muse", "MUSE_EXECUTABLE", "PATH", "usual place"]
Refusal = Literal["missing", "not executable", "is a directory", "no access"]

MUSE = "muse"
MUSE_EXECUTABLE = "MUSE_EXECUTABLE"

# What Windows runs without being told how. `.exe` first: a `.cmd` beside it is usually a wrapper around it.
WINDOWS_SUFFIXES = (".exe", ".cmd", ".bat", ".com")

# A message that names every folder of a long PATH helps nobody; `attempts` has them all.
MESSAGE_ATTEMPTS = 24

_WINDOWS = os.name == "nt"


class Attempt(msgspec.Struct, frozen=True):
    """One place that was looked at, and why it was not it."""

    source: Source
    place: str
    why: Refusal


class Found(msgspec.Struct, frozen=True):
    """An executable; that it is Muse, or that it starts, is not yet known.

    Run `path`, the spelling that was found, made absolute: launchers look at the name they are called by. `real_path`
    is the same with links followed.
    """

    path: Path
    real_path: Path
    source: Source


class NotFound(msgspec.Struct, frozen=True):
    """No executable, and everything that was tried, in order."""

    attempts: tuple[Attempt, ...]

    def message(self, more_advice: str = "") -> str:
        """Say what to do and what was tried, for a person: one line, at most `MESSAGE_ATTEMPTS` places.

        The places stand last: who has little room cuts off the end. `more_advice` is a sentence to go with ours.
        """
        shown = self.attempts[:MESSAGE_ATTEMPTS]
        tried = [
            f"{source}: " + ", ".join(f"{attempt.place} ({attempt.why})" for attempt in group)
            for source, group in groupby(shown, key=lambda attempt: attempt.source)
        ]
        if more := len(self.attempts) - len(shown):
            tried.append(f"and {more} more")
        what = "; ".join(tried) if tried else "nothing, because PATH names no folder"
        advice = f"Install Muse, or name its executable with --muse or {MUSE_EXECUTABLE}. {more_advice}".rstrip()
        return f"Muse was not found. {advice} Tried {what}."


def home_directory() -> Path:
    """The user's; the root for a user who has none, as one that a container made up, or one that is no place: nothing
    is written into whatever folder this happens to run in."""
    try:
        home = Path.home()
    except RuntimeError:
        return Path(os.sep)
    return home if home.is_absolute() else Path(os.sep)


def find_muse(
    explicit: str | None, environ: Mapping[str, str], home: Path, *, windows: bool = _WINDOWS
) -> Found | NotFound:
    """Find Muse: `explicit` (`--muse`), else `MUSE_EXECUTABLE`, else `muse` on PATH or in the installer's usual places.

    A value that somebody set is the only thing tried: starting another Muse than the one asked for would hide the
    mistake. With a path separator it is a path (`~/` is `home`), otherwise a name on PATH; empty counts as not set.
    """
    if explicit:
        return _first_runnable("--muse", _named(explicit, environ, home, windows))
    if configured := environ.get(MUSE_EXECUTABLE):
        return _first_runnable("MUSE_EXECUTABLE", _named(configured, environ, home, windows))
    on_path = _first_runnable("PATH", _on_path(MUSE, environ, windows))
    if isinstance(on_path, Found):
        return on_path
    usual = _first_runnable("usual place", _in_usual_places(environ, home, windows))
    return usual if isinstance(usual, Found) else NotFound(on_path.attempts + usual.attempts)


def every_muse(environ: Mapping[str, str], home: Path, *, windows: bool = _WINDOWS) -> list[Found]:
    """Every `muse` on PATH and in the usual places, in the order in which they are looked at; one file once."""
    places: list[tuple[Source, Iterable[Path]]] = [
        ("PATH", _on_path(MUSE, environ, windows)),
        ("usual place", _in_usual_places(environ, home, windows)),
    ]
    found: dict[Path, Found] = {}
    for source, candidates in places:
        for path in candidates:
            one = _first_runnable(source, [path])
            if isinstance(one, Found):
                found.setdefault(one.real_path, one)
    return list(found.values())


def resolve_program(program: str, environ: Mapping[str, str], *, windows: bool = _WINDOWS) -> Path | None:
    """The file that `program` names: a path if it has a separator, else the first on PATH. None if it cannot run."""
    spelled = _spellings(Path(program), windows) if _is_path(program, windows) else _on_path(program, environ, windows)
    found = _first_runnable("PATH", spelled)
    return found.path if isinstance(found, Found) else None


def _first_runnable(source: Source, candidates: Iterable[Path]) -> Found | NotFound:
    attempts: list[Attempt] = []
    for path in candidates:
        why = _why_not_runnable(path)
        if why is None:
            return Found(path=path.absolute(), real_path=path.resolve(), source=source)
        attempts.append(Attempt(source=source, place=str(path), why=why))
    return NotFound(tuple(attempts))


def _named(value: str, environ: Mapping[str, str], home: Path, windows: bool) -> Iterable[Path]:
    if not _is_path(value, windows):
        return _on_path(value, environ, windows)
    path = Path(value)
    return _spellings(home.joinpath(*path.parts[1:]) if path.parts[:1] == ("~",) else path, windows)


def _on_path(name: str, environ: Mapping[str, str], windows: bool) -> Iterator[Path]:
    folders = environ.get("PATH", "").split(";" if windows else ":")
    # A relative or empty entry means the current folder, which is somebody's project: nothing is run from there.
    # One that is named twice is looked at once.
    absolute = dict.fromkeys(Path(folder) for folder in folders if Path(folder).is_absolute())
    return chain.from_iterable(_spellings(folder / name, windows) for folder in absolute)


def _in_usual_places(environ: Mapping[str, str], home: Path, windows: bool) -> Iterator[Path]:
    folders = [home / ".local" / "bin", home / ".muse" / "bin", home / "bin"]
    if windows:
        local = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
        roaming = Path(environ.get("APPDATA") or home / "AppData" / "Roaming")
        folders += [local / "Programs" / "muse", local / "muse" / "bin", roaming / "npm"]
    else:
        folders += [Path("/usr/local/bin"), Path("/opt/homebrew/bin")]
    return chain.from_iterable(_spellings(folder / MUSE, windows) for folder in folders)


def _is_path(value: str, windows: bool) -> bool:
    return "/" in value or (windows and "\\" in value)


def _spellings(path: Path, windows: bool) -> tuple[Path, ...]:
    if not windows or path.suffix.lower() in WINDOWS_SUFFIXES:
        return (path,)
    return tuple(path.parent / (path.name + suffix) for suffix in WINDOWS_SUFFIXES)


def _why_not_runnable(path: Path) -> Refusal | None:
    try:
        mode = path.stat().st_mode
    except PermissionError:
        return "no access"
    except (OSError, ValueError):  # ValueError: a null character in the name
        return "missing"
    if stat.S_ISDIR(mode):
        return "is a directory"
    if not stat.S_ISREG(mode) or not os.access(path, os.X_OK):
        return "not executable"
    return None
