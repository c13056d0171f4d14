"""The workflows check what `.ci/run` checks, on what the package says it is for, with no more rights than they need."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any, Final

import pytest
import yaml  # type: ignore[import-untyped]

Json = dict[Any, Any]

ROOT: Final = Path(__file__).resolve().parents[2]
WORKFLOWS: Final = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
CLASSIFIERS: Final[list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["classifiers"]
PYTHONS: Final = [line.rpartition(" ")[2] for line in CLASSIFIERS if re.search(r"Python :: 3\.\d+$", line)]
SYSTEMS: Final = {"Linux": "ubuntu", "MacOS": "macos", "Windows": "windows"}
"""The last word of a classifier, and the first of a runner's name."""


def read(path: Path) -> Json:
    workflow: Json = yaml.safe_load(path.read_text("utf-8"))
    return workflow


def jobs(name: str) -> dict[str, Json]:
    found: dict[str, Json] = read(ROOT / ".github" / "workflows" / name)["jobs"]
    return found


def runs(job: Json) -> list[str]:
    """The command lines of a job."""
    return [line.strip() for step in job.get("steps", []) for line in step.get("run", "").splitlines()]


def recipe(target: str) -> list[str]:
    """The command lines of a target of `make`, as they are typed where its tools are on PATH."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    variables = dict(re.findall(r"^(\w+) := (.*)$", makefile, re.MULTILINE))
    (lines,) = re.findall(rf"^{target}:.*\n((?:\t.*\n)+)", makefile, re.MULTILINE)
    written = re.sub(r"\$\((\w+)\)", lambda match: variables[match[1]], lines.replace("$(BIN)/", ""))
    return [line.strip() for line in written.splitlines()]


def targets(lines: list[str]) -> set[str]:
    """The targets of `make` that are called, also by the name under which `.ci/run` looks at their exit code."""
    called = (re.match(r"(?:make|with_registry) (\w+)", line.strip()) for line in lines)
    return {match[1] for match in called if match}


CI_TARGETS: Final = targets((ROOT / ".ci" / "run").read_text("utf-8").splitlines())


def test_all_three_systems_are_those_of_the_classifiers() -> None:
    told = {line.rpartition(" ")[2] for line in CLASSIFIERS if line.startswith("Operating System")}

    assert told == SYSTEMS.keys()
    assert sorted(job["runs-on"].partition("-")[0] for job in jobs("ci.yml").values()) == sorted(SYSTEMS.values())


def test_every_python_of_the_classifiers_is_tried() -> None:
    ci = jobs("ci.yml")

    assert ci["linux"]["strategy"]["matrix"]["python"] == PYTHONS
    for job in ci.values():
        assert {PYTHONS[0], PYTHONS[-1]} <= set(job["strategy"]["matrix"]["python"]) <= set(PYTHONS)
        assert job["strategy"]["fail-fast"] is False


def test_the_oldest_python_is_the_one_that_is_required() -> None:
    required = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"]

    assert required == f">={PYTHONS[0]}"


def test_linux_runs_all_checks() -> None:
    assert runs(jobs("ci.yml")["linux"]) == ["bash .ci/run"]
    assert {"check", "compiled", "interop", "dist", "speed", "test"} <= CI_TARGETS


def test_other_systems_run_what_is_among_them() -> None:
    assert targets(runs(jobs("ci.yml")["macos"])) == {"check", "demo", "test", "dist"} <= CI_TARGETS | {"demo"}


def test_nothing_is_released_that_has_not_passed() -> None:
    release = jobs("release.yml")

    assert release["checks"]["uses"] == "./.github/workflows/ci.yml"
    # YAML takes the word `on` for a truth value.
    assert "workflow_call" in read(WORKFLOWS[0])[True]
    assert targets(runs(release["build"])) == {"dist"}
    assert sorted(release["publish"]["needs"]) == ["build", "checks"]


def test_windows_does_what_make_does_there_and_runs_the_program_and_the_tests() -> None:
    lines = runs(jobs("ci.yml")["windows"])
    makefile = (ROOT / "Makefile").read_text("utf-8")

    installs = [line.removeprefix("python -m pip ") for line in lines if "pip install" in line]
    assert installs == [
        re.sub(r"--(quiet|disable-pip-version-check) ", "", words)
        for words in re.findall(r"\$\(BIN\)/python -m pip (.*)", makefile)
    ]
    assert lines[len(installs) :] == [
        *recipe("check"),
        "python -m tests.smoke",
        "python -X utf8 -m pytest -n 2 tests/unit tests/conformance",
    ]


def test_make_uses_the_python_that_was_set_up() -> None:
    assert read(ROOT / ".github" / "workflows" / "ci.yml")["env"]["PYTHON"] == "python"
    assert jobs("release.yml")["build"]["env"]["PYTHON"] == "python"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
class TestEach:
    def test_it_may_read_and_no_more(self, path: Path) -> None:
        workflow = read(path)

        assert workflow["permissions"] == {"contents": "read"}
        rights = {name: job["permissions"] for name, job in workflow["jobs"].items() if "permissions" in job}
        # To prove to the index which workflow it is.
        assert rights == ({"publish": {"id-token": "write"}} if path.name == "release.yml" else {})
        assert "secrets." not in path.read_text("utf-8")

    def test_every_job_ends(self, path: Path) -> None:
        for job in read(path)["jobs"].values():
            # A workflow that is called has limits of its own.
            assert "uses" in job or 0 < job["timeout-minutes"] <= 90

    def test_one_run_at_a_time(self, path: Path) -> None:
        concurrency = read(path)["concurrency"]

        # The name of the workflow is the caller's: a release does not wait for the checks that it calls itself.
        assert concurrency["group"].endswith("-${{ github.workflow }}-${{ github.ref }}") is (path.name == "ci.yml")
        assert concurrency["group"].endswith("-${{ github.ref }}")
        # What is being uploaded is uploaded to its end.
        assert concurrency["cancel-in-progress"] is (path.name == "ci.yml")

    def test_actions_are_pinned(self, path: Path) -> None:
        for job in read(path)["jobs"].values():
            for step in job.get("steps", []):
                if "uses" in step:
                    assert re.fullmatch(r"actions/[\w-]+@(v\d+|[0-9a-f]{40})|pypa/[\w-]+@release/v\d+", step["uses"])
                if step.get("uses", "").startswith("actions/checkout@"):
                    assert step["with"]["persist-credentials"] is False

    def test_nothing_that_others_write_gets_into_a_shell(self, path: Path) -> None:
        for job in read(path)["jobs"].values():
            assert not [line for line in runs(job) if "${{" in line]


def test_there_are_two() -> None:
    assert [path.name for path in WORKFLOWS] == ["ci.yml", "release.yml"]
