"""Secrets that nobody has told: what stands where secrets stand, and what looks like one."""

from __future__ import annotations

import re
from typing import Final

from adapter.msp.secret_names import (
    PROSE,
    counts_something,
    is_harmless,
    is_password_name,
    is_secret_name,
    is_word_of_prose,
)
from adapter.msp.secrets import HIDDEN

_PASSWORD: Final = r"(?:pass(?:word|phrase|code|wd)?|pwd|secret)"
_KEY_BLOCK: Final = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
# Each is tried at the beginning of a word only, or looks no farther than a few hundred characters: from every character
# on, a long word would take a second and more.
_SHAPES: Final = (
    # keys in several lines, also if the beginning or the end is cut off
    re.compile(rf"(?s)()-----BEGIN {_KEY_BLOCK}.*?(?:-----END {_KEY_BLOCK}|\Z)"),
    re.compile(rf"(?s)()\A.*-----END {_KEY_BLOCK}"),
    # headers, whose whole rest is one
    re.compile(
        r"(?i)(?<![\w-])((?:proxy-)?authorization(?:\\*[\"'])?+\s*+[:=]\s*+(?:\\*[\"'])?+"
        r"(?:(?:bearer|basic|digest|token|apikey|negotiate|ntlm)\s++)?+)"
        rf"(?!{PROSE})(?!\[hidden)[^\r\n\"']+"
    ),
    re.compile(
        rf"(?i)(?<![\w-])((?:set-)?cookie2?(?:\\*[\"'])?+\s*+:\s*+(?:\\*[\"'])?+)(?!{PROSE})(?!\[hidden)[^\r\n\"']+"
    ),
    re.compile(
        r"(?i)\b(bearer\s+)(?!(?:tokens?|auth\w*|scheme|realm|headers?|challenge|format|credentials?)\b)"
        rf"(?!{PROSE})[\w.~+/=-]{{6,}}"
    ),
    re.compile(r"\b((?i:basic)\s+)(?=[A-Za-z+/]{0,400}[A-Z0-9=])(?![A-Z][a-z]+\b)[A-Za-z0-9+/]{8,}={0,2}"),
    # URLs with somebody in them, and the same without a scheme
    re.compile(r"(?i)(?<![a-z0-9+.-])([a-z0-9+.-]+://)(?!\[hidden\]@)[^\s/\"'<>`]*(?=@)"),
    re.compile(
        r"(?i)(?<![a-z0-9+.-])([a-z0-9+.-]{1,40}://)(?!\[hidden)[^\s/@:]{1,200}:(?!\d{1,5}/)[^\s@\"']{1,500}(?=@)"
    ),
    re.compile(
        r"(?<![\w.+-])(?!(?:npm|jsr|pkg|workspace|file|mailto|acct|sha\d+):)"
        r"([\w.+-]{1,64}:)(?!\[hidden)[^\s:@/\"'`<>]{3,500}(?=@(?!sha\d)[A-Za-z\[][\w.-]|@\d)"
    ),
    re.compile(r"((?:^|\s)(?:-u|--user)[ =][^\s:]{1,200}:)(?!\[hidden)\S+"),
    re.compile(
        r"(?i)([?&;#](?:code|code_verifier|sid|session|session_?id|ticket|otp|assertion|state)=)"
        r"(?!\[hidden)(?!\d{1,3}\b)[^&#\s\"'<>`]+"
    ),
    # sentences about one
    re.compile(rf"(?i)\b({_PASSWORD}\s+(?:is|was)\s+)(?!{PROSE})(?!\[hidden)[^\s\"'`]*[^\s\"'`.,;:!?)]"),
    re.compile(rf"(?i)\b({_PASSWORD}\s+(?:(?:is|was)\s+)?(?P<mark>[\"'`]))(?!\[hidden)[^\"'`\r\n]+(?=(?P=mark))"),
    re.compile(
        r"(?i)\b((?:key|token)\s+(?:is|was)\s+[\"'`]?)"
        r"(?=[^\s\d]{0,200}\d)(?=[^\sa-z]{0,200}[a-z])(?!\[hidden)[^\s\"'`]{5,}[^\s\"'`.,;:!?)]"
    ),
    # what is known by how it begins
    re.compile(r"(?<![A-Za-z0-9])()(?:sk|rk|pk)[-_](?=[\w-]{0,60}\d)[\w-]{8,}"),
    re.compile(r"(?<![A-Za-z0-9])()(?:sk|rk|pk)[-_][A-Za-z0-9]{20,}"),
    re.compile(r"(?<![A-Za-z0-9])()(?:gh[a-z]_[A-Za-z0-9]{10,}|github_pat_\w{10,}|gl[a-z]{2,6}-[\w-]{10,})"),
    re.compile(r"(?<![A-Za-z0-9])()(?:xox[a-z]|xapp)-[\w-]{8,}"),
    re.compile(r"(?<![A-Za-z0-9])()(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{12,}"),
    re.compile(r"(?<![A-Za-z0-9])()(?:AIza[\w-]{20,}|ya29\.[\w-]{10,}|GOCSPX-[\w-]{10,})"),
    re.compile(
        r"(?<![A-Za-z0-9])()(?:(?:npm|hf|dop_v1|shpat)_[A-Za-z0-9]{20,}|pypi-[\w-]{20,}|SG\.[\w-]{10,}\.[\w-]{10,})"
    ),
    re.compile(r"(?<![A-Za-z0-9])()eyJ[\w-]{6,}(?:\.[\w-]*){1,4}"),
    re.compile(r"(?i)(https://hooks\.slack\.com/(?:services|workflows)/)(?!\[hidden)[^\s\"'<>`]+"),
)

_LABEL: Final = re.compile(r"(?<![\w.-])([\w.-]++)(?:\\*[\"'`]|\])?[ \t]*(=>|:=|[=:])[ \t]*+")
_OPTION: Final = re.compile(r"(?<![\w-])(?=[\w-]*--)([\w-]++)(?:\\*[\"']?,?[ \t]+)(?=\\*[\"']?[^\s\"'-])")
_OPENING: Final = re.compile(r"(\\*)([\"'`])")
_BARE: Final = re.compile(r"(?:[^\s,;&\"'`}]|,(?=[^\s\"'{\[]))++")
_QUOTED: Final = {mark: re.compile(rf"(?:\\.|[^{mark}\\\r\n])*+") for mark in "\"'`"}
_QUOTED_TWICE: Final = {mark: re.compile(rf"[^{mark}\r\n]*+") for mark in "\"'`"}

_WORD: Final = re.compile(r"[A-Z]?[a-z]+[.,;:!?)]*|[.,;:!?(){}\[\]<>/\\|*+-]+")
_PLACE: Final = re.compile(r"[/~]|[A-Za-z]:[/\\]")


def without_shapes(text: str) -> str:
    """`text` without what stands where secrets stand or looks like one. Twice changes no more."""
    for shape in _SHAPES:
        text = shape.sub(rf"\1{HIDDEN}", text)
    text = _hide_behind(_LABEL, text)
    return _hide_behind(_OPTION, text)


def _hide_behind(names: re.Pattern[str], text: str) -> str:
    """Without the values of what is named like a secret. Others are not passed over: they may hold such names."""
    pieces: list[str] = []
    kept = 0
    for found in names.finditer(text):
        if found.start() < kept or not is_secret_name(found[1]):
            continue
        at, end = _value_at(text, found.end())
        if at == end or text.startswith(HIDDEN[:-1], at) or _is_prose(found, text[at:end]):
            continue
        pieces += [text[kept:at], HIDDEN]
        kept = end
    return "".join([*pieces, text[kept:]])


def _value_at(text: str, at: int) -> tuple[int, int]:
    """Where the value begins and ends, without the quotation marks around it."""
    opening = _OPENING.match(text, at)
    if opening is None:
        bare = _BARE.match(text, at)
        return (at, bare.end()) if bare is not None else (at, at)
    quoted = (_QUOTED_TWICE if opening[1] else _QUOTED)[opening[2]].match(text, opening.end())
    assert quoted is not None, "it may be empty"
    end = quoted.end()
    while opening[1] and end > opening.end() and text[end - 1] == "\\":
        end -= 1
    return opening.end(), end


def _is_prose(found: re.Match[str], value: str) -> bool:
    """Whether it only looks like a name and a value."""
    name = found[1]
    if is_harmless(value.rstrip(".,;:!?)")):
        return True
    if name.lower() in ("pwd", "oldpwd"):
        return _PLACE.match(value) is not None
    if counts_something(name) and value.rstrip(".,;:!?)").isdigit():
        return True
    if is_password_name(name) or not is_word_of_prose(name):
        return False
    told = found.re is _LABEL and found[2] == ":" and found[0][-1:] in " \t"
    return told and _WORD.fullmatch(value) is not None
