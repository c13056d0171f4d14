"""What the check of the built site finds."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.site_check import problems

SOUND = """
<link rel="stylesheet" href="assets/a.css"><script src="assets/a.js"></script>
<img src="data:image/png;base64,AA"><h2 id="here">x</h2>
<a href="#here">a</a> <a href="sub/other.html#there">b</a> <a href="https://example.org/x">c</a> <a href="sub/">d</a>
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for name, text in {
        "index.html": SOUND,
        "sub/other.html": '<p id="there"><a href="../index.html#here">back</a>',
        "sub/index.html": "",
        "assets/a.css": "a { background: url(b.png) } /* url('data:x') */",
        "assets/a.js": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_sound_site(site: Path) -> None:
    assert problems(site) == []


@pytest.mark.parametrize(
    ("added", "problem"),
    [
        ('<script src="https://cdn.example.org/x.js"></script>', "loads https://cdn.example.org/x.js"),
        ('<link rel="stylesheet" href="//fonts.example.org/x">', "loads //fonts.example.org/x"),
        ('<img src="http://example.org/x.png">', "loads http://example.org/x.png"),
        ('<img srcset="https://example.org/x.png 2x">', "loads https://example.org/x.png"),
        ('<iframe src="https://example.org/"></iframe>', "loads https://example.org/"),
        ('<p style="background: url(https://example.org/x)">', "loads https://example.org/x"),
        ('<a href="missing.html">', "missing.html leads nowhere"),
        ('<script src="missing.js"></script>', "missing.js leads nowhere"),
        ('<a href="sub/other.html#nowhere">', "sub/other.html#nowhere names no place on that page"),
        ('<a href="#nowhere">', "#nowhere names no place on that page"),
        ('<a href="page.md">', "page.md leads nowhere"),
        ('<a href="http://example.org">', "http://example.org is no address of a page"),
        ('<a href="https://localhost/">', "https://localhost/ is no address of a page"),
    ],
)
def test_what_is_wrong_is_found(site: Path, added: str, problem: str) -> None:
    (site / "index.html").write_text(SOUND + added)

    assert f"index.html: {problem}" in problems(site)


def test_a_style_sheet_that_fetches_is_found(site: Path) -> None:
    (site / "assets/a.css").write_text("@import 'https://example.org/x.css'; a { background: url(//example.org/y) }")

    assert problems(site) == ["assets/a.css: loads https://example.org/x.css", "assets/a.css: loads //example.org/y"]


def test_no_site_is_no_sound_site(tmp_path: Path) -> None:
    assert problems(tmp_path) == [f"{tmp_path}: no pages"]
