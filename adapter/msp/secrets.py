"""Keeping secrets out of what a person or a log gets to see of a host's words.

What is hidden: values of variables that are named like a secret, however they are spelled; what stands where secrets
stand (`NAME=value`, `Authorization:`, `user:password@host`); and what looks like one by itself. A secret without a name
that looks like any other word is not known for one. Everything takes one pass over the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

HIDDEN: Final = "[hidden]"

PLAIN: Final = re.compile(
    r"(?!(?:[srp]k|xox|xapp|gl|pypi)[a-z]*-)[a-z]{1,12}(?:-[a-z]{1,12}|(?:[A-Z][a-z]{1,12}){1,3})?"
    r"|\d[\d.]{0,20}(?:-R[\d.]{1,12})?|sha256:[0-9a-f]{64}|"
)
"""A word, a version, a digest: what a handshake says, and none of it looks like a secret."""


def scrub(text: str, environ: Mapping[str, str], known: Iterable[str] = ()) -> str:
    """`text` without secrets: values of variables that are named like one, those that are `known`, and whatever stands
    where secrets stand or looks like one."""
    from adapter.msp.secret_values import hide, secret_values, spellings

    hidden = hide(text, spellings([*secret_values(environ), *known]))
    if PLAIN.fullmatch(hidden):
        return hidden
    # What they look like takes 9 ms to compile, which a start need not wait for.
    from adapter.msp.secret_shapes import without_shapes

    return without_shapes(hidden)
