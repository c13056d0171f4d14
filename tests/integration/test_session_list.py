"""`session/list`: what can be opened, page by page, by folder, and without touching any of it."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.adapter_process import AdapterProcess, Json, running_adapter
from tests.output_clients import error_of, stored
from tests.screens import VERSIONS, a_session

each_version = pytest.mark.parametrize("version", VERSIONS)


def all_pages(adapter: AdapterProcess, **members: str) -> list[list[Json]]:
    """Every page of a list."""
    pages: list[list[Json]] = []
    asked: Json = dict(members)
    while True:
        page = adapter.call("session/list", asked)
        pages.append(page["sessions"])
        if "nextCursor" not in page:
            return pages
        asked = {**members, "cursor": page["nextCursor"]}
        assert len(pages) < 100


def ids(*pages: list[Json]) -> list[str]:
    return [row["sessionId"] for page in pages for row in page]


def row(number: int, root: Path | str | None, **members: object) -> Json:
    """A row of a host's store, the higher the number the newer."""
    time = datetime(2026, 11, 1, tzinfo=UTC) + timedelta(seconds=number)
    return {
        "sessionId": f"ses-{number:05}",
        "status": "notLoaded",
        "turnCount": 1,
        "path": "",
        "createdAt": "2026-11-01T00:00:00.000Z",
        "updatedAt": time.isoformat().replace("+00:00", "Z"),
        "workspaceRoot": None if root is None else str(root),
        "providerId": None,
        "modelId": None,
        "forkedFrom": None,
        "activeTurnId": None,
        **members,
    }


def put(home: Path, *rows: Json) -> None:
    """Give the simulated host's store these rows, of sessions that cannot be opened."""
    for one in rows:
        directory = home / ".local/share/muse-simulated/sessions" / one["sessionId"]
        directory.mkdir(parents=True)
        (directory / "row.json").write_text(json.dumps(one))


@pytest.mark.acp(55)
@each_version
def test_sessions_are_listed_with_what_a_client_shows_of_them(tmp_path: Path, version: str) -> None:
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        listed = adapter.initialize()["agentCapabilities"]["sessionCapabilities"]["list"]
        assert listed == {}
        assert adapter.call("session/list", {}) == {"sessions": []}
        assert adapter.finish() == 0
    first, _ = a_session(tmp_path, "count the pears", "and more", version=version)
    second, _ = a_session(tmp_path, "   two  words\t" + "x" * 1000, version=version)
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        page = adapter.call("session/list", {"cursor": None, "cwd": None})
        assert ids(page["sessions"]) == [second, first], "the newest first"
        assert {one["cwd"] for one in page["sessions"]} == {str(tmp_path)}
        for one in page["sessions"]:
            assert datetime.fromisoformat(one["updatedAt"]).tzinfo is not None
        titles = [one["title"] for one in page["sessions"]]
        assert titles[1] == "count the pears"
        assert titles[0].startswith("two words xxx")
        assert len(titles[0]) <= 200
        assert "nextCursor" not in page
        assert adapter.call("session/list", {"cwd": str(tmp_path)}) == page
        # Nothing was loaded by it: another process can have each of them.
        with running_adapter(tmp_path, muse=f"simulated:{version}") as other:
            other.initialize()
            for session_id in (first, second):
                other.call("session/resume", stored(session_id, tmp_path))
            assert other.finish() == 0
        assert adapter.updates() == []
        assert adapter.finish() == 0


@pytest.mark.acp(55)
def test_paging_shows_each_session_once_and_in_order(tmp_path: Path) -> None:
    put(tmp_path, *(row(number, tmp_path) for number in range(120)))
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        pages = all_pages(adapter)
        assert [len(page) for page in pages] == [50, 50, 20]
        assert ids(*pages) == [f"ses-{number:05}" for number in reversed(range(120))]
        assert all_pages(adapter) == pages, "the order is stable"
        assert all_pages(adapter, cwd=str(tmp_path)) == pages
        assert adapter.finish() == 0


@pytest.mark.acp(55)
def test_l6_what_matches_is_found_however_far_down_it_is(tmp_path: Path) -> None:
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    mine = {3, 4, *range(500, 560), 700}
    put(tmp_path, *(row(number, here if number in mine else elsewhere) for number in range(1200)))
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        pages = all_pages(adapter, cwd=str(here))
        assert ids(*pages) == [f"ses-{number:05}" for number in sorted(mine, reverse=True)]
        assert [len(page) for page in pages] == [50, 13], "no page is empty, or longer than it may be"
        assert all_pages(adapter, cwd=str(tmp_path)) == [[]]
        assert adapter.finish() == 0


@pytest.mark.acp(55)
@each_version
def test_l7_a_folder_is_found_by_any_spelling_and_told_in_the_clients(tmp_path: Path, version: str) -> None:
    orchard, link = tmp_path / "orchard", tmp_path / "lnk"
    orchard.mkdir()
    link.symlink_to(orchard)
    made: list[str] = []
    for folder in (link, orchard):
        with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
            adapter.initialize()
            made.append(adapter.new_session(folder))
            adapter.prompt(made[-1], "hello")
            assert adapter.finish() == 0
    with running_adapter(tmp_path, muse=f"simulated:{version}") as adapter:
        adapter.initialize()
        for spelling in (str(orchard), f"{orchard}/", f"{orchard}/../lnk", str(link)):
            rows = adapter.call("session/list", {"cwd": spelling})["sessions"]
            assert sorted(ids(rows)) == sorted(made)
            assert {one["cwd"] for one in rows} == {spelling}
        assert adapter.call("session/list", {"cwd": str(tmp_path)}) == {"sessions": []}
        assert {one["cwd"] for one in adapter.call("session/list", {})["sessions"]} == {str(orchard), str(link)}
        assert adapter.finish() == 0


def test_a_folder_that_is_gone_is_still_found(tmp_path: Path) -> None:
    put(tmp_path, row(1, tmp_path / "gone"))
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        assert ids(adapter.call("session/list", {"cwd": str(tmp_path / "gone")})["sessions"]) == ["ses-00001"]
        assert adapter.finish() == 0


def test_titles_that_take_too_long_are_done_without(tmp_path: Path) -> None:
    session_id, _ = a_session(tmp_path, "count the pears")
    faults = [{"at": "view/page", "do": "hang"}]
    with running_adapter(tmp_path, env={"MUSE_SIMULATED_FAULTS": json.dumps(faults)}) as adapter:
        adapter.initialize()
        (only,) = adapter.call("session/list", {})["sessions"]
        assert only["sessionId"] == session_id
        assert "title" not in only
        (only,) = adapter.call("session/list", {})["sessions"]
        assert only["title"] == "count the pears", "the next list tries again"
        assert adapter.finish() == 0


def test_children_and_sessions_without_a_folder_are_left_out(tmp_path: Path) -> None:
    put(
        tmp_path,
        row(1, tmp_path),
        row(2, None),
        row(3, tmp_path, kind="subagent"),
        row(4, tmp_path, parentSessionId="ses-00001"),
        row(5, "relative/path"),
    )
    with running_adapter(tmp_path, muse="simulated:1.4.13") as adapter:
        adapter.initialize()
        assert ids(adapter.call("session/list", {})["sessions"]) == ["ses-00001"]
        assert adapter.finish() == 0


@pytest.mark.acp(55)
def test_a_bad_cursor_is_refused_and_a_good_one_is_bound_to_its_folder(tmp_path: Path) -> None:
    put(tmp_path, *(row(number, tmp_path) for number in range(60)))
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        cursor = adapter.call("session/list", {})["nextCursor"]
        filtered = adapter.call("session/list", {"cwd": str(tmp_path)})["nextCursor"]
        for asked in (
            {"cursor": ""},
            {"cursor": "l:2026"},
            {"cursor": "häh"},
            {"cursor": "e30"},
            {"cursor": "bnVsbA"},
            {"cursor": cursor[:-8]},
            {"cursor": cursor * 200},
            {"cursor": cursor, "cwd": str(tmp_path)},
            {"cursor": filtered},
            {"cursor": filtered, "cwd": f"{tmp_path}/"},
        ):
            code, data = error_of(adapter.refused("session/list", asked))
            assert (code, data["reason"], data["field"]) == (-32602, "invalidParams", "cursor"), asked
        assert len(adapter.call("session/list", {"cursor": cursor})["sessions"]) == 10
        assert adapter.finish() == 0
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        assert len(adapter.call("session/list", {"cursor": cursor})["sessions"]) == 10, "it outlives the adapter"
        assert adapter.finish() == 0


def test_a_cursor_that_the_host_does_not_know_is_refused_as_such(tmp_path: Path) -> None:
    put(tmp_path, *(row(number, tmp_path) for number in range(60)))
    faults = [{"at": "session/list", "after": 1, "times": None, "do": "error", "kind": "notFound"}]
    with running_adapter(tmp_path, env={"MUSE_SIMULATED_FAULTS": json.dumps(faults)}) as adapter:
        adapter.initialize()
        cursor = adapter.call("session/list", {})["nextCursor"]
        code, data = error_of(adapter.refused("session/list", {"cursor": cursor}))
        assert (code, data["field"]) == (-32602, "cursor")
        code, data = error_of(adapter.refused("session/list", {}))
        assert code != -32602, "without a cursor none can be bad"
        assert adapter.finish() == 0


def test_open_sessions_are_listed_once_also_those_the_host_does_not_list(tmp_path: Path) -> None:
    """Those that the host lists further down are on the first page and on no other."""
    other = tmp_path / "other"
    other.mkdir()
    link = tmp_path / "lnk"
    link.symlink_to(tmp_path)
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        old = adapter.new_session(tmp_path)
        adapter.prompt(old, "hello")
        assert adapter.finish() == 0
    put(tmp_path, *(row(number, tmp_path, updatedAt=f"2099-01-01T00:00:{number:02}Z") for number in range(60)))
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        adapter.call("session/resume", {"sessionId": old, "cwd": str(link)})
        there = adapter.new_session(other)
        first = adapter.call("session/list", {})
        assert ids(first["sessions"])[:2] == [there, old]
        assert len(first["sessions"]) == 52
        assert first["sessions"][1]["cwd"] == str(link), "an open session is told in the client's spelling"
        late = adapter.new_session(tmp_path)
        adapter.call("session/close", {"sessionId": there})
        rest = adapter.call("session/list", {"cursor": first["nextCursor"]})
        assert len(rest["sessions"]) == 11
        assert late in ids(rest["sessions"]), "what was opened in between has not been shown yet"
        assert len(set(ids(first["sessions"] + rest["sessions"]))) == 63
        assert ids(adapter.call("session/list", {"cwd": str(other)})["sessions"]) == [there]
        assert adapter.finish() == 0


def test_a_session_that_was_closed_is_where_the_host_has_it(tmp_path: Path) -> None:
    """On a later page too: only what was open when the list began has been shown before."""
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        closed, shown = adapter.new_session(tmp_path), adapter.new_session(tmp_path)
        for session_id in (closed, shown):
            adapter.prompt(session_id, "hello")
        adapter.call("session/close", {"sessionId": closed})
        put(tmp_path, *(row(number, tmp_path, updatedAt=f"2099-01-01T00:00:{number:02}Z") for number in range(60)))
        first = adapter.call("session/list", {"cwd": str(tmp_path)})
        adapter.call("session/close", {"sessionId": shown})
        rest = adapter.call("session/list", {"cwd": str(tmp_path), "cursor": first["nextCursor"]})
        assert shown in ids(first["sessions"]) and closed in ids(rest["sessions"])
        assert len(set(ids(first["sessions"]))) + len(set(ids(rest["sessions"]))) == 62
        assert len(ids(first["sessions"], rest["sessions"])) == 62
        assert adapter.finish() == 0


@pytest.mark.parametrize(
    ("before", "closes"),
    [(True, True), (True, False), (False, False)],
    ids=["closed and opened", "opened anew", "closed before"],
)
def test_a_session_that_is_opened_again_between_two_pages_is_listed_once(
    tmp_path: Path, before: bool, closes: bool
) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "hello")
        if not before:
            adapter.call("session/close", {"sessionId": session_id})
        put(tmp_path, *(row(number, tmp_path, updatedAt=f"2099-01-01T00:00:{number:02}Z") for number in range(60)))
        first = adapter.call("session/list", {"cwd": str(tmp_path)})
        for _ in range(2):
            if closes:
                adapter.call("session/close", {"sessionId": session_id})
            adapter.call("session/load", {"sessionId": session_id, "cwd": str(tmp_path), "mcpServers": []})
        rest = adapter.call("session/list", {"cwd": str(tmp_path), "cursor": first["nextCursor"]})
        assert [session_id in ids(page["sessions"]) for page in (first, rest)] == [before, not before]
        assert adapter.finish() == 0


def test_a_session_that_no_host_lists_is_there_while_it_is_open(tmp_path: Path) -> None:
    hidden: list[Json] = [{"at": "session/list", "times": None, "do": "result", "set": {"sessions": []}}]
    with running_adapter(tmp_path, env={"MUSE_SIMULATED_FAULTS": json.dumps(hidden)}) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        (only,) = adapter.call("session/list", {"cwd": str(tmp_path)})["sessions"]
        assert (only["sessionId"], only["cwd"]) == (session_id, str(tmp_path))
        assert adapter.call("session/list", {"cwd": os.sep}) == {"sessions": []}
        adapter.call("session/close", {"sessionId": session_id})
        assert adapter.call("session/list", {}) == {"sessions": []}
        assert adapter.finish() == 0
