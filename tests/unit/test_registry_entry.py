"""The entry for the registry of ACP agents meets its rules, and each rule can say no (`acp.md §18`)."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Final

import orjson
import pytest

from adapter import __version__
from tests.registry_entry import ENTRY, Json, edited_entry, problems

PYPROJECT: Final = Path(__file__).resolve().parents[2] / "pyproject.toml"


def uvx(agent: Json) -> Json:
    start: Json = agent["distribution"]["uvx"]
    return start


def npx_instead(agent: Json, package: str) -> None:
    agent["distribution"] = {"npx": {"package": package}}


def test_the_entry_meets_the_rules() -> None:
    assert problems(ENTRY) == []


def test_the_entry_is_of_this_version_and_of_this_package() -> None:
    agent = orjson.loads((ENTRY / "agent.json").read_bytes())
    project = tomllib.loads(PYPROJECT.read_text("utf-8"))["project"]

    assert agent["version"] == __version__
    assert agent["distribution"] == {"uvx": {"package": f"{project['name']}=={__version__}"}}
    assert agent["license"] == project["license"]
    # `uvx PACKAGE` runs the program that has the package's name.
    assert project["name"] in project["scripts"]
    assert agent.get("authors") == [author["name"] for author in project["authors"]]


@pytest.mark.parametrize(
    "edit",
    [
        lambda agent: agent.pop("id"),
        lambda agent: agent.pop("name"),
        lambda agent: agent.pop("version"),
        lambda agent: agent.pop("description"),
        lambda agent: agent.pop("distribution"),
        lambda agent: agent.update(id="Muse"),
        lambda agent: agent.update(id="another"),
        lambda agent: agent.update(description=""),
        lambda agent: agent.update(icon="icon.svg"),
        lambda agent: agent.update(website="http://example.org"),
        lambda agent: agent.update(version="9.9.9"),
        lambda agent: agent.update(version="0.1"),
        lambda agent: agent.update(version="latest"),
        lambda agent: agent.update(authors="me"),
        lambda agent: agent["distribution"].clear(),
        lambda agent: agent["distribution"].update(docker={"package": "x"}),
        lambda agent: uvx(agent).pop("package"),
        lambda agent: uvx(agent).update(package="muse-adapter"),
        lambda agent: uvx(agent).update(package="muse-adapter@latest"),
        lambda agent: uvx(agent).update(package=f"muse-adapter>={__version__}"),
        lambda agent: uvx(agent).update(command="muse-adapter"),
        lambda agent: uvx(agent).update(args="--muse simulated"),
        lambda agent: uvx(agent).update(env={"DEBUG": 1}),
        lambda agent: uvx(agent).update(env={"PATH": "/bin"}),
        lambda agent: uvx(agent).update(env={"XDG_CACHE_HOME": "/tmp"}),
        lambda agent: npx_instead(agent, "@scope/agent"),
        lambda agent: npx_instead(agent, "@scope/agent@latest"),
    ],
)
def test_an_entry_against_the_rules_is_refused(tmp_path: Path, edit: Callable[[Json], object]) -> None:
    assert len(problems(edited_entry(tmp_path, edit, None))) == 1


@pytest.mark.parametrize(
    "edit",
    [
        lambda agent: agent.update(website="https://example.org"),
        lambda agent: uvx(agent).update(args=["serve"], env={"MUSE_EXECUTABLE": "muse"}),
        lambda agent: npx_instead(agent, f"@scope/agent@{__version__}"),
    ],
)
def test_an_entry_within_the_rules_is_not(tmp_path: Path, edit: Callable[[Json], object]) -> None:
    assert problems(edited_entry(tmp_path, edit, None)) == []


def without_size(icon: str) -> str:
    return icon.replace(' width="16" height="16"', "")


@pytest.mark.parametrize(
    "edit",
    [
        lambda icon: icon.replace("</svg>", ""),
        lambda icon: icon.replace("svg", "picture"),
        lambda icon: icon.replace("<path", "<!-- a lyre --><path", 1),
        lambda icon: icon.replace('width="16"', 'width="24"'),
        lambda icon: icon.replace(' height="16"', ""),
        lambda icon: icon.replace('width="16" height="16"', 'width="24" height="24"'),
        lambda icon: without_size(icon).replace("0 0 16 16", "0 0 24 24"),
        lambda icon: without_size(icon).replace("0 0 16 16", "0 0 16 12"),
        lambda icon: without_size(icon).replace("viewBox", "box"),
        lambda icon: icon.replace("<path", '<path fill="#ff0000"', 1),
        lambda icon: icon.replace("<path", '<path style="stroke: red"', 1),
        lambda icon: icon.replace("<path", "<style>path { fill: black; }</style><path", 1),
        lambda icon: icon.replace("currentColor", "none"),
        lambda icon: icon.replace('stroke="currentColor"', ""),
    ],
)
def test_an_icon_against_the_rules_is_refused(tmp_path: Path, edit: Callable[[str], str]) -> None:
    found = problems(edited_entry(tmp_path, None, edit))

    assert len(found) == 1 and found[0].startswith("icon.svg: ")


@pytest.mark.parametrize(
    "edit",
    [
        without_size,
        lambda icon: icon.replace("<path", '<path style="stroke: currentColor; stroke-width: 2; fill: none"', 1),
        lambda icon: icon.replace("<path", "<style>path { fill: inherit; }</style><path", 1),
    ],
)
def test_an_icon_within_the_rules_is_not(tmp_path: Path, edit: Callable[[str], str]) -> None:
    assert problems(edited_entry(tmp_path, None, edit)) == []


@pytest.mark.parametrize("name", ["agent.json", "icon.svg"])
def test_both_files_must_be_there(tmp_path: Path, name: str) -> None:
    entry = edited_entry(tmp_path, None, None)
    (entry / name).unlink()

    assert len(problems(entry)) == 1


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    entry = edited_entry(tmp_path, None, None)
    (entry / "agent.json").write_text("{", "utf-8")

    assert problems(entry) and problems(entry)[0].startswith("agent.json: ")
