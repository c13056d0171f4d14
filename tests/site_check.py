"""`python -m tests.site_check DIR`: the site in DIR asks nothing of the network, and its links lead somewhere.

The build checks links as they stand in the pages' sources; this one looks at what a browser gets: every page, with what
the theme puts around it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

LOADED: Final = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "img": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "track": "src",
    "use": "href",
    "video": "src",
}
"""What a browser fetches by itself."""

_CSS_URL: Final = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")


class Page(HTMLParser):
    """What a page loads, where it leads, and its fragments."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.fragments: set[str] = set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take down one element."""
        given = {name: value or "" for name, value in attrs}
        if target := given.get(LOADED.get(tag, "")):
            self.loaded.append(target)
        self.loaded += [part.split()[0] for part in given.get("srcset", "").split(",") if part.strip()]
        self.loaded += _urls_of_css(given.get("style", ""))
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        self.fragments |= {given[name] for name in ("id", "name") if name in given}


def problems(site: Path) -> list[str]:
    """What is wrong with the site, one line each."""
    pages = {path.resolve(): Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}
    found = [f"{site}: no pages"] if not pages else []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        found += [f"{name}: loads {url}" for url in page.loaded if not _is_here(url)]
        found += [f"{name}: {problem}" for url in (*page.loaded, *page.links) for problem in _led(path, url, pages)]
    for sheet in sorted(site.rglob("*.css")):
        urls = _urls_of_css(sheet.read_text("utf-8"))
        found += [f"{sheet.relative_to(site)}: loads {url}" for url in urls if not _is_here(url)]
    return found


def _urls_of_css(text: str) -> list[str]:
    return [one or other for one, other in _CSS_URL.findall(text)]


def _is_here(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "data" or not (parts.scheme or parts.netloc)


def _led(path: Path, url: str, pages: dict[Path, Page]) -> Iterator[str]:
    """What is wrong with a link of a page. One that leads elsewhere is looked at for its form only."""
    parts = urlsplit(url)
    if not _is_here(url):
        if parts.scheme != "https" or "." not in parts.netloc:
            yield f"{url} is no address of a page"
        return
    if parts.scheme == "data":
        return
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        yield f"{url} leads nowhere"
    elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].fragments:
        yield f"{url} names no place on that page"


def main(arguments: list[str]) -> int:
    """Check, and say what is wrong."""
    found = problems(Path(arguments[0]))
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
