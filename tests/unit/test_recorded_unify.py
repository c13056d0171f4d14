"""Whatever ids a client mints, the player answers with them, and only with a one-to-one choice."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.hosts.recorded import Line, Mismatch, Player, Script
from adapter.hosts.recorded.unify import Bindings, Unification

# Few names, so that recorded and played ids collide with each other and with what the host minted.
NAMES = st.sampled_from([f"id{number}" for number in range(6)])
COMMANDS = st.lists(NAMES, min_size=1, max_size=8)
RPC_IDS = st.one_of(st.integers(-3, 3), st.sampled_from(["1", "2", "id1", ""]))


def request(rpc_id: Any, command: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": rpc_id, "method": "goal/clear", "params": {"sessionId": "s", "commandId": command}}


def answer(rpc_id: Any, command: str, seen: list[str]) -> dict[str, Any]:
    return {"id": rpc_id, "jsonrpc": "2.0", "result": {"commandId": command, "seen": seen, command: f"{command} "}}


def recording(commands: list[str]) -> Script:
    lines: list[Line] = []
    for number, command in enumerate(commands):
        for frame in (request(number, command), answer(number, command, commands[: number + 1])):
            direction: Any = "client" if "method" in frame else "server"
            lines.append(Line(len(lines) + 1, direction, orjson.dumps(frame).decode(), frame))
    return Script(tuple(lines))


@given(COMMANDS, st.permutations([f"id{number}" for number in range(6)]), st.lists(RPC_IDS, min_size=8, max_size=8))
def test_any_one_to_one_choice_of_ids_is_played(commands: list[str], others: list[str], rpc_ids: list[Any]) -> None:
    mine = {f"id{number}": other for number, other in enumerate(others)}
    player = Player(recording(commands))
    for number, (command, rpc_id) in enumerate(zip(commands, rpc_ids, strict=False)):
        played = player.feed(request(rpc_id, mine[command]))
        assert not isinstance(played, Mismatch), str(played)
        wanted = answer(rpc_id, mine[command], [mine[each] for each in commands[: number + 1]])
        # A member's name is never an id of the client, even if it is spelled like one.
        wanted["result"][command] = wanted["result"].pop(mine[command]).replace(mine[command], command)
        assert [orjson.loads(line) for line in played] == [wanted]
        assert type(orjson.loads(played[0])["id"]) is type(rpc_id)
    assert player.unfinished() is None


@given(COMMANDS, st.lists(NAMES, min_size=8, max_size=8))
def test_a_choice_that_is_not_one_to_one_is_off_script_at_its_first_fault(commands: list[str], mine: list[str]) -> None:
    player = Player(recording(commands))
    pairs: set[tuple[str, str]] = set()
    for number, (command, other) in enumerate(zip(commands, mine, strict=False)):
        pairs.add((command, other))
        faulty = len({recorded for recorded, _ in pairs}) != len(pairs) or len({each for _, each in pairs}) != len(
            pairs
        )
        played = player.feed(request(number, other))
        assert isinstance(played, Mismatch) == faulty
        if faulty:
            assert isinstance(played, Mismatch) and played.difference.path == "params.commandId"
            return


@given(st.dictionaries(NAMES, NAMES), st.recursive(NAMES | st.integers() | st.none(), st.lists))
def test_carrying_over_replaces_whole_strings_at_once(variables: dict[str, str], value: Any) -> None:
    bindings = Bindings()
    for recorded, played in variables.items():
        assert bindings.bind(recorded, played, one_to_one=False) is None

    def wanted(part: Any) -> Any:
        if isinstance(part, list):
            return [wanted(item) for item in part]
        return variables.get(part, part) if isinstance(part, str) else part

    assert bindings.carry_over(value) == wanted(value)


def test_a_copy_is_independent() -> None:
    bindings = Bindings()
    bindings.copy().bind("a", "b", one_to_one=True)
    assert bindings.carry_over("a") == "a"


VARIES = frozenset({"params.qwertyui"})


@pytest.mark.parametrize(
    ("played", "problem"),
    [
        ({"id": "s", "futureMember": True}, None),
        ({"id": "s"}, None),
        ({"id": "s", "futureMember": True, "another": True}, "is not in the recording"),
    ],
    ids=["its own name", "left out", "one more"],
)
def test_a_name_that_was_replaced_is_the_clients_own(played: dict[str, Any], problem: str | None) -> None:
    recorded = {"params": {"id": "s", "qwertyui": True}}
    difference = Unification(Bindings(), frozenset(), VARIES).difference(recorded, {"params": played})

    assert (difference and difference.problem) == problem
