"""Finding the executable: the order, what stops the search, and what a person is told when there is none."""

import os
from pathlib import Path

import pytest

from host_probe.locate import MESSAGE_ATTEMPTS, Attempt, Found, NotFound, every_muse, find_muse, resolve_program


def executable(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def found(result: Found | NotFound) -> Found:
    assert isinstance(result, Found), result
    return result


def not_found(result: Found | NotFound) -> NotFound:
    assert isinstance(result, NotFound), result
    return result


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


def test_the_order_is_flag_then_variable_then_path_then_usual_places(tmp_path: Path, home: Path) -> None:
    usual = executable(home / ".local" / "bin" / "muse")
    on_path = executable(tmp_path / "bin" / "muse")
    configured = executable(tmp_path / "configured")
    asked = executable(tmp_path / "asked")
    environ: dict[str, str] = {}

    steps = [found(find_muse(None, environ, home))]
    environ["PATH"] = str(on_path.parent)
    steps.append(found(find_muse(None, environ, home)))
    environ["MUSE_EXECUTABLE"] = str(configured)
    steps.append(found(find_muse(None, environ, home)))
    steps.append(found(find_muse(str(asked), environ, home)))

    assert [(step.path, step.source) for step in steps] == [
        (usual, "usual place"),
        (on_path, "PATH"),
        (configured, "MUSE_EXECUTABLE"),
        (asked, "--muse"),
    ]


@pytest.mark.parametrize("folder", [".local/bin", ".muse/bin", "bin"])
def test_n2_a_short_path_is_made_up_for_by_the_usual_places(home: Path, folder: str) -> None:
    muse = executable(home / folder / "muse")
    result = found(find_muse(None, {"PATH": "/nonexistent/usr/bin:/nonexistent/bin"}, home))
    assert (result.path, result.source) == (muse, "usual place")


def test_n2_an_override_finds_what_a_short_path_does_not(tmp_path: Path, home: Path) -> None:
    muse = executable(tmp_path / "opt" / "muse")
    environ = {"PATH": "/nonexistent/bin", "MUSE_EXECUTABLE": str(muse)}
    assert found(find_muse(None, environ, home)).path == muse


def test_n2_nothing_at_all_lists_everything_that_was_tried_in_order(tmp_path: Path, home: Path) -> None:
    (tmp_path / "first" / "muse").mkdir(parents=True)
    plain = tmp_path / "second" / "muse"
    plain.parent.mkdir()
    plain.write_text("not a program")
    environ = {"PATH": f"{tmp_path}/first:{tmp_path}/second:{tmp_path}/third"}

    result = not_found(find_muse(None, environ, home))

    assert result.attempts[:3] == (
        Attempt("PATH", f"{tmp_path}/first/muse", "is a directory"),
        Attempt("PATH", f"{tmp_path}/second/muse", "not executable"),
        Attempt("PATH", f"{tmp_path}/third/muse", "missing"),
    )
    assert [attempt.place for attempt in result.attempts[3:6]] == [
        f"{home}/.local/bin/muse",
        f"{home}/.muse/bin/muse",
        f"{home}/bin/muse",
    ]
    assert {attempt.source for attempt in result.attempts[3:]} == {"usual place"}
    message = result.message()
    assert f"PATH: {tmp_path}/first/muse (is a directory), {tmp_path}/second/muse (not executable)" in message
    assert f"usual place: {home}/.local/bin/muse (missing)" in message
    assert "--muse or MUSE_EXECUTABLE" in message


def test_n2_a_folder_that_path_names_twice_is_named_once(tmp_path: Path, home: Path) -> None:
    result = not_found(find_muse(None, {"PATH": f"{tmp_path}/a:{tmp_path}/b:{tmp_path}/a:{tmp_path}/a/"}, home))
    on_path = [attempt.place for attempt in result.attempts if attempt.source == "PATH"]
    assert on_path == [f"{tmp_path}/a/muse", f"{tmp_path}/b/muse"]


def test_n2_a_message_about_a_long_path_is_bounded_and_says_so(home: Path) -> None:
    environ = {"PATH": ":".join(f"/nonexistent/{number}" for number in range(100))}
    result = not_found(find_muse(None, environ, home))
    assert len(result.attempts) > 100
    assert result.message().count("(missing)") == MESSAGE_ATTEMPTS
    assert f"and {len(result.attempts) - MESSAGE_ATTEMPTS} more" in result.message()


@pytest.mark.parametrize("source", ["--muse", "MUSE_EXECUTABLE"])
@pytest.mark.parametrize("value", ["{tmp}/gone/muse", "muse-nightly"])
def test_a_value_somebody_set_does_not_fall_through(tmp_path: Path, home: Path, source: str, value: str) -> None:
    bin_folder = executable(tmp_path / "bin" / "muse").parent
    value = value.format(tmp=tmp_path)
    environ = {"PATH": str(bin_folder)}
    if source == "MUSE_EXECUTABLE":
        environ["MUSE_EXECUTABLE"] = value
    result = not_found(find_muse(value if source == "--muse" else None, environ, home))
    assert [(attempt.source, attempt.why) for attempt in result.attempts] == [(source, "missing")]
    assert result.attempts[0].place in (value, f"{bin_folder}/{value}")


def test_a_value_without_a_separator_is_a_name_on_path(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    executable(tmp_path / "work" / "muse-nightly")
    nightly = executable(tmp_path / "bin" / "muse-nightly")
    monkeypatch.chdir(tmp_path / "work")
    result = found(find_muse("muse-nightly", {"PATH": str(nightly.parent)}, home))
    assert (result.path, result.source) == (nightly, "--muse")


def test_a_relative_value_is_made_absolute_because_hosts_start_in_other_folders(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    muse = executable(tmp_path / "build" / "muse")
    monkeypatch.chdir(tmp_path)
    assert found(find_muse("build/muse", {}, home)).path == muse


def test_a_tilde_is_the_home_folder(home: Path) -> None:
    muse = executable(home / "tools" / "muse")
    assert found(find_muse("~/tools/muse", {}, home)).path == muse


def test_a_link_is_found_by_its_own_name_and_its_target_is_told(tmp_path: Path, home: Path) -> None:
    target = executable(tmp_path / "versions" / "1.2.1" / "muse-bin")
    link = tmp_path / "bin" / "muse"
    link.parent.mkdir()
    link.symlink_to(target)
    result = found(find_muse(None, {"PATH": str(link.parent)}, home))
    assert (result.path, result.real_path) == (link, target.resolve())


@pytest.mark.parametrize("entry", ["", ".", "bin"])
def test_nothing_is_run_from_the_current_folder_because_of_path(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    executable(tmp_path / "muse")
    executable(tmp_path / "bin" / "muse")
    monkeypatch.chdir(tmp_path)
    result = find_muse("muse", {"PATH": entry}, home)
    assert not_found(result).attempts == ()
    assert "PATH names no folder" in not_found(result).message()


def test_an_empty_setting_counts_as_not_set(tmp_path: Path, home: Path) -> None:
    muse = executable(tmp_path / "bin" / "muse")
    assert found(find_muse("", {"PATH": str(muse.parent), "MUSE_EXECUTABLE": ""}, home)).source == "PATH"


@pytest.mark.parametrize("value", ["/nonexistent/\0muse", "/" + "m" * 5000, "./", "~/"])
def test_odd_values_are_refused_not_raised(home: Path, value: str) -> None:
    assert not_found(find_muse(value, {}, home)).message().startswith("Muse was not found.")


def test_a_folder_without_permission_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, **_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "stat", refuse)
    assert [attempt.why for attempt in not_found(find_muse("/locked/muse", {}, home)).attempts] == ["no access"]


def test_a_dangling_link_is_missing(tmp_path: Path, home: Path) -> None:
    (tmp_path / "muse").symlink_to(tmp_path / "gone")
    assert not_found(find_muse(str(tmp_path / "muse"), {}, home)).attempts[0].why == "missing"


def test_on_windows_suffixes_are_tried_and_an_exe_comes_first(tmp_path: Path, home: Path) -> None:
    command = executable(tmp_path / "npm" / "muse.cmd")
    environ = {"PATH": f"{tmp_path}/none;{command.parent}", "LOCALAPPDATA": str(tmp_path / "local")}
    assert found(find_muse(None, environ, home, windows=True)).path == command
    program = executable(command.with_name("muse.exe"))
    assert found(find_muse(None, environ, home, windows=True)).path == program
    assert found(find_muse("muse.cmd", environ, home, windows=True)).path == command


def test_on_windows_the_usual_places_are_its_own(tmp_path: Path, home: Path) -> None:
    environ = {"LOCALAPPDATA": str(tmp_path / "local"), "APPDATA": str(tmp_path / "roaming")}
    places = [attempt.place for attempt in not_found(find_muse(None, environ, home, windows=True)).attempts]
    assert f"{tmp_path}/local/Programs/muse/muse.exe" in places
    assert f"{tmp_path}/roaming/npm/muse.cmd" in places
    assert not any(place.startswith("/usr/local") for place in places)


def test_on_windows_a_backslash_makes_a_path(home: Path) -> None:
    result = not_found(find_muse(r"C:\demo tools\muse.cmd", {"PATH": "/bin"}, home, windows=True))
    assert [attempt.place for attempt in result.attempts] == [r"C:\demo tools\muse.cmd"]


def test_a_program_is_resolved_as_a_shell_would(tmp_path: Path) -> None:
    tool = executable(tmp_path / "bin" / "tool")
    environ = {"PATH": str(tool.parent)}
    assert resolve_program("tool", environ) == tool
    assert resolve_program(str(tool), {}) == tool
    assert resolve_program("tool", {}) is None
    assert resolve_program(str(tmp_path / "gone"), environ) is None


def test_every_muse_is_listed_in_order_and_each_file_once(tmp_path: Path, home: Path) -> None:
    first, usual = executable(tmp_path / "a" / "muse"), executable(home / "bin" / "muse")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "muse").symlink_to(first)
    (tmp_path / "c" / "muse").mkdir(parents=True)
    path = os.pathsep.join(str(tmp_path / name) for name in "abc")

    listed = [one for one in every_muse({"PATH": path}, home) if one.path.is_relative_to(tmp_path)]

    assert [(one.path, one.source) for one in listed] == [(first, "PATH"), (usual, "usual place")]
