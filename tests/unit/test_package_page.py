"""The page of the package on an index is that of the README, and can be read without the files of the project."""

from __future__ import annotations

import tomllib

import pytest

from tests.documents import README, ROOT, headings, section
from tests.package_page import PAGE, SECTIONS, links_to_files, package_page

TEXT = PAGE.read_text("utf-8")


def test_it_is_written_of_the_readme() -> None:
    assert package_page(README.read_text("utf-8")) == TEXT, "`make docs` writes it"


def test_it_is_the_page_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

    assert project["readme"] == PAGE.relative_to(ROOT).as_posix()


def test_it_has_what_somebody_without_a_checkout_needs() -> None:
    assert headings(TEXT) == ["muse-adapter", "Install", *SECTIONS, "Licence"]
    assert "make " not in section(TEXT, "Install")
    assert "pipx install muse-adapter" in section(TEXT, "Install")


def test_nothing_on_it_leads_to_a_file() -> None:
    assert links_to_files(TEXT) == []


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ("[Prompts](docs/prompts.md) with", "Prompts (`docs/prompts.md`) with"),
        ("[docs/a.md](docs/a.md).", "`docs/a.md`."),
        ("[Try it](docs/output.md#trying-it).", "Try it (`docs/output.md`)."),
        ("[ACP](https://example.org/acp)", "[ACP](https://example.org/acp)"),
        ("![A picture](docs/a.svg)\n\nText", "Text"),
    ],
)
def test_links_to_files_become_text(written: str, left: str) -> None:
    sections = "".join(f"## {title}\n\ntext\n\n" for title in SECTIONS)
    page = package_page(f"# muse-adapter\n\n{written}\n\n{sections}")

    assert page.split("\n## ")[0] == f"# muse-adapter\n\n{left}\n"


def test_a_link_to_a_file_is_found() -> None:
    assert links_to_files("[a](docs/a.md) [b](#install) ![c](c.svg) [d](https://example.org)") == [
        "docs/a.md",
        "#install",
        "c.svg",
    ]
