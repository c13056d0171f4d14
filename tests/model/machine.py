"""Client and host, played in any order, against the whole adapter: what `hypothesis` chooses happens, and after every
step the rules hold (`checks.Checks`)."""

from __future__ import annotations

from collections import Counter
from typing import ClassVar, Final

from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from adapter.bridge.hosts.restarts import DELAYS, WINDOW
from tests.model.acts import WEIGHTS, Acts, Draw
from tests.model.stage import Stage

DRAWS: Final = st.builds(Draw, st.integers(0, 5), st.integers(0, 3), st.integers(0, 20), st.booleans())

TASKS: Final = 3
TASKS_OF_A_HOST: Final = 6
"""What runs while nobody waits for anything: so many tasks, so many for each host that lives, and one for each session
that is open."""


class Machine(RuleBasedStateMachine):
    """One run. `TOTALS` counts what was seen over all runs of the process, `ACTS` what was done."""

    TOTALS: ClassVar[Counter[str]] = Counter()
    ACTS: ClassVar[Counter[str]] = Counter()
    HAS_FAILED: ClassVar[list[str]] = []
    """What was wrong first, while it is made small."""

    def __init__(self) -> None:
        super().__init__()
        self.stage = Stage()
        self.acts = Acts(self.stage)

    @initialize(forms=st.booleans(), prompts=st.integers(1, 2))
    def begin(self, forms: bool, prompts: int) -> None:
        """The client starts the adapter, opens a session and asks for something."""
        self.stage.begin(forms=forms)
        self.acts.start("", Draw(0, 0, 0, False))
        self.stage.go()
        for _ in range(prompts):
            self.acts.prompt(self.acts.open[0], Draw(0, 0, 0, False))
        self.stage.go()

    @rule(named=st.sampled_from([name for name, weight in WEIGHTS.items() for _ in range(weight)]), draw=DRAWS)
    def act(self, named: str, draw: Draw) -> None:
        """Something that can be done now."""
        there = self.acts.there()
        names = list(WEIGHTS)
        at = names.index(named)
        name = next(name for name in names[at:] + names[:at] if there[name][0])
        things, do = there[name]
        do(things[draw.at % len(things)], draw)
        Machine.ACTS[name] += 1
        self.stage.go()

    # -- what holds

    @invariant()
    def holds(self) -> None:
        problems = self.stage.checks.problems() + self.stage.failures
        host = self.stage.host
        if host is not None and not host.waiting:
            problems += self.stage.checks.forgotten()
        problems += self.stage.checks.left_on_screen(self.acts.heard_dialogs())
        self.require(not problems, "\n".join(problems))

    def require(self, holds: bool, otherwise: str) -> None:
        """What has passed is told with the failure."""
        if not holds:
            note(self.stage.story())
            if not Machine.HAS_FAILED:
                print(f"wrong, and made small now, which takes minutes: {otherwise[:1000]}", flush=True)
                Machine.HAS_FAILED.append(otherwise)
        assert holds, otherwise

    def teardown(self) -> None:
        """Everything comes to an end: what is asked is refused, what runs is completed, and a new prompt works."""
        try:
            self.finish()
        except BaseException:
            self.stage.close()
            raise
        self.stage.end()
        self.holds()
        unanswered = self.stage.checks.answers.unanswered({host.name for host in self.stage.hosts})
        self.require(not unanswered, "\n".join(unanswered))
        Machine.TOTALS.update(self.stage.checks.counts)
        Machine.TOTALS.update(frames=len(self.stage.seen), examples=1, consents=self.stage.checks.consents.allowed)

    def finish(self) -> None:
        for _ in range(40):
            if self.calm_down():
                break
        self.holds()
        self.require(not self.stage.requests, f"never answered: {list(self.stage.requests)}")
        for session in list(self.acts.open):
            self.last_prompt(session)
        self.holds()
        dead = {host.name for host in self.stage.hosts if not host.alive}
        unanswered = self.stage.checks.answers.unanswered(dead)
        self.require(not unanswered, "\n".join(unanswered))
        # What only waits for a moment may end.
        self.stage.go(3.0)
        most = TASKS + TASKS_OF_A_HOST * (len(self.stage.hosts) - len(dead)) + len(self.acts.open)
        tasks = self.stage.tasks()
        self.require(len(tasks) <= most, f"more than {most} tasks: {tasks}")

    def calm_down(self) -> bool:
        """Do what ends things; whether nothing is left to be done."""
        for dialog in self.acts.dialogs():
            self.stage.checks.may_be_stopped(dialog.params["sessionId"])
            self.stage.reply(dialog, {"result": {}})
        host = self.stage.host
        if host is not None:
            host.slow, host.obeys = False, True
            while host.waiting:
                host.answer(host.waiting.pop(0))
        for stored in self.stage.store.sessions.values():
            stored.losing = 0
            stored.tell_gap()
        for stored, turn in self.acts.running():
            if not self.acts.dialogs():
                stored.end(turn, "completed")
        self.stage.go(3.0)
        return not (self.stage.requests or self.acts.dialogs() or self.acts.running())

    def last_prompt(self, session: str) -> None:
        """A session that is open can be used, whatever has happened in it."""
        self.stage.go(WINDOW if len(self.stage.hosts) > len(DELAYS) else 1.0)
        stored = self.stage.store.sessions[session]
        prompt = self.stage.prompt(self.acts.request_id(True), session)
        for _ in range(6):
            self.stage.go(1.0)
            if stored.running is not None:
                stored.end(stored.running, "completed")
        self.stage.go(5.0)
        answer = prompt.answer or {}
        self.require("result" in answer, f"the last prompt of {session} failed: {answer}")
