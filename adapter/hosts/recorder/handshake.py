"""What the first frames tell about a conversation: the protocol, and who answers. No I/O in it.

Both protocols begin with a request `initialize`. In ACP it names a `protocolVersion` (`acp.md §2`), in MSP it does not
(`msp.md §5`).
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal, TypeAlias

from adapter.wire.framing import ACP_FRAME_CAP, MSP_FRAME_CAP, decode_json

Protocol: TypeAlias = Literal["msp", "acp"]

FRAME_CAPS: Final[dict[Protocol, int]] = {"msp": MSP_FRAME_CAP, "acp": ACP_FRAME_CAP}

PATIENCE: Final = 1000
"""Lines that are looked at: who has not said it by then never will."""

_INITIALIZE: Final = b'initialize"'
_WORDS: Final = re.compile(r"[\w .,:;+()/-]{1,100}", re.ASCII)
"""What a name, a version and a fingerprint are made of; what is not is not repeated in the manifest."""


class Handshake:
    """Show it the lines as they go by."""

    def __init__(self) -> None:
        self.protocol: Protocol | None = None
        self.host: dict[str, str] = {}
        """`name` and `version` of the host or the agent, where it said so."""
        self.schema: dict[str, Any] | None = None
        self._id: Any = None
        self._left = PATIENCE

    @property
    def done(self) -> bool:
        """Whether nothing more is to be learned."""
        return self._left <= 0

    def notice(self, direction: str, line: bytes) -> bool:
        """Look at one line, and say whether something was learned from it."""
        if self.done:
            return False
        self._left -= 1
        if self.protocol is None:
            if direction == "client" and _INITIALIZE in line and (frame := json_object(line)) is not None:
                return self._asked(frame)
        elif direction == "server" and (frame := json_object(line)) is not None:
            return self._answered(frame)
        return False

    def _asked(self, frame: dict[str, Any]) -> bool:
        params = frame.get("params")
        if frame.get("method") != "initialize" or not isinstance(params, dict):
            return False
        self.protocol = "acp" if "protocolVersion" in params else "msp"
        self._id = frame.get("id")
        return True

    def _answered(self, frame: dict[str, Any]) -> bool:
        if "method" in frame or frame.get("id") != self._id:
            return False
        self._left = 0
        result = frame.get("result")
        if not isinstance(result, dict):
            return False
        info = result.get("serverInfo" if self.protocol == "msp" else "agentInfo")
        if isinstance(info, dict):
            self.host = {name: info[name] for name in ("name", "version") if _is_plain(info.get(name))}
        schema = result.get("schema")
        if isinstance(schema, dict) and type(schema.get("version")) is int and _is_plain(schema.get("fingerprint")):
            self.schema = {"version": schema["version"], "fingerprint": schema["fingerprint"]}
        return True


def json_object(line: bytes) -> dict[str, Any] | None:
    """The JSON object that a line is, or None."""
    try:
        value = decode_json(line.removeprefix(b"\xef\xbb\xbf").removesuffix(b"\r"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _is_plain(value: Any) -> bool:
    return isinstance(value, str) and _WORDS.fullmatch(value) is not None


def plain(text: str) -> str | None:
    """`text` if it is of the words a version is told in, else None."""
    return text if _is_plain(text) else None
