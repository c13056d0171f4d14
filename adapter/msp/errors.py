"""What can go wrong with a host: its error answers (`msp.md §7`), its silence, and its exit (`msp.md §23.2`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from adapter.msp.vocabulary import ERRORS

UNKNOWN_KIND: Final = "unknown"

_WORD: Final = re.compile(r"[\w.:/-]{1,80}")


class MspError(Exception):
    """A host's error answer.

    Attributes:
        code: the JSON-RPC code as sent; not an ACP code, whatever its number (`msp.md §7`).
        kind: the branch key: `data.kind`, else what the code means, else `unknown`.
        message: the host's wording, for people only.
        retryable: `data.retryable`, else the table's default.
        data: the rest of `error.data`, untouched; empty when the host sent none.
    """

    def __init__(
        self, code: int, kind: str, message: str, *, retryable: bool = False, data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.kind = kind
        self.message = message
        self.retryable = retryable
        self.data: dict[str, Any] = dict(data or {})

    @classmethod
    def from_error(cls, error: Mapping[str, Any]) -> MspError:
        """Reads the `error` member of a response; members that are missing or of the wrong type get defaults."""
        code = error.get("code")
        if not isinstance(code, int) or isinstance(code, bool):
            code = 0
        data = error.get("data")
        if not isinstance(data, dict):
            data = {}
        row = ERRORS.get(code)
        kind = data.get("kind")
        if not isinstance(kind, str) or not kind:
            kind = row.kind if row else UNKNOWN_KIND
        retryable = data.get("retryable")
        if not isinstance(retryable, bool):
            retryable = row.retryable if row else False
        message = error.get("message")
        if not isinstance(message, str) or not message:
            message = kind
        return cls(code, kind, message, retryable=retryable, data=data)

    @property
    def reason(self) -> str | None:
        """The snake_case word of a refusal, e.g. `command_id_conflict`; an open vocabulary."""
        return self._text("reason")

    @property
    def view_cursor(self) -> str | None:
        """The event that did not fit (`pageEventTooLarge`): reading may continue after it."""
        return self._text("viewCursor")

    @property
    def capability(self) -> str | None:
        """The grant that was missing (`capabilityRequired`)."""
        return self._text("capability")

    def _text(self, member: str) -> str | None:
        value = self.data.get(member)
        return value if isinstance(value, str) else None

    def __str__(self) -> str:
        """Fit for a log: without the host's own wording, which may repeat what it was told."""
        words = [word if _WORD.fullmatch(word) else "…" for word in (self.kind, self.reason) if word]
        return f"{', '.join(words)} ({self.code})"


class HostGone(Exception):
    """No usable answer came from the host; what the request did is not known.

    As a text it is a sentence that is fit for a log; `details` has what the host said of it as well.
    """

    def __init__(self, sentence: str, words: str = "") -> None:
        super().__init__(sentence)
        self.details = f"{sentence}{words}"


class HostClosed(HostGone):
    """The host ended, or its pipe did, while something was waiting for it."""


class RequestTimeout(HostGone):
    """The host did not answer `method` within `seconds`."""

    def __init__(self, method: str, seconds: float) -> None:
        super().__init__(f"the host did not answer {method} within {seconds:g} s")
        self.method = method
        self.seconds = seconds


class MalformedResult(HostGone):
    """The host answered `method` with something that is not its result; `details` names the member."""

    def __init__(self, method: str, details: str) -> None:
        super().__init__(f"the host's answer to {method} cannot be read: {details}")
        self.method = method
        self.details = details


class SessionUnreachable(HostGone):
    """A session cannot be used at a host though one may be there. `reason` is `hostBusy` (later it can),
    `modeUnavailable` (not on such a host), `allowAllNotAllowed` (not as it is set) or `sessionLost`, `details` a
    sentence for people."""

    def __init__(self, reason: str, details: str) -> None:
        super().__init__(details)
        self.reason = reason
        self.details = details


class ExitClass(NamedTuple):
    """What an ended `muse serve` says about trying again.

    `retry_posture` is one of `none` (it ended as asked), `noClaim`, `never`, `afterFix`, `afterHolderExits`,
    `resume` (a durable host lost nothing that was acknowledged).
    """

    name: str
    retry_posture: str
    sentence: str


_EXITS: Final[dict[int, ExitClass]] = {
    0: ExitClass("clean", "none", "the Muse host shut down cleanly"),
    1: ExitClass("unhandledError", "noClaim", "the Muse host stopped on an unhandled error (exit 1)"),
    2: ExitClass("usageError", "never", "the Muse host refused its command line (exit 2)"),
    3: ExitClass("configurationError", "afterFix", "the Muse host could not read its configuration (exit 3)"),
    4: ExitClass(
        "leaseUnavailable", "afterHolderExits", "another process holds the session the Muse host needs (exit 4)"
    ),
    5: ExitClass("surfaceUnavailable", "never", "this Muse build does not serve the session protocol (exit 5)"),
}


def exit_class(code: int | None, signal: int | None = None) -> ExitClass:
    """The meaning of an exit. A negative `code` is a signal, as `subprocess` reports it; anything unlisted is a crash.

    Both None means that only the pipe is known to have ended.
    """
    if signal is None and code is not None and code < 0:
        signal = -code
    if signal is not None:
        return ExitClass("crash", "resume", f"the Muse host was ended by signal {signal}")
    if code is None:
        return ExitClass("crash", "resume", "the Muse host closed its output")
    return _EXITS.get(code) or ExitClass("crash", "resume", f"the Muse host crashed (exit {code})")


class HostStartError(HostGone):
    """The host never became ready. `reason` is `hostStartTimeout` or `hostStartFailed`, `kind` that of the error by
    which it refused the handshake."""

    def __init__(
        self, reason: str, sentence: str, exit_code: int | None = None, kind: str | None = None, *, words: str = ""
    ) -> None:
        super().__init__(sentence, words)
        self.reason = reason
        self.exit_code = exit_code
        self.kind = kind
