"""Reading stored output through the whole adapter: every byte, at any time, also after a restart, and every refusal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapter_process import Json, permission
from tests.output_clients import READ, Reader, address, error_of, handles, page_bytes, reading, simulated_bytes, stored
from tests.output_hosts import REF, calls, reference, revised
from tests.processes import assert_gone, wait_until
from tests.scripted_hosts import place
from tests.storing_hosts import HANDLE, StoringHost, read_by

READ_HOST_METHODS = {"initialize", "initialized", "session/read", "view/page", "item/readOutput"}
ONE_READ = ["session/read", "view/page", "item/readOutput"]


def settings(home: Path, **members: int) -> None:
    """Limits of the simulated host."""
    path = home / ".local" / "share" / "muse-simulated" / "settings.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(members))


def assert_ends_well(client: Reader) -> None:
    """The adapter ends, no host stays, and read hosts were asked nothing else."""
    assert client.adapter.finish() == 0
    assert_gone(client.read_hosts())
    assert set(client.asked()) <= READ_HOST_METHODS


# -- every byte


@pytest.mark.parametrize(
    ("prompt", "recipe", "encoding", "media_type"),
    [
        ("shell 300000", "lines", "utf8", "text/plain"),
        ("shell binary 300000", "bytes", "base64", "application/octet-stream"),
    ],
)
def test_300_000_bytes_are_read_as_they_are(
    tmp_path: Path, prompt: str, recipe: str, encoding: str, media_type: str
) -> None:
    with reading(tmp_path) as client:
        client.start()
        handle = client.handle_of(prompt)
        assert client.witnessed() == [], "the first read starts the read host, nothing else does"
        whole = simulated_bytes(handle, recipe)
        assert len(whole) == handle["byteLen"] == 300_000
        page = client.read(handle)
        data = page_bytes(page)
        assert page == address(handle) | {
            "content": page["content"],
            "encoding": encoding,
            "mediaType": media_type,
            "offsetBytes": 0,
            "byteLen": len(data),
            "eof": False,
        }
        assert 65_533 <= len(data) <= 65_536, "the usual length, but for a character that would be cut"
        assert client.read_all(handle, 65_536) == whole
        assert client.read_all(handle, 1_048_576) == whole
        assert len(client.read_hosts()) == 1, "one host serves all reads"
        assert set(client.asked()) == READ_HOST_METHODS
        assert "item/readOutput" not in {call["method"] for call in client.witnessed(read_host=False)}
        assert_ends_well(client)


def test_a_read_of_a_recent_item_is_three_questions(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        client.start()
        handle = client.handle_of("shell 300000")
        client.read(handle)
        assert client.asked() == ["initialize", "initialized", *ONE_READ]
        client.read(handle, offsetBytes=64)
        assert client.asked()[2:] == ONE_READ * 2
        (flags,) = {tuple(call["flags"]) for call in client.witnessed()}
        assert flags[-3:] == ("serve", "--disable-write", "--disable-shell")
        assert_ends_well(client)


def test_characters_across_page_borders_stay_whole(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        client.start()
        handle = client.handle_of("shell 5000")
        whole = simulated_bytes(handle)
        inside = whole.index("東".encode()) + 1
        code, data = client.refused(handle, offsetBytes=inside)
        assert (code, data) == (-32602, {"reason": "offsetInsideCharacter", "alignedNextOffset": inside + 2})
        page = client.read(handle, offsetBytes=data["alignedNextOffset"], lengthBytes=5)
        assert (page["content"], page["byteLen"], page["eof"]) == ("京 ", 4, False), "a page ends before a cut one"
        assert client.read_all(handle, 331) == whole
        assert_ends_well(client)


def test_pages_shorter_than_asked_are_normal(tmp_path: Path) -> None:
    settings(tmp_path, outputBytes=1000)
    with reading(tmp_path) as client:
        client.start()
        handle = client.handle_of("shell 8000")
        page = client.read(handle, lengthBytes=5000)
        assert page["byteLen"] <= 1000 and page["eof"] is False
        assert client.read_all(handle, 5000) == simulated_bytes(handle)
        assert_ends_well(client)


def test_the_end_can_be_read_and_what_lies_beyond_it_cannot(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        client.start()
        handle = client.handle_of("shell 1000")
        page = client.read(handle, offsetBytes=1000)
        assert (page["content"], page["offsetBytes"], page["byteLen"], page["eof"]) == ("", 1000, 0, True)
        assert client.refused(handle, offsetBytes=1001) == (-32602, {"reason": "offsetOutOfRange", "byteLen": 1000})
        nothing = client.handle_of("shell 0")
        page = client.read(nothing)
        assert (nothing["byteLen"], page["content"], page["byteLen"], page["eof"]) == (0, "", 0, True)
        assert_ends_well(client)


def test_the_bytes_of_a_patch_are_read_by_the_same_call(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        client.start()
        handle = client.handle_of("edit", "muse/patch")
        patch = json.loads(client.read_all(handle, 64))
        assert "grüßt die Welt ✓" in patch["files"][0]["newText"]
        assert_ends_well(client)


# -- at any time


def test_reads_go_on_while_a_turn_runs_and_the_turn_does_not_notice(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        client.start()
        handle = client.handle_of("shell 300000")
        whole = simulated_bytes(handle)
        quiet = client.adapter.new_session(tmp_path)
        client.adapter.prompt(quiet, "stream 3000 40")
        busy = client.adapter.new_session(tmp_path)
        turn = client.adapter.begin_prompt(busy, "stream 3000 40")
        assert client.read_all(handle, 65_536) == whole
        assert client.adapter.response(turn)["result"] == {"stopReason": "end_turn"}
        assert client.adapter.text(busy) == client.adapter.text(quiet)
        slow = client.adapter.begin_prompt(client.session_id, "slow 20")
        client.adapter.wait_for_update(lambda update: update["sessionUpdate"] == "agent_message_chunk")
        assert client.read_all(handle, 65_536) == whole, "also in the session that is busy"
        client.adapter.notify("session/cancel", {"sessionId": client.session_id})
        assert client.adapter.response(slow)["result"] == {"stopReason": "cancelled"}
        assert_ends_well(client)


def test_reads_go_on_while_the_user_is_asked(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        client.start()
        handle = client.handle_of("shell 300000")
        turn = client.adapter.begin_prompt(client.session_id, "approve")
        asked = client.adapter.wait_for(lambda frame: frame.get("method") == "session/request_permission")
        assert client.read_all(handle, 65_536) == simulated_bytes(handle)
        option = next(row for row in asked["params"]["options"] if row["kind"] == "allow_once")
        client.adapter.send({"jsonrpc": "2.0", "id": asked["id"], **permission(option["optionId"])})
        assert client.adapter.response(turn)["result"] == {"stopReason": "end_turn"}
        assert_ends_well(client)


def test_many_reads_at_once_get_the_pages_they_asked_for(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        client.start()
        handle = client.handle_of("shell binary 300000")
        whole = simulated_bytes(handle, "bytes")
        offsets = [number % 10 * 30_000 for number in range(30)]
        reads = [client.begin(handle, offsetBytes=at, lengthBytes=30_000) for at in offsets]
        pages = [client.adapter.response(read)["result"] for read in reads]
        assert [page_bytes(page) for page in pages] == [whole[at : at + 30_000] for at in offsets]
        assert_ends_well(client)


@pytest.mark.parametrize("method", ["session/load", "session/resume"])
def test_after_a_restart_of_everything_the_bytes_are_still_there(tmp_path: Path, method: str) -> None:
    with reading(tmp_path) as client:
        session_id = client.start()
        handle = client.handle_of("shell 300000")
        assert client.read_all(handle, 100_000) == simulated_bytes(handle)
        assert_ends_well(client)
    with reading(tmp_path) as client:
        assert client.refused(handle) == (-32002, {"reason": "sessionUnknown", "sessionId": session_id})
        client.open_stored(session_id, method)
        told = client.adapter.wait_for_update(lambda update: "muse/output" in update.get("_meta", {}))
        assert told["_meta"]["muse/output"] == handle
        assert client.read_all(handle, 100_000) == simulated_bytes(handle)
        assert_ends_well(client)


# -- the read host


def test_a_read_host_is_kept_warm_or_not_at_all(tmp_path: Path) -> None:
    with reading(tmp_path, "--read-host-idle", "0") as client:
        client.start()
        handle = client.handle_of("shell 1000")
        for number in (1, 2):
            assert client.read(handle)["byteLen"] == 1000
            assert len(client.read_hosts()) == number, "one host for each read"
            assert_gone(client.read_hosts())
        assert_ends_well(client)


def test_a_read_host_goes_when_it_has_been_idle(tmp_path: Path) -> None:
    with reading(tmp_path, "--read-host-idle", "0.2") as client:
        client.start()
        handle = client.handle_of("shell 1000")
        client.read(handle)
        assert_gone(client.read_hosts())
        client.read(handle)
        assert len(client.read_hosts()) == 2
        assert_ends_well(client)


@pytest.mark.parametrize("flags", [["--disable-write"], ["--disable-write", "--disable-shell"]])
def test_the_read_host_gets_the_flags_its_version_has(tmp_path: Path, flags: list[str]) -> None:
    host = place(tmp_path / "host", StoringHost, workspace=str(tmp_path), flags=flags)
    with reading(tmp_path, muse=host.muse) as client:
        client.start()
        handle = client.handle_of("go")
        assert client.read(handle)["byteLen"] == 65_535
        assert ["serve", *flags] in calls(host)
        assert [frame["method"] for frame in read_by(host).received()] == ["initialize", "initialized", *ONE_READ]
        execution = {frame["method"] for frame in host.received()}
        assert not execution & {"item/readOutput", "session/read"}
        assert client.adapter.finish() == 0
    assert_gone(host.pids())


# -- refusals


def test_what_is_not_there_is_refused_and_never_guessed(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        session_id = client.start()
        handle = client.handle_of("shell 1000")
        other = client.handle_of("shell 2000")
        patch = client.handle_of("edit", "muse/patch")
        gone = client.handle_of("shell 3000 available missing")
        for wrong in (
            {"outputRef": "out-gone"},
            {"outputRef": other["outputRef"]},
            {"outputRef": patch["outputRef"]},
            {"outputRef": f"muse-output://{session_id}/{handle['outputRef']}"},
            {"outputRef": handle["outputRef"].upper()},
            {"itemId": "item-gone"},
        ):
            code, data = client.refused(handle, **wrong)
            assert 0 < data.pop("eventsScanned") < 100
            exhausted = "itemId" in wrong
            found = {"reason": "outputNotFound", "pagesScanned": 1, "historyExhausted": exhausted}
            assert (code, data) == (-32002, found), wrong
        assert client.refused(gone) == (-32002, {"reason": "outputUnavailable", "availability": "missing"})
        for field, value in (("lengthBytes", 0), ("lengthBytes", 1_048_577), ("offsetBytes", -1), ("itemId", "")):
            assert client.refused(handle, **{field: value}) == (-32602, {"reason": "invalidParams", "field": field})
        for length in (1.0, True, "9"):
            assert client.refused(handle, lengthBytes=length)[1]["field"] == "lengthBytes"
        assert client.read(handle)["byteLen"] == 1000, "and the rest still works"
        assert_ends_well(client)


def test_history_is_looked_through_so_far_and_no_farther(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        client.start()
        handle = client.handle_of("shell 1000")
        client.adapter.prompt(client.session_id, "history 700")
        assert client.read(handle)["byteLen"] == 1000
        pages = client.asked().count("view/page")
        assert 7 <= pages <= 20
        client.adapter.prompt(client.session_id, "history 1500")
        before = client.asked().count("view/page")
        beyond = {"pagesScanned": 20, "eventsScanned": 2000, "historyExhausted": False}
        assert client.refused(handle) == (-32002, {"reason": "outputNotFound", **beyond})
        assert client.asked().count("view/page") - before == 20
        assert_ends_well(client)


@pytest.mark.parametrize(
    ("stored_as", "reason"),
    [
        ({"workspace": "/"}, "workspaceMismatch"),
        ({"session_member": "ses-medlar"}, "sessionNotStored"),
        ({"refusals": {"session/read": {"code": -32020, "message": "", "data": {"kind": "sessionNotFound"}}}}, ""),
    ],
)
def test_the_stored_session_must_be_the_open_one(tmp_path: Path, stored_as: Json, reason: str) -> None:
    host = place(tmp_path / "host", StoringHost, **{"workspace": str(tmp_path), **stored_as})
    with reading(tmp_path, muse=host.muse) as client:
        client.start()
        client.handle_of("go")
        assert client.refused(HANDLE) == (-32002, {"reason": reason or "sessionNotStored"})
        assert client.adapter.finish() == 0


def test_only_the_newest_revision_counts(tmp_path: Path) -> None:
    older, newer = revised(2, outputRef=reference(REF)), revised(3, outputRef=reference("out-medlar"))
    foreign = revised(4, session_id="ses-medlar", outputRef=reference(REF))
    host = place(tmp_path / "host", StoringHost, workspace=str(tmp_path), pages=[[older, newer, foreign]])
    with reading(tmp_path, muse=host.muse) as client:
        client.start()
        client.handle_of("go")
        scanned = {"pagesScanned": 1, "eventsScanned": 2, "historyExhausted": False}
        assert client.refused(HANDLE) == (-32002, {"reason": "outputNotFound", **scanned})
        assert client.read(HANDLE | {"outputRef": "out-medlar"})["byteLen"] > 0
        assert client.adapter.finish() == 0


def test_a_session_has_to_be_open_here(tmp_path: Path) -> None:
    with reading(tmp_path, faults=[{"at": "view/page", "do": "slow", "seconds": 1.5, "flag": None}]) as client:
        session_id = client.start()
        handle = client.handle_of("shell 1000")
        client.adapter.call("session/close", {"sessionId": session_id})
        assert client.refused(handle) == (-32002, {"reason": "sessionClosed", "sessionId": session_id})
        strange = handle | {"sessionId": "ses-medlar"}
        assert client.refused(strange) == (-32002, {"reason": "sessionUnknown", "sessionId": "ses-medlar"})
        loading = client.adapter.begin("session/load", stored(session_id, tmp_path))
        wait_until(lambda: "view/page" in {call["method"] for call in client.witnessed(read_host=False)})
        assert client.refused(handle) == (-32002, {"reason": "sessionBusy", "sessionId": session_id})
        assert "result" in client.adapter.response(loading)
        assert handles(client.adapter.updates(session_id))[-1] == handle
        assert client.read(handle)["byteLen"] == 1000
        assert_ends_well(client)


def test_a_client_may_call_it_with_an_id_of_any_kind(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        client.start()
        handle = client.handle_of("shell 1000")
        client.adapter.send({"jsonrpc": "2.0", "id": "a read", "method": READ, "params": address(handle)})
        assert client.adapter.response("a read")["result"]["byteLen"] == 1000
        client.adapter.send({"jsonrpc": "2.0", "id": "b", "method": READ, "params": {}})
        assert error_of(client.adapter.response("b")["error"])[1]["field"] == "sessionId"
        assert_ends_well(client)
