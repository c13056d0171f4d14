"""What leaves the machine in a bundle: everything but what tells secrets, or who somebody is and on which machine.

Values are looked for wherever they stand, before anything is formatted: one that a table has broken into two lines
would not be found.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from adapter.acp.text import one_line
from adapter.msp.secret_values import hide, is_secret, spellings
from adapter.msp.secrets import scrub

HOME: Final = "~"
USER: Final = "[user]"
MACHINE: Final = "[host]"

_USER_VARIABLES: Final = ("USER", "LOGNAME", "USERNAME")
_MACHINE_VARIABLES: Final = ("HOSTNAME", "COMPUTERNAME", "NAME")
_HOME_VARIABLES: Final = ("HOME", "USERPROFILE")
_NAMES: Final = frozenset({*_USER_VARIABLES, *_MACHINE_VARIABLES})

_PLACES: Final = frozenset(
    {
        *("HOME", "USERPROFILE", "PWD", "OLDPWD", "LOCALAPPDATA", "APPDATA", "MUSE_EXECUTABLE"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
    }
)
"""Variables that hold where something is: which a report is about, also if there is nothing."""

_NOBODY: Final = frozenset(
    {
        *("root", "user", "users", "home", "admin", "administrator", "ubuntu", "debian", "runner", "build", "vscode"),
        *("codespace", "localhost", "localdomain", "node", "python", "muse", "adapter", "client", "server", "host"),
    }
)
"""Names of accounts and machines that are nobody's, and words of the report."""

SHORTEST_NAME: Final = 3
SHORTEST_VALUE: Final = 6
"""Shorter values of variables that are not named like a secret tell nothing."""

LONGEST_WORD: Final = 12
"""Letters of a word that is no secret by itself (`production`)."""

_VERSION: Final = re.compile(r"v?\d+(\.\d+)+[\w.+-]{0,20}")
_ADDRESS: Final = re.compile(r"\d{1,3}(\.\d{1,3}){3}")


class Redaction:
    """Of what `environ` holds, the home directory, and the names of the user and the machine."""

    def __init__(self, environ: Mapping[str, str], home: Path, users: Iterable[str], machines: Iterable[str]) -> None:
        self._environ = environ
        homes = {str(home), os.path.realpath(home), *(environ.get(name, "") for name in _HOME_VARIABLES)}
        self._homes = [_beginning(place) for place in _longest_first(homes) if len(place) > 1]
        values = [value for name, value in environ.items() if _tells(name, value)]
        self._values = spellings(formed for value in values for formed in self._forms(value))
        self._names = [(_whole(name), MACHINE) for name in _longest_first(filter(_is_somebody, machines))]
        self._names += [(_whole(name), USER) for name in _longest_first(filter(_is_somebody, users))]

    @classmethod
    def here(cls, environ: Mapping[str, str], home: Path) -> Redaction:
        """Of this user on this machine."""
        users = {environ.get(name, "") for name in _USER_VARIABLES}
        if home.parent.name.lower() in ("home", "users"):
            users.add(home.name)
        with suppress(KeyError, OSError, ImportError):  # of a user without a name
            users.add(getpass.getuser())
        machines = {socket.gethostname(), *(environ.get(name, "") for name in _MACHINE_VARIABLES)}
        return cls(environ, home, users, machines | {machine.partition(".")[0] for machine in machines})

    def text(self, text: str) -> str:
        """`text` without any of it."""
        text = scrub(hide(self._at_home(text), self._values), self._environ)
        for name, instead in self._names:
            text = name.sub(instead, text)
        return text

    def _at_home(self, text: str) -> str:
        for home in self._homes:
            text = home.sub(HOME, text)
        return text

    def _forms(self, value: str) -> Iterator[str]:
        """As it may stand in a text whose secrets are hidden already, or that was folded into one line."""
        for one in (value, self._at_home(value)):
            yield from (one, scrub(one, {}), scrub(one, self._environ), one_line(one, len(one)))

    def value(self, value: Any) -> Any:
        """A JSON value with all its texts so. Names of members are ours and stay."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {name: self.value(member) for name, member in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(member) for member in value]
        return value


def _tells(name: str, value: str) -> bool:
    """Whether the value of a variable is nobody's business."""
    if is_secret(name, value):
        return True
    if len(value) < SHORTEST_VALUE or name in _PLACES or name in _NAMES or _is_version(value):
        return False
    if value.isalpha() and len(value) < LONGEST_WORD:
        return False
    return not (os.path.isabs(value) and os.path.exists(value))  # noqa: PTH110, PTH117 - a value may be no path


def _is_version(value: str) -> bool:
    return _VERSION.fullmatch(value) is not None and _ADDRESS.fullmatch(value) is None


def _is_somebody(name: str) -> bool:
    return len(name) >= SHORTEST_NAME and not name.isdigit() and name.lower() not in _NOBODY


def _whole(name: str) -> re.Pattern[str]:
    """The name where it is not a part of a longer one."""
    return re.compile(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", re.IGNORECASE)


def _beginning(place: str) -> re.Pattern[str]:
    """The directory, not one whose name only begins like it."""
    return re.compile(rf"{re.escape(place)}(?![^\W_])")


def _longest_first(words: Iterable[str]) -> list[str]:
    """So that none that is a part of another one spoils it."""
    return sorted({*words} - {""}, key=lambda word: (-len(word), word))
