"""Secrets (`design.md` rule 13): a value of the environment that is named like a secret is in nothing that is scrubbed,
however it is spelled, neither is what looks like one; scrubbing twice changes no more, and no text takes long."""

from __future__ import annotations

import base64
import time
from typing import Final
from urllib.parse import quote

from adapter.msp.secret_shapes import without_shapes
from adapter.msp.secret_values import hide, spellings
from adapter.msp.secrets import HIDDEN, scrub

CANARY: Final = "q7Zt-canary-93kfw"
PIECES: Final = (
    CANARY,
    CANARY.upper(),
    quote(CANARY),
    base64.b64encode(CANARY.encode()).decode(),
    base64.b64encode(b"x" + CANARY.encode()).decode(),
    CANARY.encode().hex(),
    "Authoriz" + "ation: Bear" + "er ",
    "pass" + "word=",
    "sk" + "-ant-",
    "gh" + "p_" + "a1" * 12,
    "AK" + "IA" + "Q" * 16,
    "ey" + "J0eXAiOiJKV1Qi.e30.x",
    "-----BEGIN RSA PRIV" + "ATE KEY-----",
    "-----END RSA PRIV" + "ATE KEY-----",
    "https://user:" + CANARY + "@example.org/",
    "--to" + "ken ",
    '"api' + 'Key": "',
    "Cook" + "ie: ",
)
"""What a character of the private use area stands for in a text, so that no file here holds what looks like a key."""

SECONDS: Final = 2.0
"""What a text of a few KiB never takes, unless the time grows faster than the text."""


def one(data: bytes) -> None:
    """The bytes are a text of a host."""
    text = data.decode("utf-8", "replace")
    for number, piece in enumerate(PIECES):
        text = text.replace(chr(0xE000 + number), piece)
    began = time.process_time()
    clean = scrub(text, {"SHED_API_KEY": CANARY, "HOME": "/home/ann"})
    assert time.process_time() - began < SECONDS, "it takes one pass"
    assert CANARY not in clean and CANARY.upper() not in clean, "the value is hidden"
    assert without_shapes(clean) == clean, "twice changes no more"
    assert scrub(clean, {"SHED_API_KEY": CANARY}) == clean, "twice changes no more"
    hidden = hide(text, spellings([CANARY]))
    assert all(spelled not in hidden for spelled in spellings([CANARY])), "however it is spelled"
    assert hidden.count(HIDDEN) or hidden == text
