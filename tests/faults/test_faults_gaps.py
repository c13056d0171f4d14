"""Events a host leaves out: nothing of an answer is missing that can be had, and every prompt is answered."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from tests.adapter_process import Json, running_adapter
from tests.faults.scripted_turns import Plays, Step, delta, ended, item, started
from tests.faults.with_host import opened

TEXT = "the whole answer"


class Loses(Plays):
    """Plays its scripts, where `["lose", step]` is an event that is not delivered and `["gap", back]` the notice of all
    that were lost since the last notice; `back` is how many events were delivered behind the last of them."""

    pages = True
    rows = False

    def __init__(self, directory: str, settings: str) -> None:
        super().__init__(directory, settings)
        self.sent: list[Json] = []
        self.hole: tuple[int, int] | None = None
        self.losing = False

    def send(self, *frames: Json) -> None:
        for frame in frames:
            if "viewCursor" in frame.get("params", {}):
                self.sent.append(frame)
                if self.losing:
                    first = self.hole[0] if self.hole else len(self.sent) - 1
                    self.hole = (first, len(self.sent))
                    continue
            super().send(frame)

    def play(self, step: Step, request: Json) -> None:
        if step[0] == "lose":
            self.losing = True
            super().play(step[1], request)
            self.losing = False
        elif step[0] == "gap":
            assert self.hole is not None
            first, end = self.hole
            following = self.sent[end]["params"]["viewCursor"] if end < len(self.sent) else "v:none"
            params = {"after": self.sent[first - 1]["params"]["viewCursor"], "next": following}
            session_id = request["params"]["sessionId"]
            self.send({"jsonrpc": "2.0", "method": "view/gap", "params": {"sessionId": session_id, **params}})
            self.hole = None
        else:
            super().play(step, request)

    def on_view_page(self, request: Json) -> None:
        if not self.pages:
            return self.refuse(request, "methodNotFound", "no such method", -32601)
        cursors = [frame["params"]["viewCursor"] for frame in self.sent]
        after = cursors.index(request["params"]["cursor"]) + 1
        durable = [frame for frame in self.sent[after:] if frame["method"] != "item/delta"]
        events = [{"method": frame["method"], "params": frame["params"]} for frame in durable]
        return self.answer(request, events=events, nextCursor=None)

    def on_session_list(self, request: Json) -> None:
        if not self.rows:
            return self.refuse(request, "methodNotFound", "no such method", -32601)
        asked = [frame for frame in self.sent if "sessionId" in frame["params"]]
        session_id = asked[0]["params"]["sessionId"] if asked else "none"
        return self.answer(request, sessions=[{"sessionId": session_id, "status": "idle"}], nextCursor=None)


BEGINNING: list[Step] = [started(), item("started", text=""), delta("the ")]
PLAIN: list[Step] = [item("completed", text="next"), ended()]


class TellsTheGapLast(Loses):
    scripts: ClassVar[list[list[Step]]] = [
        [*BEGINNING, ["lose", item("completed", text=TEXT)], ended(), ["gap"]],
        PLAIN,
    ]


def test_k3_a_gap_that_is_told_after_the_end_is_filled_before_the_answer(tmp_path: Path) -> None:
    with opened(tmp_path, TellsTheGapLast) as it:
        assert it.prompt() == {"stopReason": "end_turn"}
        assert it.text() == TEXT


class TellsTheGapLate(Loses):
    scripts: ClassVar[list[list[Step]]] = [
        [*BEGINNING, ["lose", item("completed", text=TEXT)], ended(), ["pause", 1.0], ["gap"]],
        PLAIN,
    ]


def test_k3_what_a_gap_told_after_the_answer_brings_comes_with_the_next_prompt(tmp_path: Path) -> None:
    with opened(tmp_path, TellsTheGapLate) as it:
        assert it.prompt() == {"stopReason": "end_turn"}
        assert it.text() == "the "
        # The host reads on when it has told the gap, and answers this after it.
        it.adapter.new_session(tmp_path)
        asked = it.host.received("view/page")
        while not asked:
            it.adapter.new_session(tmp_path)
            asked = it.host.received("view/page")
        it.adapter.new_session(tmp_path)
        assert it.prompt() == {"stopReason": "end_turn"}
        assert it.text() == f"{TEXT}next"


class LosesTheMiddle(Loses):
    scripts: ClassVar[list[list[Step]]] = [
        [*BEGINNING, ["lose", delta("whole ")], delta("answer"), ["gap"], item("completed", text=TEXT), ended()]
    ]


def test_k3_text_that_has_a_hole_is_shown_anew(tmp_path: Path) -> None:
    with opened(tmp_path, LosesTheMiddle) as it:
        assert it.prompt() == {"stopReason": "end_turn"}
        chunks = [
            update for update in it.adapter.updates(it.session_id) if update["sessionUpdate"] == "agent_message_chunk"
        ]
        whole = [update for update in chunks if TEXT in update["content"]["text"]]
        assert [update["content"]["text"].partition("\n\n")[2] for update in whole] == [TEXT]
        before = [update for update in chunks if update not in whole]
        assert "".join(update["content"]["text"] for update in before) == "the answer"
        assert whole[0]["messageId"] not in {update["messageId"] for update in before}


class LosesTheEnd(Loses):
    pages = False
    rows = True
    scripts: ClassVar[list[list[Step]]] = [
        [*BEGINNING, ["lose", ended()], ["event", "session/nameChanged", {"name": "x"}], ["gap"]],
        PLAIN,
    ]


def test_h6_a_prompt_whose_end_was_lost_is_answered_when_its_turn_no_longer_runs(tmp_path: Path) -> None:
    with opened(tmp_path, LosesTheEnd) as it:
        error = it.adapter.response(it.begin())["error"]
        assert (error["code"], error["data"]["reason"]) == (-32603, "turnEndUnknown")
        assert error["data"]["retryable"] is False
        assert it.prompt() == {"stopReason": "end_turn"}
        assert it.text() == "the next"


def test_k3_nothing_of_the_next_turn_comes_before_the_answer_to_one_with_a_gap(tmp_path: Path) -> None:
    """What was lost is read back with all that came meanwhile, the next turn among it (`acp.md §25`, point 67)."""
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        for number in range(8):
            first = adapter.begin_prompt(session_id, "gap 2")
            second = adapter.begin_prompt(session_id, f"note {number}")
            for request_id in (first, second):
                assert adapter.response(request_id)["result"] == {"stopReason": "end_turn"}
            said = [
                frame["id"] if "id" in frame else frame["params"]["update"]["content"]["text"]
                for frame in adapter.frames
                if frame.get("id") in (first, second)
                or frame.get("params", {}).get("update", {}).get("sessionUpdate") == "agent_message_chunk"
            ]
            answer = said.index(first)
            assert f"You said: note {number} — noted ✓" in "".join(map(str, said[answer:]))
            adapter.frames.clear()
        assert adapter.finish() == 0
