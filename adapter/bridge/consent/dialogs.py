"""Open approvals of one session as permission dialogs at the client: one per stage, withdrawn when they are
overtaken (`msp.md §15`)."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Collection
from typing import Any, Final, NamedTuple

import anyio

from adapter.acp.text import one_line
from adapter.bridge.consent import client_questions, permission
from adapter.bridge.consent.client_questions import ClientQuestions
from adapter.bridge.projection import Projection
from adapter.msp.errors import HostGone, MspError
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.peer import PeerClosed

log = logging.getLogger("adapter.bridge")

FEEDBACK_TIMEOUT: Final = 600.0
"""Seconds the user may take to say why something was refused; the refusal itself is known and does not wait longer."""

UPDATE_SECONDS: Final = 2.0
"""How long the host may take to tell of the next stage after it has refused a decision as one for an earlier stage."""

REMEMBERED_APPROVALS: Final = 1000
"""Approvals of a session of which it is known that they have been decided, and not yet that they are settled."""

_SETTLED_KINDS: Final = frozenset({"approvalNotFound", "approvalAlreadyResolved"})
_STALE: Final = "approvalRequirementStale"
_CHOICE_INVALID: Final = "approvalChoiceInvalid"
_INTERNAL: Final = "internal"

Stop = Callable[[Params], None]
"""Stops what asks for an approval that can neither be shown nor refused."""

Preview = Callable[[Params], Awaitable[list[dict[str, Any]]]]
"""What an approval's call would change, as the content of a card."""


class _Decision(NamedTuple):
    choice_id: str
    feedback: str | None = None


class _Asked:
    """A question as it was put, and what has become of it. `scope` is around all of it, `asking` around the wait for
    the client. `shown` is how it is shown. `again`: the same was put before, and the host did not take the decision."""

    def __init__(self, params: Params, shown: Params, *, again: bool = False) -> None:
        self.params = params
        self.shown = shown
        self.again = again
        choices = params.get("availableChoices")
        self.offered = permission.options(choices)
        refusal = permission.refusal(self.offered, choices)
        self.refusal = None if refusal is None else _Decision(refusal)
        """What refuses just this; None if only a stop does."""
        self.scope = anyio.CancelScope()
        self.asking = anyio.CancelScope()
        self.is_refused = False
        """Whatever the client says."""
        self._refused: anyio.Event | None = None
        self.settled = False
        """The host has said so."""
        self.deciding = False
        self.taken = False
        """The host has taken the decision, and asks on."""
        self.decided = False
        """For good; only the host's word that it is settled is still to come."""
        self.takes_room = True
        self.following: Params | None = None
        """What the host asked while a decision was on its way."""

    def refuse(self) -> None:
        self.is_refused = True
        if self._refused is not None:
            self._refused.set()
        self.asking.cancel()

    async def wait_refused(self) -> None:
        if not self.is_refused:
            self._refused = self._refused or anyio.Event()
            await self._refused.wait()


class Dialogs:
    """Asks the client, tells the host. What a turn that `is_stopped` still asks for is refused without asking; `stop`
    is called when the client cancels instead of choosing, or nothing can be refused."""

    def __init__(
        self,
        client: ClientQuestions,
        session: Session,
        projection: Projection,
        background: Background,
        preview: Preview,
        stop: Stop,
        is_stopped: Callable[[Any], bool],
        *,
        of_child: bool = False,
    ) -> None:
        self._client = client
        self._session = session
        self._projection = projection
        self._background = background
        self._preview = preview
        self._stop = stop
        self._is_stopped = is_stopped
        self._of_child = of_child
        """Whether the session itself is a subagent's, which the client never sees."""
        self._asked: dict[str, _Asked] = {}
        """The newest question of each approval that is not settled, answered or not."""

    def ask(self, params: Params) -> None:
        """Put an approval, as it stands now, to the user; an earlier stage that is still on screen is withdrawn. The
        same question is not asked again, be it decided or not, unless the host has taken a decision and says that it
        still asks. What a host asked that has gone is the next one's to ask."""
        if self._session.host.gone is not None:
            return
        before = self._asked.get(params["approvalId"])
        if before is None:
            self._put(params)
        elif not before.decided:
            self._ask_on(before, params, is_same=permission.same(before.params, params))

    def _ask_on(self, before: _Asked, params: Params, *, is_same: bool) -> None:
        """The host tells of an approval that has been asked about."""
        if is_same and not permission.is_next_stage(params):
            return
        if before.deciding:
            before.following = params
        elif not is_same:
            self._put(params)
        elif before.taken and not before.again:
            # A consent is used once (`msp.md §15.4`): this is for the user to decide anew.
            self._put(params, again=True)
        elif before.taken:
            log.warning("the host goes on asking what it has taken two decisions for; what asks is stopped")
            self._settle(before)
            self._stop(params)

    def _put(self, params: Params, *, again: bool = False) -> None:
        approval_id = params["approvalId"]
        before = self._asked.get(approval_id)
        self.withdraw(approval_id)
        if not self._client.room.take():
            return self._client.refuse(self._session, params, self._stop)
        self._forget_decided()
        shown = permission.question(params, workspace=self._projection.workspace, by_subagent=self._of_child)
        asked = self._asked[approval_id] = _Asked(params, shown, again=again)
        if before is not None and before.is_refused:
            asked.refuse()
        item_id = params.get("itemId")
        if isinstance(item_id, str) and not self._is_stopped(params.get("turnId")):
            self._projection.ask(item_id, params.get("turnId"), shown)
        self._background.start(self._dialog, asked)
        return None

    @property
    def is_asking(self) -> bool:
        """Whether an approval is not decided."""
        return any(not asked.decided for asked in self._asked.values())

    def resolved(self, params: Params) -> None:
        """The host has settled an approval, whoever decided it."""
        approval_id, item_id = params.get("approvalId"), params.get("itemId")
        asked = self._asked.get(approval_id) if isinstance(approval_id, str) else None
        if asked is not None:
            asked.settled = True
            self.withdraw(asked.params["approvalId"])
            item_id = asked.params.get("itemId")
        if not isinstance(item_id, str):
            return
        self._projection.decided(item_id)
        if asked is not None and self._is_subagents(asked):
            # Nothing else tells of a subagent's call in the session of its parent.
            self._projection.settle_asked(item_id, "completed" if permission.is_allowed(params) else "failed")

    def withdraw(self, approval_id: str) -> None:
        """Take a dialog off the screen: it is settled, or has moved on to another stage."""
        asked = self._asked.pop(approval_id, None)
        if asked is not None:
            # Of a decision that has been sent the answer is there by now, or comes.
            if not (asked.settled and asked.deciding):
                asked.scope.cancel()
            self._make_room(asked)

    def _settle(self, asked: _Asked) -> None:
        """It is decided for good, and waits for nobody any more."""
        asked.decided = True
        self._make_room(asked)

    def _make_room(self, asked: _Asked) -> None:
        """Nobody is asked this any more."""
        if asked.takes_room:
            asked.takes_room = False
            self._client.room.give_back()

    def _forget_decided(self) -> None:
        """A host may never say that something is settled which it has taken the last decision for."""
        decided = (approval_id for approval_id, asked in self._asked.items() if asked.decided)
        if len(self._asked) >= REMEMBERED_APPROVALS and (approval_id := next(decided, None)) is not None:
            self.withdraw(approval_id)

    def turns_over(self, turn_ids: Collection[str]) -> None:
        """Take the dialogs of turns that are over off the screen, and those that name no turn; not those of subagents,
        which may outlive any. A turn that the host still runs was given up: what it asks for is refused."""
        running = self._session.fold.turns.running
        for approval_id, asked in list(self._asked.items()):
            turn_id = asked.params.get("turnId")
            elsewhere = isinstance(turn_id, str) and turn_id not in turn_ids
            if elsewhere or permission.is_of_subagent(asked.params):
                continue
            if turn_id in running:
                asked.refuse()
            else:
                self.withdraw(approval_id)

    def refuse_rest(self) -> None:
        """The user stops the session: whatever asks beside the turns that are stopped is refused, be it a subagent or a
        turn of which nothing is known."""
        for asked in self._asked.values():
            if self._is_subagents(asked) or not self._is_stopped(asked.params.get("turnId")):
                asked.refuse()

    def ended(self, turn_id: str | None = None) -> None:
        """A subagent has ended, or one of its turns: its dialogs go, and the cards of its calls that nobody else would
        end; not those of its own subagents, which may outlive a turn."""
        for asked in list(self._asked.values()):
            if turn_id is None or (
                asked.params.get("turnId") == turn_id and not permission.is_of_subagent(asked.params)
            ):
                self.resolved(asked.params | {"decision": None, "policyResult": None})

    def withdraw_all(self) -> None:
        """Take every dialog off the screen."""
        for approval_id in list(self._asked):
            self.withdraw(approval_id)

    async def _dialog(self, asked: _Asked) -> None:
        with asked.scope:
            try:
                decision = await self._decision(asked)
            except PeerClosed:
                return
            if decision is None:
                if not self._is_stopped(asked.params.get("turnId")):
                    self._stop(asked.params)
                # What was stopped settles its approvals; where it does not, this is refused in the end.
                await asked.wait_refused()
                decision = asked.refusal
            if decision is not None:
                await self._decide(asked, decision)

    async def _decision(self, asked: _Asked) -> _Decision | None:
        """What to tell the host; None means that what asks has to stop."""
        params = asked.params
        offered, refusal = asked.offered, asked.refusal
        if not offered or not self._client.permissions or self._is_refused(asked):
            return refusal
        answer: Params | None = None
        selected, feedback = None, None
        asked.asking.deadline = anyio.current_time() + client_questions.ANSWER_TIMEOUT
        with asked.asking:
            preview = await self._preview(params)
            request = permission.request(self._client.session_id, params, asked.shown, offered, preview)
            answer = await self._client.permission(request)
            selected = permission.selected_choice(answer, offered) if answer is not None else None
            if answer is not None and selected is not None and not self._is_refused(asked):
                feedback = await self._feedback(params, selected, answer)
        if answer is None and asked.asking.cancelled_caught and not self._is_refused(asked):
            log.warning("a permission request came to nothing: no answer in time")
        if self._is_refused(asked) or answer is None:
            # Whatever is said after the stop allows nothing (`fault-cases.md I5`).
            return refusal
        if permission.is_cancelled(answer):
            # The end of a turn does not settle what its subagents ask for.
            return refusal if self._is_subagents(asked) else None
        if selected == permission.STOP_OPTION:
            return None
        return refusal if selected is None else _Decision(selected, feedback)

    async def _feedback(self, params: Params, selected: str, answer: Params) -> str | None:
        """What the user wants to tell the model with the decision, if that can go with it; nothing is fine too."""
        if not permission.takes_feedback(selected, params.get("availableChoices")):
            return None
        given = permission.feedback_in(answer)
        if given is not None or not self._client.forms:
            return given
        form = permission.feedback_form(self._client.session_id, params)
        content = await self._client.form(form, FEEDBACK_TIMEOUT)
        return None if content is None else permission.feedback(content.get(permission.FEEDBACK_FIELD))

    async def _decide(self, asked: _Asked, decision: _Decision, *, again: bool = False) -> None:
        approval_id, requirement = asked.params["approvalId"], asked.params.get("currentRequirementId")
        known = self._session.fold.open_approvals.get(approval_id)
        asked.deciding = True
        try:
            ack = await self._session.decide(
                approval_id,
                requirement,
                decision.choice_id,
                decision.feedback,
                # A stop that comes before the host has taken a consent in takes it back.
                wanted=lambda: not asked.settled and (not self._is_refused(asked) or decision == asked.refusal),
            )
        except (MspError, HostGone) as error:
            asked.deciding = False
            if asked.settled:
                return None
            if self._session.host.gone is not None:
                return log.warning("a decision did not reach the host: %s", error)
            return await self._not_taken(asked, decision, error, known, again=again)
        asked.deciding = False
        if asked.settled:
            return None
        asked.taken = True
        if ack.get("terminal") is True:
            self._settle(asked)
        if asked.following is not None:
            self.ask(asked.following)
        return None

    async def _not_taken(
        self, asked: _Asked, decision: _Decision, error: MspError | HostGone, known: Params | None, *, again: bool
    ) -> None:
        """The host refused a decision, or did not answer. Consent was for the question as it was put: whatever else the
        host asks now is a new question, and the same one is put once more (`msp.md §15.3`). `known` is what the host
        had told of the approval before."""
        kind = error.kind if isinstance(error, MspError) else None
        if kind in _SETTLED_KINDS:
            self._settle(asked)
        if asked.following is not None and not asked.decided and not permission.same(asked.following, asked.params):
            return self.ask(asked.following)
        if kind == _STALE:
            # What the host tells meanwhile withdraws this question, and ends this.
            await anyio.sleep(UPDATE_SECONDS)
        await self._session.look()
        current = self._session.fold.open_approvals.get(asked.params["approvalId"])
        if asked.decided:
            return None
        if current is None:
            # Some hosts report a failure although they took the decision (`peers.md §9.2`).
            if isinstance(error, MspError) and kind != _INTERNAL:
                self._say(asked, error, "it does not ask for this any more")
            return None
        if known is None or permission.same(current, known):
            current = _at_stage(asked.params, error)
        if not permission.same(current, asked.params):
            return self.ask(current)
        return await self._same_again(asked, decision, error, again=again)

    async def _same_again(self, asked: _Asked, decision: _Decision, error: MspError | HostGone, *, again: bool) -> None:
        """The host still asks just what it did not take a decision for.

        One that failed inside the host is sent once more (`peers.md §9.2`), as a new command: the host would answer the
        old one's id with the old failure (`msp.md §6`), and the stage that a decision names keeps it from counting
        twice. Words for the model that it does not take are no reason to lose the decision either. Everything else is
        for the user to decide anew.
        """
        kind = error.kind if isinstance(error, MspError) else None
        worth_it = kind == _INTERNAL or (kind == _CHOICE_INVALID and decision.feedback is not None)
        repeated = asked.refusal if self._is_refused(asked) else _Decision(decision.choice_id)
        if worth_it and not again and repeated is not None:
            return await self._decide(asked, repeated, again=True)
        if not again and not asked.again:
            return self._put(asked.params, again=True)
        log.warning("the host does not take the decisions it offers (%s); what asks is stopped", error)
        self._say(asked, error, "what asks for this is stopped")
        self._make_room(asked)
        return self._stop(asked.params)

    def _say(self, asked: _Asked, error: MspError | HostGone, consequence: str) -> None:
        """Tell the user that a decision came to nothing, unless everything was stopped anyway."""
        if not self._is_stopped(asked.params.get("turnId")):
            words = error.message if isinstance(error, MspError) else str(error)
            self._projection.say(f"Muse did not take your decision ({one_line(words, 200)}); {consequence}.")

    def _is_refused(self, asked: _Asked) -> bool:
        return asked.is_refused or self._is_stopped(asked.params.get("turnId"))

    def _is_subagents(self, asked: _Asked) -> bool:
        return self._of_child or permission.is_of_subagent(asked.params)


def _at_stage(params: Params, error: MspError | HostGone) -> Params:
    """The question at the stage that a refusal names, if it names one."""
    stage = error.data.get("currentRequirementId") if isinstance(error, MspError) and error.kind == _STALE else None
    return params | {"currentRequirementId": stage} if isinstance(stage, dict) else params
