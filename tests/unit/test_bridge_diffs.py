"""Diffs of tool calls: certain texts before and after, or what the arguments say, and nothing read that is not ours."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from adapter.bridge.tool_cards.diffs import Diffs
from adapter.bridge.tool_cards.file_before import read_before
from adapter.bridge.tool_cards.file_changes import (
    FILE_BYTES,
    Before,
    FileChange,
    Replacement,
    change_of,
    change_text,
    diff_of,
)

ROOT = "/srv/demo/orchard"
FILE = f"{ROOT}/a.txt"

# -- what arguments say


@pytest.mark.parametrize(
    ("tool", "arguments", "change"),
    [
        ("write_file", {"path": "a.txt", "content": "new"}, FileChange(FILE, "new")),
        ("write_file", {"file_path": FILE, "file_content": ""}, FileChange(FILE, "")),
        *(
            ("edit_file", {"path": "a.txt", old: "x", new: "y"}, FileChange(FILE, None, (Replacement("x", "y"),)))
            for old, new in (("old_str", "new_str"), ("old_string", "new_string"), ("old", "new"))
        ),
        (
            "edit_file",
            {"path": "a.txt", "old": "x", "new": "y", "replace_all": True},
            FileChange(FILE, None, (Replacement("x", "y", everywhere=True),)),
        ),
        (
            "edit_file",
            {"path": "a.txt", "edits": [{"old": "x", "new": "y"}, {"old": "1", "new": "2"}]},
            FileChange(FILE, None, (Replacement("x", "y"), Replacement("1", "2"))),
        ),
        ("apply_patch", {"patch": "*** Begin Patch"}, FileChange("", patch="*** Begin Patch")),
        ("edit_file", {"path": "a.txt", "edits": [{"old": "x", "new": "y"}, {"old": "1"}]}, None),
        ("edit_file", {"path": "a.txt", "old": "x"}, None),
        ("write_file", {"content": "new"}, None),
        ("write_file", {"path": "x" * 5000, "content": "new"}, None),
        ("write_file", {"path": 3, "content": "new"}, None),
        ("write_file", "no object", None),
        ("delete_file", {"path": "a.txt", "content": "new"}, None),
        ("read_file", {"path": "a.txt", "content": "new"}, None),
        ("mural", {"path": "a.txt", "content": "new"}, None),
    ],
)
def test_a_change_is_told_by_known_tools_only(tool: str, arguments: Any, change: FileChange | None) -> None:
    assert change_of(tool, arguments, ROOT) == change


def write(content: str) -> FileChange:
    return FileChange(FILE, content)


def replace(old: str, new: str, everywhere: bool = False) -> FileChange:
    return FileChange(FILE, None, (Replacement(old, new, everywhere),))


CHANGES: list[tuple[FileChange, str | None, tuple[str | None, str] | None]] = [
    # A file that is not there is a new one; whatever is there is not.
    (write("new\n"), None, (None, "new\n")),
    (write("new\n"), "old\n", ("old\n", "new\n")),
    # What is there may be what the call has made of it, all or in part.
    (write("new\n"), "new\n", None),
    (write("new\n"), "ne", None),
    (write("new\n"), "", None),
    (replace("b", "B"), "a b c", ("a b c", "a B c")),
    (replace("b", "b b2"), "a b c", ("a b c", "a b b2 c")),
    (replace("b", "b b2"), "a b b2 c", None),
    (replace("b", ""), "a b c", ("a b c", "a  c")),
    # Which of several, or none: nobody knows what comes of it.
    (replace("b", "B"), "b b", None),
    (replace("b", "B", everywhere=True), "b b", ("b b", "B B")),
    (replace("b", "B"), "a c", None),
    (replace("b", "B"), None, None),
    (replace("", "B"), None, (None, "B")),
    (replace("", "B"), "a", None),
]


@pytest.mark.parametrize(("change", "before", "after"), CHANGES)
@pytest.mark.acp(83)
def test_j5_only_certain_texts_are_shown_as_before_and_after(
    change: FileChange, before: str | None, after: tuple[str | None, str] | None
) -> None:
    diff = diff_of(change, Before(before))
    assert (diff and (diff.old, diff.new)) == after
    assert diff_of(change, None) is None


def test_what_waits_for_a_decision_has_not_been_made_yet() -> None:
    diff = diff_of(write("new\n"), Before("ne", certain=True))
    assert diff is not None and (diff.old, diff.new) == ("ne", "new\n")
    assert diff_of(write("new\n"), Before("new\n", certain=True)) is None, "nothing would change"
    assert diff_of(replace("b", "b b2"), Before("b b b2", certain=True)) is None, "which of the two is not known"


@pytest.mark.acp(83)
def test_a_diff_is_capped_by_its_size() -> None:
    assert diff_of(write("ü" * FILE_BYTES), Before(None)) is not None
    assert diff_of(write("ü" * FILE_BYTES), Before("x")) is None
    assert diff_of(replace("b", "B" * FILE_BYTES), Before("a b c")) is None
    text = change_text(write("line\n" * 100_000))
    assert len(text.encode()) < 20_000 and "of 599999 bytes" in text and text.count("```") == 4


def test_arguments_are_shown_in_the_way_of_a_diff() -> None:
    assert change_text(replace("a\nb", "c")) == "```diff\n-a\n-b\n+c\n```"
    assert change_text(write("```\n")) == "````diff\n+```\n````"
    assert change_text(FileChange("", patch="@@ -1 +1 @@\n-a\n+b")) == "```diff\n@@ -1 +1 @@\n-a\n+b\n```"


# -- what is read


def test_a_file_is_read_as_it_is_or_known_to_be_missing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("grüßt\r\n".encode())
    assert read_before(str(tmp_path / "a.txt"), [str(tmp_path)]) == Before("grüßt\r\n")
    assert read_before(str(tmp_path / "b" / "c.txt"), [str(tmp_path)], certain=True) == Before(None, certain=True)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_nothing_is_read_that_is_no_text_inside_the_roots(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "rooted"
    root.mkdir()
    outside.mkdir()
    (outside / "secret.txt").write_text("secret")
    (root / "large").write_bytes(b"x" * (FILE_BYTES + 1))
    (root / "binary").write_bytes(b"a\0b")
    (root / "latin").write_bytes(b"\xfc")
    (root / "folder").mkdir()
    (root / "link").symlink_to(outside / "secret.txt")
    (root / "links").symlink_to(outside)
    (root / "dangling").symlink_to(root / "nowhere")
    (root / "loop").symlink_to(root / "loop")
    (root / "fine").symlink_to(root / "large2")
    (root / "large2").write_bytes(b"x" * FILE_BYTES)
    os.mkfifo(root / "pipe")
    for name in ("large", "binary", "latin", "folder", "link", "links/secret.txt", "links/new.txt", "dangling", "loop"):
        assert read_before(str(root / name), [str(root)]) is None, name
    for path in (root / "pipe", root / ".." / "rooted" / "secret.txt", outside / "new.txt", root, root / "a\0b"):
        assert read_before(str(path), [str(root)]) is None, path
    assert read_before(str(root / "fine"), [str(root)]) == Before("x" * FILE_BYTES)
    assert read_before(str(outside / "secret.txt"), [str(root), str(outside)]) == Before("secret")


def test_a_root_by_another_name_is_the_same_root(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_text("a")
    (tmp_path / "named").symlink_to(tmp_path / "real")
    assert read_before(str(tmp_path / "real" / "a.txt"), [str(tmp_path / "named")]) == Before("a")


# -- at approval time


async def nothing_stored(item: dict[str, Any]) -> list[dict[str, Any]]:
    return []


def diffs_in(folder: Path) -> Diffs:
    return Diffs(str(folder), lambda: (str(folder),), nothing_stored)


def approval(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"approvalId": "a1", "itemId": "i1", "toolName": tool, "rawArgs": json.dumps(arguments)}


@pytest.mark.anyio
@pytest.mark.acp(83)
async def test_j5_a_question_shows_what_would_change(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a b c\n")
    diffs = diffs_in(tmp_path)
    path = str(tmp_path / "a.txt")
    assert await diffs.preview(approval("edit_file", path="a.txt", old_str="b", new_str="B")) == [
        {"type": "diff", "path": path, "oldText": "a b c\n", "newText": "a B c\n"}
    ]
    made = {"type": "diff", "path": str(tmp_path / "new.txt"), "newText": "hello\n"}
    assert await diffs.preview(approval("write_file", path="new.txt", content="hello\n")) == [made]
    assert diffs.previewed("i1") == [made] and diffs.previewed("i2") is None


@pytest.mark.anyio
async def test_a_question_shows_the_arguments_where_the_file_cannot_be_known(tmp_path: Path) -> None:
    diffs = diffs_in(tmp_path)
    [item] = await diffs.preview(approval("edit_file", path="/etc/hostname", old_str="b", new_str="B"))
    assert item["content"]["text"] == "```diff\n-b\n+B\n```"


@pytest.mark.anyio
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"toolName": "write_file"},
        {"toolName": "write_file", "rawArgs": '{"path": '},
        {"toolName": 3, "rawArgs": "{}"},
        approval("bash", command="rm a.txt"),
        approval("delete_file", path="a.txt"),
    ],
)
async def test_a_question_about_no_change_shows_none(tmp_path: Path, params: dict[str, Any]) -> None:
    assert await diffs_in(tmp_path).preview(params) == []
