"""What the registry of ACP agents asks of an entry's two files, in our own words (`acp.md §18`).

What it asks of the running agent is in `tests/interop/registry.py`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

import jsonschema  # type: ignore[import-untyped]
import orjson

Json = dict[str, Any]

ENTRY: Final = Path(__file__).resolve().parents[1] / "distribution" / "registry" / "muse-adapter"

_WORDS: Final[Json] = {"type": "string", "minLength": 1}
_ARGUMENTS: Final[Json] = {
    "args": {"type": "array", "items": {"type": "string"}},
    "env": {"type": "object", "additionalProperties": {"type": "string"}},
}
_PACKAGE: Final[Json] = {
    "type": "object",
    "properties": {"package": _WORDS, **_ARGUMENTS},
    "required": ["package"],
    "additionalProperties": False,
}

SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "pattern": "^[a-z][a-z0-9-]*$"},
        "name": _WORDS,
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        "description": _WORDS,
        "repository": {"type": "string", "pattern": "^https://"},
        "website": {"type": "string", "pattern": "^https://"},
        "authors": {"type": "array", "items": _WORDS},
        "license": _WORDS,
        "license_url": {"type": "string", "pattern": "^https://"},
        "distribution": {
            "type": "object",
            "properties": {"uvx": _PACKAGE, "npx": _PACKAGE},
            "minProperties": 1,
            "additionalProperties": False,
        },
    },
    "required": ["id", "name", "version", "description", "distribution"],
    "additionalProperties": False,
}
"""Of an agent that comes as a package; `icon` is set by the registry, and one that comes as a binary has more."""

RUNNERS_OWN: Final = re.compile(r"PATH|HOME|(PYTHON|PIP|UV|NODE|NPM|GITHUB|AWS|GOOGLE|XDG|SSH|LD)_.*")
"""Names of variables that would touch the runner; it drops them."""

ICON_SIZE: Final = 16.0
COLOURS: Final = frozenset({"currentColor", "none", "inherit"})
_PAINT: Final = re.compile(r"(?<![\w-])(?:fill|stroke)\s*:\s*([^;}\"']+)")
_SVG: Final = "{http://www.w3.org/2000/svg}"


def problems(directory: Path) -> list[str]:
    """What keeps an entry out of the registry."""
    try:
        agent = orjson.loads((directory / "agent.json").read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        return [f"agent.json: {error}"]
    found = [f"agent.json: {error.message}" for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(agent)]
    if not found:
        found = [*_agent_problems(agent, directory.name)]
    try:
        icon = (directory / "icon.svg").read_text("utf-8")
    except OSError as error:
        return [*found, f"icon.svg: {error}"]
    return [*found, *(f"icon.svg: {problem}" for problem in _icon_problems(icon))]


def _agent_problems(agent: Json, directory: str) -> Iterator[str]:
    if agent["id"] != directory:
        yield f"the id {agent['id']} is not the name of its directory"
    for kind, start in agent["distribution"].items():
        package = start["package"]
        version = re.split("==" if kind == "uvx" else "(?<=.)@", package, maxsplit=1)[1:]
        if version != [agent["version"]]:
            yield f"{kind}: the package {package} is not pinned to {agent['version']}"
        for name in start.get("env", {}):
            if RUNNERS_OWN.fullmatch(name):
                yield f"{kind}: the runner drops the variable {name}"


def _icon_problems(text: str) -> Iterator[str]:
    if "<!--" in text:
        yield "it holds a comment"
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        yield f"no XML: {error}"
        return
    if root.tag not in ("svg", f"{_SVG}svg"):
        yield f"its root is {root.tag}"
        return
    if _size(root) != (ICON_SIZE, ICON_SIZE):
        yield f"its size is {_size(root)}"
    paints = [*_paints(root)]
    for paint in sorted(set(paints) - COLOURS):
        yield f"it paints with {paint}"
    if "currentColor" not in paints:
        yield "it does not paint with currentColor"


def _size(root: ElementTree.Element) -> tuple[float, ...]:
    """By width and height, else by the view box; empty where neither tells."""
    try:
        if "width" in root.attrib or "height" in root.attrib:
            return tuple(float(root.attrib[name].removesuffix("px")) for name in ("width", "height"))
        return tuple(float(word) for word in root.attrib["viewBox"].replace(",", " ").split()[2:])
    except (KeyError, ValueError):
        return ()


def _paints(root: ElementTree.Element) -> Iterator[str]:
    """What is painted with: in attributes, in `style` attributes and in style sheets."""
    for element in root.iter():
        for name in ("fill", "stroke"):
            if name in element.attrib:
                yield element.attrib[name].strip()
        styles = [element.attrib.get("style", "")]
        if element.tag in ("style", f"{_SVG}style"):
            styles.append("".join(element.itertext()))
        for style in styles:
            yield from (paint.strip() for paint in _PAINT.findall(style))


def edited_entry(directory: Path, edit: Callable[[Json], object] | None, icon: Callable[[str], str] | None) -> Path:
    """A copy of our entry below `directory`, with its two files edited."""
    copy = directory / ENTRY.name
    copy.mkdir()
    agent = orjson.loads((ENTRY / "agent.json").read_bytes())
    if edit is not None:
        edit(agent)
    (copy / "agent.json").write_bytes(orjson.dumps(agent))
    text = (ENTRY / "icon.svg").read_text("utf-8")
    (copy / "icon.svg").write_text(icon(text) if icon is not None else text, "utf-8")
    return copy
