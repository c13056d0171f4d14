"""The driver of `make dist` without the registry: what it complains about, what counts as set up, what is told."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tarfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path
from typing import Any, Final

import pytest
from packaging.requirements import Requirement

from adapter import __version__
from tests.dist import __main__ as dist
from tests.dist.content_checks import (
    DIST_INFO,
    differences,
    foreign,
    in_sdist,
    in_wheel,
    machine_places,
    metadata_problems,
    strays,
)
from tests.dist.packages import members, tracked_files
from tests.dist.toolchain import LOCK, NotAvailable, SetUpFailed, is_complete, manifest, silence

ROOT: Final = Path(__file__).resolve().parents[2]
PROJECT: Final[dict[str, Any]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]


def wheel(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def sdist(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f"muse_adapter-{__version__}/{name}")
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


class TestContents:
    def test_both_kinds_of_package_are_read(self, tmp_path: Path) -> None:
        files = {"adapter/a.py": "one", "adapter/b.html": "two"}
        expected = {name: text.encode() for name, text in files.items()}

        assert members(wheel(tmp_path / "one.whl", files)) == expected
        assert members(sdist(tmp_path / "one.tar.gz", files)) == expected

    def test_the_wheel_takes_the_code_and_the_sdist_everything(self) -> None:
        tracked = {"adapter/a.py", "host_probe/py.typed", "tests/t.py", "README.md"}

        taken = in_wheel(tracked)
        assert {name for name in taken if not name.startswith(DIST_INFO)} == {"adapter/a.py", "host_probe/py.typed"}
        assert f"{DIST_INFO}/licenses/LICENSE" in taken
        assert in_sdist(tracked) == {*tracked, "PKG-INFO"}

    def test_what_is_missing_and_what_is_too_much_is_told(self, tmp_path: Path) -> None:
        (tmp_path / "d").touch()

        assert strays(["a", "b"], {"a", "b"}, tmp_path) == []
        assert strays(["a", "c", "d"], {"a", "b"}, tmp_path) == [
            "b is missing",
            "c does not belong there",
            "d was packed, but git does not have it: add it or take it away",
        ]

    @pytest.mark.parametrize(
        "text",
        [
            "see /home/somebody/checkout/adapter/x.py",
            "/home/somebody/.config",
            "-----BEGIN RSA " + "PRIVATE KEY-----",
            "ghp_" + "a" * 36,
            "AKIA" + "A1" * 8,
        ],
    )
    def test_what_must_not_leave_the_machine_is_told(self, text: str) -> None:
        places = machine_places(Path("/home/somebody/checkout"), Path("/home/somebody"))

        assert foreign({"a.py": b"fine"}, places) == []
        found = foreign({"a.py": b"fine", "b.py": text.encode()}, places)
        assert found and all(problem.startswith("b.py ") for problem in found)
        assert "ghp_" not in "".join(found), "a secret is not repeated"

    def test_a_home_that_is_everything_is_no_place(self) -> None:
        assert machine_places(Path("/checkout"), Path("/")) == [b"/checkout/"]

    def test_differences_are_told_by_name(self, tmp_path: Path) -> None:
        one = wheel(tmp_path / "one.whl", {"a": "1", "b": "2", "c": "3"})
        other = wheel(tmp_path / "other.whl", {"a": "1", "b": "x", "d": "4"})

        assert differences(one, other) == ["b", "c", "d"]

    def test_git_tells_what_belongs_to_the_project(self, tmp_path: Path) -> None:
        with pytest.raises(SetUpFailed, match="git does not tell"):
            tracked_files(tmp_path)

    @pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")
    def test_what_lies_about_or_was_deleted_does_not_belong_to_it(self, tmp_path: Path) -> None:
        for name in ("kept", "deleted", "page.html"):
            (tmp_path / name).touch()
        for command in (["init", "-q"], ["add", "kept", "deleted"]):
            subprocess.run(["git", *command], cwd=tmp_path, check=True, timeout=60)
        (tmp_path / "deleted").unlink()

        assert tracked_files(tmp_path) == {"kept"}


def metadata(**members: str) -> Message:
    """The metadata of this project, with members replaced."""
    told = Message()
    values = {
        "Name": PROJECT["name"],
        "Version": __version__,
        "Requires-Python": PROJECT["requires-python"],
        "License-Expression": PROJECT["license"],
        "Description-Content-Type": "text/markdown",
    }
    for name, value in (values | members).items():
        told[name] = value
    for line in PROJECT["dependencies"]:
        told["Requires-Dist"] = str(Requirement(line))
    for line in PROJECT["optional-dependencies"]["dev"]:
        told["Requires-Dist"] = f"{line}; extra == 'dev'"
    for classifier in PROJECT["classifiers"]:
        told["Classifier"] = classifier
    told.set_payload((ROOT / PROJECT["readme"]).read_bytes())
    return told


class TestMetadata:
    def test_that_of_the_project_is_right(self) -> None:
        assert metadata_problems(metadata(), ROOT) == []

    @pytest.mark.parametrize(
        "member", ["Name", "Version", "Requires-Python", "License-Expression", "Description-Content-Type"]
    )
    def test_what_differs_is_told(self, member: str) -> None:
        assert metadata_problems(metadata(**{member: "other"}), ROOT) == [f"{member} is other"]

    def test_a_dependency_too_much_is_told(self) -> None:
        told = metadata()
        told["Requires-Dist"] = "pydantic>=2"

        assert [problem.split()[0] for problem in metadata_problems(told, ROOT)] == ["Requires-Dist"]

    def test_another_page_is_told(self) -> None:
        told = metadata()
        told.set_payload(b"# Another")

        assert [problem.split(" is")[0] for problem in metadata_problems(told, ROOT)] == ["the description"]


class TestSetUp:
    @pytest.mark.parametrize(
        ("output", "words"),
        [
            (
                "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError': /simple/build/\n"
                "ERROR: No matching distribution found for build",
                "connection broken by",
            ),
            ("ERROR: HTTP error 503 while getting https://example.org/build.whl", "HTTP error 503"),
            ("requests.exceptions.HTTPError: 429 Client Error: Too Many Requests", "429 Client Error"),
            ("ERROR: Could not find a version that satisfies the requirement build==0 (from versions: 1.6.1)", None),
            ("ERROR: HTTP error 404 while getting https://example.org/build.whl", None),
            ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", None),
        ],
    )
    def test_a_silent_registry_is_told_from_a_failure(self, output: str, words: str | None) -> None:
        assert silence(output) == words

    def test_only_a_directory_that_holds_what_is_wanted_is_complete(self, tmp_path: Path) -> None:
        seal = tmp_path / "complete.json"
        assert not is_complete(seal, manifest(ROOT))
        seal.write_text('{"lock": ', "utf-8")
        assert not is_complete(seal, manifest(ROOT))
        seal.write_text(json.dumps(manifest(ROOT) | {"lock": "build==1.0\n"}), "utf-8")
        assert not is_complete(seal, manifest(ROOT))
        seal.write_text(json.dumps(manifest(ROOT)), "utf-8")
        assert is_complete(seal, manifest(ROOT))

    def test_the_lock_has_the_tools_in_their_ranges(self) -> None:
        pinned = dict(line.split("==") for line in (ROOT / LOCK).read_text("utf-8").split())

        for wanted in map(Requirement, PROJECT["optional-dependencies"]["dist"]):
            assert wanted.specifier.contains(pinned[wanted.name]), wanted

    @pytest.mark.parametrize(
        ("error", "code", "line"),
        [
            (NotAvailable("pip did not answer"), 75, "dist was not run to its end: pip did not answer\n"),
            (SetUpFailed("it does not build"), 1, "dist failed: it does not build\n"),
        ],
    )
    def test_what_keeps_it_from_running_is_said_and_has_a_code(
        self,
        error: Exception,
        code: int,
        line: str,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        def set_up(directory: Path, root: Path) -> None:
            raise error

        monkeypatch.setattr(dist, "set_up", set_up)
        assert dist.main() == code
        assert capsys.readouterr().out == line
