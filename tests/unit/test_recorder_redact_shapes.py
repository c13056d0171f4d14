"""Of every frame the protocols have, with something of somebody's wherever no word, id or number of theirs belongs,
nothing of it is left."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from adapter.hosts.recorder.redact import SHAPES, Redactor, Shapes
from tests import write_shapes

CANARY = "hunter2"
"""A word, an id and a name as well, by its looks."""

GENERIC = ("category", "event", "fields", "id", "kind", "level", "mode", "next", "reason", "source", "status", "type")
"""Names that mean something where the protocols have them, and nothing anywhere else."""

KNOWN = Shapes()
TYPES: dict[str, dict[str, str]] = orjson.loads(SHAPES.read_bytes())["types"]
DEEPEST = 4

PROGRAMS = {"w": "word", "i": "v:1", "f": "1.2.1", "m": "item/started", "n": 48213, "c": None}
"""What stands where no person says anything."""

TEXTS = {"x": CANARY, "s": f"say {CANARY}", "b": CANARY, "r": CANARY, "t": CANARY, "a": f'{{"{CANARY}":"{CANARY}"}}'}


def anything(draw: st.DrawFn) -> Any:
    """What somebody puts where everything may be."""
    leaf = st.just(CANARY) | st.integers() | st.none()
    names = st.sampled_from([*GENERIC, CANARY, f"/{CANARY}"])
    return draw(st.recursive(leaf, lambda inner: st.lists(inner) | st.dictionaries(names, inner), max_leaves=5))


def value(draw: st.DrawFn, kinds: str, depth: int) -> Any:
    kind = draw(st.sampled_from(kinds.split("|"))) if kinds else "*"
    if kind in PROGRAMS:
        return PROGRAMS[kind]
    if kind in TEXTS:
        return draw(st.sampled_from([TEXTS[kind], [TEXTS[kind]]]))
    if kind == "*":
        return anything(draw)
    if kind.startswith("{"):
        return {CANARY: value(draw, kind[1:-1], depth + 1)}
    return object_(draw, kind, depth)


def object_(draw: st.DrawFn, type_name: str, depth: int) -> dict[str, Any]:
    members = TYPES[type_name]
    made: dict[str, Any] = {}
    if depth < DEEPEST:
        names = draw(st.lists(st.sampled_from(sorted(members)), max_size=4, unique=True)) if members else []
        made = {name: value(draw, members[name], depth + 1) for name in names}
    strange = draw(st.sampled_from([CANARY, f"{CANARY}/x", *(name for name in GENERIC if name not in members)]))
    made[strange] = anything(draw)
    return made


@st.composite
def conversations(draw: st.DrawFn) -> list[tuple[bool, dict[str, Any]]]:
    """A request, its answer, and an error, each with who says it."""
    method = draw(st.sampled_from([*sorted(KNOWN.methods), f"_{CANARY}/login"]))
    params, result = KNOWN.methods.get(method, ["*", "*"])
    client = draw(st.booleans())
    return [
        (client, {"jsonrpc": "2.0", "id": 1, "method": method, "params": value(draw, params, 0), CANARY: CANARY}),
        (not client, {"jsonrpc": "2.0", "id": 1, "result": value(draw, result, 0)}),
        (not client, {"jsonrpc": "2.0", "id": 2, "error": object_(draw, "Error", 0)}),
        (client, {"jsonrpc": "2.0", "id": 3, "result": anything(draw)}),
    ]


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(conversations())
def test_nothing_of_somebodys_is_left_anywhere(spoken: list[tuple[bool, dict[str, Any]]]) -> None:
    redactor = Redactor()
    written = [redactor.frame(frame, of_client=client) for client, frame in spoken]

    assert CANARY in str(spoken)
    assert CANARY not in str([written, redactor.variables])


@pytest.mark.parametrize(
    ("type_name", "member"),
    [
        ("SessionListTextFilter", "anyOf"),
        ("SessionListTextFilter", "allOf"),
        ("AcceptElicitationResponse", "content"),
        ("UserInputQuestion", "id"),
        ("PluginMarketplaceAddParams", "source"),
        ("PluginCatalogEntry", "id"),
        ("SessionStartParams", "permissionProfile"),
        ("WorkflowChild", "childId"),
        ("Item", "reason"),
        ("Item", "label"),
        ("Item", "objective"),
        ("Session", "title"),
        ("AvailableCommand", "name"),
        ("NewSessionRequest", "mcpServers"),
        ("CreateTerminalRequest", "env"),
        ("PlanEntry", "content"),
        ("ToolCallLocation", "path"),
        ("TextContentBlock", "text"),
    ],
)
def test_what_people_say_is_no_word_or_id(type_name: str, member: str) -> None:
    assert not {"w", "i", "f"} & set(TYPES[type_name][member].split("|"))


def test_what_is_known_is_what_the_types_say() -> None:
    assert SHAPES.read_bytes() == write_shapes.written(), "python -m tests.write_shapes writes it"
