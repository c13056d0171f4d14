"""Whether a name says that what it names is a secret: of a variable, a member, an option, a parameter; and which values
are none whatever their name. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

LONGEST_NAME: Final = 200
"""Of a longer one the end counts."""

_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_WORDS: Final = frozenset(
    {
        *("key", "keys", "token", "tokens", "auth", "oauth", "pat", "pats", "jwt", "dsn", "pw", "sig", "signature"),
        *("pass", "pwd", "cred", "creds", "webhook"),
    }
)
"""Parts of a name that say it by themselves."""

_ENDINGS: Final = re.compile(
    r"(?:key|keys|token|secrets?|passwords?|passwd|passphrase|passcode|credentials?|cookies?|pass|pwd|webhook)$"
)
"""By which a part says it that was written in one: `apikey`, `dbpass`."""

_INNOCENT: Final = frozenset(
    {
        *("monkey", "donkey", "turkey", "hockey", "jockey", "whiskey", "hotkey", "lackey"),
        *("bypass", "compass", "askpass", "encompass", "surpass", "trespass", "overpass", "underpass", "oldpwd"),
    }
)

_ABOUT: Final = frozenset(
    {
        *("file", "path", "dir", "directory", "folder", "sock", "socket", "home", "url", "uri", "host", "port", "name"),
        *("type", "method", "mode", "endpoint", "timeout", "enabled", "disabled", "len", "length", "size", "limit"),
        *("count", "max", "min", "alg", "algorithm", "ttl", "expiry", "expires", "age", "usage", "used", "budget"),
        *("version", "format", "scheme", "realm", "provider", "backend", "status"),
    }
)
"""Last parts of names that tell something about a secret: where it is, how long it is."""

PROSE: Final = (
    r"(?:a|an|the|your|my|our|this|that|is|was|are|be|been|being|not|no|none|null|nil|undefined|missing|wrong|incorrect"
    r"|required|invalid|expired|empty|too|set|unset|unknown|needed|absent|stored|used|given|in|on|at|to|of|or|and|for"
    r"|from|with|without|has|have|had|can|cannot|could|must|should|may|needs|takes|requires|expects|if|when|only|valid"
    r"|ok|okay|correct|rejected|refused|denied|revoked|disabled|enabled|unavailable|available|longer|shorter|weak|never"
    r"|always|read|kept|asked|what|hidden|found|loaded|true|false|yes|off|auto|default|option|flag|test|tests|passed"
    r"|failed|there|here|still|now|it|as|by|limit|error|expected|unexpected)(?![\w-])"
)
"""Words that stand in sentences where a secret could stand."""
_HARMLESS: Final = re.compile(rf"(?i:{PROSE})|\d{{1,3}}")

_PHRASES: Final = frozenset({"pass", "pwd", "pw", "password", "passwd", "passphrase", "passcode"})
_ALONE: Final = frozenset({"key", "keys", "token", "tokens", "auth", "oauth", "sig", "signature"})


def is_secret_name(name: str) -> bool:
    """Whether the value is one: `API_KEY_2`, `dbPassword`, `--token`, `SECRET_SAUCE`; not `KEY_FILE` or `PWD`."""
    return _is_secret(name[-LONGEST_NAME:])


def is_password_name(name: str) -> bool:
    """Whether it is about a password, which may be any word."""
    return any(part in _PHRASES or part.endswith(("pass", "password")) for part in _parts(name))


def is_word_of_prose(name: str) -> bool:
    """Whether sentences have it before a colon: `unexpected token: comma`."""
    return name.lower() in _ALONE


def counts_something(name: str) -> bool:
    """Whether a number there is a number of them: `max_tokens`."""
    parts = _parts(name)
    return bool(parts) and parts[-1] in ("tokens", "keys")


@lru_cache(maxsize=1024)
def _is_secret(name: str) -> bool:
    parts = _parts(name)
    if not parts or (name in ("PWD", "OLDPWD")) or (parts[-1] in _ABOUT and "webhook" not in parts):
        return False
    return any(part in _WORDS or (part not in _INNOCENT and _ENDINGS.search(part)) for part in parts)


def _parts(name: str) -> list[str]:
    """Its words in lower case, without numbers."""
    return [part.lower() for part in _PART.findall(name[-LONGEST_NAME:]) if not part.isdigit()]


def is_harmless(value: str) -> bool:
    """Whether it is a word of sentences and settings, or a small number."""
    return _HARMLESS.fullmatch(value) is not None
