"""The host: one connection, the sessions loaded in it, and which method does what (`msp.md §5, §6, §8`)."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from typing import Final

import orjson

from adapter.hosts.simulated import (
    handle_delete,
    handle_loading,
    handle_reads,
    handle_sessions,
    handle_settings,
    handle_tasks,
    handle_turns,
    ids,
    questions,
)
from adapter.hosts.simulated.credentials import Credentials
from adapter.hosts.simulated.errors import invalid, refusal
from adapter.hosts.simulated.faults import Faults
from adapter.hosts.simulated.ledger import Ledger
from adapter.hosts.simulated.loop import Loop
from adapter.hosts.simulated.options import Options
from adapter.hosts.simulated.output import Output
from adapter.hosts.simulated.params import flag, optional_text, table
from adapter.hosts.simulated.session import Session
from adapter.hosts.simulated.settings import Settings
from adapter.hosts.simulated.shape import event_params, without
from adapter.hosts.simulated.store import Store
from adapter.hosts.simulated.view import Event, Json
from adapter.hosts.simulated.witness import Witness
from adapter.wire import envelope
from adapter.wire.envelope import Notification, Reject, Request, RpcError
from adapter.wire.framing import FrameDecoder, FrameTooLarge, Line, Oversize
from adapter.wire.head import scan_head

SERVER_NAME: Final = "muse-simulated-host"

PROTECTED: Final = frozenset({"approval/resolved", "userInput/settled", "view/gap", "session/leaveCompleted"})
"""Never dropped, never opted out (`msp.md §11.5`)."""

CAPABILITY_OF: Final = {"session/userShell": "userShell", "feedback/submit": "feedback"}
"""Methods that need a grant."""

NEEDS_HISTORY: Final = frozenset(
    {"session/resume", "session/read", "session/fork", "session/rename", "session/delete", "view/page"}
)
"""What a host that keeps nothing does not offer."""

Handler = Callable[["Host", Json], Json]


class Host:
    """Everything one `serve` process is."""

    def __init__(
        self, options: Options, settings: Settings, faults: Faults, witness: Witness, loop: Loop, output: Output
    ) -> None:
        self.options = options
        self.settings = settings
        self.profile = options.profile
        self.faults = faults
        self._witness = witness
        self.loop = loop
        self.output = output
        self.store = Store(None if options.no_session_log else options.data_dir)
        self.ledger = Ledger(self.store)
        self.credentials = Credentials(settings, options.data_dir)
        self.sessions: dict[str, Session] = {}
        self.children: dict[str, Session] = {}
        """Sessions of subagents: they can be looked at and asked, and take no prompts."""
        self.deletions = handle_delete.Deletions()
        self.client: Json = {}
        self.granted: frozenset[str] = frozenset()
        self.dialogs = True
        self.closing = False
        self._opted_out: frozenset[str] = frozenset()
        self._handshake = "new"
        self._held: list[tuple[str, Json]] = []
        self._next_id = 0
        self._decoder = FrameDecoder(settings.frame_limit_bytes)
        self._following: list[Callable[[], None]] = []

    # -- reading

    def on_bytes(self, data: bytes) -> None:
        """What came in on stdin; empty at its end."""
        for line in self._decoder.feed(data) if data else self._decoder.end():
            self._on_line(line)
        if not data and not self.faults.ignores_end:
            self.shut_down()

    def _on_line(self, line: Line | Oversize) -> None:
        if isinstance(line, Oversize):
            return self._too_large(line)
        frame = envelope.read_line(line)
        if isinstance(frame, Request):
            self._on_request(frame)
        elif isinstance(frame, Notification):
            self._on_notification(frame)
        elif isinstance(frame, Reject):
            kind = {envelope.PARSE_ERROR: "parseError", envelope.INVALID_PARAMS: "invalidParams"}
            error = refusal(kind.get(frame.code, "invalidRequest"), frame.message)
            self.output.put(envelope.failure_object(frame.id, error))

    def _too_large(self, line: Oversize) -> None:
        request_id = envelope.usable_id(scan_head(line.prefix).get("id"))
        kind = "parseError" if request_id is None else "inputTooLarge"
        error = refusal(kind, f"the frame is longer than {line.cap} bytes", limitBytes=line.cap)
        self.output.put(envelope.failure_object(request_id, error))

    def _on_notification(self, note: Notification) -> None:
        self._witness.note(note.method)
        self.faults.strike(self, note.method)
        if note.method == "initialized" and self._handshake == "answered":
            self._handshake = "done"
            held, self._held = self._held, []
            for method, params in held:
                self.broadcast(method, params)
        elif note.method == "userInput/engaged" and self._handshake == "done":
            session = self.sessions.get(str(note.params.get("sessionId")))
            if session is not None:
                questions.engaged(session, note.params)

    def _on_request(self, request: Request) -> None:
        self._witness.note(request.method)
        plan = self.faults.plan(self, request)
        if plan.hangs:
            return
        try:
            if plan.error is not None:
                raise plan.error
            result = {**self._perform(request), **plan.result}
        except RpcError as error:
            frame = envelope.failure_object(request.id, error)
        except Exception:
            # What the request broke is a fault of this stand-in; the client gets the answer a host gives then.
            traceback.print_exc()
            frame = envelope.failure_object(request.id, refusal("internal", "internal error; see stderr"))
        else:
            frame = envelope.success_object(request.id, result)
        if plan.ack_seconds:
            self.loop.call_later(plan.ack_seconds, lambda: self._answer(request, frame))
        else:
            self._answer(request, frame)
        following, self._following = self._following, []
        for callback in following if "result" in frame else ():
            callback()

    def _answer(self, request: Request, frame: Json) -> None:
        try:
            self.output.put(frame)
        except FrameTooLarge as error:
            kind = "outputResultTooLarge" if request.method == "item/readOutput" else "internal"
            too_large = refusal(kind, "the answer does not fit a frame", limitBytes=error.cap)
            self.output.put(envelope.failure_object(request.id, too_large))

    def _perform(self, request: Request) -> Json:
        method, params = request.method, request.params
        if method == "initialize":
            return self._initialize(params)
        if self._handshake == "new":
            raise refusal("notInitialized", "initialize comes first")
        handler = HANDLERS.get(method)
        withheld = not self.store.durable and method in NEEDS_HISTORY
        if handler is None or method not in self.profile.methods or withheld:
            raise refusal("methodNotFound", f"this host has no method {method}")
        capability = CAPABILITY_OF.get(method)
        if capability is not None and capability not in self.granted:
            raise refusal("capabilityRequired", f"{method} requires the {capability} capability", capability=capability)
        if method in QUERIES:
            return handler(self, params)
        return self.ledger.once(self, method, params, handler)

    def after_answer(self, callback: Callable[[], None]) -> None:
        """Do that once the request being handled has been answered: an ack is admission, events follow."""
        self._following.append(callback)

    def _initialize(self, params: Json) -> Json:
        if self._handshake != "new":
            raise refusal("alreadyInitialized", "initialize comes once")
        client = table(params, "clientInfo")
        name = client.get("name")
        if type(name) is not str or not name.isascii() or not name.replace("_", "a").isalnum() or name != name.lower():
            raise invalid("clientInfo.name", "only a-z, 0-9 and _")
        self.client = {"name": name, "version": str(client.get("version", ""))}
        wants = table(params, "capabilities") if "capabilities" in params else {}
        requested = wants.get("requestedCapabilities") or []
        self.granted = self.profile.capabilities.intersection(requested)
        self.dialogs = flag(wants, "userInputDialogs", True)
        self._opted_out = frozenset(wants.get("optOutNotificationMethods") or []) - PROTECTED
        self._handshake = "answered"
        os_name = {"darwin": "macos", "win32": "windows"}.get(sys.platform, "linux")
        version, machine = self.profile.version, _machine()
        result = {
            "serverInfo": {"name": SERVER_NAME, "version": version},
            "userAgent": f"{SERVER_NAME}/{version} ({os_name}; {machine})",
            "museHome": str(self.options.data_dir),
            "platformFamily": "windows" if os_name == "windows" else "unix",
            "platformOs": os_name,
            "schema": {"version": 1, "fingerprint": self.profile.fingerprint},
            "grantedCapabilities": [word for word in requested if word in self.granted],
            "experimentalApi": False,
            "sessionDurability": "durable" if self.store.durable else "ephemeral",
            "sandboxAvailability": "available",
        }
        return without(self.profile, "initialize", result)

    # -- writing

    def publish(self, session: Session, number: int, method: str, params: Json) -> None:
        """Deliver a view event, unless it is lost on purpose; a loss is told after the next event that arrives."""
        if not session.subscribed or not self._wanted(method):
            return
        if session.dropping and method not in PROTECTED:
            session.dropping -= 1
            if session.gap_after is None:
                session.gap_after = session.delivered
            return
        if not self._notify(method, params):
            session.gap_after = session.delivered if session.gap_after is None else session.gap_after
            return
        gap_after, session.gap_after = session.gap_after, None
        if gap_after is not None:
            after, following = ids.cursor(session.id, gap_after), ids.cursor(session.id, number)
            self._notify("view/gap", {"sessionId": session.id, "after": after, "next": following})
        session.delivered = number

    def replay(self, session: Session, events: list[Event]) -> None:
        """Deliver kept events once more, as ordinary notifications."""
        for event in events:
            if self._wanted(event.method):
                self._notify(event.method, event.params)

    def broadcast(self, method: str, params: Json) -> None:
        """Deliver host state; before the handshake is over it waits."""
        if not self._wanted(method) or (method == "session/listChanged" and "sessionListStream" not in self.granted):
            return
        if self._handshake == "done":
            self._notify(method, params)
        else:
            self._held.append((method, params))

    def _wanted(self, method: str) -> bool:
        return self.profile.sends(method) and method not in self._opted_out

    def _notify(self, method: str, params: Json) -> bool:
        """Write a notification; False if it does not fit a frame."""
        if not self.faults.strike(self, method):
            return True
        frame = envelope.notification_object(method, event_params(self.profile, method, params))
        frame["emittedAtMs"] = ids.now_ms()
        try:
            self.output.put(frame)
        except FrameTooLarge:
            return False
        return True

    def request_client(self, method: str, params: Json) -> None:
        """Send a server request; its receipt changes nothing, so nobody waits for it."""
        if self.faults.strike(self, method):
            self._next_id += 1
            shaped = event_params(self.profile, method, params)
            self.output.put(envelope.request_object(self._next_id, method, shaped))

    def encode_burst(self, session: Session, item_id: str, field: str, texts: tuple[str, ...]) -> list[bytes]:
        """The parts of delta frames that do not change from one to the next: a head, then one tail for each text."""
        head = {"jsonrpc": "2.0", "method": "item/delta", "params": {"sessionId": session.id}}
        start = orjson.dumps(head)[:-2] + b',"viewCursor":"' + f"v:{session.id}:".encode()
        tails = [
            b'",' + orjson.dumps({"itemId": item_id, "field": field, "delta": text})[1:] + b',"emittedAtMs":'
            for text in texts
        ]
        return [start, *tails]

    def send_burst(self, session: Session, encoded: list[bytes], at: int, many: int) -> None:
        """Send deltas number `at` to `at + many`; they are not looked at one by one unless a fault waits for one."""
        first = session.head + 1
        session.head += many
        if not session.subscribed or "item/delta" in self._opted_out:
            return
        start, *tails = encoded
        stamp = b"%d}\n" % ids.now_ms()
        ends = [tail + stamp for tail in tails]
        period = len(ends)
        frames = [b"%b%d%b" % (start, first + index, ends[(at + index) % period]) for index in range(many)]
        if self.faults.watches("item/delta"):
            frames = [frame for frame in frames if self.faults.strike(self, "item/delta")]
        self.output.put_bytes(b"".join(frames))
        session.delivered = session.head

    # -- the end

    def shut_down(self) -> None:
        """Stdin ended: cancel what runs, durably, close every session, and stop (`msp.md §23.3`)."""
        self.closing = True
        for session in list(self.sessions.values()):
            self.unload(session, "hostShutdown")
        self.loop.stop()

    def unload(self, session: Session, reason: str) -> None:
        """Stop what runs in a session, close it and give its lease back."""
        handle_turns.stop_all(self, session)
        session.show_status()
        closed = {"sessionId": session.id, "reason": reason, "viewCursor": session.cursor()}
        self.broadcast("session/closed", closed)
        session.close()
        self.store.release(session.id)
        del self.sessions[session.id]

    def session(self, params: Json) -> Session:
        """The loaded session that `params` names.

        Raises:
            RpcError: it is not loaded here, or there is none.
        """
        return handle_sessions.loaded(self, optional_text(params, "sessionId"))

    def asking_session(self, params: Json) -> Session:
        """The same, or the session of a subagent."""
        child = self.children.get(str(params.get("sessionId")))
        return self.session(params) if child is None else child


QUERIES: Final = frozenset(
    (
        *("session/list", "session/read", "view/page", "view/subscribe", "view/unsubscribe", "item/readOutput"),
        *("approval/listPending", "model/list", "skill/list", "hook/list", "plugin/list", "task/list"),
        *("usage/read", "feedback/submit"),
    )
)
"""Methods that take no `commandId`."""

HANDLERS: Final[dict[str, Handler]] = {
    **handle_sessions.HANDLERS,
    **handle_loading.HANDLERS,
    **handle_delete.HANDLERS,
    **handle_reads.HANDLERS,
    **handle_turns.HANDLERS,
    **handle_settings.HANDLERS,
    **handle_tasks.HANDLERS,
}


def _machine() -> str:
    """The processor, as a user agent names it."""
    if sys.platform == "win32":
        return "amd64"
    return os.uname().machine
