"""The text of a card, cut to size, with the truth about what is missing and what to do next. Pure.

Who cut it, how much is shown of how much, and where the rest can be had stand in the text, for people, and in
`_meta["muse/truncated"]`, for programs (`docs/stored-output.md`).
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from adapter.acp.text import fenced, one_line
from adapter.bridge.bounded_text import CARD_TEXT_BYTES, BoundedText, bound_text, close_fence, whole_text, with_notice
from adapter.bridge.stored_output.contract import METHOD
from adapter.bridge.stored_output.references import AVAILABLE, OUTPUT_MEMBER, OutputRef, read_reference
from adapter.bridge.tool_cards.card_notes import is_stand_in, notes, result_facts
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.bridge.tool_cards.tool_table import tool_named
from adapter.msp.items import ItemState
from adapter.wire.framing import decode_json

TRUNCATED_KEY: Final = "muse/truncated"

NOTES_BYTES: Final = 8 * 1024
"""Bytes of what is said beside an output; the rest of a card's text is for the output."""

LONGEST_FENCE: Final = 32
FENCES_BYTES: Final = 4 * (LONGEST_FENCE + 2)
"""Room for the fences around head and tail."""


class CardText(msgspec.Struct, frozen=True):
    """`text` is None when there is nothing to show, `truncated` unless something is missing; `raw_output` is what is
    known of a result beside its text, `printed` the output of a command, which a terminal shows as it is."""

    text: str | None
    truncated: dict[str, Any] | None = None
    raw_output: Any = None
    printed: str = ""


def card_text(item: ItemState, style: CardStyle, *, is_command: bool, in_terminal: bool = False) -> CardText:
    """What the card of `item` says, at most `CARD_TEXT_BYTES` of it. `is_command`: its output is a code block;
    `in_terminal`: a terminal shows it, and the text is what there is to say beside it."""
    output, structured = _structured(item)
    output = "" if is_stand_in(output, item.raw) else output
    text, truncated = _text(item, style, output, structured, is_command=is_command, in_terminal=in_terminal)
    facts = {} if item.is_open else result_facts(item.raw)
    return CardText(text, truncated, raw_output=(structured or {}) | facts or None, printed=output)


def _text(
    item: ItemState,
    style: CardStyle,
    output: str,
    structured: dict[str, Any] | None,
    *,
    is_command: bool,
    in_terminal: bool,
) -> tuple[str | None, dict[str, Any] | None]:
    """The text, and what is missing in it."""
    beside = notes(item, structured)
    if not output:
        bounded = bound_text(beside)
        if not bounded.truncated:
            return beside or None, None
        return with_notice(bounded, _notice(bounded, bounded.total_bytes, "")), None
    beside = _cut(beside, NOTES_BYTES)
    host_cut = item.raw.get("truncated") is True
    if in_terminal and not host_cut:
        return beside or None, None
    room = CARD_TEXT_BYTES - FENCES_BYTES - len(beside.encode("utf-8", "replace"))
    bounded = whole_text(output) if in_terminal else bound_text(output, room)
    show = _code_block if is_command else close_fence
    if not bounded.truncated and not host_cut:
        return "\n".join(filter(None, [_code_block(output) if is_command else output, beside])), None
    reference = read_reference(item.raw.get(OUTPUT_MEMBER))
    total = bounded.total_bytes if not host_cut else reference.byte_len if reference else None
    # Text made of a structured result, or shown for bytes that may be no text, says nothing about an offset.
    read_from = bounded.head_bytes if structured is None and _is_text(reference) else 0
    notice = _notice(bounded, total, _advice(item, style, read_from, reference))
    ends = ("", "") if in_terminal else (show(bounded.head), show(bounded.tail) if bounded.tail else "")
    return "\n".join(filter(None, [ends[0], notice, ends[1], beside])), _facts(bounded, total)


def _cut(text: str, limit: int) -> str:
    if len(text) * 4 <= limit:
        return text
    bounded = bound_text(text, limit)
    return with_notice(bounded, _notice(bounded, bounded.total_bytes, "")) if bounded.truncated else text


def _code_block(text: str) -> str:
    """`text` in a fence, unless the fence would have to be absurdly long."""
    return close_fence(text) if "`" in text and LONGEST_FENCE * "`" in text else fenced(text)


def _structured(item: ItemState) -> tuple[str, dict[str, Any] | None]:
    """The output, and what else a structured result says; before any notice is added, which would make it no JSON."""
    output = item.text("output")
    tool = item.raw.get("tool")
    if item.is_open or not isinstance(tool, str) or not tool_named(tool).structured or not output.startswith("{"):
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
