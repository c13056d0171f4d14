"""What a card says beside a tool's output: where it stands, how it ended, what came of it. Pure.

Whatever a host leaves out or spells in its own way says nothing here, and never fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from adapter.acp.text import one_line
from adapter.bridge.bounded_text import bound_text, with_notice
from adapter.msp.items import ItemState
from adapter.msp.members import objects_in

MOST_PICTURES: Final = 20
MOST_CHILDREN: Final = 100
MOST_RESULTS: Final = 20

LONG_MS: Final = 1000
"""Milliseconds from which on it is said how long something took."""

RESULT_BYTES: Final = 16 * 1024
"""How much of a subagent's report is shown."""

_CONTROL: Final = {
    "accepted": "It is about to start.",
    "starting": "It is starting.",
    "running": "It is at work.",
    "resultReady": "It has its result.",
    "closing": "It is coming to its end.",
    "closed": "It has ended.",
}
"""What a host calls the stages of a subagent, for people; other words are shown as they are."""

_ENDED_WELL: Final = frozenset({"completed"})


def notes(item: ItemState, structured: dict[str, Any] | None = None) -> str:
    """One line each; `structured` is what a command's result says of itself."""
    raw = item.raw
    lines = _rich_content(raw)
    about = _ABOUT.get(item.kind)
    if about is not None:
        lines += about(item)
    if item.is_open:
        lines += _standing(raw)
    else:
        lines += [note for note in (_failure(item), _exit(raw, structured or {}), _duration(raw)) if note]
    return "\n".join(lines)


def described(entry: dict[str, Any]) -> str:
    """A picture or attachment in words."""
    media_type, width, height = entry.get("mediaType"), entry.get("width"), entry.get("height")
    words = [one_line(str(entry.get("type") or "content"), 80)]
    if isinstance(media_type, str):
        words.append(one_line(media_type, 80))
    if type(width) is int and type(height) is int:
        words.append(f"{width} x {height}")
    return f"[{', '.join(words)}: not shown here]"


def is_stand_in(output: str, raw: dict[str, Any]) -> bool:
    """Whether an output only stands for the pictures that are described beside it."""
    kinds = {str(entry.get("type")) for entry in objects_in(raw.get("modelVisibleContent"))}
    return bool(kinds) and output.strip() in {f"[{kind}]" for kind in kinds}


def result_facts(raw: dict[str, Any]) -> dict[str, Any]:
    """What the host says of a result beside its text, for programs."""
    names = ("exitCode", "exitSignal", "failureKind", "patchSummary", "toolReceipt")
    return {name: raw[name] for name in names if raw.get(name) is not None}


# -- while it runs


def _standing(raw: dict[str, Any]) -> list[str]:
    """Where a long call stands (`msp.md §13.4`), in one line."""
    facts = [fact for fact in (_step(raw), _progress(raw), _health(raw), _attempt(raw), _children(raw)) if fact]
    line = _words(raw.get("statusLine")) or _words(raw.get("statusPhase"))
    told = ", ".join(facts)
    if line and told:
        return [f"{line} ({told})"]
    return [line or told] if line or told else []


def _step(raw: dict[str, Any]) -> str | None:
    step = _members(raw.get("statusStep"))
    label, index, total = _words(step.get("label")), _number(step.get("index")), _number(step.get("total"))
    counted = f"step {index}{f' of {total}' if total is not None else ''}" if index is not None else None
    return ": ".join(filter(None, [counted, label])) or None


def _progress(raw: dict[str, Any]) -> str | None:
    progress = _members(raw.get("statusProgress"))
    current, total, unit = _number(progress.get("current")), _number(progress.get("total")), progress.get("unit")
    if current is None:
        return None
    return " ".join(filter(None, [f"{current}{f' of {total}' if total is not None else ''}", _words(unit)]))


def _health(raw: dict[str, Any]) -> str | None:
    health = _members(raw.get("statusHealth"))
    level = _words(health.get("level"))
    if level is None or level == "ok":
        return None
    return ": ".join(filter(None, [level, _words(health.get("reason"))]))


def _attempt(raw: dict[str, Any]) -> str | None:
    attempt = _members(raw.get("statusAttempt"))
    number, most = _number(attempt.get("attempt")), _number(attempt.get("maxAttempts"))
    return None if number is None else f"attempt {number}{f' of {most}' if most is not None else ''}"


def _children(raw: dict[str, Any]) -> str | None:
    counts = _members(raw.get("statusChildren"))
    told = [(name, _number(counts.get(name))) for name in ("active", "completed", "failed", "cancelled")]
    return ", ".join(f"{count} {name}" for name, count in told if count) or None


# -- how it ended


def _failure(item: ItemState) -> str | None:
    if item.status in _ENDED_WELL:
        return None
    reason = _words(item.raw.get("failureReason"), 1000)
    return f"{one_line(item.status, 80)}: {reason}" if reason else one_line(item.status, 80)


def _exit(raw: dict[str, Any], structured: dict[str, Any]) -> str | None:
    """How a command ended, if not well; whether that is a failure, the status says (`fault-cases.md J4`)."""
    signal = _first_number(raw.get("exitSignal"), structured.get("exitSignal"))
    if signal is not None:
        return f"ended by signal {signal}"
    code = _first_number(raw.get("exitCode"), structured.get("exitCode"), structured.get("exit_code"))
    return f"exit code {code}" if code else None


def _duration(raw: dict[str, Any]) -> str | None:
    duration = raw.get("durationMs")
    if type(duration) is not int or duration < LONG_MS:
        return None
    seconds = duration / 1000
    return f"took {seconds:.1f} s" if seconds < 60 else f"took {int(seconds // 60)} min {int(seconds % 60)} s"


# -- what it is about


def _subagent(item: ItemState) -> Iterator[str]:
    raw = item.raw
    control, objective = _words(raw.get("controlStatus")), _words(raw.get("objective"), 4000)
    if objective and len(objective) > 200:
        yield objective
    if control and item.is_open:
        yield _CONTROL.get(control, control)
    result = _members(raw.get("result"))
    for member in ("summary", "text"):
        text = result.get(member)
        if isinstance(text, str) and text.strip() and (member == "summary" or text != result.get("summary")):
            yield _bounded(text)
    error = _words(result.get("errorKind"))
    if error:
        yield f"error: {error}"
    yield from _usage(raw.get("usage"))


def _workflow(item: ItemState) -> Iterator[str]:
    raw = item.raw
    children = objects_in(raw.get("children"))
    yield from (_child(child) for child in children[:MOST_CHILDREN])
    if len(children) > MOST_CHILDREN:
        yield f"[{len(children) - MOST_CHILDREN} more]"
    if raw.get("paused") is True and item.is_open:
        yield "paused"
    message, summary = raw.get("message"), raw.get("finalSummary")
    for text in dict.fromkeys(text for text in (message, summary) if isinstance(text, str) and text.strip()):
        yield _bounded(text)


def _child(child: dict[str, Any]) -> str:
    name = _words(child.get("label")) or _words(child.get("childId")) or "child"
    phase, attempt = _words(child.get("phase"), 80), _number(child.get("attempt"))
    where = ", ".join(filter(None, [phase, f"attempt {attempt}" if attempt is not None and attempt > 1 else None]))
    status = _words(child.get("terminal"), 80) or _words(child.get("status"), 80) or "unknown"
    why = _words(child.get("failureReason")) or _words(child.get("failureKind"))
    return f"- {name}{f' ({where})' if where else ''}: {status}{f': {why}' if why else ''}"


def _hook(item: ItemState) -> Iterator[str]:
    status, reason = _words(item.raw.get("runStatus"), 80), _words(item.raw.get("reason"), 1000)
    if reason or status not in (None, "completed", item.status):
        yield ": ".join(filter(None, [status, reason]))


def _web_search(item: ItemState) -> Iterator[str]:
    raw = item.raw
    told = [_words(raw.get(name), 1000) for name in ("url", "pattern")]
    yield from (words for words in told if words)
    results = objects_in(raw.get("results"))
    for result in results[:MOST_RESULTS]:
        title, url = _words(result.get("title")), _words(result.get("url"), 2000)
        yield f"- {' '.join(filter(None, [title, f'<{url}>' if url else None]))}"
    if len(results) > MOST_RESULTS:
        yield f"[{len(results) - MOST_RESULTS} more]"


def _compaction(item: ItemState) -> Iterator[str]:
    yield from filter(None, [compaction_words(item.raw)])


def compaction_words(raw: dict[str, Any]) -> str | None:
    """What a compaction has done, None if it does not say."""
    before, after = _number(raw.get("tokensBefore")), _number(raw.get("tokensAfter"))
    size = f"{before} tokens before, {after} after" if before is not None and after is not None else None
    outcome, reason = _words(raw.get("outcome"), 80), _words(raw.get("reason"), 1000)
    told = ": ".join(filter(None, [None if outcome == "compacted" else outcome, reason]))
    return "\n".join(filter(None, [size, told])) or None


def _background_terminal(item: ItemState) -> Iterator[str]:
    nested = _members(item.raw.get(item.kind))
    output = nested.get("output")
    if isinstance(output, str) and output:
        yield _bounded(output)
    if nested.get("outputTruncated") is True:
        yield "[the Muse host cut this output]"


_ABOUT: Final = {
    "subagent": _subagent,
    "workflow": _workflow,
    "hookRun": _hook,
    "webSearch": _web_search,
    "compaction": _compaction,
    "backgroundTerminalCompletion": _background_terminal,
}


def _usage(usage: Any) -> Iterator[str]:
    members = _members(usage)
    used = [(_number(members.get(name)), word) for name, word in (("inputTokens", "in"), ("outputTokens", "out"))]
    told = ", ".join(f"{count} {word}" for count, word in used if count is not None)
    if told:
        yield f"tokens: {told}"


def _rich_content(raw: dict[str, Any]) -> list[str]:
    """One line for each picture the model saw: what it was, never a path or caption in the place of its bytes."""
    entries = objects_in(raw.get("modelVisibleContent"))
    if not entries:
        return []
    lines = [described(entry) for entry in entries[:MOST_PICTURES]]
    return [*lines, f"[{len(entries) - MOST_PICTURES} more]"] if len(entries) > MOST_PICTURES else lines


# -- reading what may be anything


def _bounded(text: str) -> str:
    bounded = bound_text(text, RESULT_BYTES)
    return with_notice(bounded, f"[{bounded.total_bytes} bytes]") if bounded.truncated else text.strip("\n")


def _words(value: Any, limit: int = 256) -> str | None:
    return (one_line(value, limit) or None) if isinstance(value, str) else None


def _number(value: Any) -> int | None:
    return value if type(value) is int else None


def _first_number(*values: Any) -> int | None:
    for value in values:
        if type(value) is int:
            return value
    return None


def _members(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
