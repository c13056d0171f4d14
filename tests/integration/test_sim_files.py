"""Scripts of the simulated host that change files for real, with and without consent (`msp.md §13.4, §15`)."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sim_driver import Json, SimHost, items_of, params_of, sim_host


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SimHost]:
    """A newest host that has shaken hands."""
    with sim_host(tmp_path / "home") as running:
        running.handshake()
        yield running


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "wörk"
    folder.mkdir()
    return folder


def tool(frames: list[Json]) -> Json:
    (item,) = items_of(frames, "toolCall")
    return item


def patch(host: SimHost, session: str, item: Json) -> Json:
    read = {"sessionId": session, "itemId": item["itemId"], "outputRef": item["patchRef"]["id"]}
    (file,) = json.loads(host.ask("item/readOutput", read)["content"])["files"]
    found: Json = file
    return found


def decide(host: SimHost, asked: Json, choice: str, **params: str) -> None:
    decision = {key: asked[key] for key in ("sessionId", "approvalId")}
    requirement = asked["currentRequirementId"]
    host.command("approval/decide", {**decision, "requirementId": requirement, "choiceId": choice, **params})


def test_a_file_is_made_replaced_and_deleted(host: SimHost, work: Path) -> None:
    session = host.start(workspaceRoot=str(work))
    made = tool(host.turn(session, "write notes/a.txt Grüße\naus 東京"))
    path = work / "notes" / "a.txt"
    assert path.read_text("utf-8") == "Grüße\naus 東京"
    assert (made["tool"], json.loads(made["args"])) == (
        "write_file",
        {"path": "notes/a.txt", "content": "Grüße\naus 東京"},
    )
    assert made["patchSummary"] == {"files": 1, "added": 2, "removed": 0}
    assert patch(host, session, made)["oldText"] is None

    changed = tool(host.turn(session, f"replace {path} Grüße Viele Grüße"))
    assert path.read_text("utf-8") == "Viele Grüße\naus 東京"
    assert json.loads(changed["args"]) == {"path": str(path), "old_str": "Grüße", "new_str": "Viele Grüße"}
    diff = patch(host, session, changed)
    assert (diff["path"], diff["oldText"], diff["newText"]) == (
        str(path),
        "Grüße\naus 東京",
        "Viele Grüße\naus 東京",
    )

    gone = tool(host.turn(session, "delete notes/a.txt"))
    assert (gone["tool"], gone["status"]) == ("delete_file", "completed")
    assert not path.exists()
    assert patch(host, session, gone)["newText"] is None


@pytest.mark.parametrize("prompt", ["replace a.txt nothing else", "replace gone.txt a b", "delete gone.txt"])
def test_what_cannot_be_changed_fails_and_stays(host: SimHost, work: Path, prompt: str) -> None:
    (work / "a.txt").write_text("as it was")
    failed = tool(host.turn(host.start(workspaceRoot=str(work)), prompt))
    assert (failed["status"], failed["failureKind"]) == ("failed", "tool_failed")
    assert (work / "a.txt").read_text() == "as it was"


@pytest.mark.parametrize(
    "prompt",
    [
        "write ../o x",
        "write /OUTSIDE/o x",
        "write link/o x",
        "delete ../o",
        "ask-write ../o x",
        "ask-replace ../o st x",
    ],
)
def test_nothing_outside_the_folders_is_touched(host: SimHost, work: Path, tmp_path: Path, prompt: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "o").write_text("stays")
    (work / "link").symlink_to(outside)
    session = host.start(workspaceRoot=str(work))
    refused = tool(host.turn(session, prompt.replace("/OUTSIDE", str(outside))))
    assert (refused["status"], refused["failureKind"]) == ("rejected", "policy_denied")
    assert list(outside.iterdir()) == []
    assert (tmp_path / "o").read_text() == "stays"


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pipes with names")
def test_what_is_no_text_file_is_left_alone(host: SimHost, work: Path) -> None:
    os.mkfifo(work / "pipe")
    (work / "folder").mkdir()
    (work / "binary").write_bytes(b"\xff\xfe")
    (work / "large").write_bytes(b"x" * (4 * 1024 * 1024 + 1))
    session = host.start(workspaceRoot=str(work))
    for name in ("pipe", "folder", "binary", "large"):
        assert tool(host.turn(session, f"write {name} x"))["status"] == "failed", name
    assert (work / "binary").read_bytes() == b"\xff\xfe"


@pytest.mark.parametrize("name", ["nul\0", "loop/x"])
def test_a_path_that_leads_nowhere_is_refused(host: SimHost, work: Path, name: str) -> None:
    (work / "loop").symlink_to(work / "loop")
    session = host.start(workspaceRoot=str(work))
    assert tool(host.turn(session, f"write {name} x"))["status"] in ("rejected", "failed")
    assert host.turn(session, "hello")[-1]["params"]["terminal"] == "completed"


def test_a_second_root_is_a_place_to_write(host: SimHost, work: Path, tmp_path: Path) -> None:
    second = tmp_path / "second"
    second.mkdir()
    session = host.start(workspaceRoot=str(work), workspaceRoots=[str(work), str(second)])
    assert tool(host.turn(session, f"write {second}/b.txt b"))["status"] == "completed"
    assert (second / "b.txt").read_text() == "b"


def test_a_host_that_may_not_write_does_not(work: Path, tmp_path: Path) -> None:
    with sim_host(tmp_path / "home", "1.4.13", "--disable-write") as host:
        host.handshake()
        denied = tool(host.turn(host.start(workspaceRoot=str(work)), "write a.txt x"))
        assert (denied["status"], denied["failureKind"]) == ("rejected", "policy_denied")
        assert list(work.iterdir()) == []


@pytest.mark.parametrize("prompt", ["ask-write a.txt new", "ask-replace a.txt old new"])
@pytest.mark.parametrize(("choice", "after"), [("allow_once", "new"), ("deny", "old"), ("abort", "old")])
def test_a_file_is_touched_after_consent_only(host: SimHost, work: Path, prompt: str, choice: str, after: str) -> None:
    path = work / "a.txt"
    path.write_text("old")
    host.prompt(host.start(workspaceRoot=str(work)), prompt)
    asked = host.until_method("approval/requested")
    subject = asked["subject"]
    assert (subject["kind"], subject["access"], subject["path"]) == ("fileAccess", "write", str(path))
    assert path.read_text() == "old"
    decide(host, asked, choice)
    host.until_method("turn/completed")
    assert path.read_text() == after
    assert tool(host.frames)["status"] == ("completed" if after == "new" else "rejected")
    assert ("patchRef" in tool(host.frames)) == (after == "new")


def test_consent_given_after_a_crash_changes_the_file_once(work: Path, tmp_path: Path) -> None:
    with sim_host(tmp_path / "home") as first:
        first.handshake()
        session = first.start(workspaceRoot=str(work))
        first.prompt(session, "ask-write a.txt new")
        lost = first.until_method("approval/requested")
    with sim_host(tmp_path / "home") as second:
        second.handshake()
        second.command("session/resume", {"sessionId": session})
        asked = second.until_method("approval/request")
        assert asked["approvalId"] != lost["approvalId"]
        assert not (work / "a.txt").exists()
        decide(second, asked, "allow_once")
        assert second.until_method("turn/completed")["terminal"] == "completed"
        assert (work / "a.txt").read_text() == "new"


def test_consent_for_ever_names_its_rule(host: SimHost, work: Path) -> None:
    host.prompt(host.start(workspaceRoot=str(work)), "ask-write a.txt new")
    asked = host.until_method("approval/requested")
    (always,) = [choice for choice in asked["availableChoices"] if choice["decision"] == "approvedPolicyAmendment"]
    assert (always["scope"], always["rulePreview"]) == ("localPersistent", f"write {work}/a.txt")
    decide(host, asked, always["choiceId"])
    resolved = host.until_method("approval/resolved")
    assert resolved["amendment"] == {"durability": "localPersistent", "rulePreview": f"write {work}/a.txt"}
    assert params_of(host.frames, "approval/resolved") == [resolved]
