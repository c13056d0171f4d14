"""Open questions of the host to the user (`msp.md §16`): as forms where the client shows them, else as text that the
next message answers. Each is settled once; what is not answered is told to the host as not answered."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, Final

import anyio

from adapter.acp.content import Block, Text
from adapter.bridge.consent import question_form, question_text
from adapter.bridge.consent.client_questions import ClientQuestions
from adapter.bridge.consent.dialogs import Stop
from adapter.bridge.consent.question import FREE_TEXT_LENGTH, Answer, NotAnAnswer, Question, read_questions
from adapter.bridge.projection import Projection
from adapter.bridge.turns.prompts import Taken
from adapter.msp.errors import HostGone, MspError
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.peer import PeerClosed

log = logging.getLogger("adapter.bridge")

ATTEMPTS: Final = 2
"""How often a form is shown whose content does not answer the question."""

_SETTLED_KINDS: Final = frozenset({"userInputNotFound", "userInputAlreadySettled"})


class _NotOpen(Exception):
    """The question has been settled, by whomever."""


class _Asked:
    """A question as it was put; `scope` is around what becomes of it."""

    def __init__(self, params: Params, questions: tuple[Question, ...]) -> None:
        self.params = params
        self.questions = questions
        self.scope = anyio.CancelScope()

    @property
    def input_id(self) -> str:
        input_id: str = self.params["userInputId"]
        return input_id

    @property
    def turn_id(self) -> Any:
        return self.params.get("turnId")


class Questions:
    """Asks the client, tells the host. `pause` lets a turn wait for the next message; without it nothing can be asked
    in text. What a turn that `is_stopped` asks is not put to the user; `stop` is called where the host does not take
    that nobody answers, since what asks would wait for ever."""

    def __init__(
        self,
        client: ClientQuestions,
        session: Session,
        projection: Projection,
        background: Background,
        stop: Stop,
        is_stopped: Callable[[Any], bool],
        pause: Callable[[str], None] | None = None,
    ) -> None:
        self._client = client
        self._session = session
        self._projection = projection
        self._background = background
        self._stop = stop
        self._is_stopped = is_stopped
        self._pause = pause
        self.has_next: Callable[[Any], bool] = lambda turn_id: False
        """Whether the next message has been sent, and waits for this turn."""
        self._asked: dict[str, _Asked] = {}
        self._in_text: list[_Asked] = []
        """What the next messages answer, the first of them on screen."""
        self._shown: _Asked | None = None
        """What was shown last in text."""

    def ask(self, params: Params) -> None:
        """Put a question to the user; the same one is not put again. What a host asked that has gone is the next one's
        to ask."""
        if params["userInputId"] in self._asked or self._session.host.gone is not None:
            return
        if not self._client.room.take():
            return self._client.refuse(self._session, params, self._stop)
        asked = self._asked[params["userInputId"]] = _Asked(params, read_questions(params) or ())
        if asked.questions and not self._client.forms and not self._is_stopped(asked.turn_id):
            # At once, since they are answered in the order in which they are shown.
            self._by_text(asked)
        else:
            self._background.start(self._put, asked)
        return None

    @property
    def is_asking(self) -> bool:
        """Whether a question is not settled."""
        return bool(self._asked)

    def settled(self, params: Params) -> None:
        """The host has settled a question, whoever answered it: it is taken off the screen."""
        input_id = params.get("userInputId")
        asked = self._asked.get(input_id) if isinstance(input_id, str) else None
        if asked is not None:
            on_screen = self._in_text[:1] == [asked]
            self._forget(asked)
            if on_screen:
                self._show_first()

    def turns_over(self, turn_ids: Collection[str]) -> None:
        """Take the questions of turns that are over off the screen; one the host still runs was given up, and is told
        that nobody answers."""
        for asked in list(self._asked.values()):
            if asked.turn_id in turn_ids:
                self._forget(asked)
                if asked.turn_id in self._session.fold.turns.running:
                    self._background.start(self._cancel, asked, "the user stopped the turn")

    def cancel_all(self) -> None:
        """The user stops the session: nothing will be answered."""
        for asked in list(self._asked.values()):
            self._forget(asked)
            self._background.start(self._cancel, asked, "the user stopped the turn")

    def withdraw_all(self) -> None:
        """Take every question off the screen."""
        for asked in list(self._asked.values()):
            self._forget(asked)

    def take_prompt(self, blocks: tuple[Block, ...]) -> Taken | None:
        """What becomes of a prompt that answers a question; None if it is an ordinary one. A command, or what cannot
        be passed on as an answer, is ordinary and leaves the question unanswered."""
        asked = self._in_text[0] if self._in_text else None
        if asked is None:
            return None
        written = "\n".join(block.text for block in blocks if isinstance(block, Text))
        text, is_command = written.strip(), written.startswith("/")
        is_text = all(isinstance(block, Text) for block in blocks)
        if is_text and not text:
            return None
        self._in_text.remove(asked)
        answers = question_text.answers_in(asked.questions, text)
        if not is_text or is_command or (answers is None and len(text) > FREE_TEXT_LENGTH):
            self._leave_unanswered(asked)
            return None
        return Taken(asked.turn_id, partial(self._deliver, asked, answers, text))

    # -- one question

    async def _put(self, asked: _Asked) -> None:
        with asked.scope:
            if not asked.questions:
                await self._cancel(asked, "the question could not be shown")
            elif self._is_stopped(asked.turn_id):
                await self._cancel(asked, "the user stopped the turn")
            else:
                await self._by_form(asked)

    async def _by_form(self, asked: _Asked) -> None:
        if "autoResolutionMs" in asked.params:
            self._session.engage_input(asked.input_id)
        problem: str | None = None
        for _ in range(ATTEMPTS):
            form = question_form.form(self._client.session_id, asked.params, asked.questions, problem)
            try:
                content = await self._client.form(form)
                if content is None:
                    break
                problem = await self._tell(asked, question_form.answers(asked.questions, content))
            except NotAnAnswer as error:
                problem = str(error)
            except (PeerClosed, HostGone, _NotOpen):
                return
            if problem is None:
                return
        if self._client.forms:
            await self._cancel(asked, "the user did not answer")
        elif self._is_wanted(asked):
            self._by_text(asked)

    def _by_text(self, asked: _Asked) -> None:
        if self._pause is None or not isinstance(asked.turn_id, str):
            self._background.start(self._cancel, asked, "the editor cannot show questions")
        else:
            self._in_text.append(asked)
            if self._in_text == [asked]:
                self._show_first()

    def went_on(self) -> None:
        """The next message waits at the host behind a turn that waits for it: that one goes on without an answer."""
        for asked in [asked for asked in self._in_text if self.has_next(asked.turn_id)]:
            self._leave_unanswered(asked)

    def _leave_unanswered(self, asked: _Asked) -> None:
        self._background.start(self._cancel, asked, "the user went on with something else")
        self._forget(asked)

    def _show_first(self, problem: str | None = None) -> None:
        """Show the question the next message answers; those behind which that waits already stay unanswered."""
        while self._in_text and self.has_next(self._in_text[0].turn_id):
            self._leave_unanswered(self._in_text[0])
            problem = None
        # One that came while an answer to the one before it was on its way has been shown.
        if self._in_text and (problem is not None or self._in_text[0] is not self._shown):
            asked = self._shown = self._in_text[0]
            self._projection.say(question_text.shown(asked.questions, problem))
            if self._pause is not None:
                self._pause(asked.turn_id)

    async def _deliver(self, asked: _Asked, answers: list[Answer] | None, text: str) -> bool:
        """Tell the host what the user wrote. False if the question is over: the message is another one then."""
        try:
            problem = await self._tell(asked, answers, text)
        except _NotOpen:
            return False
        except HostGone:
            return True
        if problem is not None:
            if not self._is_wanted(asked):
                return False
            self._in_text.insert(0, asked)
        self._show_first(problem)
        return True

    async def _tell(self, asked: _Asked, answers: list[Answer] | None, text: str = "") -> str | None:
        """Answer the host, or pass on `text`; gives what it has against that.

        Raises:
            _NotOpen: the question is settled.
            HostGone: nobody knows.
        """
        if not self._is_wanted(asked):
            raise _NotOpen
        wanted = partial(self._is_wanted, asked)
        try:
            if answers is not None:
                await self._session.answer_input(asked.input_id, answers, wanted=wanted)
            else:
                await self._session.clarify_input(asked.input_id, text, wanted=wanted)
        except MspError as error:
            if error.kind in _SETTLED_KINDS:
                self._forget(asked)
                raise _NotOpen from None
            log.info("the host did not take an answer: %s", error)
            return f"Muse did not take the answer: {error.message}"
        except HostGone as error:
            if self._session.host.gone is not None:
                raise
            await self._session.look()
            return f"Muse did not take the answer: {error}" if self._is_open(asked) else None
        return None

    def _is_wanted(self, asked: _Asked) -> bool:
        """Whether the question is neither settled nor stopped, which may happen while an answer is on its way."""
        return self._asked.get(asked.input_id) is asked

    def _is_open(self, asked: _Asked) -> bool:
        """Whether the host still waits for an answer, as far as is known."""
        return asked.input_id in self._session.fold.open_inputs

    async def _cancel(self, asked: _Asked, reason: str) -> None:
        """Tell the host that nobody answers, once more if it does not take that; then what asks is stopped."""
        problem: MspError | HostGone | None = None
        for _ in range(ATTEMPTS):
            try:
                return await self._session.cancel_input(asked.input_id, reason)
            except MspError as error:
                if error.kind in _SETTLED_KINDS:
                    return None
                problem = error
            except HostGone as error:
                problem = error
            if self._session.host.gone is not None or not self._is_open(asked):
                break
        log.warning("the host did not take a declined question: %s", problem)
        if self._session.host.gone is None and self._is_open(asked) and not self._is_stopped(asked.turn_id):
            self._stop(asked.params)
        return None

    def _forget(self, asked: _Asked) -> None:
        if self._asked.pop(asked.input_id, None) is not None:
            self._client.room.give_back()
        if asked in self._in_text:
            self._in_text.remove(asked)
        asked.scope.cancel()
