"""What the adapter runs in: environment, terminal, dependencies."""

from __future__ import annotations

import os
import sys
from importlib import metadata

import pytest

from adapter import __version__
from adapter.cli.doctor import machine_checks
from adapter.cli.doctor.finding import Finding
from adapter.cli.doctor.machine_checks import judge_dependencies, judge_environment, judge_terminal
from adapter.cli.doctor.ranges import lies_in, requirement
from adapter.cli.doctor.report import Check

PATH = "/usr/local/bin:/usr/bin:/bin"
CANARY = "canary-0815-4711"


# -- environment


def environment(**environ: str) -> Check:
    finding = Finding("environment")
    judge_environment(finding, {"PATH": PATH, "HOME": "/", **environ})
    return finding.check()


def test_names_are_told_and_no_value_of_any() -> None:
    names = ["META_API_KEY", "https_proxy", "NO_PROXY", "MUSE_EXECUTABLE", "XDG_CACHE_HOME", "MUSE_NO_AUTO_UPDATE"]

    check = environment(**dict.fromkeys(names, f"/{CANARY}"), OTHER_TOKEN=CANARY)

    assert check.status == "pass"
    assert check.details["set"] == sorted(names)
    assert all(name in check.summary for name in names)
    assert CANARY not in str(check) and "OTHER_TOKEN" not in str(check)


def test_what_is_set_to_nothing_is_not_set() -> None:
    assert environment(META_API_KEY="").details["set"] == []


def test_marks_that_are_left_out_are_told() -> None:
    check = environment(CLAUDECODE="1")
    assert (check.status, check.details["leftOut"]) == ("pass", ["CLAUDECODE"])
    assert "CLAUDECODE" in check.summary


def test_a_run_below_a_host_is_told() -> None:
    assert "below a host" in environment(MUSE_ADAPTER_PROCESS="1:2:3").summary


@pytest.mark.parametrize("path", ["", "/opt/editor/bin", "usr/bin:bin"])
def test_a_short_path_is_a_warning(path: str) -> None:
    check = environment(PATH=path)
    assert check.status == "warn" and "PATH is short" in check.summary
    assert check.fix is not None


def test_a_relative_folder_is_a_warning() -> None:
    check = environment(XDG_CACHE_HOME="here", XDG_DATA_HOME="/there")
    assert check.status == "warn"
    assert "XDG_CACHE_HOME is no absolute path and is not looked at." in check.summary
    both = environment(XDG_CACHE_HOME="here", XDG_DATA_HOME="there").summary
    assert "XDG_CACHE_HOME and XDG_DATA_HOME are no absolute paths and are not looked at." in both


@pytest.mark.skipif(os.name != "posix", reason="it is what POSIX systems have")
@pytest.mark.parametrize(
    ("home", "what"), [("", "is not set"), ("here", "is no absolute path"), ("/no/such/home", "names no folder")]
)
def test_a_home_that_is_none_is_a_warning(home: str, what: str) -> None:
    check = environment(HOME=home)
    assert check.status == "warn" and f"HOME {what}" in check.summary


def test_more_names_than_are_told_are_counted() -> None:
    check = environment(**{f"MUSE_{number:03}": "1" for number in range(45)})
    assert " and 5 more." in check.summary


# -- terminal


class Stream:
    def __init__(self, encoding: str) -> None:
        self.encoding = encoding

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch, encoding: str, **environ: str) -> Check:
    monkeypatch.setattr(sys, "__stdout__", Stream(encoding))
    finding = Finding("terminal")
    judge_terminal(finding, environ)
    return finding.check()


@pytest.mark.parametrize("encoding", ["utf-8", "UTF-8", "utf8"])
def test_a_terminal_with_all_characters_passes(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    check = terminal(monkeypatch, encoding)
    assert check.status == "pass"
    assert check.details["stdoutIsTerminal"] is True and "a terminal" in check.summary


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_a_terminal_that_lacks_characters_is_a_warning(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    check = terminal(monkeypatch, encoding)
    assert check.status == "warn" and encoding in check.summary


def test_linux_in_windows_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    check = terminal(monkeypatch, "utf-8", WSL_DISTRO_NAME=CANARY)
    assert check.details["windowsSubsystem"] is True and "Windows Subsystem" in check.summary
    assert CANARY not in str(check)


# -- dependencies


def dependencies() -> Check:
    finding = Finding("dependencies")
    judge_dependencies(finding)
    return finding.check()


def test_all_that_is_needed_at_run_time_is_told_and_fits() -> None:
    check = dependencies()

    assert check.status == "pass", check.summary
    assert set(check.details["packages"]) == {"anyio", "orjson", "msgspec", "typer", "rich"}
    assert check.details["packages"]["rich"]["version"] == metadata.version("rich")
    assert check.details["installedAs"] in ("checkout", "wheel")


def test_a_version_outside_its_range_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metadata.version
    monkeypatch.setattr(metadata, "version", lambda name: "99.0" if name == "rich" else real(name))

    check = dependencies()

    assert check.status == "warn" and "rich is 99.0" in check.summary
    assert check.fix is not None and "Install rich" in check.fix


def test_a_package_that_is_missing_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    assert "orjson is missing" in dependencies().summary


def test_source_files_without_an_installation_are_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_checks, "DISTRIBUTION", "no-such-package-0815")
    check = dependencies()
    assert check.status == "warn" and "not installed" in check.summary


def test_another_version_than_is_installed_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_checks, "__version__", "9.9.9")
    check = dependencies()
    assert check.status == "warn" and f"What is installed is {__version__}" in check.summary


# -- ranges


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("anyio<5,>=4.10", ("anyio", "<5,>=4.10")),
        ("typer >= 0.15, < 1", ("typer", ">=0.15,<1")),
        ("rich", ("rich", "")),
        ("agent-client-protocol==0.12.1; extra == 'dev'", None),
    ],
)
def test_a_line_of_metadata_is_a_name_and_a_range(line: str, wanted: tuple[str, str] | None) -> None:
    assert requirement(line) == wanted


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("4.10", ">=4.10,<5", True),
        ("4.9.9", ">=4.10,<5", False),
        ("5", ">=4.10,<5", False),
        ("5.0.0", ">=4.10,<5", False),
        ("4.16.0rc1", ">=4.10,<5", True),
        ("1.0", "==1", True),
        ("1.0.1", "!=1.0", True),
        ("2", ">2", False),
        ("2", "<=2.0", True),
        ("nightly", "", False),
        ("missing", ">=1", False),
    ],
)
def test_a_version_lies_in_a_range_or_not(version: str, wanted: str, fits: bool) -> None:
    assert lies_in(version, wanted) is fits
