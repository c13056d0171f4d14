"""The browser that the tests of pages look with."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.browser.chromium import Chromium, find_chromium, running_chromium


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A browser with an empty profile."""
    program = find_chromium()
    if program is None or os.name != "posix":
        pytest.skip("there is no Chromium; `make browser` gets one")
    with running_chromium(program, tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture
def browser(chromium: Chromium) -> Iterator[Chromium]:
    """A page of the browser. At its end nothing has been asked of the network, and nothing has gone wrong in the
    page."""
    chromium.new_page()
    yield chromium
    chromium.run("0")  # What has happened until now is told before the answer.
    assert chromium.complaints == []
    assert [address for address in chromium.requests if not address.startswith("file:")] == []
