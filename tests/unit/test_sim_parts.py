"""The parts of the simulated host that need no process."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any, get_args

import muse_code_msp as msp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.hosts.simulated import ids, outputs, scripts
from adapter.hosts.simulated.errors import CODES
from adapter.hosts.simulated.history import Past, list_page
from adapter.hosts.simulated.host import HANDLERS, PROTECTED, QUERIES
from adapter.hosts.simulated.journal import Journal, records
from adapter.hosts.simulated.params import APPROVAL_MODES, EFFORTS
from adapter.hosts.simulated.profiles import DEFAULT, NEWEST, PROFILES, profile
from adapter.hosts.simulated.settings import Settings
from adapter.hosts.simulated.store import Store, is_plain
from adapter.hosts.simulated.view import Event, View
from adapter.wire.envelope import RpcError

UNSERVED = {
    *("computerUseSettings/read", "computerUseSettings/update", "computerUseSetup/check", "computerUseSetup/read"),
    *("computerUseSetup/start", "media/upload", "plugin/install", "plugin/marketplaceAdd"),
    *("plugin/marketplaceUpdate", "plugin/marketplaceRemove", "skill/import", "skill/setActivation"),
}
"""Administration of a real host that nothing here needs: computer use, plugins, uploads."""

UNSENT = {
    *("computerUseSetup/changed", "monitor/inboxItemAdmitted", "monitor/inboxItemDrained"),
    *("monitor/inboxItemVoided", "plugin/changed", "plugin/marketplaceChanged", "initialized", "userInput/engaged"),
}
"""Notifications about those, and the two a client sends."""


REMOVED_METHODS = {"session/delete"}
REMOVED_NOTIFICATIONS = {"session/deleteCompleted"}
"""What 1.4.2 has and the newest version lacks (`msp.md §28.5`)."""


# -- the tables against the official ones


def test_the_newest_version_has_every_method_that_nobody_left_out_on_purpose() -> None:
    assert set(msp.METHODS) - UNSERVED == NEWEST.methods
    assert set(HANDLERS) | {"initialize"} == NEWEST.methods | REMOVED_METHODS


def test_the_newest_version_has_every_notification_that_nobody_left_out_on_purpose() -> None:
    assert set(msp.NOTIFICATIONS) - UNSENT == NEWEST.notifications


def test_queries_are_what_takes_no_command_id() -> None:
    for method in NEWEST.methods - {"initialize"}:
        params = msp.METHODS[method]["params"]
        takes = params is not None and "commandId" in getattr(msp, params).__annotations__
        assert takes == (method not in QUERIES), method


def test_error_kinds_have_their_official_codes() -> None:
    official = {error["kind"]: error["code"] for error in msp.ERRORS}
    official |= {kind: error["code"] for error in msp.ERRORS for kind in error["overrideKinds"]}
    assert {kind: official[kind] for kind in CODES} == CODES


def test_words_and_names_are_the_official_ones() -> None:
    assert NEWEST.fingerprint == msp.SCHEMA_FINGERPRINT
    assert set(msp.ITEM_KIND_KNOWN_VALUES) == NEWEST.kinds
    assert NEWEST.capabilities <= set(msp.GRANTABLE_CAPABILITIES)
    assert set(EFFORTS) == set(get_args(msp.ReasoningEffort))
    assert set(APPROVAL_MODES) == set(get_args(msp.ApprovalMode))
    assert set(outputs.AVAILABILITIES) == set(msp.OUTPUT_REF_AVAILABILITY_KNOWN_VALUES)
    assert set(get_args(msp.TurnInputPartType)) == NEWEST.parts
    assert NEWEST.notifications >= PROTECTED


def test_each_version_has_all_the_one_before_it_had() -> None:
    versions = list(PROFILES.values())
    for older, newer in itertools.pairwise(versions):
        assert older.methods - REMOVED_METHODS <= newer.methods
        assert older.notifications - REMOVED_NOTIFICATIONS <= newer.notifications
        for what, members in newer.withheld.items():
            assert members <= older.withheld[what]
    assert len({one.fingerprint for one in versions}) == len(versions)


def test_versions_are_found_by_their_name_or_line() -> None:
    assert profile("1.4") is NEWEST
    assert profile("1.2.1").version == DEFAULT
    with pytest.raises(ValueError, match=r"no simulated host of version '1\.2\.10'"):
        profile("1.2.10")


def test_every_script_is_in_the_table_people_read() -> None:
    documented = {line.split("`")[1].split()[0] for line in (scripts.__doc__ or "").splitlines() if "| `" in line}
    assert documented == set(scripts.WORDS)


# -- ids


def test_ids_rise_and_are_version_7() -> None:
    made = [ids.uuid7() for _ in range(200)]
    assert len(set(made)) == 200
    assert all(one[14] == "7" and one[19] in "89ab" and len(one) == 36 for one in made)
    assert made[0][:13] <= made[-1][:13]


@pytest.mark.parametrize("text", ["", "v:s:", "v:s:-1", "v:s:1x", "v:t:1", "v:s:¹", " v:s:1", "s:1"])
def test_a_cursor_of_somebody_else_names_nothing(text: str) -> None:
    assert ids.cursor_number("s", text) is None
    assert ids.cursor_number("s", ids.cursor("s", 17)) == 17


# -- outputs


@given(
    size=st.integers(0, 2000),
    cuts=st.lists(st.integers(1, 300), min_size=1, max_size=8),
    recipe=st.sampled_from(["lines", "bytes"]),
)
def test_any_sequence_of_reads_gives_the_same_bytes(size: int, cuts: list[int], recipe: str) -> None:
    record = outputs.new_output("i", recipe, size)
    whole = outputs.stored_bytes(record, 0, size)
    assert len(whole) == size
    at = turn = 0
    while at < size:
        length = cuts[turn % len(cuts)]
        assert outputs.stored_bytes(record, at, length) == whole[at : at + length]
        at, turn = at + length, turn + 1


@given(size=st.integers(1, 500), offset=st.integers(0, 500), length=st.integers(1, 200))
def test_a_text_page_is_whole_characters_within_its_bounds(size: int, offset: int, length: int) -> None:
    record = outputs.new_output("i", "lines", size)
    whole = outputs.stored_bytes(record, 0, size)
    try:
        page = outputs.read_output(record, offset, length)
    except RpcError as error:
        assert error.data is not None
        aligned = error.data.get("alignedNextOffset")
        if aligned is not None:
            assert offset < aligned <= offset + 3
            whole[aligned:].decode()
        return
    assert page["content"].encode() == whole[offset : offset + page["byteLen"]]
    assert page["byteLen"] <= length
    assert page["eof"] == (offset + page["byteLen"] == size)


# -- the store


def test_a_half_written_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "s" / "session.jsonl"
    journal = Journal(path)
    journal.append("end", 5)
    journal.close()
    with path.open("ab") as file:
        file.write(b'{"event":[1,"x",{')
    assert records(path) == [("end", 5)]


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\\b", ".", "a" * 129, "ä b", "a\0"])
def test_an_id_that_is_no_plain_name_is_no_session(tmp_path: Path, name: str) -> None:
    assert not is_plain(name)
    assert not Store(tmp_path).has(name)
    with pytest.raises(OSError, match=r".*"):
        Store(tmp_path).read(name)


def test_a_lease_of_a_dead_host_is_taken_over_and_one_of_a_live_host_is_not(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert store.take_lease("s")
    assert not store.take_lease("s")
    assert store.holder("s") == os.getpid()
    store.release("s")
    assert store.holder("s") is None
    lease = tmp_path / "sessions" / "s" / "lease"
    for text in ("999999999", "nonsense", ""):
        lease.write_text(text)
        assert store.take_lease("s")
        assert lease.read_text() == str(os.getpid())


# -- the view


def event(number: int, method: str, **params: Any) -> Event:
    """An event as it is kept."""
    return Event(number, method, {"sessionId": "s", "viewCursor": ids.cursor("s", number), **params})


def test_a_lower_revision_changes_nothing() -> None:
    view = View()
    for number, revision in enumerate((1, 3, 2), 1):
        item = {"itemId": "i", "kind": "toolCall", "revision": revision, "status": "inProgress"}
        view.add(event(number, "item/updated", item=item))
    assert view.items["i"]["revision"] == 3


def past(count: int, **settings: Any) -> Past:
    """The past of a session with that many events."""
    view = View()
    for number in range(1, count + 1):
        view.add(event(number * 3, "session/goalChanged", goal=None))
    facts = {"sessionId": "s", "model": {}, "approvalMode": {}}
    return Past(facts, view, count * 3, NEWEST, Settings(**settings))


@given(count=st.integers(0, 40), limit=st.integers(1, 12), backward=st.booleans(), served=st.integers(1, 12))
def test_pages_of_any_size_give_every_event_once(count: int, limit: int, backward: bool, served: int) -> None:
    known = past(count, page_events=served)
    seen: list[str] = []
    cursor: str | None = None
    for _ in range(count + 2):
        page = known.page(cursor, None, backward, limit)
        cursors = [one["params"]["viewCursor"] for one in page["events"]]
        seen = cursors + seen if backward else seen + cursors
        assert len(cursors) <= min(limit, served)
        cursor = page["nextCursor"]
        if cursor is None:
            break
    assert seen == [ids.cursor("s", number * 3) for number in range(1, count + 1)]


def test_a_cursor_between_two_kept_events_can_be_paged_from_in_both_directions() -> None:
    known = past(4)
    between = ids.cursor("s", 7)
    after = known.page(between, None, False, 10)["events"]
    before = known.page(between, None, True, 10)["events"]
    assert [one["params"]["viewCursor"] for one in before + after] == [ids.cursor("s", n) for n in (3, 6, 9, 12)]


def test_rows_are_listed_once_whatever_the_page() -> None:
    rows = [{"sessionId": f"s{index}", "updatedAt": f"2026-01-0{1 + index // 2}"} for index in range(9)]
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page, cursor = list_page(rows, cursor, 2)
        seen += [row["sessionId"] for row in page]
        if cursor is None:
            break
    assert seen == [f"s{index}" for index in reversed(range(9))]
    with pytest.raises(RpcError):
        list_page(rows, "v:s:1", 2)
