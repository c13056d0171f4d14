"""The wheel and the sdist: how they are made, and what is in them."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import NamedTuple

from tests.dist.toolchain import SetUpFailed, run_tool


class Packages(NamedTuple):
    """The two files of one build."""

    wheel: Path
    sdist: Path


def build(python: Path, root: Path, directory: Path, *, from_sdist: bool) -> Packages:
    """Build into `directory`, which is emptied before; the wheel out of the sdist, or both out of the checkout.

    Raises:
        SetUpFailed: it does not build, or makes other files than one wheel and one sdist.
    """
    shutil.rmtree(directory, ignore_errors=True)
    what = [] if from_sdist else ["--sdist", "--wheel"]
    done = run_tool(python, "build", "--no-isolation", *what, "--outdir", str(directory), str(root))
    if done.returncode != 0:
        raise SetUpFailed(f"the packages cannot be built: {(done.stdout + done.stderr).strip()[-1000:]}")
    made = sorted(directory.iterdir(), key=lambda path: path.suffix)
    if [path.suffix for path in made] != [".gz", ".whl"]:
        raise SetUpFailed(f"the build made {[path.name for path in made]}")
    return Packages(made[1], made[0])


def members(package: Path) -> dict[str, bytes]:
    """The files in a wheel or an sdist; those of an sdist without the directory they are all in."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            return {info.filename: wheel.read(info) for info in wheel.infolist() if not info.is_dir()}
    found: dict[str, bytes] = {}
    with tarfile.open(package) as sdist:
        for member in sdist:
            data = sdist.extractfile(member)
            if data is not None:
                found[member.name.partition("/")[2]] = data.read()
    return found


def tracked_files(root: Path) -> set[str]:
    """What git has of the project. What it does not have lies about, and is in nobody else's checkout.

    Raises:
        SetUpFailed: there is no git, or this is no checkout.
    """
    command = ["git", "ls-files", "-z", "--cached"]
    try:
        said = subprocess.run(command, cwd=root, capture_output=True, check=True, timeout=60).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise SetUpFailed(f"git does not tell what belongs to the project: {error}") from None
    return {name for name in said.decode().split("\0") if name and (root / name).is_file()}
