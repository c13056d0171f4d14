"""What `/status` and `/output` answer: the present state of a session in words. Pure; no host is asked."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any, Final, TypeGuard

from adapter.acp.text import one_line
from adapter.bridge.session_state.settings import Settings
from adapter.bridge.stored_output.references import OUTPUT_MEMBER, read_reference
from adapter.bridge.tool_cards.card_style import CardStyle
from adapter.bridge.tool_cards.cards import card_of
from adapter.msp.items import ItemState
from adapter.wire.envelope import Params

LISTED_OUTPUTS: Final = 20


def status_text(session_id: str, host_version: str, settings: Settings, facts: dict[str, Params]) -> str:
    """What is set and used in a session, a line each; what is not known is left out."""
    model = settings.model.model_id if settings.model is not None else None
    rows = {
        "Session": session_id,
        "Muse": host_version,
        "Model": model,
        "Reasoning effort": settings.effort_in_force,
        "Mode": settings.mode,
        "Approval mode": settings.approval_mode,
        "Context": _context(facts.get("contextUsage", {})),
        "Tokens": _tokens(facts.get("tokenUsage", {}).get("cumulative")),
        "Goal": goal_text(facts.get("goal", {}).get("goal")),
    }
    # Two spaces break a line in Markdown.
    return "  \n".join(f"{name}: {value}" for name, value in rows.items() if value)


def goal_text(goal: Any) -> str | None:
    """A goal with how it stands; None without one."""
    if not isinstance(goal, dict) or not isinstance(goal.get("objective"), str):
        return None
    status, percent = goal.get("status"), goal.get("percentComplete")
    known = [one_line(status, 50)] if isinstance(status, str) and status else []
    if _is_number(percent):
        known.append(f"{percent:g} %")
    return one_line(goal["objective"], 500) + (f" ({', '.join(known)})" if known else "")


def outputs_text(items: Iterable[ItemState], style: CardStyle) -> str:
    """The newest stored outputs of a session, each with the command line that fetches it."""
    stored = [(item, ref) for item in items if (ref := read_reference(item.raw.get(OUTPUT_MEMBER))) is not None]
    if not stored:
        return "Nothing that was said here has stored output."
    newest = list(islice(reversed(stored), LISTED_OUTPUTS))
    lines = []
    for item, ref in newest:
        name = one_line(card_of(item, style).title, 80)
        state = "" if ref.availability == "available" else f", {one_line(ref.availability, 50)}"
        line = f"- {name}: {ref.byte_len} bytes{state}"
        if style.output_command is not None:
            line += f"\n\n      {style.output_command} {style.session_id} {item.item_id}\n"
        lines.append(line)
    head = f"Stored outputs, newest first ({len(newest)} of {len(stored)}):"
    tail = "" if style.output_command is not None else "\n\nReading them is not verified with this version of Muse."
    return "\n".join([head, "", *lines]) + tail


def _context(usage: Params) -> str | None:
    used, window = usage.get("usedTokens"), usage.get("windowTokens")
    if not _is_number(used):
        return None
    if not _is_number(window) or window <= 0:
        return f"{used} tokens"
    return f"{used} of {window} tokens ({100 * used / window:.0f} %)"


def _tokens(cumulative: Any) -> str | None:
    if not isinstance(cumulative, dict) or not _is_number(cumulative.get("totalTokens")):
        return None
    cost = cumulative.get("cost")
    spent = cost.get("usd") if isinstance(cost, dict) else None
    priced = f", {spent:g} USD" if _is_number(spent) else ""
    return f"{cumulative['totalTokens']} in all{priced}"


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value >= 0
