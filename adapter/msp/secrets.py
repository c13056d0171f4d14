"""Keeping secrets out of what a person or a log gets to see of a host's words.

What is hidden: values of variables that are named like a secret, however they are spelled; what stands where secrets
stand (`NAME=value`, `Authorization:`, `user:password@host`); and what looks like one by itself. A secret without a name
that looks like any other word is not known for one. Everything takes one pass over the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

HIDDEN: Final = "[hidden]"


def scrub(text: str, environ: Mapping[str, str], known: Iterable[str] = ()) -> str:
    """`text` without secrets: values of variables that are named like one, those that are `known`, and whatever stands
    where secrets stand or looks like one."""
    # What they look like takes 9 ms to compile, which a start without a word of a host need not wait for.
    from adapter.msp.secret_shapes import without_shapes
    from adapter.msp.secret_values import hide, secret_values, spellings

    return without_shapes(hide(text, spellings([*secret_values(environ), *known])))
