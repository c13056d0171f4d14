"""What is known of Muse's login, and what follows from it (`acp.md §3`).

Muse keeps its own login, in a place that is documented nowhere, and it has no command that tells whether there is one.
What can be known is what a host has said: a request or a turn failed for lack of a login, or a turn went through. So
nothing is refused before that, and what was refused is tried again for real: a login made elsewhere shows in nothing
else.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, Literal

from adapter.acp import errors
from adapter.acp.errors import AUTH_REQUIRED
from adapter.bridge.outcomes import LOGIN_ADVICE
from adapter.msp.turns import TurnOutcome
from adapter.wire.envelope import RpcError

log = logging.getLogger("adapter.bridge")

API_KEY: Final = "META_API_KEY"
"""The variable that stands in for a stored login (`msp.md §23.1`)."""

Word = Literal["unknown", "accepted", "rejected", "loggedOut"]


class Login:
    """The last word on the login. `renew` is called when hosts may hold one that no longer counts.

    After a turn was rejected, each kind of request that opens sessions is refused once: that is where clients offer to
    log in (`peers.md §6.9`), and a host that looks at its login only when a turn runs would let it pass. Everything
    else is for the host to say.
    """

    def __init__(self, environ: Mapping[str, str], renew: Callable[[], None]) -> None:
        self.word: Word = "unknown"
        self.has_key = bool(environ.get(API_KEY))
        self._renew = renew
        self._untold = False
        """Whether a turn was rejected, which the requests that open sessions would not show."""
        self._told: set[str] = set()

    @property
    def may_exist(self) -> bool:
        """Whether a host could have one, for all that is known."""
        return self.has_key or self.word != "loggedOut"

    @contextmanager
    def needed(self, method: str) -> Iterator[None]:
        """Around the work of a request that needs a login.

        Raises:
            RpcError: -32000; it is known that there is none.
        """
        self._check(method)
        try:
            yield
        except RpcError as error:
            if error.code == AUTH_REQUIRED:
                self._reject()
            raise

    def turn_ended(self, outcome: TurnOutcome) -> None:
        """A turn is over: nothing says more about a login."""
        kind = outcome.error.kind if outcome.error else outcome.reason
        if outcome.terminal == "failed" and kind == "authRequired":
            self._reject()
            self._untold = True
        elif outcome.terminal == "completed":
            self._learn("accepted")

    def log_out(self) -> None:
        """Muse's login has been removed for this client."""
        self._learn("loggedOut")
        self._renew()

    def try_anew(self) -> None:
        """Somebody says that there is one now."""
        if self.word in {"rejected", "loggedOut"}:
            self._learn("unknown")
            self._renew()

    def _reject(self) -> None:
        if self.word != "rejected":
            log.warning("Muse has no login, or it has run out")
        self._learn("rejected")
        self._renew()

    def _learn(self, word: Word) -> None:
        self.word = word
        self._untold = False
        self._told.clear()

    def _check(self, method: str) -> None:
        if not self.may_exist:
            raise errors.auth_required(f"Muse has been logged out; {LOGIN_ADVICE}")
        if self._untold and method not in self._told:
            self._told.add(method)
            raise errors.auth_required(f"Muse has no login, or it has run out; {LOGIN_ADVICE}")
