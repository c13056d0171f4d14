"""`docs/doctor.md`: what it lists is what there is, and what it shows is what a run writes."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from adapter.cli.doctor import host_checks, trial
from adapter.cli.doctor.client_profiles import PROFILES
from adapter.cli.doctor.finding import WHY
from tests.doctor_command import assert_shape, checks, doctor, document
from tests.doctor_hosts import EndsAtOnce, Patient
from tests.documents import doc, rows, section
from tests.scripted_hosts import Json, place

pytestmark = pytest.mark.skipif(os.name != "posix", reason="stand-ins that are scripts")

TEXT = doc("doctor.md")


def words(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def masked(value: Any) -> Any:
    """A value without what differs from run to run."""
    if isinstance(value, dict):
        return {name: masked(member) for name, member in value.items()}
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, float):
        return 0.0
    return re.sub(r"\d+\.\d+ s\b", "0.00 s", value) if isinstance(value, str) else value


def test_the_checks_are_those_there_are_in_their_order() -> None:
    assert [words(cells[0])[0] for cells in rows(section(TEXT, "The checks"))] == list(WHY)
    listed = [words(cells[0])[0] for cells in rows(section(TEXT, "For programs"))]
    assert listed == list(WHY)


def test_the_options_are_those_of_the_help(tmp_path: Path) -> None:
    told = [words(cells[0])[0] for cells in rows(TEXT.split("## The checks")[0])]
    help_text = doctor(tmp_path, "--help", muse=None).stdout.decode()
    offered = re.findall(r"^  (-[-\w]+(?: [A-Z]+)*)", help_text, re.MULTILINE)
    ours = offered[: next(at for at, option in enumerate(offered) if option.startswith("--muse"))]

    assert told == ours


def test_the_clients_are_those_there_are() -> None:
    row = next(line for line in TEXT.splitlines() if line.startswith("| `--client NAME`"))
    assert words(row)[1:] == [profile.name for profile in PROFILES]


def test_the_bounds_are_those_of_the_code() -> None:
    told = re.sub(r"\s+", " ", TEXT)
    assert f"{trial.READY_SECONDS:g} for the host to become ready" in told
    assert f"counted up to {trial.LIST_PAGES * trial.PAGE_ROWS:,} and for {trial.LIST_SECONDS:g} seconds" in told
    assert f"{host_checks.MANY_SESSIONS:,} or more; a start of {host_checks.SLOW_SECONDS:g} seconds or more" in told


def test_the_document_shown_is_that_of_a_run(tmp_path: Path) -> None:
    (block,) = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
    shown: Json = json.loads(block)
    assert_shape(shown)

    found = document(tmp_path, "--client", "muse/output", muse="simulated:1.3.0")

    made = checks(found)
    assert shown["adapter"].keys() == found["adapter"].keys()
    assert (shown["schema"], shown["ok"], shown["host"]) == (found["schema"], found["ok"], found["host"])
    for check in shown["checks"]:
        assert masked(check) == masked(made[check["id"]])
    for offer, real in zip(shown["negotiation"], found["negotiation"], strict=True):
        assert set(offer["offered"]) < set(real["offered"])
        assert all(withheld in real["withheld"] for withheld in offer["withheld"])


def test_no_fact_is_told_that_is_not_documented(tmp_path: Path) -> None:
    documented = {words(cells[0])[0]: set(words(cells[1])) for cells in rows(section(TEXT, "For programs"))}
    good = place(tmp_path / "good", Patient, version="1.2.1")
    bad = place(tmp_path / "bad", EndsAtOnce, version="none")
    runs = [
        document(tmp_path, muse="simulated"),
        document(tmp_path, muse=None, PATH="/usr/bin"),
        document(tmp_path, muse=good.muse, META_API_KEY="demo-key-123456"),
        document(tmp_path, muse=bad.muse),
    ]

    for check in (check for found in runs for check in found["checks"]):
        told = check["details"].keys() - {"why", "because"}
        assert told <= documented[check["id"]], check["id"]
