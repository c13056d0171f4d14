"""The slash commands of a session: which there are, and which one a prompt is (`acp.md §11`, `msp.md §20`)."""

from __future__ import annotations

import logging
from functools import partial
from typing import Final

import anyio

from adapter.acp import updates
from adapter.acp.content import Block
from adapter.bridge.slash_commands.builtin_commands import BUILTINS, SKILL, Builtin, Builtins
from adapter.bridge.slash_commands.skills import Skill, read_skills, skill_part
from adapter.bridge.slash_commands.slash import Slash, read_slash
from adapter.bridge.turns.prompt_input import file_mentions, input_parts
from adapter.bridge.turns.prompt_run import PromptRun
from adapter.bridge.turns.prompts import Command, Prompts
from adapter.msp.abilities import Abilities
from adapter.msp.changes import TurnEnded
from adapter.msp.errors import HostGone, MspError
from adapter.msp.host import Host
from adapter.msp.session import Session
from adapter.wire.background import Background
from adapter.wire.peer import Peer

log = logging.getLogger("adapter.bridge")

SHOW_SECONDS: Final = 5.0
"""How long the list of commands waits until it is known which ones there are."""

FIND_SECONDS: Final = 1.0
"""How long prompts that may be a command wait for that, all of them together; later ones are taken as text at once."""


class Commands:
    """What can be typed after a slash. The client is told nothing before `show`, and afterwards whenever it changes."""

    def __init__(
        self,
        session: Session,
        workspace: str,
        peer: Peer,
        background: Background,
        prompts: Prompts,
        builtins: Builtins,
    ) -> None:
        self._session = session
        self._workspace = workspace
        self._peer = peer
        self._background = background
        self._prompts = prompts
        self._builtins = builtins
        self._abilities = Abilities()
        self._skills: dict[str, Skill] = {}
        self._learnt_from: Host | None = None
        self._learning_from: Host | None = None
        self._learning: anyio.Event | None = None
        self._patient = True
        """Whether prompts still wait for what is being learnt."""
        self._stale = False
        self._shown: list[dict[str, object]] | None = None
        self._ended = False

    def begin(self) -> None:
        """Start to learn what there is."""
        self._learn()

    def skills_changed(self) -> None:
        """The host's skills are others now; several such news in a row are one."""
        self._learn()

    async def show(self) -> None:
        """Tell the client what there is, as soon as that is known."""
        with anyio.move_on_after(SHOW_SECONDS):
            await self._learnt()
        self._shown = self._shown or []
        self._announce()

    def end(self) -> None:
        """Tell nothing more."""
        self._ended = True

    def turn_ended(self, change: TurnEnded) -> None:
        """After a turn there is something to compact, perhaps."""
        if change.outcome.terminal == "completed" and self._builtins.withdrawn:
            self._builtins.withdrawn.clear()
            self._announce()

    async def find(self, blocks: tuple[Block, ...]) -> Command | None:
        """What a prompt does if it is a command; None if it is a prompt like any other, as with names nobody knows."""
        slash = read_slash(blocks)
        if slash is None:
            return None
        if slash.name not in self._offered():
            await self._wait_to_know()
        if slash.name in self._carried_out():
            return partial(self._run_builtin, slash)
        if slash.name == SKILL and self._skills:
            return partial(self._run_named_skill, slash)
        skill = self._skills.get(slash.name)
        return None if skill is None else partial(self._run_skill, skill.selector, slash)

    async def _wait_to_know(self) -> None:
        if self._session.host not in (self._learnt_from, self._learning_from):
            self._learn()
        if self._patient:
            with anyio.move_on_after(FIND_SECONDS):
                await self._learnt()
            self._patient = self._learning is None

    async def _learnt(self) -> None:
        while self._learning is not None:
            await self._learning.wait()

    # -- running

    async def _run_builtin(self, slash: Slash, run: PromptRun) -> None:
        # What it answers is a message of its own, and what it does is done where it stands in line.
        await self._prompts.first_in_line(run)
        mentions = await file_mentions(slash.rest, self._workspace)
        await self._builtins.run(slash, input_parts(slash.rest, mentions), run)
        self._announce()

    async def _run_named_skill(self, slash: Slash, run: PromptRun) -> None:
        selector, _, arguments = slash.arguments.partition(" ")
        if selector in self._skills:
            return await self._run_skill(selector, Slash(selector, arguments, slash.rest), run)
        await self._prompts.first_in_line(run)
        known = ", ".join(sorted(self._skills))
        return self._builtins.say(run, f"There is no such skill. There are: {known}")

    async def _run_skill(self, selector: str, slash: Slash, run: PromptRun) -> None:
        rest = input_parts(slash.rest, await file_mentions(slash.rest, self._workspace))
        self._prompts.start(run, [skill_part(selector, slash.arguments), *rest])

    # -- what there is

    def _carried_out(self) -> dict[str, Builtin]:
        """The commands that are no text for the model here, those included that are not offered for a while."""
        known = (one for one in BUILTINS if one.needs is None or one.needs in self._abilities.methods)
        return {builtin.name: builtin for builtin in known}

    def _offered(self) -> dict[str, Builtin]:
        withdrawn = self._builtins.withdrawn
        return {name: builtin for name, builtin in self._carried_out().items() if name not in withdrawn}

    def _announce(self) -> None:
        if self._shown is None or self._ended:
            return
        offered = self._offered()
        rows = [updates.command(builtin.name, builtin.description, builtin.hint) for builtin in offered.values()]
        hidden = [name for name in self._skills if name in offered or name == SKILL]
        if hidden:
            rows.append(updates.command(SKILL, "Run a skill by its name", "name [arguments]"))
        rows += [
            updates.command(skill.selector, skill.description, skill.hint)
            for skill in self._skills.values()
            if skill.selector not in hidden
        ]
        if rows != self._shown:
            self._shown = rows
            self._peer.notify(updates.METHOD, updates.available_commands(self._session.session_id, rows))

    def _learn(self) -> None:
        self._stale = True
        if self._learning is None:
            self._learning = anyio.Event()
            self._background.start(self._ask)

    async def _ask(self) -> None:
        try:
            while self._stale:
                self._stale = False
                host = self._learning_from = self._session.host
                # What is not learnt now is not offered: a stale list would promise what is gone.
                self._abilities = await _abilities(host)
                self._skills = await self._read_skills(host)
                self._learnt_from = host
        finally:
            learning, self._learning = self._learning, None
            self._learning_from = None
            self._patient = True
            if learning is not None:
                learning.set()
        self._announce()

    async def _read_skills(self, host: Host) -> dict[str, Skill]:
        try:
            return read_skills(await host.query("skill/list", {"sessionId": self._session.session_id}))
        except MspError as error:
            if error.kind != "methodNotFound":
                log.warning("the skills of a session could not be read: %s", error)
        except HostGone as error:
            log.info("the skills of a session could not be read: %s", error)
        return {}


async def _abilities(host: Host) -> Abilities:
    try:
        return await host.abilities()
    except HostGone as error:
        log.info("what a host can do was not told: %s", error)
        return Abilities()
