"""What the methods that matter say in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapter.cli.inspect import words
from tests.inspecting import SESSION, Json, Transcript, rows


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("session/resume", {"history": "snapshot", "cursor": "v:7"}, "history snapshot, after v:7"),
        ("session/fork", {"cutPoint": {"lastTurnId": "t9"}}, "after turn t9"),
        ("session/setModel", {"model": {"modelId": "oak-2"}}, "oak-2"),
        ("session/userShell", {"commandText": "git status"}, '"git status"'),
        (
            "turn/start",
            {"input": [{"type": "image"}, {"type": "image"}], "ifBusy": "steer"},
            "2 images, if busy: steer",
        ),
        ("turn/interrupt", {"retract": True}, "and take the prompt back"),
        ("view/page", {"direction": "backward", "limit": 100}, "backward, from an end, up to 100 events"),
        ("goal/set", {"objective": "plant"}, '"plant"'),
        ("odd/method", {"colour": "green", "sessionId": SESSION}, "colour green"),
    ],
)
def test_requests(tmp_path: Path, method: str, params: Json, said: str) -> None:
    made = Transcript()
    made.ask(method, {"sessionId": SESSION, **params})

    assert rows(made.read(tmp_path)[1]) == [f"> {method} {said}"]


@pytest.mark.parametrize(
    ("method", "result", "said"),
    [
        (
            "session/resume",
            {"session": {"status": "idle", "turnCount": 2}, "history": {"mode": "inline", "items": [{}, {}]}},
            "idle, 2 turns, history inline, 2 items",
        ),
        ("session/list", {"sessions": [{}], "nextCursor": "c"}, "1 session, more follow"),
        ("view/page", {"events": [{}, {}], "nextCursor": None}, "2 events, the end"),
        ("session/compact", {"status": "noop", "reason": "no_compactable_history"}, "noop, no_compactable_history"),
        ("hook/list", {"hooks": [{}, {}, {}]}, "3 hooks"),
        ("odd/method", {}, "done"),
        ("odd/method", {"colour": "green"}, "answered"),
    ],
)
def test_answers(tmp_path: Path, method: str, result: Json, said: str) -> None:
    made = Transcript()
    made.call(method, {}, result)

    assert rows(made.read(tmp_path)[1])[1] == f"< {method} {said}"


@pytest.mark.parametrize(
    ("method", "params", "said"),
    [
        ("session/closed", {"reason": "idle"}, "because of idle"),
        ("session/modelChanged", {"modelId": "oak-2", "source": "user"}, "oak-2, by user"),
        ("session/statusChanged", {"status": "running", "attention": ["inputPending"]}, "running, inputPending"),
        ("session/todoListChanged", {"items": [{"status": "completed"}, {}]}, "2 entries, 1 done"),
        ("session/goalChanged", {"goal": None}, "no goal"),
        ("session/contextUsage", {"usedTokens": 5000, "windowTokens": 9000}, "5,000 of 9,000 tokens in use"),
        (
            "turn/retryScheduled",
            {"nextAttempt": 2, "maxAttempts": 3, "retryDelayMs": 1500, "reason": "lost"},
            "attempt 2 of 3, in 1.5 s, lost",
        ),
    ],
)
def test_notifications(tmp_path: Path, method: str, params: Json, said: str) -> None:
    made = Transcript()
    made.tell(method, {"sessionId": SESSION, **params})

    assert rows(made.read(tmp_path)[1]) == [f"< {method} {said}"]


@pytest.mark.parametrize(
    ("item", "said"),
    [
        ({"kind": "reasoning", "text": "think", "status": "completed"}, 'reasoning: "think"'),
        (
            {"kind": "toolCall", "tool": "t", "displayLabel": {"neutral": "Read a"}, "status": "completed"},
            "t Read a: completed",
        ),
        ({"kind": "toolCall", "tool": "t", "args": "{broken", "status": "completed"}, "t: completed"),
        (
            {"kind": "toolCall", "tool": "t", "status": "completed", "truncated": True, "visibleOutput": "abc"}
            | {"outputRef": {"byteLen": 3_000_000}},
            "t: 3 bytes shown, 2.9 MiB stored, cut",
        ),
        ({"kind": "userShell", "commandText": "ls", "status": "failed"}, 'shell "ls": failed'),
        (
            {"kind": "subagent", "objective": "look", "status": "inProgress", "controlStatus": "running"},
            'subagent "look": running',
        ),
        (
            {"kind": "workflow", "entryId": "w", "status": "inProgress", "children": [{}, {}]},
            'workflow "w": 2 children',
        ),
        ({"kind": "hologram", "fallbackText": "a tree", "status": "completed"}, "hologram: a tree"),
        ({}, "item"),
    ],
)
def test_items(tmp_path: Path, item: Json, said: str) -> None:
    made = Transcript()
    made.item("updated", {"itemId": "i1", **item})

    assert rows(made.read(tmp_path)[1]) == [f"< item/updated {said}"]


@pytest.mark.parametrize(
    ("milliseconds", "shown"),
    [(0, "0.000"), (12, "0.012"), (61_002, "1:01.002"), (3_600_000, "1:00:00.000"), (-5, "-0.005")],
)
def test_times(milliseconds: int, shown: str) -> None:
    assert words.clock(milliseconds) == shown


@pytest.mark.parametrize(("milliseconds", "shown"), [(999, "999 ms"), (1500, "1.5 s"), (123_000, "2 min 3 s")])
def test_durations(milliseconds: int, shown: str) -> None:
    assert words.lasted(milliseconds) == shown
