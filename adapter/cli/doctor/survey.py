"""All checks: which rest on which, and how long each may take. Those that rest on nothing run side by side.

The longest way is a host that starts and never answers: 2.5 s for its flags, the wait for it (10 s), and 3 s until it
is killed, if it ignores being asked to end. Everything else is done meanwhile.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Final

import anyio
import msgspec

from adapter.bridge.hosts.host_choice import HostChoice
from adapter.cli.doctor.cache_check import judge_cache
from adapter.cli.doctor.deciding import decide
from adapter.cli.doctor.facts import MuseFacts
from adapter.cli.doctor.finding import WHY, Finding, examine, skipped
from adapter.cli.doctor.host_checks import judge_handshake, judge_login, judge_session_store
from adapter.cli.doctor.leftovers import look_for_leftovers
from adapter.cli.doctor.machine_checks import judge_dependencies, judge_environment, judge_terminal
from adapter.cli.doctor.muse_checks import judge_surfaces, judge_version, look_for, stand_in
from adapter.cli.doctor.report import Check, HostFacts
from adapter.cli.doctor.threads import beside
from adapter.cli.doctor.trial import READY_SECONDS, Trial, try_host
from adapter.msp.process_mark import with_mark
from adapter.msp.secrets import scrub
from adapter.wire.background import Background
from host_probe import VERSION_TIMEOUT, HostVersion, Probe, parse_server_version, probe_version

LOOK_SECONDS: Final = 5.0
"""How long a look at files or processes may take: a file system may be far away."""

AROUND_SECONDS: Final = 20.0
"""What a host may need beside the wait for it, at most: flags, list, end."""


class Found(msgspec.Struct, frozen=True):
    """What came of it."""

    checks: tuple[Check, ...]
    host: HostFacts
    facts: MuseFacts


async def survey(
    choice: HostChoice, environ: Mapping[str, str], background: Background, wait: float = READY_SECONDS
) -> Found:
    """Make all checks. `environ` is the adapter's whole environment, `background` owns the host that is started."""
    return await _Survey(choice, environ, background, wait).run()


class _Survey:
    def __init__(self, choice: HostChoice, environ: Mapping[str, str], background: Background, wait: float) -> None:
        self._choice = choice
        self._environ = environ
        self._background = background
        self._wait = wait
        self._checks: dict[str, Check] = {}
        self._command: Sequence[str] | None = None
        self._source: str | None = None
        self._probe = Probe()
        self._version_told = anyio.Event()
        self._trial = Trial()

    async def run(self) -> Found:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._look, "environment", partial(judge_environment, environ=self._environ))
            tasks.start_soon(self._look, "terminal", partial(judge_terminal, environ=self._environ))
            tasks.start_soon(self._look, "leftovers", look_for_leftovers)
            tasks.start_soon(self._look, "dependencies", judge_dependencies)
            tasks.start_soon(self._look_at_muse)
        checks = tuple(self._checks[check_id] for check_id in WHY)
        return Found(checks, self._host_facts(), self._facts())

    async def _look(self, check_id: str, look: Callable[[Finding], object]) -> None:
        """Make a check that may wait for a disk, and must not keep the others from going on."""

        async def look_beside(finding: Finding) -> None:
            await beside(partial(look, finding))

        self._checks[check_id] = await examine(check_id, LOOK_SECONDS, look_beside)

    async def _look_at_muse(self) -> None:
        await self._look("executable", self._find)
        if self._command is None:
            for check_id in ("version", "surfaces", "handshake", "login", "sessionStore"):
                self._checks[check_id] = skipped(check_id, "executable")
        else:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._make, "version", VERSION_TIMEOUT + LOOK_SECONDS, self._ask_version)
                tasks.start_soon(self._make, "handshake", self._wait + AROUND_SECONDS, self._shake_hands)
            await self._look("surfaces", self._judge_surfaces)
            await self._look_at_trial("login", judge_login)
            await self._look_at_trial("sessionStore", judge_session_store)
        await self._look(
            "probeCache",
            partial(judge_cache, choice=self._choice, muse=self._command, said=self._probe.version),
        )

    async def _make(self, check_id: str, seconds: float, look: Callable[[Finding], Awaitable[None]]) -> None:
        self._checks[check_id] = await examine(check_id, seconds, look)

    def _find(self, finding: Finding) -> None:
        found = look_for(finding, self._choice)
        if found is not None:
            self._command, self._source = found

    async def _ask_version(self, finding: Finding) -> None:
        assert self._command is not None
        try:
            # Not from memory, and nothing is remembered of it.
            self._probe = await probe_version(self._command, environ=with_mark(self._choice.environ))
            judge_version(finding, self._probe, self._choice)
        finally:
            self._version_told.set()

    async def _shake_hands(self, finding: Finding) -> None:
        assert self._command is not None
        self._trial = await try_host(self._choice, self._command, self._background, self._wait)
        await self._version_told.wait()
        judge_handshake(finding, self._trial, self._probe.version, self._choice)

    def _judge_surfaces(self, finding: Finding) -> None:
        decision = decide(self._choice, self._command or (), self._probe.version, self._version_problem())
        live = None if self._trial.handshake is None else self._trial.handshake.server_version
        judge_surfaces(finding, decision, live, self._choice.environ)

    async def _look_at_trial(self, check_id: str, judge: Callable[[Finding, Trial, Mapping[str, str]], None]) -> None:
        if self._trial.handshake is None or self._trial.gone is not None:
            self._checks[check_id] = skipped(check_id, "handshake")
        else:
            await self._look(check_id, lambda finding: judge(finding, self._trial, self._environ))

    # -- what others have to know

    def _host_facts(self) -> HostFacts:
        is_muse = self._command is not None and stand_in(self._choice) is None
        path = self._command[0] if self._command is not None and is_muse else None
        version = self._version()
        return HostFacts(path, version.release, version.build, self._source)

    def _version_problem(self) -> str | None:
        """Why `--version` has told none."""
        doubt = self._probe.details or self._probe.problem
        return None if doubt is None else scrub(doubt, self._choice.environ)

    def _version(self) -> HostVersion:
        """What `--version` has told, else what the host has."""
        handshake = self._trial.handshake
        if self._probe.version.release is not None or handshake is None:
            return self._probe.version
        return parse_server_version(handshake.server_version)

    def _facts(self) -> MuseFacts:
        trial, failure = self._trial, self._trial.failure or self._trial.gone
        problem = failure.details if failure is not None else None
        if self._command is None:
            problem = self._checks["executable"].summary
        elif trial.handshake is None and problem is None:
            problem = self._checks["handshake"].summary
        return MuseFacts(
            command=tuple(self._command or ()),
            problem=problem,
            version=self._probe.version,
            version_problem=self._version_problem(),
            handshake=trial.handshake,
            abilities=trial.abilities,
            unanswered=trial.unanswered,
            last_words=trial.last_words,
        )
