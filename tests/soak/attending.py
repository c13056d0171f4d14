"""The part of a user that waits, and answers what it is asked meanwhile."""

from __future__ import annotations

import heapq
import itertools
import queue
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tests.soak.connection import Call, Connection, Lost
from tests.soak.story import Story

if TYPE_CHECKING:
    from tests.soak.lane import Lane

Json = dict[str, Any]

ANSWER_SECONDS: Final = 60.0
"""How long an answer may take: more than anything here takes, restarts of hosts included."""

TAKEN_BACK: Final = 0.06
"""How many of the requests are taken back before they are answered, if they are not quick."""


class Attending:
    """Waits for answers in one thread; `asked` and `withdrawn` are called by that of a connection."""

    def __init__(self, lane: Lane, name: str, chance: random.Random) -> None:
        self.lane = lane
        self.name = name
        self.chance = chance
        self.story: Story | None = None
        self._numbers = itertools.count(1)
        self._connection: Connection | None = None
        self._told: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._withdrawn: set[Any] = set()

    def _problem(self, kind: str, text: str) -> None:
        self.lane.findings.problem(kind, f"{self.lane.name}, {self.name}: {text}")

    # -- what comes unasked

    def asked(self, connection: Connection, request_id: Any, method: str, params: Json) -> None:
        decide = self._decide if method == "session/request_permission" else self._fill
        self._told.put(lambda: decide(connection, request_id, params))

    def withdrawn(self, request_id: Any) -> None:
        self._withdrawn.add(request_id)
        self._note("withdrawn")

    def sent(self, what: str) -> None:
        self._note(what)

    def _note(self, what: str) -> None:
        if self.story is not None:
            self.story.note(what)

    # -- waiting

    def _ask_for(self, method: str, params: Json, answered: Callable[[Call], None] | None = None) -> Call:
        """A request with its answer; now and then it is taken back meanwhile.

        Raises:
            Lost: there will be none.
        """
        connection = self._connection
        assert connection is not None
        call = connection.begin(method, params, answered)
        if self.chance.random() < TAKEN_BACK:
            self._note(f"takes {method} back")
            self._after(self.chance.choice((0.0, 0.002, 0.01, 0.05)), lambda: connection.take_back(call))
        self._wait(call)
        return call

    def _wait(self, *calls: Call) -> None:
        """Do what is due until these are answered.

        Raises:
            Lost: one never will be.
        """
        deadline = time.monotonic() + ANSWER_SECONDS
        while not all(call.over.is_set() for call in calls):
            if time.monotonic() >= deadline:
                self._problem("no answer", f"{[call.params for call in calls if not call.over.is_set()]}")
                break
            self._attend(0.05)
        if any(call.frame is None for call in calls):
            raise Lost

    def _idle(self, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._attend(left)

    def _attend(self, seconds: float) -> None:
        """Wait for something to do, and do it."""
        now = time.monotonic()
        if self._later and self._later[0][0] <= now:
            return heapq.heappop(self._later)[2]()
        if self._later:
            seconds = min(seconds, self._later[0][0] - now)
        try:
            self._told.get(timeout=seconds)()
        except queue.Empty:
            return None
        return None

    def _after(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._later, (time.monotonic() + seconds, next(self._numbers), action))

    # -- deciding

    def _decide(self, connection: Connection, request_id: Any, params: Json) -> None:
        """Answer a question for permission, some time, somehow."""
        words = ("allow_once", "allow_always", "reject", "cancelled", "unheard", "error", "nothing")
        word = self.chance.choices(words, (56, 8, 17, 4, 3, 3, 5))[0]
        self.lane.findings.count("questions for permission")
        self._note(f"asked {params['_meta'].get('museTurnId')}, will say {word}")
        session_id = params["sessionId"]
        if word == "nothing":
            stop = {"sessionId": session_id}
            return self._after(self.chance.uniform(0.2, 1.0), lambda: connection.notify("session/cancel", stop))
        delay = self.chance.choice((0.0, 0.0, 0.05, 0.3))
        return self._after(delay, lambda: self._say(connection, request_id, params, word))

    def _say(self, connection: Connection, request_id: Any, params: Json, word: str) -> None:
        meta, options = params["_meta"], params["options"]
        if request_id in self._withdrawn:
            return connection.answer(request_id, error={"code": -32800, "message": "withdrawn"})
        allowed = False
        outcome: Json = {"outcome": {"outcome": "cancelled"}}
        if word in ("allow_once", "allow_always", "reject"):
            kinds = {"reject": ("reject_once", "reject_always")}.get(word, (word,))
            fitting = [each["optionId"] for each in options if each["kind"] in kinds] or [options[0]["optionId"]]
            chosen = self.chance.choice(fitting)
            allowed = next(each["kind"] for each in options if each["optionId"] == chosen).startswith("allow")
            outcome = {"outcome": {"outcome": "selected", "optionId": chosen}}
        elif word == "unheard":
            outcome = {"outcome": {"outcome": "selected", "optionId": "no such option"}}
        if self.story is not None:
            what = (meta["museApprovalId"], str(meta.get("museRequirementId")))
            self.story.decided(meta["museTurnId"], what, allowed=allowed)
        if word == "error":
            return connection.answer(request_id, error={"code": -32603, "message": "no"})
        return connection.answer(request_id, result=outcome)

    def _fill(self, connection: Connection, request_id: Any, params: Json) -> None:
        """Answer a form."""
        properties = params["requestedSchema"]["properties"]
        meta = params.get("_meta", {})
        accepts = self.chance.random() < 0.7 and "feedback" not in properties
        if self.story is not None and "museUserInputId" in meta:
            self.story.decided(meta["museTurnId"], meta["museUserInputId"], allowed=accepts)
        if not accepts:
            return connection.answer(request_id, result={"action": self.chance.choice(("decline", "cancel"))})
        content = {name: _filled(field) for name, field in properties.items()}
        return connection.answer(request_id, result={"action": "accept", "content": content})


def _filled(field: Json) -> Any:
    """The first options of a field of a form, as few as it takes."""
    if field["type"] == "array":
        return [each["const"] for each in field["items"]["anyOf"][: field.get("minItems", 1)]]
    return field["oneOf"][0]["const"] if "oneOf" in field else "orchard"
