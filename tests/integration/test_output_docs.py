"""`docs/stored-output.md` tells what the code does: its table, its numbers, its conversation."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from adapter.bridge.bounded_text import CARD_TEXT_BYTES
from adapter.bridge.stored_output import contract, errors
from adapter.bridge.stored_output.references import MAX_ID_LENGTH, MAX_MEDIA_TYPE_LENGTH
from adapter.bridge.stored_output.request import read_request
from adapter.bridge.stored_output.scan import HistoryScan
from adapter.msp.budgets import READ_HOST_IDLE, STARTUP_TIMEOUT
from adapter.wire.envelope import RpcError
from host_probe.probe import VERSION_TIMEOUT
from tests.example_conversation import example
from tests.integration.test_output_reads import READ_HOST_METHODS
from tests.write_docs import STORED_OUTPUT, example_in

TEXT = STORED_OUTPUT.read_text("utf-8")

Row = tuple[int, str, frozenset[str]]


def invalid_params() -> RpcError:
    with pytest.raises(RpcError) as refused:
        read_request({})
    return refused.value


def raised() -> list[tuple[str, RpcError]]:
    """Every error of a read, with the function that makes it, in the order of the checks."""
    sessions = [errors.session_refused(reason, "s") for reason in ("sessionUnknown", "sessionClosed", "sessionBusy")]
    ends = [errors.ended_early(reason) for reason in ("sessionClosed", "cancelled", "adapterStopping")]
    return [
        ("not_negotiated", errors.not_negotiated()),
        ("not_advertised", errors.not_advertised("1.3.0")),
        ("", invalid_params()),
        *(("session_refused", error) for error in sessions),
        ("host_start_timeout", errors.host_start_timeout(120)),
        ("host_start_failed", errors.host_start_failed("it ended", 1)),
        ("host_version_unverified", errors.host_version_unverified("1.3.0")),
        ("session_not_stored", errors.session_not_stored()),
        ("workspace_mismatch", errors.workspace_mismatch()),
        ("output_not_found", errors.output_not_found(HistoryScan("s", "i"))),
        ("output_unavailable", errors.output_unavailable("missing")),
        ("offset_out_of_range", errors.offset_out_of_range(1)),
        ("offset_inside_character", errors.offset_inside_character(3)),
        ("piece_too_large", errors.piece_too_large()),
        ("host_error", errors.host_error("internal", "no")),
        ("inconsistent_page", errors.inconsistent_page("it lies")),
        ("read_timeout", errors.read_timeout()),
        ("host_died", errors.host_died("it ended")),
        *(("ended_early", error) for error in ends),
    ]


def row_of(error: RpcError) -> Row:
    data: dict[str, Any] = dict(error.data or {})
    assert data.pop("details")
    return error.code, data.pop("reason"), frozenset(data)


def rows_of_the_table() -> list[Row]:
    found = re.findall(r"^\| \d+\.[^|]*\| (-\d+) \| `(\w+)` \|([^|]*)\|$", TEXT, re.MULTILINE)
    return [(int(code), reason, frozenset(re.findall(r"`(\w+)`", more))) for code, reason, more in found]


def test_the_table_has_every_error_in_the_order_of_the_checks() -> None:
    assert rows_of_the_table() == [row_of(error) for _, error in raised()]


def test_no_error_of_the_code_is_forgotten() -> None:
    made = {
        name
        for name, function in inspect.getmembers(errors, inspect.isfunction)
        if function.__module__ == errors.__name__
    }
    assert {name for name, _ in raised()} - {""} == made


@pytest.mark.parametrize(
    "words",
    [
        f'"version": {contract.CONTRACT_VERSION}, "method": "{contract.METHOD}", '
        f'"maxLengthBytes": {contract.MAX_LENGTH}',
        f'`_meta["{contract.KEY}"]`',
        f"integer from 1 to {contract.MAX_LENGTH}; {contract.DEFAULT_LENGTH} if absent",
        f"| {contract.MAX_LENGTH}, {contract.DEFAULT_LENGTH} if not said |",
        f"integer from 0 to 2^{(contract.MAX_BYTES + 1).bit_length() - 1}-1; 0 if absent",
        f"{contract.HISTORY_PAGES} pages of {contract.HISTORY_PAGE_EVENTS} events",
        f"newest {contract.HISTORY_PAGES * contract.HISTORY_PAGE_EVENTS} events",
        f"| from the ready host to the answer | {contract.READ_SECONDS:g} s |",
        f"within {contract.READ_SECONDS:g} seconds",
        f"its place rests, {contract.REST_FACTOR} times as long as it took, at most {contract.LONGEST_REST:g} s |",
        f"| reads at once | {contract.CONCURRENT_READS}; more wait",
        f"`--read-host-idle`, {READ_HOST_IDLE:g} s",
        f"`--startup-timeout`, {STARTUP_TIMEOUT:g} s",
        f"texts of 1 to {MAX_ID_LENGTH} characters",
        f"more than {MAX_MEDIA_TYPE_LENGTH} characters",
        f"at most {CARD_TEXT_BYTES} bytes",
        f"at most {VERSION_TIMEOUT:g} seconds",
    ],
)
def test_the_numbers_are_those_of_the_code(words: str) -> None:
    assert words in " ".join(TEXT.split())


def test_the_methods_of_the_read_host_are_named() -> None:
    sentence = " ".join(TEXT.split()).split("It receives ")[1].split(" and nothing else")[0]
    assert set(re.findall(r"`([\w/]+)`", sentence)) == READ_HOST_METHODS


def test_the_conversation_is_that_of_a_run() -> None:
    assert example_in(TEXT) == example(), "run `make docs`"
