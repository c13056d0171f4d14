"""The page: one file, which fetches nothing, and in which nothing that was recorded is markup."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import stat
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from adapter.cli.inspect.page import NoPage, page, write_page
from tests.inspecting import SESSION, Transcript

HOSTILE = "</script></title></h1><script>alert(1)</script><!--<img src=x onerror=alert(2)>{{script}}&lt;\u2028\u2029"


class Elements(HTMLParser):
    """The elements of a page with their attributes, and the text of scripts, styles and titles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._in = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._in = f"{tag} {dict(attrs).get('id', '')}".strip()

    def handle_endtag(self, tag: str) -> None:
        self._in = ""

    def handle_data(self, data: str) -> None:
        self.texts[self._in] = self.texts.get(self._in, "") + data

    def tags(self) -> list[str]:
        return [tag for tag, _ in self.found]


def hostile(directory: Path) -> str:
    made = Transcript()
    made.call("initialize", {"clientInfo": {"name": HOSTILE}}, {"serverInfo": {"name": HOSTILE, "version": "1"}})
    made.tell(HOSTILE, {"sessionId": HOSTILE, "turnId": HOSTILE, HOSTILE: HOSTILE})
    made.item("completed", {"itemId": HOSTILE, "kind": "agentMessage", "status": "failed", "text": HOSTILE})
    made.server(HOSTILE)
    made.lines.append(HOSTILE)
    recording, ladder = made.read(directory / "r", {"scenario": HOSTILE, "description": HOSTILE})
    return page(recording, ladder, HOSTILE)


def plain(directory: Path) -> str:
    made = Transcript()
    made.shake_hands()
    made.tell("session/nameChanged", {"sessionId": SESSION, "name": "Trees"})
    return page(*made.read(directory / "r"), "trees")


@pytest.mark.skipif(os.name != "posix", reason="pipes with a name are POSIX's")
def test_a_pipe_in_the_place_of_a_page_is_left_as_it_is(tmp_path: Path) -> None:
    target = tmp_path / "page.html"
    os.mkfifo(target)
    made = Transcript()
    made.shake_hands()
    with pytest.raises(NoPage, match="it is no regular file"):
        write_page(target, *made.read(tmp_path / "r"), "trees")
    assert target.is_fifo()


def test_nothing_that_was_recorded_is_markup(tmp_path: Path) -> None:
    usual, attacked = Elements(plain(tmp_path)), Elements(hostile(tmp_path))

    assert attacked.tags() == usual.tags()
    assert attacked.found == usual.found
    assert attacked.texts["script"] == usual.texts["script"]
    data: dict[str, Any] = json.loads(attacked.texts["script recording"])
    assert "<script>alert(1)</script>" in data["title"]
    assert HOSTILE in json.loads(data["frames"][2][1])["method"]


def test_the_policy_names_the_digests_of_what_the_page_carries_and_forbids_the_rest(tmp_path: Path) -> None:
    found = Elements(plain(tmp_path))
    (policy,) = [attrs["content"] for tag, attrs in found.found if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policy is not None

    def digest(text: str) -> str:
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    assert policy.split("; ") == [
        "default-src 'none'",
        f"script-src '{digest(found.texts['script'])}'",
        f"style-src '{digest(found.texts['style'])}'",
        "base-uri 'none'",
        "form-action 'none'",
    ]


def test_the_page_refers_to_nothing_outside(tmp_path: Path) -> None:
    text = plain(tmp_path)

    assert not re.search(r"https?:|//[a-z]|@import|url\(", text)
    assert not [attrs for _, attrs in Elements(text).found if {"src", "href", "action"} & set(attrs)]


def test_a_page_is_for_its_owner_and_replaces_only_pages(tmp_path: Path) -> None:
    made = Transcript()
    made.shake_hands()
    recording, ladder = made.read(tmp_path / "r")
    target, other, empty = tmp_path / "page.html", tmp_path / "notes.html", tmp_path / "empty.html"
    other.write_text("<!doctype html><p>mine")
    empty.write_text("")

    write_page(target, recording, ladder, "first")
    if os.name == "posix":
        assert stat.S_IMODE(target.stat().st_mode) == 0o600
    write_page(target, recording, ladder, "second")
    assert "<title>second</title>" in target.read_text("utf-8")
    for kept in (other, empty):
        before = kept.read_bytes()
        with pytest.raises(NoPage, match="is something else than a page of a recording"):
            write_page(kept, recording, ladder, "third")
        assert kept.read_bytes() == before
    assert sorted(path.name for path in tmp_path.glob("*.html")) == ["empty.html", "notes.html", "page.html"]
    assert not list(tmp_path.glob(".*"))


def test_a_page_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    made = Transcript()
    made.shake_hands()
    recording, ladder = made.read(tmp_path / "r")

    with pytest.raises(NoPage, match="cannot be written: "):
        write_page(tmp_path / "nowhere" / "page.html", recording, ladder, "x")
    with pytest.raises(NoPage, match="cannot be written: "):
        write_page(tmp_path, recording, ladder, "x")
