"""What `mkdocs.yml` cannot say: a site that needs neither a server nor the network, with the changelog on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File

FETCHED: Final = "https://unpkg.com/iframe-worker/shim"
"""The theme's way to search in a site that is opened from a folder, fetched each time; ours is in `docs/assets`."""


def on_files(files: Any, *, config: Any) -> Any:
    """Add CHANGELOG.md, which stands beside README.md for those who read the project's files, as a page."""
    content = Path(config.config_file_path).with_name("CHANGELOG.md").read_text("utf-8")
    files.append(File.generated(config, "changelog.md", content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to it lead to that page."""
    return markdown.replace("](../CHANGELOG.md", "](changelog.md")


def on_post_page(output: str, **_: Any) -> str:
    """Load nothing from elsewhere."""
    return output.replace(FETCHED, "assets/search-in-folder.js")


def on_post_build(*, config: Any) -> None:
    """Leave out the page of a server that does not find another: its links only work at the root of one."""
    (Path(config.site_dir) / "404.html").unlink()
