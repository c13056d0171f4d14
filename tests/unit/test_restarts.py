"""How often a host is started again, by a clock that the test turns."""

from __future__ import annotations

from adapter.bridge.hosts.restarts import DELAYS, WINDOW, Restarts


def restart_all(restarts: Restarts, now: float) -> list[float | None]:
    delays: list[float | None] = []
    while (delay := restarts.delay(now)) is not None:
        delays.append(delay)
        restarts.count(now)
    return delays


def test_five_restarts_ever_later_and_then_none() -> None:
    restarts = Restarts()
    assert restart_all(restarts, 0.0) == list(DELAYS) == [0.0, 0.25, 0.5, 1.0, 2.0]
    assert restarts.delay(WINDOW - 1) is None
    assert restarts.again_in(WINDOW - 1) == 1.0


def test_a_later_time_allows_again_one_after_the_other() -> None:
    restarts = Restarts()
    for now in (0.0, 100.0, 200.0, 300.0, 400.0):
        assert restarts.delay(now) is not None
        restarts.count(now)
    assert restarts.delay(WINDOW) == DELAYS[4] and restarts.again_in(WINDOW) == 0.0
    restarts.count(WINDOW)
    assert restarts.delay(WINDOW + 99) is None and restarts.again_in(WINDOW + 99) == 1.0
    assert restarts.delay(WINDOW + 100) == DELAYS[4]


def test_after_a_quiet_time_a_death_costs_nothing_again() -> None:
    restarts = Restarts()
    restart_all(restarts, 0.0)
    assert restart_all(restarts, WINDOW) == list(DELAYS)


def test_asking_is_not_restarting() -> None:
    restarts = Restarts()
    assert [restarts.delay(0.0) for _ in range(20)] == [0.0] * 20
