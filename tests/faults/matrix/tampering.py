"""What the tampering host can do wrong: each action gets the line at hand (empty at a start or an end) and gives what
goes on in its place. Members of `plan.args` are its arguments."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import orjson

if TYPE_CHECKING:
    from tests.faults.matrix.tampering_host import Wire

Json = dict[str, Any]
Action = Callable[["Wire", bytes], bytes]

GARBAGE: Final = b'\x1b[32mMuse\x1b[0m\nready\n[]\n42\n\n{"jsonrpc":"2.0"\n{"a":1}\nnull\nLoading profile\n'
"""What shells and launchers print between frames (`fault-cases.md C3`), and what looks like a frame and is none."""

LOG_LINE: Final = b"a line of log as long as lines of log are, written on purpose, and of no use to anybody at all\n"

SOON_SECONDS: Final = 0.4

UNKNOWN_EVENTS: Final = (
    {"method": "item/sparkle", "params": {"itemId": "i", "brightness": 11}},
    {"method": "orchard/ripened", "params": {"trees": [{"kind": "pear"}]}},
    {"method": "session/started"},
    {"method": "turn/completed", "params": {"sessionId": "ses-nobody", "turnId": "t", "terminal": "simmering"}},
    {"method": "item/started", "params": {"sessionId": "ses-nobody", "item": {"kind": "mural", "status": 7}}},
)


def _frame(line: bytes) -> Json:
    frame: Json = orjson.loads(line)
    return frame


def _line(frame: Json) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", **frame}) + b"\n"


# -- ends


def exits(wire: Wire, line: bytes) -> bytes:
    """It ends with `code`, after `words` on stderr."""
    os.write(2, str(wire.plan.args.get("words", "")).encode())
    os._exit(int(wire.plan.args["code"]))


def killed(wire: Wire, line: bytes) -> bytes:
    """It is ended by the signal `signum`."""
    wire.die(int(wire.plan.args["signum"]))
    return b""


def half_then_killed(wire: Wire, line: bytes) -> bytes:
    """Half of the frame, and it is gone."""
    wire.write(line[: len(line) // 2])
    wire.die()
    return b""


# -- pipes


def closes_stdout(wire: Wire, line: bytes) -> bytes:
    """Its output ends, and the process lives on."""
    wire.close_output()
    return b""


def closes_stdin(wire: Wire, line: bytes) -> bytes:
    """It takes nothing any more, and shows it."""
    wire.stop_reading(close=True)
    return line


def stops_reading(wire: Wire, line: bytes) -> bytes:
    """It takes nothing any more; what it has read is answered."""
    wire.stop_reading()
    return line


def stops_writing(wire: Wire, line: bytes) -> bytes:
    """It does everything, and says nothing any more."""
    wire.silent = True
    return b""


def half_then_silent(wire: Wire, line: bytes) -> bytes:
    """Half of the frame, and nothing more."""
    wire.write(line[: len(line) // 2])
    wire.silent = True
    return b""


# -- answers


def swallows(wire: Wire, line: bytes) -> bytes:
    """This one thing does not come."""
    return b""


def answers_late(wire: Wire, line: bytes) -> bytes:
    """The answer comes after `seconds`; everything else does not wait for it."""
    wire.later(float(wire.plan.args["seconds"]), line)
    return b""


def stands_still(wire: Wire, line: bytes) -> bytes:
    """Everything comes after `seconds`."""
    time.sleep(float(wire.plan.args["seconds"]))
    return line


def says_twice(wire: Wire, line: bytes) -> bytes:
    return line + line


def says_it_another_way(wire: Wire, line: bytes) -> bytes:
    """The answer, and then another one to the same request."""
    error = {"code": -32603, "message": "on second thoughts", "data": {"kind": "internal"}}
    return line + _line({"id": _frame(line)["id"], "error": error})


def answers_nobody(wire: Wire, line: bytes) -> bytes:
    """Answers to what nobody has asked, and then the right one."""
    strangers: tuple[Any, ...] = (987654, "987654", None, str(_frame(line).get("id")), 1.5, True, -1)
    answers = [{"id": stranger, "result": {"sessionId": "ses-nobody"}} for stranger in strangers]
    refusals = [{"id": stranger, "error": {"code": -32603, "message": "no"}} for stranger in strangers]
    return b"".join(map(_line, [*answers, *refusals])) + line


def answers_as_text(wire: Wire, line: bytes) -> bytes:
    """The id of the answer is a text and no number."""
    frame = _frame(line)
    return _line({**frame, "id": str(frame["id"])})


def refuses(wire: Wire, line: bytes) -> bytes:
    """An error in place of what was asked for: `error` as it is. The request has no effect."""
    wire.answer(_line({"id": _frame(line)["id"], "error": wire.plan.args["error"]}))
    return b""


def answers_oddly(wire: Wire, line: bytes) -> bytes:
    """`members` are the rest of the answer."""
    return _line({"id": _frame(line)["id"], **wire.plan.args["members"]})


def mistypes(wire: Wire, line: bytes) -> bytes:
    """The members of the result, and those of its objects, are of other types than they should be."""
    return _line({name: member if name == "id" else _mistyped(member) for name, member in _frame(line).items()})


def _mistyped(value: Any) -> Any:
    return {name: _other(member) for name, member in value.items()} if isinstance(value, dict) else value


def _other(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: 7 if isinstance(member, str) else "orchard" for name, member in value.items()} or 7
    return 7 if isinstance(value, str) else "orchard"


# -- bytes


def garbage(wire: Wire, line: bytes) -> bytes:
    """Lines that are no frames, and then the right one."""
    return GARBAGE + line


def half_then_rest(wire: Wire, line: bytes) -> bytes:
    """The frame in two pieces."""
    wire.note(False, _frame(line))
    wire.write(line[: len(line) // 2])
    time.sleep(0.1)
    return line[len(line) // 2 :]


def cuts(wire: Wire, line: bytes) -> bytes:
    """Half of the frame, as if it were whole."""
    return line[: len(line) // 2] + b"\n"


def broken_text(wire: Wire, line: bytes) -> bytes:
    """A frame that is no UTF-8, in place of the right one."""
    at = line.rindex(b'"')
    return line[:at] + b"\xff\xfe" + line[at:]


def broken_text_between(wire: Wire, line: bytes) -> bytes:
    """Lines that are no UTF-8, and then the right one."""
    return b"\xff\xfe\n" + broken_text(wire, _line({"method": "item/sparkle", "params": {"a": "b"}})) + line


def too_long(wire: Wire, line: bytes) -> bytes:
    """The right frame with so many `bytes` of padding that it is above the cap."""
    return _line({**_frame(line), "padding": "a" * int(wire.plan.args["bytes"])})


def too_long_between(wire: Wire, line: bytes) -> bytes:
    """A line above the cap, and then the right one."""
    return b"a" * int(wire.plan.args["bytes"]) + b"\n" + line


def endless(wire: Wire, line: bytes) -> bytes:
    """A line that does not end: `bytes` of it, and nothing more."""
    wire.write(b"a" * int(wire.plan.args["bytes"]))
    wire.silent = True
    return b""


# -- what nobody knows


def unknown_members(wire: Wire, line: bytes) -> bytes:
    """Every object has members more than it should, but for names that the host would not know again."""
    return _line(_grown(_frame(line)))


def _grown(value: Any) -> Any:
    if isinstance(value, dict):
        more = {"orchard": {"trees": [1, None, {}]}, "": "", "__proto__": 1, "x" * 300: []}
        kept = {name: member if name == "currentRequirementId" else _grown(member) for name, member in value.items()}
        return kept | more
    return [_grown(member) for member in value] if isinstance(value, list) else value


def unknown_events(wire: Wire, line: bytes) -> bytes:
    """Notifications that nobody knows, and then the right line."""
    return b"".join(_line(dict(event)) for event in UNKNOWN_EVENTS) + line


def asks_oddly(wire: Wire, line: bytes) -> bytes:
    """A request that nobody knows, and then the right line."""
    return _line({"id": "colour", "method": "host/askColour", "params": {"sessionId": "ses-nobody"}}) + line


# -- order and amount


def after_the_next(wire: Wire, line: bytes) -> bytes:
    """The next line comes first. If there is none soon, this one comes alone, and nothing was out of order."""
    left = [line]
    wire.with_next(lambda following: following + left.pop() if left else None)
    wire.unless_taken(SOON_SECONDS, left)
    return b""


def floods_stderr(wire: Wire, line: bytes) -> bytes:
    """`bytes` of log, and then the right line."""
    for _ in range(int(wire.plan.args["bytes"]) // (len(LOG_LINE) * 600)):
        os.write(2, LOG_LINE * 600)
    sys.stderr.flush()
    return line


def floods_deltas(wire: Wire, line: bytes) -> bytes:
    """`deltas` pieces of text for items of nobody, and then the right line."""
    session = wire.session_of(line)
    frames = [
        {
            "method": "item/delta",
            "params": {
                "sessionId": session if number % 2 else f"ses-nobody-{number}",
                "viewCursor": f"v:flood:{number}",
                "itemId": f"item-nobody-{number % 7}",
                "field": "text",
                "delta": "a word or two ",
            },
        }
        for number in range(int(wire.plan.args["deltas"]))
    ]
    return b"".join(map(_line, frames)) + line


def gap(wire: Wire, line: bytes) -> bytes:
    """This event is lost, and after the next one it is told that something was."""
    params = _frame(line)["params"]
    after = wire.cursor_before

    def tell(following: bytes) -> bytes | None:
        cursor = _cursor_of(following)
        if cursor is None:
            return None
        told = {"sessionId": params["sessionId"], "after": after, "next": cursor}
        return following + _line({"method": "view/gap", "params": told})

    wire.with_next(tell)
    return b""


def gap_of_nobody(wire: Wire, line: bytes) -> bytes:
    """It is told that something was lost between two places that do not exist."""
    told = {"sessionId": wire.session_of(line), "after": "v:nowhere:1", "next": "v:nowhere:2"}
    return _line({"method": "view/gap", "params": told}) + line


def stale_cursors(wire: Wire, line: bytes) -> bytes:
    """The cursors of the frame are ones that the host does not know."""
    return _line(_aged(_frame(line)))


def _aged(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: f"v:stale:{member}"
            if name in ("viewCursor", "nextCursor") and isinstance(member, str)
            else _aged(member)
            for name, member in value.items()
        }
    return [_aged(member) for member in value] if isinstance(value, list) else value


def _cursor_of(line: bytes) -> str | None:
    params = _frame(line).get("params", {})
    cursor = params.get("viewCursor")
    return cursor if isinstance(cursor, str) else None


# -- for the driver


def waits(wire: Wire, line: bytes) -> bytes:
    """It stands still until the driver has done its part."""
    wire.wait_for_driver()
    return line


def goes_on(wire: Wire, line: bytes) -> bytes:
    """Nothing goes wrong; that the moment has come can be seen."""
    return line


DEFERRED: Final = frozenset({"after-the-next", "gap", "answers-late"})
"""Those that take place later than their moment, or not at all."""

ACTIONS: Final[dict[str, Action]] = {
    action.__name__.replace("_", "-"): action
    for action in (
        *(exits, killed, half_then_killed, closes_stdout, closes_stdin, stops_reading, stops_writing),
        *(half_then_silent, swallows, answers_late, stands_still, says_twice, says_it_another_way, answers_nobody),
        *(
            answers_as_text,
            refuses,
            answers_oddly,
            mistypes,
            garbage,
            half_then_rest,
            cuts,
            broken_text,
            broken_text_between,
        ),
        *(too_long, too_long_between, endless, unknown_members, unknown_events, asks_oddly, after_the_next),
        *(floods_stderr, floods_deltas, gap, gap_of_nobody, stale_cursors, waits, goes_on),
    )
}
