"""The site, opened from the folder it was built in: it can be searched, and nothing leaves the machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from tests.browser.chromium import Chromium, find_chromium, running_chromium
from tests.documents import ROOT, blocks, doc, section

SITE: Final = ROOT / "site"

PAGES: Final = ("index.html", "editors.html", "errors.html", "changelog.html")
"""With a picture, with snippets, with tables, and one that the build makes. `make site` looks at all of them."""

PROGRAM: Final = find_chromium()

pytestmark = [
    pytest.mark.skipif(PROGRAM is None, reason="there is no chromium"),
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="there is no site; `make site` builds it"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    assert PROGRAM is not None
    with running_chromium(PROGRAM, tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def address(page: str) -> str:
    return (SITE / page).as_uri()


def test_pages_fetch_nothing_from_elsewhere(browser: Chromium) -> None:
    for page in PAGES:
        browser.open(address(page))
        assert browser.text("h1"), page

    assert len(browser.requests) > 2 * len(PAGES)
    assert [one for one in browser.requests if not one.startswith(("file:", "data:", "about:"))] == []
    assert browser.complaints == []


def test_a_word_is_found_without_a_server(browser: Chromium) -> None:
    browser.open(address("index.html"))
    browser.run("document.querySelector('input[name=query]').focus()")
    for letter in "hostVersionUnverified":
        browser.press(letter)
    browser.wait("document.querySelectorAll('.md-search-result__link').length > 0")

    assert browser.run("document.querySelector('.md-search-result__link').href").startswith(SITE.as_uri())
    assert browser.complaints == []


def test_what_is_copied_has_no_prompts(browser: Chromium) -> None:
    browser.open(address("install.html"))
    browser.run("document.addEventListener('copy', event => window.copied = event.target.value)")
    browser.wait("document.querySelector('[data-clipboard-target]') !== null")
    browser.run("document.querySelector('.gp').closest('.highlight').id = 'commands'")
    browser.click("#commands [data-clipboard-target]")
    browser.wait("'copied' in window")

    (shown,) = blocks(section(doc("install.md"), "From a checkout"), "console")
    assert browser.text("#commands code") == shown
    assert browser.run("window.copied") == shown.replace("$ ", "").rstrip()


def test_both_colours_are_those_of_the_system(browser: Chromium) -> None:
    shades: list[str] = []
    for dark in (False, True):
        browser.look(1200, 800, dark=dark)
        browser.open(address("errors.html"))
        shades.append(browser.run("getComputedStyle(document.body).backgroundColor"))

    assert len(set(shades)) == 2
