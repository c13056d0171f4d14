"""Consent is never invented: whatever the host repeats, moves on and settles, and whenever the client answers, cancels
or is silent, the host is only ever allowed what the user clicked for exactly that stage."""

from __future__ import annotations

import random
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from adapter.bridge.consent.permission import STOP_OPTION
from adapter.msp.errors import MspError
from adapter.wire.envelope import RpcError
from tests.consenting import ALLOW, ALWAYS, DENY, Consenting, Json, Shown, consenting, selected, settled
from tests.wired import until

pytestmark = pytest.mark.anyio

SEEDS = 40
STEPS = 60

LASTING: Json = {
    "choiceId": "rule",
    "label": "Always",
    "decision": "approvedPolicyAmendment",
    "scope": "localPersistent",
}
ABORT: Json = {"choiceId": "abort", "label": "Stop", "decision": "abort", "scope": "once", "acceptsFeedback": True}
OFFERS: tuple[list[Json], ...] = (
    [ALLOW, ALWAYS, DENY],
    [ALLOW, ABORT],
    [LASTING, ALLOW, DENY, ABORT],
    [ALLOW, LASTING],
    [DENY],
    [],
)
GARBAGE: list[Any] = [
    {},
    {"outcome": {"outcome": "selected", "optionId": "everything"}},
    {"outcome": {"outcome": "approved", "optionId": "yes"}},
    {"outcome": {"outcome": "cancelled"}},
    RpcError(-32603, "no window"),
]

Stage = tuple[str, int]


class Fire:
    """One run: what happens next is drawn, and everything is written down."""

    def __init__(self, talk: Consenting, seed: int) -> None:
        self.talk = talk
        self.draw = random.Random(seed)
        self.open: dict[str, Json] = {}
        """The approvals as they stand at the host."""
        self.last_stage: dict[str, int] = {}
        self.clicked: dict[Stage, str] = {}
        """What the user chose for each stage, on a dialog that was on screen in a turn that was not stopped."""
        self.stopped: set[str] = set()
        self.taken_back: list[Shown] = []
        self.allowed = 0
        self.invented: str | None = None
        """A consent that the user has not given."""
        self.opened = 0
        self.turn = ""
        talk.host.decide = self.decide
        talk.host.list_pending = self.list_pending

    # -- the host

    def decide(self, params: Json) -> Json:
        """What the host makes of a decision. An allowing one, taken or not, must be what the user said last."""
        approval_id, requirement, choice_id = params["approvalId"], params["requirementId"], params["choiceId"]
        choice = next((each for offer in OFFERS for each in offer if each["choiceId"] == choice_id), None)
        assert choice is not None, "the host has never offered this"
        stage = (approval_id, requirement["sourceIndex"])
        allows = choice["decision"].startswith("approved")
        if allows:
            self.allowed += 1
            if self.clicked.get(stage) != choice_id:
                self.invented = f"{choice_id} of {stage}, where the user last said {self.clicked.get(stage)}"
        approval = self.open.get(approval_id)
        if approval is None:
            raise MspError(-32050, "approvalNotFound", "gone")
        if requirement != approval["currentRequirementId"]:
            raise MspError(-32053, "approvalRequirementStale", "moved on")
        if choice not in approval["availableChoices"]:
            raise MspError(-32052, "approvalChoiceInvalid", "not offered")
        if self.draw.random() < 0.1:
            raise MspError(-32603, "internal", "unflushed records")
        more = allows and stage[1] < self.last_stage[approval_id]
        self.talk.background.start(self.follow_up, approval_id, more, choice["decision"])
        return {"terminal": not more}

    def list_pending(self) -> Json:
        return {"approvals": [approval | {"sessionId": "ses-1"} for approval in self.open.values()], "userInputs": []}

    async def follow_up(self, approval_id: str, more: bool, decision: str) -> None:
        for _ in range(self.draw.randrange(4)):
            await anyio.lowlevel.checkpoint()
        if more:
            self.move_on(approval_id)
        else:
            self.settle(approval_id, decision)

    def ask(self) -> None:
        self.opened += 1
        approval_id = f"a{self.opened}"
        self.last_stage[approval_id] = self.draw.randrange(3)
        origin = {"subagentOrigin": {"subagentId": "s"}} if self.draw.random() < 0.2 else {}
        choices = self.draw.choice(OFFERS)
        self.open[approval_id] = self.talk.approval(self.turn, approval_id, availableChoices=choices, **origin)
        self.repeat(approval_id)

    def repeat(self, approval_id: str) -> None:
        approval = self.open.get(approval_id)
        if approval is not None:
            self.talk.host.tell(self.draw.choice(("approval/request", "approval/requested")), approval)

    def move_on(self, approval_id: str) -> None:
        approval = self.open.get(approval_id)
        if approval is not None:
            index = approval["currentRequirementId"]["sourceIndex"] + 1
            self.last_stage[approval_id] = max(self.last_stage[approval_id], index)
            requirement = {"approvalId": approval_id, "sourceIndex": index}
            self.update(approval_id, currentRequirementId=requirement, availableChoices=self.draw.choice(OFFERS))

    def update(self, approval_id: str, **changes: Any) -> None:
        approval = self.open.get(approval_id)
        if approval is not None:
            self.open[approval_id] = approval = approval | changes
            names = ("approvalId", "subject", "currentRequirementId", "availableChoices")
            update = {"change": {"kind": "stageResolved"}, **{name: approval[name] for name in names}}
            self.talk.host.tell("approval/updated", update)

    def settle(self, approval_id: str, decision: str = "denied") -> None:
        approval = self.open.pop(approval_id, None)
        if approval is not None:
            params = {"approvalId": approval_id, "itemId": approval["itemId"], "decision": decision}
            self.talk.host.tell("approval/resolved", params)

    # -- the user

    def click(self, shown: Shown) -> None:
        """Answer a dialog that is on screen, mostly sensibly."""
        if shown.method != "session/request_permission":
            return shown.answer({"action": "accept", "content": {"feedback": "because"}})
        if self.draw.random() < 0.25:
            return shown.answer(self.draw.choice(GARBAGE))
        option = self.draw.choice(shown.params["options"])
        meta = shown.params["_meta"]
        stage = (meta["museApprovalId"], meta["museRequirementId"]["sourceIndex"])
        if self.counts(shown) and option["optionId"] != STOP_OPTION:
            self.clicked[stage] = option["optionId"]
        return shown.answer(selected(option["optionId"]))

    def counts(self, shown: Shown) -> bool:
        """Whether a click can be consent: a stop takes back what was on screen, and what the turn asks later. A
        subagent may outlive the turn and ask anew."""
        if shown in self.taken_back:
            return False
        of_subagent = "A subagent asks" in str(shown.params["toolCall"])
        return of_subagent or shown.params["_meta"]["museTurnId"] not in self.stopped

    async def stop(self) -> None:
        """Cancel, and let the host end the turn some time later; then go on with another."""
        self.stopped.add(self.turn)
        self.taken_back = list(self.talk.shown)
        self.talk.conversation.cancel()
        for _ in range(self.draw.randrange(30)):
            await anyio.lowlevel.checkpoint()
            late = [shown for shown in self.talk.shown if shown.is_open]
            if late and self.draw.random() < 0.3:
                self.click(self.draw.choice(late))
        await self.end_turn("cancelled")

    async def end_turn(self, terminal: str) -> None:
        for approval_id, approval in list(self.open.items()):
            if "subagentOrigin" not in approval:
                self.settle(approval_id, "abort")
        self.talk.complete(self.turn, terminal)
        await until(lambda: len(self.talk.answers) == self.talk.host.turns)
        self.turn = await self.talk.prompt()

    # -- the run

    def interrupted(self) -> bool:
        """Whether the adapter has asked for the end of this turn by itself."""
        return any(params["turnId"] == self.turn for params in self.talk.host.sent("turn/interrupt"))

    async def step(self) -> None:
        on_screen = [shown for shown in self.talk.shown if shown.is_open]
        known = list(self.open)
        what = self.draw.random()
        if what < 0.25 or not known:
            self.ask()
        elif what < 0.35:
            self.repeat(self.draw.choice(known))
        elif what < 0.42:
            self.move_on(self.draw.choice(known))
        elif what < 0.47:
            self.update(self.draw.choice(known), availableChoices=self.draw.choice(OFFERS))
        elif what < 0.52:
            self.settle(self.draw.choice(known))
        elif what < 0.56:
            await self.stop()
        elif what < 0.60:
            self.talk.background.start(self.talk.conversation._session.reconcile)
        elif on_screen:
            self.click(self.draw.choice(on_screen))
        for _ in range(self.draw.randrange(12)):
            await anyio.lowlevel.checkpoint()
        if self.interrupted():
            self.stopped.add(self.turn)
            await self.end_turn("cancelled")

    async def all_refused(self) -> None:
        """Whoever is still asked says no: then nothing may be left open at the host."""
        for _ in range(200):
            for shown in self.talk.shown:
                if shown.is_open:
                    shown.answer({})
            await settled()
            if self.interrupted():
                await self.end_turn("cancelled")
            waiting = [each for each in self.open.values() if "subagentOrigin" not in each]
            if not waiting and not any(shown.is_open for shown in self.talk.shown):
                return
        raise AssertionError(f"waits for ever: {self.open}")


@pytest.mark.acp(91, 93)
@pytest.mark.parametrize("forms", [False, True], ids=["no forms", "forms"])
async def test_consent_under_fire(forms: bool) -> None:
    allowed = 0
    for seed in range(SEEDS):
        async with consenting(elicitation_form=forms) as talk:
            fire = Fire(talk, seed)
            fire.turn = await talk.prompt()
            for _ in range(STEPS):
                await fire.step()
            await fire.all_refused()
            assert fire.invented is None, f"seed {seed}: {fire.invented}"
            allowed += fire.allowed
    assert allowed > 2 * SEEDS, "the runs allow things, so that the test could fail"
