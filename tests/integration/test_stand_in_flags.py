"""What is known of a stand-in's flags without asking it is what it says when it is asked."""

from __future__ import annotations

import os

import pytest

from adapter.hosts.select import stand_in_command, stand_in_flags
from adapter.hosts.simulated.profiles import PROFILES
from host_probe import serve_flags


@pytest.mark.anyio
@pytest.mark.parametrize("version", PROFILES)
async def test_the_flags_that_are_known_are_those_that_are_listed(version: str) -> None:
    spec = f"simulated:{version}"
    command = stand_in_command(spec)
    assert command is not None
    assert stand_in_flags(spec) == await serve_flags(command, os.environ) - {"--help"}


def test_of_other_hosts_nothing_is_known_without_asking() -> None:
    assert stand_in_flags("muse") is None
    assert stand_in_flags("recorded:somewhere") is None
