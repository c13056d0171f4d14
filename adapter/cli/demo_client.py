"""The demo's side of the wire: a very small ACP client that asks one thing at a time and is strict about the answer."""

from __future__ import annotations

from collections import deque
from typing import Any, Final, Protocol, TypeVar

import anyio
import msgspec

from adapter.msp.process import HostProcess
from adapter.wire import envelope
from adapter.wire.envelope import Params
from adapter.wire.framing import ACP_FRAME_CAP, ACP_OUTBOUND_CAP, FrameDecoder, Line, Oversize, encode_frame

STEP_SECONDS: Final = 10.0
"""Seconds the adapter may take for one answer; the longest step of a sound one takes one."""

T = TypeVar("T")


class Unexpected(Exception):
    """A step was not as it should be; the text says what was expected and what came."""


class Part(msgspec.Struct, frozen=True):
    """A content block."""

    text: str = ""


class Content(msgspec.Struct, frozen=True):
    """A piece of a card's content."""

    content: Part = Part()


class Handle(msgspec.Struct, frozen=True, rename="camel"):
    """What a card says about reading the stored output."""

    session_id: str = ""
    item_id: str = ""
    output_ref: str = ""


class Meta(msgspec.Struct, frozen=True):
    """The part of `_meta` that the demo reads."""

    output: Handle | None = msgspec.field(name="muse/output", default=None)


class Update(msgspec.Struct, rename="camel"):
    """What the demo reads of a `session/update`, and of the tool call of a question."""

    session_update: str = ""
    content: Part | list[Content] | None = None
    tool_call_id: str | None = None
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    meta: Meta = msgspec.field(name="_meta", default=Meta())

    def card_text(self) -> str:
        """The text on a card, without the fence around it."""
        parts = self.content if isinstance(self.content, list) else []
        lines = "\n".join(part.content.text for part in parts).splitlines()
        return "\n".join(line for line in lines if not line.startswith("```"))


class Option(msgspec.Struct, rename="camel"):
    """One way to answer a question."""

    option_id: str
    name: str
    kind: str


class Question(msgspec.Struct, rename="camel"):
    """A `session/request_permission`."""

    tool_call: Update
    options: list[Option]


class _SessionUpdate(msgspec.Struct):
    update: Update


class Editor(Protocol):
    """Who sees what comes between a question and its answer."""

    async def see(self, update: Update) -> None: ...

    def decide(self, question: Question) -> Option: ...


class DemoClient:
    """Speaks to the adapter in `process`."""

    def __init__(self, process: HostProcess, editor: Editor, step_seconds: float) -> None:
        self._process = process
        self._editor = editor
        self._step_seconds = step_seconds
        self._decoder = FrameDecoder(ACP_OUTBOUND_CAP)
        self._lines: deque[Line | Oversize] = deque()
        self._asked = 0

    async def ask(self, method: str, params: Params, answer: type[T]) -> T:
        """The result of a request; what comes before it goes to the editor.

        Raises:
            Unexpected: there is none in time, it is an error, or something else came that should not.
        """
        self._asked += 1
        await self._send(envelope.request_object(self._asked, method, params))
        try:
            with anyio.fail_after(self._step_seconds):
                while True:
                    frame = await self._frame()
                    if isinstance(frame, envelope.Success) and frame.id == self._asked:
                        return _read(frame.result, answer, f"the result of {method}")
                    if isinstance(frame, envelope.Failure):
                        raise Unexpected(f"Expected a result of {method}, but came: {_sentence(frame.error)}")
                    await self._take(frame)
        except TimeoutError:
            raise Unexpected(
                f"Expected an answer to {method} within {self._step_seconds:g} s, but none came."
            ) from None

    async def tell(self, method: str, params: Params) -> None:
        """Send a notification."""
        await self._send(envelope.notification_object(method, params))

    async def _take(self, frame: envelope.Frame) -> None:
        if isinstance(frame, envelope.Notification) and frame.method == "session/update":
            await self._editor.see(_read(frame.params, _SessionUpdate, "a session/update").update)
        elif isinstance(frame, envelope.Request) and frame.method == "session/request_permission":
            option = self._editor.decide(_read(frame.params, Question, "a session/request_permission"))
            outcome = {"outcome": "selected", "optionId": option.option_id}
            await self._send(envelope.success_object(frame.id, {"outcome": outcome}))
        else:
            raise Unexpected(f"Expected updates, questions and answers, but came: {_name(frame)}")

    async def _frame(self) -> envelope.Frame:
        while not self._lines:
            data = await self._process.stdout.receive()
            if not data:
                raise Unexpected("Expected the adapter to answer, but it closed its output.")
            self._lines += self._decoder.feed(data)
        return envelope.read_line(self._lines.popleft())

    async def _send(self, frame: dict[str, Any]) -> None:
        try:
            with anyio.fail_after(self._step_seconds):
                await self._process.stdin.send(encode_frame(frame, ACP_FRAME_CAP))
        except (OSError, TimeoutError):
            raise Unexpected("Expected the adapter to read its input, but it does not.") from None


def expect(true: bool, expected: str, came: object) -> None:
    """Check one thing.

    Raises:
        Unexpected: it is not so.
    """
    if not true:
        raise Unexpected(f"Expected {expected}, but came: {came!r}")


def _read(members: Params, shape: type[T], what: str) -> T:
    try:
        return msgspec.convert(members, shape)
    except msgspec.ValidationError as error:
        raise Unexpected(f"Expected {what} as the protocol has it, but: {error}") from None


def _sentence(error: envelope.RpcError) -> str:
    details = (error.data or {}).get("details")
    return f"error {error.code}, {error.message}" + (f": {details}" if details else "")


def _name(frame: envelope.Frame) -> str:
    if isinstance(frame, envelope.Request | envelope.Notification):
        return frame.method
    return frame.message if isinstance(frame, envelope.Reject) else repr(frame)
