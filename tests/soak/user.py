"""One user with one session: says something, decides, stops, reads, opens it anew, and knows what must come."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.output_clients import READ, address, page_bytes, simulated_bytes
from tests.soak.attending import Attending
from tests.soak.connection import Call, Connection, Lost
from tests.soak.prompts import plain, prompt
from tests.soak.story import Story, Turn

if TYPE_CHECKING:
    from tests.soak.lane import Lane

Json = dict[str, Any]

TURNS_A_SESSION: Final = 40
"""Prompts after which a session is left for another one, so that loading it stays cheap."""

OPENING_TRIES: Final = 60
OPENING_PAUSE: Final = 0.25

DEADLY: Final = frozenset({"hostDied", "hostStartFailed"})
"""What is said when a host ended."""

LOST_WITH_HOST: Final = frozenset({"crash", "crash_inferred", "incomplete"})
"""What the next host says of a turn that was taken in, but not acknowledged, by one that died."""


class User(Attending):
    """Lives in a thread of its own; `update` is called by that of a connection."""

    def __init__(self, lane: Lane, name: str, chance: random.Random, home: Path) -> None:
        super().__init__(lane, name, chance)
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        self.known: set[str] = set()
        """Sessions of this user that are stored for sure."""
        self._options: list[Json] = []

    # -- what comes unasked

    def update(self, update: Json) -> None:
        if update["sessionUpdate"] == "config_option_update":
            self._options = update["configOptions"]
        if self.story is not None:
            self.story.update(update)

    # -- the day

    def live(self) -> None:
        """Do things until the run is over."""
        try:
            while (connection := self.lane.connection()) is not None:
                if connection is not self._connection:
                    self._withdrawn.clear()
                    self._later.clear()
                    self._connection = connection
                try:
                    self._work(connection)
                except Lost:
                    if self.story is not None:
                        self.story.lost()
        except Exception as error:
            self._problem("the client's own fault", f"{type(error).__name__}: {error}")
            raise

    def _work(self, connection: Connection) -> None:
        if self.story is None:
            self._new(connection)
        elif self.story.session_id not in connection.screens:
            self._open(connection, replay=self.chance.random() < 0.6)
        while self.lane.goes_on(connection):
            self._act(connection)
            self._idle(self.chance.uniform(0.2, 1.6))
        if self.lane.is_over:
            self._last_look(connection)

    def _act(self, connection: Connection) -> None:
        if self.story is None or len(self.story.turns) >= TURNS_A_SESSION:
            return self._leave(connection)
        actions = (
            (self._ask, 60),
            (self._ask_twice, 8),
            (self._ask_and_stop, 14),
            (self._read, 16 if self.lane.version == "1.2.1" else 0),
            (self._set, 5),
            (self._change_mode, 1),
            (self._list, 3),
            (self._load_anew, 4),
            (self._close_and_open, 4),
            (self._fork, 2),
        )
        self.chance.choices(*zip(*actions, strict=True))[0](connection)
        return None

    def _last_look(self, connection: Connection) -> None:
        """All of the session once more, when nothing disturbs it."""
        self._close(connection)
        self._open(connection, replay=True)

    # -- what is asked

    def _prompt(self, connection: Connection, *, simple: bool = False) -> tuple[Turn, Call]:
        story = self._story
        token = f"{self.name}-{next(self._numbers)}"
        said = plain(self.chance, token) if simple else prompt(self.chance, token, self.lane.version)
        turn = story.asks(said)
        params = {"sessionId": story.session_id, "prompt": [{"type": "text", "text": said.text}]}
        return turn, connection.begin("session/prompt", params, lambda call: self._answered(story, turn, call))

    def _answered(self, story: Story, turn: Turn, call: Call) -> None:
        """Called in the order of arrival."""
        if call.frame is None:
            # Told by `lost`, when everything else has been.
            return
        if call.error is not None:
            expected = turn.prompt.fails and call.error["data"].get("hostKind") == "modelError"
            return story.answered(turn, "failed" if expected else "died")
        reason = call.result["stopReason"]
        if reason not in ("end_turn", "cancelled"):
            self._problem("stop reason", f"{reason} for {turn.prompt.text!r}")
        story.answered(turn, "ended" if reason == "end_turn" else "cancelled")

    def _ask(self, connection: Connection) -> None:
        turn, call = self._prompt(connection)
        self._wait(call)
        self._judge(turn, call)

    def _ask_twice(self, connection: Connection) -> None:
        pairs = [self._prompt(connection), self._prompt(connection, simple=True)]
        if self.chance.random() < 0.3:
            turn, call = self.chance.choice(pairs)
            self._note(f"will take {turn.prompt.text!r} back")
            self._after(self.chance.uniform(0, 0.3), lambda: connection.take_back(call))
        self._wait(*(call for _, call in pairs))
        for turn, call in pairs:
            self._judge(turn, call, counts=False)

    def _ask_and_stop(self, connection: Connection) -> None:
        turn, call = self._prompt(connection)
        stop = {"sessionId": self._story.session_id}
        self._after(self.chance.choice((0.0, 0.002, 0.02, 0.1, 0.4)), lambda: connection.notify("session/cancel", stop))
        self._wait(call)
        self._judge(turn, call, counts=False)
        if turn.outcome == "cancelled":
            self.lane.findings.count("turns stopped")

    def _judge(self, turn: Turn, call: Call, *, counts: bool = True) -> None:
        findings = self.lane.findings
        findings.count("turns")
        findings.count(f"turns that have {turn.outcome}")
        if turn.outcome == "died":
            self._excuse(call, *DEADLY, "hostBusy", "sessionInUse")
        elif turn.outcome == "ended":
            self.known.add(self._story.session_id)
            if counts:
                self._took(f"prompt, {turn.prompt.kind}", call)

    # -- sessions

    @property
    def _story(self) -> Story:
        assert self.story is not None
        return self.story

    def _open_params(self, session_id: str | None = None) -> Json:
        params: Json = {"cwd": str(self.home), "mcpServers": []}
        return params if session_id is None else {"sessionId": session_id, **params}

    def _entered(self, connection: Connection, call: Call, turns: list[Turn] | None = None) -> None:
        """A new session has its name. Called in the order of arrival."""
        if call.frame is not None and call.error is None:
            session_id = call.result["sessionId"]
            self.story = Story(session_id, lambda text: self._problem("text", text), turns)
            connection.screens[session_id] = self
            self._options = call.result["configOptions"]

    def _new(self, connection: Connection) -> None:
        for _ in range(OPENING_TRIES):
            call = self._ask_for("session/new", self._open_params(), lambda call: self._entered(connection, call))
            if call.error is None:
                return self._took("session/new", call)
            self._excuse(call, *DEADLY)
            self._idle(OPENING_PAUSE)
        return self._problem("session/new", "it never worked")

    def _open(self, connection: Connection, *, replay: bool) -> None:
        """Load the session or resume it; what still holds it lets go of it soon."""
        story, method = self._story, "session/load" if replay else "session/resume"
        for _ in range(OPENING_TRIES):
            story.opens(replay=replay)
            connection.screens[story.session_id] = self

            def opened(call: Call) -> None:
                story.opened(well=call.error is None and call.frame is not None)

            call = self._ask_for(method, self._open_params(story.session_id), opened)
            if call.error is None:
                self._options = call.result["configOptions"]
                self.lane.findings.count("sessions opened again")
                return self._took(method, call)
            if call.reason == "sessionUnknown" and story.session_id not in self.known:
                self.story = None
                return self._new(connection)
            self._excuse(call, *DEADLY, "sessionInUse", "sessionBusy")
            self._idle(OPENING_PAUSE)
        return self._problem(method, f"it never worked: {story.session_id}")

    def _load_anew(self, connection: Connection) -> None:
        """Load what is open."""
        self._open(connection, replay=self.chance.random() < 0.7)

    def _close(self, connection: Connection) -> None:
        self._note("close")
        call = self._ask_for("session/close", {"sessionId": self._story.session_id})
        if call.error is None:
            self._took("session/close", call)
        else:
            self._excuse(call, *DEADLY)

    def _close_and_open(self, connection: Connection) -> None:
        """Close it, perhaps in the middle of something, and open it."""
        calls = []
        if self.chance.random() < 0.5:
            turn, asked = self._prompt(connection)
            calls.append((turn, asked))
            self._idle(self.chance.choice((0.0, 0.03, 0.2)))
        self._close(connection)
        self._wait(*(call for _, call in calls))
        for turn, call in calls:
            self._judge(turn, call, counts=False)
        self._open(connection, replay=self.chance.random() < 0.7)

    def _leave(self, connection: Connection) -> None:
        if self.story is not None:
            self._close(connection)
        self.story = None
        self._new(connection)

    def _fork(self, connection: Connection) -> None:
        """Go on in a copy."""
        story = self._story
        if story.session_id not in self.known or "fork" not in connection.offers:
            return
        turns = [turn.copy() for turn in story.turns]
        params = self._open_params(story.session_id)
        call = self._ask_for("session/fork", params, lambda call: self._entered(connection, call, turns))
        if call.error is not None:
            return self._excuse(call, *DEADLY, "sessionBusy", "sessionInUse")
        self._took("session/fork", call)
        self.known.add(self._story.session_id)
        connection.begin("session/close", {"sessionId": story.session_id})
        if self.chance.random() < 0.5:
            self._close(connection)
            self._open(connection, replay=True)
        return None

    def _list(self, connection: Connection) -> None:
        """Every page of what is stored for the folder."""
        listed: list[str] = []
        params: Json = {"cwd": str(self.home)}
        while True:
            call = self._ask_for("session/list", params)
            if call.error is not None:
                return self._excuse(call, *DEADLY)
            self._took("session/list", call)
            listed += [row["sessionId"] for row in call.result["sessions"]]
            if (cursor := call.result.get("nextCursor")) is None:
                break
            params = {**params, "cursor": cursor}
        if len(set(listed)) != len(listed):
            self._problem("list", f"sessions come twice: {[each for each in listed if listed.count(each) > 1]}")
        if missing := self.known - set(listed):
            self._problem("list", f"sessions are missing: {missing}")
        return None

    # -- settings and stored output

    def _set(self, connection: Connection) -> None:
        option = self.chance.choice([each for each in self._options if each["id"] != "mode"] or [None])
        if option is None:
            return
        values = [each["value"] for each in option["options"] if each["value"] not in ("denyUnmatched", "allowAll")]
        params = {"sessionId": self._story.session_id, "configId": option["id"], "value": self.chance.choice(values)}
        call = self._ask_for("session/set_config_option", params)
        if call.error is not None:
            return self._excuse(call, *DEADLY)
        self._took("session/set_config_option", call)
        self._options = call.result["configOptions"]
        now = {each["id"]: each["currentValue"] for each in self._options}
        if now.get(option["id"]) != params["value"]:
            self._problem("option", f"set {params}, is {now}")
        return None

    def _change_mode(self, connection: Connection) -> None:
        """Ask something on the host that cannot write, and come back."""
        story = self._story
        modes = [each["value"] for option in self._options if option["id"] == "mode" for each in option["options"]]
        for mode in ("readOnly", "default") if "readOnly" in modes else ():
            params = {"sessionId": story.session_id, "modeId": mode}
            while (call := self._ask_for("session/set_mode", params)).error is not None:
                self._excuse(call, *DEADLY)
                if mode == "readOnly" and self.chance.random() < 0.5:
                    return
            turn, call = self._prompt(connection, simple=True)
            self._wait(call)
            self._judge(turn, call, counts=False)

    def _read(self, connection: Connection) -> None:
        """A range of a stored output, or all of it in pages, against what it must be."""
        handles = list(self._story.handles.values())
        if not handles:
            return
        handle = self.chance.choice(handles)
        size, whole = handle["byteLen"], self.chance.random() < 0.3
        data = simulated_bytes(handle, "lines" if handle["mediaType"] == "text/plain" else "bytes")
        offset, length = 0, self.chance.choice((4096, 65_536, 1_048_576))
        if not whole:
            offset = self.chance.randint(0, size)
        while True:
            call = self._ask_for(READ, address(handle) | {"offsetBytes": offset, "lengthBytes": length})
            if call.error is not None:
                if call.reason == "offsetInsideCharacter" and not whole:
                    offset = call.error["data"].get("alignedNextOffset", 0)
                    continue
                return self._excuse(call, *DEADLY)
            self._took("read of a page", call)
            self.lane.findings.count("reads")
            page = page_bytes(call.result)
            self.lane.findings.count("bytes read", len(page))
            if page != data[offset : offset + len(page)] or call.result["offsetBytes"] != offset:
                self._problem("read", f"wrong bytes of {handle} at {offset}")
            offset += len(page)
            if call.result["eof"] != (offset >= size):
                self._problem("read", f"a wrong end of {handle} at {offset}")
            if not whole or call.result["eof"] or not page:
                return None

    # -- telling

    def _excuse(self, call: Call, *reasons: str) -> None:
        """An error is in order if it says one of these, and for those of a dead host if one has died. So it is if the
        client took the request back, or ends the adapter."""
        reason = call.reason
        if reason == "hostError" and (call.error or {})["data"].get("hostKind") in LOST_WITH_HOST:
            reason = "hostDied"
        in_order = reason in reasons and (reason not in DEADLY or self.lane.has_died(call.began, call.ended))
        stops = (
            self._connection is not None and self._connection.stops > 0 and reason in ("cancelled", "adapterStopping")
        )
        if in_order or stops or (reason == "cancelled" and call.taken_back):
            return self.lane.findings.excuse(f"{call.method}: {reason}")
        return self._problem("error", f"{call.method} {call.params}: {call.error}")

    def _took(self, operation: str, call: Call) -> None:
        if not self.lane.disturbed(call.began, call.ended):
            self.lane.findings.took(operation, call.ended - call.began)
