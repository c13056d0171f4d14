"""The text of a card, cut to size, with the truth about what is missing and what to do next. Pure.

Who cut it, how much is shown of how much, and where the rest can be had stand in the text, for people, and in
`_meta["muse/truncated"]`, for programs (`docs/stored-output.md`).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from adapter.acp.text import fenced, one_line
from adapter.bridge.bounded_text import CARD_TEXT_BYTES, BoundedText, bound_text, close_fence, with_notice
from adapter.bridge.card_style import CardStyle
from adapter.bridge.stored_output.contract import METHOD
from adapter.bridge.stored_output.references import AVAILABLE, OUTPUT_MEMBER, OutputRef, read_reference
from adapter.msp.items import ItemState
from adapter.wire.framing import decode_json

TRUNCATED_KEY: Final = "muse/truncated"

STRUCTURED_TOOLS: Final = frozenset({"bash", "shell"})
"""Tools whose result may be a JSON object with the text in `output`."""


NOTES_BYTES: Final = 8 * 1024
"""Bytes of what is said beside an output; the rest of a card's text is for the output."""

LONGEST_FENCE: Final = 32
FENCES_BYTES: Final = 4 * (LONGEST_FENCE + 2)
"""Room for the fences around head and tail."""

MOST_PICTURES: Final = 20


class CardText(msgspec.Struct, frozen=True):
    """`text` is None when there is nothing to show, `truncated` unless something is missing; `raw_output` is a
    structured result without its text."""

    text: str | None
    truncated: dict[str, Any] | None = None
    raw_output: Any = None


def card_text(item: ItemState, style: CardStyle, *, is_command: bool) -> CardText:
    """What the card of `item` says, at most `CARD_TEXT_BYTES` of it. `is_command`: its output is a code block."""
    raw = item.raw
    output, structured = _structured(item)
    notes = _notes(item)
    if not output:
        bounded = bound_text(notes)
        if not bounded.truncated:
            return CardText(notes or None, None, structured)
        return CardText(with_notice(bounded, _notice(bounded, bounded.total_bytes, "")), None, structured)
    notes = _cut(notes, NOTES_BYTES)
    bounded = bound_text(output, CARD_TEXT_BYTES - FENCES_BYTES - len(notes.encode("utf-8", "replace")))
    host_cut = raw.get("truncated") is True
    show = _code_block if is_command else close_fence
    if not bounded.truncated and not host_cut:
        return CardText(
            "\n".join(filter(None, [_code_block(output) if is_command else output, notes])), None, structured
        )
    reference = read_reference(raw.get(OUTPUT_MEMBER))
    total = bounded.total_bytes if not host_cut else reference.byte_len if reference else None
    # Text made of a structured result, or shown for bytes that may be no text, says nothing about an offset.
    read_from = bounded.head_bytes if structured is None and _is_text(reference) else 0
    notice = _notice(bounded, total, _advice(item, style, read_from, reference))
    pieces = [show(bounded.head), notice, show(bounded.tail) if bounded.tail else "", notes]
    return CardText("\n".join(filter(None, pieces)), _facts(bounded, total), structured)


def _notes(item: ItemState) -> str:
    """What is said beside the output: pictures in words, why it failed, how it ended, what came of it."""
    raw = item.raw
    return "\n".join([*_rich_content(raw), *(note for note in (_failure(item), _exit(raw), _summary(raw)) if note)])


def _cut(text: str, limit: int) -> str:
    bounded = bound_text(text, limit)
    return with_notice(bounded, _notice(bounded, bounded.total_bytes, "")) if bounded.truncated else text


def _code_block(text: str) -> str:
    """`text` in a fence, unless the fence would have to be absurdly long."""
    return close_fence(text) if LONGEST_FENCE * "`" in text else fenced(text)


def _structured(item: ItemState) -> tuple[str, Any]:
    """The text a tool printed, taken out of its structured result if it is one; parsed before anything is added to
    it."""
    output = item.text("output")
    if item.is_open or item.raw.get("tool") not in STRUCTURED_TOOLS or not output.startswith("{"):
        return output, None
    try:
        result = decode_json(output.encode("utf-8", "replace"))
    except ValueError:
        return output, None
    if not isinstance(result, dict) or not isinstance(result.get("output"), str):
        return output, None
    return result["output"], {name: value for name, value in result.items() if name != "output"}


def _facts(bounded: BoundedText, total: int | None) -> dict[str, Any]:
    return {
        "source": "adapter" if bounded.truncated else "host",
        "shownBytes": bounded.head_bytes + bounded.tail_bytes,
        "totalBytes": total,
        "headBytes": bounded.head_bytes,
        "tailBytes": bounded.tail_bytes,
    }


def _notice(bounded: BoundedText, total: int | None, advice: str) -> str:
    who = "muse-adapter" if bounded.truncated else "The Muse host"
    shown = bounded.head_bytes + bounded.tail_bytes
    ends = f": the first {bounded.head_bytes} and the last {bounded.tail_bytes}" if bounded.tail else ""
    of = f"of {total} bytes" if total is not None else "bytes of a longer output"
    return f"[{who} shows {shown} {of}{ends}.{advice}]"


def _advice(item: ItemState, style: CardStyle, read_from: int, reference: OutputRef | None) -> str:
    if reference is None:
        return " The rest is not stored"
    if reference.availability != AVAILABLE:
        return f" The host says of the whole output: {one_line(reference.availability, 40)}"
    if style.output_offered:
        return f" Read on with {METHOD}, outputRef {reference.id}, offsetBytes {read_from}"
    if style.output_command is None:
        return " The host keeps all of it, but reading it is not verified on this version of Muse"
    return f" Get all of it with: {style.output_command} {style.session_id} {item.item_id}"


def _is_text(reference: OutputRef | None) -> bool:
    return reference is None or reference.media_type is None or reference.media_type.startswith("text/")


def _failure(item: ItemState) -> str | None:
    if item.is_open or item.status == "completed":
        return None
    reason = item.raw.get("failureReason")
    return f"{item.status}: {one_line(reason, 1000)}" if isinstance(reason, str) and reason else item.status


def _exit(raw: dict[str, Any]) -> str | None:
    """How a command ended, if not well; whether that is a failure, the status says (`fault-cases.md J4`)."""
    code, signal = raw.get("exitCode"), raw.get("exitSignal")
    if type(signal) is int:
        return f"ended by signal {signal}"
    return f"exit code {code}" if type(code) is int and code != 0 else None


def _summary(raw: dict[str, Any]) -> str | None:
    result = raw.get("result")
    summary = result.get("summary") if isinstance(result, dict) else raw.get("finalSummary")
    if not isinstance(summary, str) or not summary:
        return None
    bounded = bound_text(summary)
    return with_notice(bounded, f"[{bounded.total_bytes} bytes]") if bounded.truncated else summary


def _rich_content(raw: dict[str, Any]) -> list[str]:
    """One line for each picture the model saw: what it was, never a path or caption in the place of its bytes."""
    shown = raw.get("modelVisibleContent")
    entries = [entry for entry in shown if isinstance(entry, dict)] if isinstance(shown, list) else []
    lines = [described(entry) for entry in entries[:MOST_PICTURES]]
    return [*lines, f"[{len(entries) - MOST_PICTURES} more]"] if len(entries) > MOST_PICTURES else lines


def described(entry: dict[str, Any]) -> str:
    """A picture or attachment in words."""
    media_type, width, height = entry.get("mediaType"), entry.get("width"), entry.get("height")
    words = [str(entry.get("type") or "content")]
    if isinstance(media_type, str):
        words.append(one_line(media_type, 80))
    if type(width) is int and type(height) is int:
        words.append(f"{width} x {height}")
    return f"[{', '.join(words)}: not shown here]"
