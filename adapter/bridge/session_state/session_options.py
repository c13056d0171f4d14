"""A session's options at work: learnt from the host, changed at the host, and each change told to the client once."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

import anyio
import msgspec

from adapter.acp import updates
from adapter.bridge.hosts.attachment import Attachment
from adapter.bridge.hosts.host_slot import is_durable
from adapter.bridge.hosts.launch_profile import RESTRICTED, USUAL
from adapter.bridge.hosts.reloading import loads_sessions
from adapter.bridge.outcomes import client_error
from adapter.bridge.session_state.models import ModelRef, read_models, read_ref, with_current
from adapter.bridge.session_state.notices import Notices
from adapter.bridge.session_state.settings import (
    ALLOW_ALL,
    APPROVALS,
    CAUTIOUS,
    EFFORT,
    MODE,
    MODEL,
    MUSES_OWN,
    PLAN,
    PLANNING,
    RESTRICTING,
    Settings,
    check_mode,
    check_option,
    config_options,
    session_modes,
)
from adapter.msp.abilities import is_lacking
from adapter.msp.errors import HostGone, MspError, SessionUnreachable
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.envelope import Params
from adapter.wire.peer import Peer

log = logging.getLogger("adapter.bridge")

LEARNING_WAIT: Final = 1.0
"""Seconds a session's opening waits for what can be chosen; what comes later is told when it comes."""


MOVING_WAIT: Final = 2.0
"""Seconds a choice waits for the host to say whether sessions can move at all."""


class TurnSettings(msgspec.Struct, frozen=True):
    """What the options mean for a turn that starts now."""

    effort: str | None = None
    """A tier that goes with the turn, because the host keeps none."""
    instruction: str | None = None
    """What goes before the prompt, unseen in the transcript."""


class SessionOptions:
    """The options of one session. The client is told nothing before `result` has been asked for its first answer.

    `can_restrict` answers whether hosts without write and shell are to be had.
    """

    def __init__(
        self,
        session: Session,
        attachment: Attachment,
        peer: Peer,
        background: Background,
        notices: Notices,
        *,
        allow_all: bool,
        can_restrict: Callable[[], Awaitable[bool]],
    ) -> None:
        self._session = session
        self._attachment = attachment
        self._peer = peer
        self._background = background
        self._notices = notices
        self._can_restrict = can_restrict
        self._settings = Settings(allow_all=allow_all)
        self._facts: dict[str, Params] = {}
        """The facts of the session that have been looked at, each as it was then."""
        self._set_model: ModelRef | None = None
        """What an event or the user named as the model, which need not be the one that is used and shown; a session's
        row may only name the host's own."""
        self._left_model: tuple[ModelRef, tuple[str, ...]] | None = None
        """The model before the last change, and the turns that may still be asking it."""
        self._per_turn = False
        """The host knows no standing effort."""
        self._unlisted = False
        """The models could not be listed for want of a login."""
        self._learnt = anyio.Event()
        self._changing = anyio.Lock()
        self.warn: Callable[[str, str], None] = notices.tell
        """Tells the user what has to be known before the next turn."""
        self._told: tuple[str, list[Params]] | None = None
        """The mode and the options the client knows of; None before it knows the session, and after its end."""
        self._setters: dict[str, Callable[[str], Awaitable[None]]] = {
            MODE: self._choose_mode,
            MODEL: self._choose_model,
            EFFORT: self._choose_effort,
            APPROVALS: self._choose_approvals,
        }

    # -- opening

    def begin(self, row: Params) -> None:
        """Start to learn what can be chosen; `row` is what the host said of the session when it opened it."""
        approvals = row.get("approvalMode")
        mode = approvals.get("mode") if isinstance(approvals, dict) else None
        self._change(model=read_ref(row), approval_mode=mode if isinstance(mode, str) else None)
        self._background.start(self._learn)

    async def settled(self) -> None:
        """Wait until it is known what can be chosen, and the session is one to begin with, but not for long."""
        with anyio.move_on_after(LEARNING_WAIT):
            await self._learnt.wait()
        self._take_facts()
        if self._settings.is_unbridled:
            done = anyio.Event()
            self._background.start(self._rein_in_early, done)
            with anyio.move_on_after(LEARNING_WAIT):
                await done.wait()

    def result(self) -> Params:
        """What the answer to an opening says about options; from here on changes are told."""
        self._take_facts()
        options = config_options(self._settings)
        self._told = (self._settings.mode, options)
        return {"modes": session_modes(self._settings), "configOptions": options}

    def end(self) -> None:
        """Tell nothing more."""
        self._told = None

    async def _learn(self) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._learn_models)
                tasks.start_soon(self._learn_modes)
        finally:
            self._learnt.set()

    async def _learn_models(self) -> None:
        try:
            result = await self._session.host.query("model/list", {"sessionId": self._session.session_id})
        except (MspError, HostGone) as error:
            self._unlisted = isinstance(error, MspError) and error.kind == "authRequired"
            log.info("the host lists no models: %s", error)
            return
        models = read_models(result)
        active = next((model for model in models if model.is_active), None)
        if active is not None and self._set_model is None:
            self._change(model=ModelRef(active.model_id, active.provider_id))
        self._change(models=models)

    async def _learn_modes(self) -> None:
        try:
            # A restricted host is another one, and this one's sessions may be nowhere else (`msp.md §23.4`).
            self._change(can_restrict=is_durable(self._session.host) and await self._can_restrict())
        except HostGone as error:
            log.info("whether Muse can be restricted is not known: %s", error)

    # -- what is allowed

    async def rein_in(self) -> None:
        """See to it that nothing runs in a session in which everything is allowed, whoever set it so, unless the
        adapter was started for that.

        Raises:
            SessionUnreachable: the host leaves it so.
            HostGone: it did not answer.
        """
        self._take_facts()
        async with self._changing:
            if not self._settings.is_unbridled:
                return
            try:
                await self._choose_approvals(CAUTIOUS)
            except MspError as error:
                raise _unbridled(f": {error.message}") from None
            if self._settings.approval_mode == ALLOW_ALL:
                raise _unbridled("")
        tell = self._notices.tell if self._told is not None and self._session.fold.turns.running else self.warn
        tell("This session allowed everything without asking", "It asks again: see the option Approvals")

    async def _rein_in_early(self, done: anyio.Event) -> None:
        """If it does not work, no prompt runs before it does."""
        try:
            await self.rein_in()
        except HostGone as error:
            log.warning("a session that allows everything is left so for now: %s", error)
        finally:
            done.set()

    # -- what the client wants

    async def set_mode(self, mode_id: str) -> Params:
        """Choose a mode; the answer to the request.

        Raises:
            RpcError: -32602; there is no such mode, or no way to it.
        """
        async with self._changing:
            check_mode(self._settings, mode_id)
            try:
                await self._choose_mode(mode_id)
            except HostGone as error:
                raise client_error(error, self._session.session_id) from None
        return {}

    async def set_option(self, option_id: str, value: str | bool) -> Params:
        """Choose a value of an option; the answer to the request.

        Raises:
            RpcError: -32602; it is not on offer. Else what the host says; then nothing has changed.
        """
        async with self._changing:
            chosen = check_option(self._settings, option_id, value)
            try:
                await self._setters[option_id](chosen)
            except (MspError, HostGone) as error:
                if isinstance(error, MspError) and is_lacking(error):
                    self._change(fixed=self._settings.fixed | {option_id})
                raise client_error(error, self._session.session_id) from None
        return {"configOptions": config_options(self._settings)}

    def keep_mode(self, mode_id: str) -> None:
        """Be in a mode from the next prompt on: a running turn goes on as it is."""
        self._change(mode=mode_id)
        self._attachment.want(RESTRICTED if self._settings.restricted else USUAL)

    async def _choose_mode(self, mode_id: str) -> None:
        if mode_id in RESTRICTING and not self._settings.restricted and not await self._can_move():
            self._change(can_restrict=False)
            raise SessionUnreachable("modeUnavailable", "This Muse host loads no sessions, so that none can move")
        self.keep_mode(mode_id)

    async def _can_move(self) -> bool:
        """Whether another host of this kind could load the session; yes, as long as nobody says no: it is asked again
        before the session moves."""
        can = True
        with suppress(HostGone), anyio.move_on_after(MOVING_WAIT):
            can = await loads_sessions(self._session.host)
        return can

    async def _choose_model(self, value: str) -> None:
        model = self._settings.model_for(value)
        if await self._ask(lambda: self._session.set_model(model.wire()), "model"):
            self._use_model(ModelRef(model.model_id, model.provider_id))

    async def _choose_effort(self, tier: str) -> None:
        if tier == MUSES_OWN:
            if not self._settings.standing:
                self._change(effort=None)
            return
        if not self._per_turn:
            try:
                if await self._ask(lambda: self._session.set_reasoning_effort(tier), "reasoningEffort"):
                    self._change(effort=tier, standing=True)
                return
            except MspError as error:
                if not is_lacking(error):
                    raise
                self._per_turn = True
        self._change(effort=tier)

    async def _choose_approvals(self, mode: str) -> None:
        acks: list[Params] = []

        async def ask() -> None:
            acks.append(await self._session.set_approval_mode(mode))

        if await self._ask(ask, "approvalMode"):
            effective = acks[0].get("effectiveMode")
            in_force = effective.get("mode") if isinstance(effective, dict) else None
            self._change(approval_mode=in_force if isinstance(in_force, str) else mode)

    async def _ask(self, command: Callable[[], Awaitable[Any]], fact: str) -> bool:
        """Have the host change something; False if it has meanwhile said itself what holds now."""
        before = self._session.fold.facts.get(fact)
        await command()
        return self._session.fold.facts.get(fact) is before

    # -- what the host says

    def take(self, name: str, params: Params) -> None:
        """A fact of the session has changed."""
        self._facts[name] = params
        if name == "model":
            ref = read_ref(params)
            if ref is not None:
                self._use_model(ref)
        elif name == "reasoningEffort":
            tier = params.get("reasoningEffort")
            if isinstance(tier, str) and tier:
                self._change(effort=tier, standing=True)
        elif name == "approvalMode":
            mode = params.get("mode")
            if isinstance(mode, str) and mode:
                self._change(approval_mode=mode)
                if self._settings.is_unbridled and self._told is not None:
                    self._background.start(self._rein_in_early, anyio.Event())
        elif name == "modelRouteUnserved":
            self._background.start(self._learn_models)

    def take_usage(self, params: Params) -> None:
        """A model has been asked: what was used is what is shown, and what was set is what it is held against
        (`fault-cases.md L10`)."""
        used = read_ref(params)
        if self._unlisted:
            # There is a login now.
            self._unlisted = False
            self._background.start(self._learn_models)
        _, current = with_current(self._settings.models, self._settings.model)
        if used is None or current is None or used.names(current) or self._may_be_older(used, params.get("turnId")):
            return
        _, wanted = with_current(self._settings.models, self._set_model)
        if self._set_model is not None and wanted is not None and not used.names(wanted):
            log.warning("the host used the model %s, not %s", used.model_id, wanted.model_id)
            self._notices.tell(
                f"Muse used the model {used.model_id}, not {wanted.label or wanted.model_id}",
                "The host did not use the model that is set for this session",
            )
        self._change(model=used)

    def _may_be_older(self, used: ModelRef, turn_id: Any) -> bool:
        """Whether a turn that ran when the model was changed had asked the one before."""
        if self._left_model is None:
            return False
        before, turns = self._left_model
        return turn_id in turns and before.model_id == used.model_id

    def show(self) -> None:
        """Tell what has changed that was not told, as after history was read."""
        self._take_facts()
        self._announce()

    def _take_facts(self) -> None:
        for name in ("model", "reasoningEffort", "approvalMode"):
            params = self._session.fold.facts.get(name)
            if params is not None and params is not self._facts.get(name):
                self.take(name, params)

    def _use_model(self, ref: ModelRef) -> None:
        _, before = with_current(self._settings.models, self._settings.model)
        if before is not None and not ref.names(before):
            self._left_model = (ModelRef(before.model_id, before.provider_id), self._session.fold.turns.running)
        self._set_model = ref
        self._change(model=ref)

    # -- the state

    @property
    def settings(self) -> Settings:
        """What is set now."""
        return self._settings

    def for_turn(self) -> TurnSettings:
        """What goes with a turn that starts now."""
        effort = self._settings.effort_in_force
        return TurnSettings(
            effort=effort if effort != MUSES_OWN and not self._settings.standing else None,
            instruction=PLANNING if self._settings.mode == PLAN else None,
        )

    def _change(self, **changes: Any) -> None:
        settings = msgspec.structs.replace(self._settings, **changes)
        if not settings.standing and settings.effort_in_force == MUSES_OWN and settings.models:
            # A tier that was dropped with its model does not come back with the next.
            settings = msgspec.structs.replace(settings, effort=None)
        self._settings = settings
        self._announce()

    def _announce(self) -> None:
        if self._told is None:
            return
        (mode, options), now = self._told, config_options(self._settings)
        self._told = (self._settings.mode, now)
        if mode != self._settings.mode:
            self._send(updates.current_mode(self._session.session_id, self._settings.mode))
        if options != now:
            self._send(updates.config_options(self._session.session_id, now))

    def _send(self, params: Params) -> None:
        self._peer.notify(updates.METHOD, params)


def _unbridled(why: str) -> SessionUnreachable:
    details = "In this session Muse would allow everything without asking, and the adapter was not started for that"
    return SessionUnreachable("allowAllNotAllowed", f"{details}; Muse did not change it{why}")
