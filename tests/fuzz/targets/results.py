"""A host's answers and errors (`msp.md §5, §7, §10, §17, §20`): whatever their members are, what is read of them can be
used and told, and a client's cursor is taken back only as it was given."""

from __future__ import annotations

from typing import Any, Final

from adapter.acp.errors import MAX_DETAILS
from adapter.bridge.outcomes import client_error, turn_result, without_secrets
from adapter.bridge.session_state.models import read_models, read_ref
from adapter.bridge.session_state.plan import plan_entries
from adapter.bridge.session_state.settings import Settings, check_option, config_options, session_modes
from adapter.bridge.slash_commands.skills import SELECTOR_LENGTH, read_skills, skill_part
from adapter.bridge.stored_sessions.listing import Cursor, folder_mark
from adapter.bridge.stored_sessions.session_rows import is_listed, listed
from adapter.msp.errors import MalformedResult, MspError
from adapter.msp.handshake import Handshake
from adapter.msp.history import Opened
from adapter.msp.turns import TurnLedger
from adapter.wire.envelope import RpcError
from adapter.wire.framing import ACP_OUTBOUND_CAP, encode_frame
from tests.fuzz.reading import objects

MOST_LINES: Final = 20


def one(data: bytes) -> None:
    """Each line is an answer, and is taken for every one there is; the bytes are a cursor as well."""
    for line in objects(data)[:MOST_LINES]:
        _handshake(line)
        _rows(line)
        _settings(line)
        _errors(line)
        _turn(line)
        for selector, skill in read_skills(line).items():
            assert 0 < len(selector) <= SELECTOR_LENGTH and selector.split() == [selector] and skill.description
            skill_part(selector, "")
        items = line.get("items")
        if isinstance(items, list):
            _write(plan_entries([item for item in items if isinstance(item, dict)]))
    _cursor(data[:5000].decode("utf-8", "replace"))


def _write(value: Any) -> None:
    encode_frame({"value": value}, ACP_OUTBOUND_CAP)


def _handshake(line: dict[str, Any]) -> None:
    told = Handshake.read(line)
    assert all(isinstance(name, str) for name in told.granted)
    opened = Opened.read(line)
    assert isinstance(opened.at_rest, bool)
    try:
        assert opened.named("session/start") == opened.session_id
    except MalformedResult as error:
        assert str(error)


def _rows(line: dict[str, Any]) -> None:
    rows = line.get("sessions")
    for row in [line, *(rows if isinstance(rows, list) else [])]:
        if isinstance(row, dict) and is_listed(row):
            entry = listed(row, row["workspaceRoot"])
            _write(entry)
            assert entry["sessionId"] and entry["cwd"].startswith("/")
            assert "title" not in entry or "\n" not in entry["title"]


def _settings(line: dict[str, Any]) -> None:
    models, ref = read_models(line), read_ref(line)
    mode = line.get("mode")
    for standing in (True, False):
        settings = Settings(
            can_restrict=True,
            models=models,
            model=ref,
            effort="high",
            standing=standing,
            approval_mode=mode if isinstance(mode, str) else None,
        )
        offered = config_options(settings)
        _write([offered, session_modes(settings)])
        for option in offered:
            values = [choice["value"] for choice in option["options"]]
            assert option["currentValue"] in values, "what is set is on offer"
            assert len(set(values)) == len(values), "a value stands for one thing"
            for value in values[:5]:
                try:
                    check_option(settings, option["id"], value)
                except RpcError:
                    assert value == "allowAll"
            if option["id"] == "model":
                assert all(settings.model_for(value).model_id for value in values)


def _errors(line: dict[str, Any]) -> None:
    error = MspError.from_error(line)
    assert str(error) and isinstance(error.retryable, bool)
    for session_id in (None, "s"):
        told = client_error(error, session_id)
        assert told.data is not None and told.data["reason"] and len(told.data["details"]) <= MAX_DETAILS
        _write([told.code, told.message, told.data])


def _turn(line: dict[str, Any]) -> None:
    ended = TurnLedger().complete({**line, "turnId": "t"})
    assert ended is not None
    outcome = without_secrets(ended[1], lambda text: text)
    try:
        _write(turn_result(outcome))
    except RpcError as error:
        assert error.data is not None and error.data["reason"]
        _write(error.data)


def _cursor(text: str) -> None:
    for cwd in (None, "/srv/demo"):
        try:
            cursor = Cursor.read(text, cwd)
        except RpcError as error:
            assert error.data is not None and error.data["field"] == "cursor"
        else:
            assert cursor.mark == folder_mark(cwd) and Cursor.read(cursor.text(), cwd) == cursor
