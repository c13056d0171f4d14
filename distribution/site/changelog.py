"""Puts CHANGELOG.md, which stands beside README.md for those who read the project's files, on the site as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs.structure.files import File


def on_files(files: Any, *, config: Any) -> Any:
    """Add the page to those found in `docs`."""
    content = Path(config.config_file_path).with_name("CHANGELOG.md").read_text("utf-8")
    files.append(File.generated(config, "changelog.md", content=content))
    return files
