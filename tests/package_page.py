"""The page of the package on an index, made of the README: without the picture and the parts for those who have a
checkout, and without links to files, which lead nowhere from there."""

from __future__ import annotations

import re
from typing import Final

from tests.documents import ROOT, links, section

PAGE: Final = ROOT / "distribution" / "package-page.md"

SECTIONS: Final = ("Three ways in", "In Zed", "Commands")
"""What of the README is for somebody who has nothing but the package."""

INSTALL: Final = """\
Python 3.11 or newer is all it needs.

```console
$ pipx install muse-adapter
$ muse-adapter demo
```

The files named here are in the source distribution: the documentation in `docs`, recordings in `fixtures`.
"""

_PICTURE: Final = re.compile(r"^!\[[^\]]*\]\([^)]*\)\n\n", re.MULTILINE)
_LINK: Final = re.compile(r"\[([^\]]+)\]\((?!https://)([^)#]*)(?:#[^)]*)?\)")


def package_page(readme: str) -> str:
    """The page."""
    parts = [_PICTURE.sub("", readme.split("\n## ")[0])]
    parts.append(f"## Install\n\n{INSTALL}")
    parts += [f"## {title}\n{section(readme, title)}" for title in SECTIONS]
    parts.append("## Licence\n\nApache-2.0\n")
    return _LINK.sub(_named, "\n".join(f"{part.strip()}\n" for part in parts))


def _named(link: re.Match[str]) -> str:
    words, file = link.groups()
    return f"`{file}`" if words == file else f"{words} (`{file}`)"


def links_to_files(page: str) -> list[str]:
    """Where links of a page lead that lead nowhere without the files of the project."""
    return [target or f"#{fragment}" for target, fragment in links(page) if not target.startswith("https://")]
