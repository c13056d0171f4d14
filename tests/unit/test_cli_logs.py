"""Logging to stderr: in order, bounded, and never in the way of whoever logs."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from adapter.cli import logs
from adapter.cli.logs import (
    MAX_LINE_BYTES,
    MAX_WAITING_LINES,
    MOST_ALIKE,
    MOST_WORDINGS,
    WINDOW_SECONDS,
    Discreet,
    Sparse,
    StderrHandler,
)

SECONDS = 20.0
"""Only what hangs takes so long."""


@contextmanager
def logging_to_pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[StderrHandler, int]]:
    """A handler whose stderr is a pipe, and the end to read of it."""
    reading, writing = os.pipe()
    monkeypatch.setattr(logs, "STDERR", writing)
    handler = StderrHandler()
    try:
        yield handler, reading
    finally:
        # Its thread must not live on and write into the pipe of the next test.
        reader = threading.Thread(target=read_to_end, args=(reading,), daemon=True)
        reader.start()
        handler._lines.put(None, timeout=SECONDS)
        if handler._thread is not None:
            handler._thread.join(SECONDS)
        os.close(writing)
        reader.join(SECONDS)
        os.close(reading)


def read_to_end(reading: int) -> None:
    while os.read(reading, 65536):
        pass


def record(text: str) -> logging.LogRecord:
    return logging.LogRecord("adapter.test", logging.WARNING, __file__, 1, "%s", (text,), None)


def within_time(work: threading.Thread) -> bool:
    work.start()
    work.join(SECONDS)
    return not work.is_alive()


def test_a_stderr_that_nobody_reads_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    with logging_to_pipe(monkeypatch) as (handler, _reading):
        lines = [record("x" * MAX_LINE_BYTES)] * (MAX_WAITING_LINES + 100)

        def log_much() -> None:
            for line in lines:
                handler.emit(line)

        assert within_time(threading.Thread(target=log_much, daemon=True))
        assert handler._lines.qsize() <= MAX_WAITING_LINES
        # Nor does the end wait for it.
        assert within_time(threading.Thread(target=handler.close, daemon=True))


def test_lines_arrive_in_order_and_no_longer_than_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    with logging_to_pipe(monkeypatch) as (handler, reading):
        for text in ("one", "y" * 2 * MAX_LINE_BYTES, "three"):
            handler.emit(record(text))
        handler.close()
        one, two, three, rest = os.read(reading, 65536).split(b"\n")
        assert (one, three, rest) == (b"one", b"three", b"")
        assert two == b"y" * MAX_LINE_BYTES


CANARY = "canary-quince-0815"


def formatted(error: BaseException) -> str:
    """As it is logged when it was raised."""
    try:
        raise error
    except BaseException as raised:
        info = (type(raised), raised, raised.__traceback__)
        return Discreet("%(levelname)s %(message)s").format(logging.LogRecord("x", 40, "f", 1, "it broke", (), info))


def chained() -> BaseException:
    try:
        try:
            raise KeyError(CANARY)
        except KeyError as error:
            raise ValueError(CANARY) from error
    except ValueError as error:
        return ExceptionGroup(CANARY, [error, OSError(CANARY)])


@pytest.mark.parametrize(
    ("error", "kinds"),
    [
        (ValueError(f"invalid literal: {CANARY}"), ["builtins.ValueError"]),
        (
            chained(),
            [
                "builtins.ExceptionGroup",
                "builtins.KeyError",
                "which led to:",
                "builtins.ValueError",
                "builtins.OSError",
            ],
        ),
    ],
    ids=["one", "several"],
)
def test_q2_an_exception_is_told_by_its_kind_and_its_place(error: BaseException, kinds: list[str]) -> None:
    told = formatted(error)
    assert CANARY not in told
    assert told.startswith("ERROR it broke\nTraceback (most recent call last):\n")
    assert f'File "{__file__}", line ' in told and "in formatted" in told
    assert [line for line in told.splitlines() if line.startswith(("builtins.", "which"))] == kinds


def test_exceptions_behind_exceptions_are_told_of_within_a_bound() -> None:
    error: BaseException = ValueError()
    for _ in range(1000):
        later = ValueError()
        later.__cause__ = error
        error = later
    assert formatted(error).count("ValueError") < 10


def test_a_message_is_one_line_whatever_a_name_in_it_says() -> None:
    line = Discreet("%(levelname)s %(message)s").format(record("editor\nERROR adapter.acp: forged\r\u2028x"))
    assert line == "WARNING editor\\nERROR adapter.acp: forged\\n\\nx"


def test_a_warning_that_is_repeated_is_counted_instead(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    sparse = Sparse()

    def passed(wording: str, level: int = logging.WARNING) -> bool:
        return sparse.filter(logging.LogRecord("adapter.test", level, __file__, 1, wording, (), None))

    assert [passed("a host is odd") for _ in range(30)].count(True) == MOST_ALIKE
    assert passed("another host is odd")
    assert all(passed("all of it", logging.DEBUG) for _ in range(30))
    assert [sparse.filter(record(f"said {number % 2}")) for number in range(60)].count(True) == 2 * MOST_ALIKE
    assert not caplog.records
    now += WINDOW_SECONDS + 1
    assert passed("a host is odd")
    assert caplog.messages == [f"{10 + 20} more warnings of the last minutes were left out"]


def test_wordings_that_are_all_different_are_bounded_too() -> None:
    sparse = Sparse()
    passed = [sparse.filter(record(f"said {number}")) for number in range(MOST_WORDINGS + 1000)]
    assert passed.count(True) == MOST_WORDINGS + MOST_ALIKE
    assert len(sparse._made) == MOST_WORDINGS + 1
