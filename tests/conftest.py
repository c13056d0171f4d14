"""What every test may use, and which tests run."""

from __future__ import annotations

import signal
from collections import defaultdict
from typing import Final

import pytest
from hypothesis import HealthCheck, settings

# Whoever runs tests in the background may have them ignore signals (`nohup`, `&` in a script), and with them every
# process they start. What is tested here is started by people.
for _signum in {signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGINT)}:
    if signal.getsignal(_signum) is signal.SIG_IGN:
        signal.signal(_signum, signal.default_int_handler if _signum == signal.SIGINT else signal.SIG_DFL)

# How fast examples are made says something about the machine: the first ones in a fresh clone wait for tables.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")
# The same examples in each run, so that what fails was broken by what changed; `make search` looks for what nobody
# thought of.
settings.register_profile("same", derandomize=True)
settings.register_profile("search", derandomize=False, max_examples=20 * settings().max_examples, print_blob=True)
settings.load_profile("same")

OLDEST: Final = "1.0.1"
NEWEST: Final = "1.4.13"
VERIFIED: Final = "1.2.1"
"""The simulated version of tests that name none."""

BETWEEN: Final = frozenset({"1.1.1", "1.3.0", "1.4.2"})
"""Simulated versions that differ little from their neighbours."""


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    """Run each `@pytest.mark.anyio` test on both event loops."""
    return str(request.param)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-versions",
        action="store_true",
        help="run what is shown on every simulated version on all of them, not only on the oldest and the newest",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out versions where others show the same: those in between where a test runs on the newest as well, the
    verified one where a test runs on the oldest and the newest with nothing else about them different."""
    if config.getoption("--all-versions"):
        return
    versions: defaultdict[str, set[str]] = defaultdict(set)
    for item in items:
        versions[_function(item)].add(_version(item))
        versions[_but_for_version(item)].add(_version(item))
    left_out = {
        item
        for item in items
        if (_version(item) in BETWEEN and NEWEST in versions[_function(item)])
        or (_version(item) == VERIFIED and {OLDEST, NEWEST} <= versions[_but_for_version(item)])
    }
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item in left_out])
        items[:] = [item for item in items if item not in left_out]


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _but_for_version(item: pytest.Item) -> str:
    """A test with all that it is given except the version."""
    return item.nodeid.replace(_version(item), "")


def _version(item: pytest.Item) -> str:
    """The simulated version a test runs on, empty if it does not say."""
    params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
    return str(params.get("version", params.get("profile", "")))
