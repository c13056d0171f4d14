"""What is promised of the two packages as files."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from typing import Any, Final

from packaging.requirements import Requirement

from adapter import __version__
from tests.dist.packages import Packages, members
from tests.dist.toolchain import run_tool
from tests.interop.checks import Check, expect, expect_equal
from tests.package_page import links_to_files

IMPORTED: Final = ("adapter/", "host_probe/")
"""The directories that an installation is made of."""

DIST_INFO: Final = f"muse_adapter-{__version__}.dist-info"
_ABOUT: Final = frozenset(
    f"{DIST_INFO}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
)

_SECRETS: Final = re.compile(
    rb"-----BEGIN [A-Z ]*PRIVATE KEY-----"
    rb"|\bAKIA[0-9A-Z]{16}\b"
    rb"|\bgh[pousr]_[0-9A-Za-z]{36}"
    rb"|\bnpm_[0-9A-Za-z]{36}"
    rb"|\bpypi-AgE[\w-]{50}"
    rb"|\bxox[abprs]-[\w-]{10}"
)
"""Keys as they are handed out; words like `token` are all over the code."""


def content_checks(python: Path, packages: Packages, again: Packages, root: Path, tracked: set[str]) -> list[Check]:
    """Checks of `packages`, the wheel of which came out of the sdist, and of a second build out of the checkout."""
    wheel, sdist = members(packages.wheel), members(packages.sdist)
    places = machine_places(root, Path.home())
    told: Any = BytesParser().parsebytes(wheel[f"{DIST_INFO}/METADATA"])

    def twine() -> None:
        done = run_tool(python, "twine", "check", "--strict", str(packages.wheel), str(packages.sdist))
        expect(done.returncode == 0, f"twine says: {done.stdout} {done.stderr}")

    def names() -> None:
        built = [packages.wheel.name, packages.sdist.name]
        expect_equal(
            "what was built",
            built,
            [f"muse_adapter-{__version__}-py3-none-any.whl", f"muse_adapter-{__version__}.tar.gz"],
        )

    def same() -> None:
        for first, second in zip(packages, again, strict=True):
            expect(first.read_bytes() == second.read_bytes(), f"{first.name} differs: {differences(first, second)}")

    def nothing_foreign() -> None:
        for package in (wheel, sdist):
            found = foreign(package, places)
            expect(not found, "; ".join(found))

    def about() -> None:
        found = metadata_problems(told, root)
        expect(not found, "; ".join(found))

    def page() -> None:
        found = links_to_files(told.get_payload(decode=True).decode())
        expect(not found, f"these lead nowhere from an index: {found}")

    def complete(package: Mapping[str, bytes], wanted: set[str]) -> None:
        found = strays(package, wanted, root)
        expect(not found, "; ".join(found))

    return [
        Check("one wheel for every system and one sdist, of this version", names),
        Check("twine finds nothing to complain about", twine),
        Check(
            "the wheel holds the code, its data, the licence, and nothing else",
            lambda: complete(wheel, in_wheel(tracked)),
        ),
        Check("the sdist holds the whole project, and nothing else", lambda: complete(sdist, in_sdist(tracked))),
        Check("neither holds a secret or a path of this machine", nothing_foreign),
        Check("the metadata is that of the project, with its page", about),
        Check("the page has no link to a file, which an index does not have", page),
        Check("the checkout, built again, gives the same bytes, and so does its sdist", same),
    ]


def in_wheel(tracked: Iterable[str]) -> set[str]:
    """What belongs into the wheel."""
    return {name for name in tracked if name.startswith(IMPORTED)} | _ABOUT


def in_sdist(tracked: Iterable[str]) -> set[str]:
    """What belongs into the sdist."""
    return {*tracked, "PKG-INFO"}


def strays(package: Iterable[str], wanted: set[str], root: Path) -> list[str]:
    """What is missing in a package, and what has no business in it: mostly what lies about in the checkout `root`."""
    found = set(package)
    missing, foreign = sorted(wanted - found), sorted(found - wanted)
    return [*(f"{name} is missing" for name in missing), *(f"{name} {_reproach(root / name)}" for name in foreign)]


def _reproach(file: Path) -> str:
    return "was packed, but git does not have it: add it or take it away" if file.is_file() else "does not belong there"


def machine_places(root: Path, home: Path) -> list[bytes]:
    """Directories of this machine that nothing in a package may name."""
    return [f"{place}/".encode() for place in (root, home) if place != place.parent]


def foreign(package: Mapping[str, bytes], places: Iterable[bytes]) -> list[str]:
    """What is in a package that must not leave this machine."""
    found = []
    for name, data in package.items():
        found += [f"{name} names {place.decode()}" for place in places if place in data]
        # A secret is not repeated.
        found += [f"{name} holds what looks like a key" for _ in _SECRETS.findall(data)]
    return found


def metadata_problems(metadata: Message, root: Path) -> list[str]:
    """Where the metadata of a package differs from the project."""
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    told = [Requirement(line) for line in metadata.get_all("Requires-Dist", [])]
    needed = [str(one) for one in told if one.marker is None]
    pairs = {
        "Name": (metadata["Name"], project["name"]),
        "Version": (metadata["Version"], __version__),
        "Requires-Python": (metadata["Requires-Python"], project["requires-python"]),
        "License-Expression": (metadata["License-Expression"], project["license"]),
        "Requires-Dist": (sorted(needed), sorted(str(Requirement(line)) for line in project["dependencies"])),
        "Classifier": (metadata.get_all("Classifier"), project["classifiers"]),
        "Description-Content-Type": (metadata["Description-Content-Type"], "text/markdown"),
        "the description": (metadata.get_payload(decode=True), (root / project["readme"]).read_bytes()),
    }
    return [f"{name} is {str(found)[:200]}" for name, (found, wanted) in pairs.items() if found != wanted]


def differences(one: Path, other: Path) -> list[str]:
    """The files in which two packages differ; empty if they only differ around them."""
    first, second = members(one), members(other)
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))
