"""`docs/doctor.md`: the clients, the features, the steps of a read and the members of a bundle are those there are."""

from __future__ import annotations

import pytest

from adapter.cli.doctor.client_profiles import PROFILES
from adapter.cli.doctor.negotiation import FEATURES
from adapter.cli.doctor.read_walk import PIECE_BYTES, START_SECONDS, STEPS
from adapter.cli.doctor.support import CONTENTS, LEFT_OUT
from tests.documents import doc, rows, section

NEGOTIATION = section(doc("doctor.md"), "Negotiation")
READ = section(doc("doctor.md"), "A read, step by step")
BUNDLE = section(doc("doctor.md"), "A bundle for a bug report")


def first_cells(text: str) -> list[str]:
    return [row[0].strip("`") for row in rows(text)]


def test_each_client_and_each_feature_has_its_row() -> None:
    clients = [profile.name for profile in PROFILES]
    assert first_cells(NEGOTIATION) == [*clients, *(feature.name for feature in FEATURES)]


@pytest.mark.parametrize("name", ["prompt.audio", "mcp.sse", "booleanOptions"])
def test_what_is_never_offered_says_so(name: str) -> None:
    (row,) = [row for row in rows(NEGOTIATION) if row[0] == f"`{name}`"]
    assert row[2].startswith("never: ")


def test_each_step_of_a_read_has_its_row() -> None:
    names = [(f"`read.{number}`", f"`{step.name}`") for number, step in enumerate(STEPS, 1)]
    assert [(row[0], row[1]) for row in rows(READ)] == names
    assert f"{PIECE_BYTES // 1024} KiB" in READ
    assert f"{START_SECONDS:g} seconds to become ready" in READ


def test_each_member_of_a_bundle_has_its_row() -> None:
    assert {row[0].strip("`"): row[1] for row in rows(BUNDLE)} == CONTENTS
    assert LEFT_OUT in " ".join(BUNDLE.split())
