"""Links in README and `docs/` lead somewhere, on a site of the project's files as well as on the one that is built, and
what is said to be JSON is JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.documents import DOCS, DOCUMENTS, ROOT, anchor, blocks, headings, links

PAGES_MADE_BY_THE_BUILD = {"changelog.md"}


def named(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_links_lead_somewhere(path: Path) -> None:
    for target, fragment in links(path.read_text("utf-8")):
        if target.startswith("https://"):
            assert re.fullmatch(r"https://[\w.-]+\.\w+(/[\w.~%/-]*)?", target), target
            continue
        page = path.parent / target if target else path
        assert page.exists(), target
        if fragment:
            assert fragment in {anchor(heading) for heading in headings(page.read_text("utf-8"))}, (target, fragment)


@pytest.mark.parametrize("path", DOCS, ids=named)
def test_pages_of_the_site_link_to_nothing_that_is_not_on_it(path: Path) -> None:
    for target, _ in links(path.read_text("utf-8")):
        if target and not target.startswith("https://"):
            page = (path.parent / target).resolve()
            assert page == ROOT / "CHANGELOG.md" or (ROOT / "docs") in page.parents, target


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_named_files_exist(path: Path) -> None:
    found = re.findall(
        r"(?<![\w/-])(?:adapter|distribution|docs|fixtures|host_probe|tests)/[\w/.-]*[\w]", path.read_text("utf-8")
    )
    for name in found:
        assert (ROOT / name).exists(), name


@pytest.mark.parametrize("path", DOCS, ids=named)
def test_a_page_has_one_title_and_no_heading_twice(path: Path) -> None:
    text = path.read_text("utf-8")
    anchors = [anchor(heading) for heading in headings(text)]

    assert text.startswith("# ")
    assert len(re.findall(r"^# ", re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M), re.M)) == 1
    assert len(anchors) == len(set(anchors))


def test_every_page_is_in_the_sites_contents_once() -> None:
    contents = (ROOT / "mkdocs.yml").read_text("utf-8").split("\nnav:\n")[1]
    listed = re.findall(r"^ +- .*: ([\w-]+\.md)$", contents, re.MULTILINE)

    assert sorted(listed) == sorted({path.name for path in DOCS} | PAGES_MADE_BY_THE_BUILD)


def test_json_is_json() -> None:
    found = [(path.name, block) for path in DOCUMENTS for block in blocks(path.read_text("utf-8"), "json")]

    assert len(found) > 10
    for name, block in found:
        # A document, or one a line.
        try:
            json.loads(block)
        except ValueError:
            for line in block.splitlines():
                assert type(json.loads(line)) is dict, (name, line)


def test_consoles_have_commands_only() -> None:
    """What they say stands in a block of its own, so that all of a console can be copied into one."""
    lines = [
        line for path in DOCUMENTS for block in blocks(path.read_text("utf-8"), "console") for line in block.split("\n")
    ]

    assert len(lines) > 30
    assert [line for line in lines if line and not line.startswith("$ ")] == []
