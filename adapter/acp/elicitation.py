"""Forms the client shows to the user (`acp.md §9`): the request, the kinds of field, and what a filled form says.

Only for clients with `elicitation.form`. A form never asks for secrets; what a client sends back is checked by whoever
asked, against what was asked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from adapter.acp.text import one_line
from adapter.wire.envelope import Params

METHOD: Final = "elicitation/create"

DESCRIPTION_LENGTH: Final = 2000
"""Characters of a description; a form has to fit a window."""


def form(
    session_id: str,
    message: str,
    properties: dict[str, Params],
    required: Sequence[str],
    *,
    tool_call_id: str | None = None,
    meta: Params | None = None,
) -> Params:
    """The params of a form about a session, or about one of its calls."""
    params: Params = {
        "sessionId": session_id,
        "mode": "form",
        "message": message,
        "requestedSchema": {"type": "object", "properties": properties, "required": list(required)},
    }
    if tool_call_id is not None:
        params["toolCallId"] = tool_call_id
    if meta:
        params["_meta"] = meta
    return params


def text_field(title: str, description: str, *, max_length: int, min_length: int = 0) -> Params:
    """A text of so many characters."""
    return _field("string", title, description, minLength=min_length or None, maxLength=max_length)


def choice_field(title: str, description: str, options: Sequence[Params]) -> Params:
    """Exactly one of `options`."""
    return _field("string", title, description, oneOf=list(options))


def choices_field(title: str, description: str, options: Sequence[Params], *, least: int, most: int) -> Params:
    """Between `least` and `most` of `options`."""
    return _field("array", title, description, items={"anyOf": list(options)}, minItems=least, maxItems=most)


def option(value: str, title: str, description: str = "") -> Params:
    """One option of a field: `value` comes back when it was chosen."""
    described = {"description": bounded(description)} if description else {}
    return {"const": value, "title": one_line(title), **described}


def filled(result: Params) -> dict[str, Any] | None:
    """The content of a form that was sent off; None for one that was declined, cancelled, or answered in a way that is
    not known."""
    if result.get("action") != "accept":
        return None
    content = result.get("content")
    return content if isinstance(content, dict) else {}


def bounded(text: str) -> str:
    """`text` with what is beyond `DESCRIPTION_LENGTH` replaced by an ellipsis."""
    return text if len(text) <= DESCRIPTION_LENGTH else text[: DESCRIPTION_LENGTH - 1] + "…"


def _field(kind: str, title: str, description: str, **members: Any) -> Params:
    described = {"title": one_line(title), "description": bounded(description)}
    given = {name: value for name, value in {**described, **members}.items() if value not in (None, "")}
    return {"type": kind, **given}
