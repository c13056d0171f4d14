"""`make browser` where there is no Chromium: it is got, or it is said why nothing was looked at."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.browser import __main__ as driver


@pytest.fixture
def without_chromium(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A place for the only programs there are."""
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def program(directory: Path, name: str, text: str) -> None:
    (directory / name).write_text(f"#!/bin/sh\n{text}\n")
    (directory / name).chmod(0o700)


@pytest.mark.usefixtures("without_chromium")
def test_where_it_cannot_be_got_it_is_said_how(capsys: pytest.CaptureFixture[str]) -> None:
    assert driver.main() == 75
    assert "`apt-get install chromium`" in capsys.readouterr().out


def test_who_is_not_root_installs_nothing(
    without_chromium: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program(without_chromium, "apt-get", f"echo asked > {without_chromium}/asked")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)

    assert driver.main() == 75
    assert not (without_chromium / "asked").exists()
    assert "there is no Chromium" in capsys.readouterr().out


def test_packages_that_do_not_come_are_nobodys_mistake(
    without_chromium: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program(without_chromium, "apt-get", "echo 'Could not resolve the mirror' >&2; exit 100")
    monkeypatch.setattr(os, "geteuid", lambda: 0)

    assert driver.main() == 75
    assert "`apt-get update` failed: Could not resolve the mirror" in capsys.readouterr().out


def test_what_was_got_is_looked_with(without_chromium: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = f"printf '#!/bin/sh\\n' > {without_chromium}/chromium; /bin/chmod 700 {without_chromium}/chromium"
    program(without_chromium, "apt-get", made)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    ran: list[list[str]] = []

    def failing(args: list[str]) -> int:
        ran.append(args)
        return 1

    monkeypatch.setattr(pytest, "main", failing)

    assert driver.main() == 1
    assert ran == [[str(Path(driver.__file__).parent)]]
