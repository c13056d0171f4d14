"""Reading README and `docs/`: rows of tables, sections, snippets, and the command lines they show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
README: Final = ROOT / "README.md"
DOCS: Final = sorted((ROOT / "docs").glob("*.md"))
DOCUMENTS: Final = [README, ROOT / "CHANGELOG.md", *DOCS]

_FENCED: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_CODE_SPAN: Final = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_OUR_COMMAND: Final = re.compile(r"(?:^|(?<=\s)|(?P<quote>[\"']))(?:[^\s\"']*/)?muse-adapter (?P<rest>.*)")
_HEADING: Final = re.compile(r"^#+ (.*)$", re.MULTILINE)


def doc(name: str) -> str:
    """The text of a page."""
    return (ROOT / "docs" / name).read_text("utf-8")


def rows(text: str) -> list[list[str]]:
    """The cells of all rows of tables, without their heads."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if line.startswith("|---"):
            found.pop()
        elif line.startswith("|"):
            found.append([cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")])
    return found


def section(text: str, title: str) -> str:
    """What stands below a heading of the second level."""
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


def blocks(text: str, language: str) -> list[str]:
    """The fenced blocks in a language."""
    return [block for found, block in _FENCED.findall(text) if found == language]


def prose(text: str) -> str:
    """The text without its fenced blocks."""
    return _FENCED.sub("", text)


def headings(text: str) -> list[str]:
    """All headings, without their marks."""
    return _HEADING.findall(prose(text))


def anchor(heading: str) -> str:
    """The fragment by which a heading is found: where GitHub and the site would make two, there is an assertion."""
    words = re.sub(r"\]\([^)]*\)", "", heading).replace("`", "").replace("[", "")
    kept = re.sub(r"[^\w\- ]", "", words.lower()).strip()
    here, there = kept.replace(" ", "-"), re.sub(r"[-\s]+", "-", kept)
    assert here == there, f"{heading!r}: GitHub makes #{here}, the site #{there}"
    return here


class Link(NamedTuple):
    """Where a link leads: a file or an address, and a fragment."""

    target: str
    fragment: str


def links(text: str) -> Iterator[Link]:
    """The links and pictures outside of code."""
    for target in re.findall(r"\]\(([^)]+)\)", _CODE_SPAN.sub("", prose(text))):
        path, _, fragment = target.partition("#")
        yield Link(path, fragment)


def command_lines(text: str) -> list[str]:
    """Every `muse-adapter ...` that a text shows, in a console or between backquotes."""
    lines = [
        line.removeprefix("$ ")
        for block in blocks(text, "console")
        for line in block.splitlines()
        if line.startswith("$ ")
    ]
    lines += [span.replace("\n", " ") for span in _CODE_SPAN.findall(prose(text))]
    found = (_OUR_COMMAND.search(line) for line in lines)
    return [match["rest"].partition(match["quote"] or "\n")[0].strip() for match in found if match is not None]
