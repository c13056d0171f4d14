"""What a scripted turn can do, one small value a step. Scripts yield them, a driver carries them out."""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Literal, TypeAlias

import msgspec

Json: TypeAlias = dict[str, Any]


class Draft:
    """An item a script works on. Its id is the turn's and a number, so the same prompt gives the same ids."""

    def __init__(self, item_id: str, kind: str, turn_id: str | None, members: Json) -> None:
        self.id = item_id
        self.kind = kind
        self.turn_id = turn_id
        self.members = members
        self.revision = 0
        self.open = False
        self.streamed: dict[str, list[str]] = {}
        """What has been sent as deltas, by field."""

    def gathered(self) -> Json:
        """The members that the deltas so far amount to (`msp.md §13.1`)."""
        members: Json = {}
        for field, texts in self.streamed.items():
            text = "".join(texts)
            if field.startswith("summary."):
                members.setdefault("summary", []).append(text)
            else:
                members["visibleOutput" if field == "output" else field] = text
        return members

    def revise(self, status: str, recorded_at: str | None, **members: Any) -> Json:
        """The full item at its next revision; a member given as None is left out from now on."""
        self.members |= members
        self.revision += 1
        self.open = status == "inProgress"
        item: Json = {"itemId": self.id, "kind": self.kind, "turnId": self.turn_id, "revision": self.revision}
        item["status"] = status
        if recorded_at is not None:
            item["recordedAt"] = recorded_at
        item.update((key, value) for key, value in self.members.items() if value is not None)
        return item


class Started(msgspec.Struct, frozen=True):
    """`item/started`; kinds that stream are started on a record that is not kept (`msp.md §13.1`)."""

    item: Draft
    kept: bool = True


class Updated(msgspec.Struct, frozen=True):
    """`item/updated` with these members changed."""

    item: Draft
    members: Json = {}


class Completed(msgspec.Struct, frozen=True):
    """`item/completed` with a terminal status."""

    item: Draft
    members: Json = {}
    status: str = "completed"


class Delta(msgspec.Struct, frozen=True):
    """`item/delta`."""

    item: Draft
    text: str
    field: str = "text"


class Burst(msgspec.Struct, frozen=True):
    """`item/delta` again and again, as fast as the pipe takes them: the texts, in turn, `count` times in all."""

    item: Draft
    texts: tuple[str, ...]
    count: int
    field: str = "text"


class Notify(msgspec.Struct, frozen=True):
    """Any other durable event of the session; `kept` False sends it without keeping it."""

    method: str
    params: Json
    kept: bool = True


class Wait(msgspec.Struct, frozen=True):
    """Nothing happens for so many seconds; an interrupt ends the turn all the same."""

    seconds: float


class LoseNext(msgspec.Struct, frozen=True):
    """The next `count` events do not reach the client, which learns of it by `view/gap` (`msp.md §11.4`)."""

    count: int


class StoreOutput(msgspec.Struct, frozen=True):
    """An output becomes readable through `item/readOutput`; `record` is what `outputs.new_output` gives."""

    record: Json


class ForgetLogin(msgspec.Struct, frozen=True):
    """The login is no longer good for anything."""


class Touch(msgspec.Struct, frozen=True):
    """Change a file. The script is sent a `Touched`."""

    path: str
    operation: Literal["write", "replace", "delete"]
    old: str = ""
    new: str = ""


class Touched(msgspec.Struct, frozen=True):
    """What a file held before and after; None where there was none. `problem` says why nothing was changed."""

    before: str | None
    after: str | None
    problem: str | None = None


class AddSkill(msgspec.Struct, frozen=True):
    """The session has this skill too from now on."""

    skill: Json


class AskApproval(msgspec.Struct, frozen=True):
    """Wait for the user's consent. The script is sent a `Verdict`."""

    item: Draft
    subject: Json
    stages: tuple[tuple[str, ...], ...] = ()
    """argv of each part of a shell command; empty for an approval in one stage."""
    asking: frozenset[int] = frozenset()
    """Which parts need a decision; the others are known to be safe."""
    choices: tuple[Json, ...] | None = None
    """What is offered, if not the usual three."""
    origin: Json | None = None
    """`subagentOrigin`, if a subagent asks through its parent's session; its item is not in this one."""
    settled_after: float | None = None
    """After so many seconds an automated reviewer allows it, whatever the user does until then."""


class Verdict(msgspec.Struct, frozen=True):
    """How an approval ended."""

    allowed: bool
    feedback: str | None = None


class AskUser(msgspec.Struct, frozen=True):
    """Wait for the user's answer. The script is sent a `Settlement`."""

    item: Draft
    questions: list[Json]
    auto_ms: int | None = None
    settled_after: float | None = None
    """After so many seconds somebody else answers, with the first option of each question."""


class Settlement(msgspec.Struct, frozen=True):
    """How a question to the user ended."""

    outcome: str
    answers: list[Json]
    clarification: Json | None = None


class Spawn(msgspec.Struct, frozen=True):
    """Run a script beside the turn; it may outlive it. `item` is what it is shown as."""

    item: Draft
    script: Generator[Step, Any, None]


class Together(msgspec.Struct, frozen=True):
    """Run scripts side by side as parts of the turn, and go on when all of them are over."""

    scripts: tuple[Generator[Step, Any, None], ...]


class Delegate(msgspec.Struct, frozen=True):
    """Run a turn in the session of a subagent, and go on when it is over."""

    session_id: str
    objective: str
    script: Callable[[Any], Generator[Step, Any, None]]
    """From the subagent's `Turn` to its script."""


class End(msgspec.Struct, frozen=True):
    """End the turn as something else than `completed`."""

    terminal: str
    reason: str | None = None
    error: Json | None = None


Step: TypeAlias = (
    Started
    | Updated
    | Completed
    | Delta
    | Burst
    | Notify
    | Wait
    | LoseNext
    | StoreOutput
    | ForgetLogin
    | AddSkill
    | Touch
    | AskApproval
    | AskUser
    | Spawn
    | Together
    | Delegate
    | End
)

Script: TypeAlias = Generator[Step, Any, None]
"""What a driver carries out; an asking step is answered by what is sent back."""


def chunks(text: str, parts: int) -> list[str]:
    """`text` in about equal pieces, none empty."""
    size = max(1, -(-len(text) // parts))
    return [text[at : at + size] for at in range(0, len(text), size)]
