"""What may be asked of `_muse/readOutput` (check 3)."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.bridge.stored_output.request import ReadRequest, read_request
from adapter.wire.envelope import RpcError

Json = dict[str, Any]

MAX = 2**53 - 1
IDS: Json = {"sessionId": "ses-fig", "itemId": "item-fig", "outputRef": "out-fig"}


def test_a_range_is_read_as_asked() -> None:
    request = read_request({**IDS, "offsetBytes": 65_536, "lengthBytes": 1000})
    assert request == ReadRequest("ses-fig", "item-fig", "out-fig", 65_536, 1000)
    assert request.host_params() == {**IDS, "offsetBytes": 65_536, "lengthBytes": 1000}


@pytest.mark.parametrize("absent", [{}, {"offsetBytes": None, "lengthBytes": None}])
def test_what_is_not_said_is_the_first_64_kib(absent: Json) -> None:
    request = read_request({**IDS, **absent})
    assert (request.offset, request.length) == (0, 65_536)


@pytest.mark.parametrize(("offset", "length"), [(0, 1), (MAX, 1), (0, 1_048_576), (MAX, 1_048_576)])
def test_the_bounds_are_allowed(offset: int, length: int) -> None:
    request = read_request({**IDS, "offsetBytes": offset, "lengthBytes": length})
    assert (request.offset, request.length) == (offset, length)


@pytest.mark.parametrize("name", list(IDS))
@pytest.mark.parametrize("size", [1, 1024])
def test_ids_are_opaque_and_kept_as_they_are(name: str, size: int) -> None:
    request = read_request({**IDS, name: "é" * size})
    assert request.host_params()[name] == "é" * size


BAD_IDS: list[Any] = ["", "x" * 1025, None, 5, True, ["x"], {}]
BAD_OFFSETS: list[Any] = [-1, MAX + 1, 0.0, 1.5, True, False, "0", [], {}]
BAD_LENGTHS: list[Any] = [0, -1, 1_048_577, 1.0, True, "65536", [], {}]
REFUSED: list[tuple[str, Any]] = [
    *((name, bad) for name in IDS for bad in BAD_IDS),
    *(("offsetBytes", bad) for bad in BAD_OFFSETS),
    *(("lengthBytes", bad) for bad in BAD_LENGTHS),
]


@pytest.mark.parametrize(("field", "value"), REFUSED, ids=lambda value: repr(value)[:20])
def test_anything_else_is_refused_by_the_name_of_its_field(field: str, value: Any) -> None:
    with pytest.raises(RpcError) as caught:
        read_request({**IDS, field: value})
    assert caught.value.code == -32602
    assert caught.value.data is not None
    assert (caught.value.data["reason"], caught.value.data["field"]) == ("invalidParams", field)
    assert "xxx" not in caught.value.data["details"], "values are not repeated"


@pytest.mark.parametrize("field", list(IDS))
def test_an_id_must_be_there(field: str) -> None:
    with pytest.raises(RpcError) as caught:
        read_request({name: value for name, value in IDS.items() if name != field})
    assert caught.value.data is not None
    assert caught.value.data["field"] == field


def test_requests_that_ask_for_the_same_are_equal_whoever_traces_them() -> None:
    traces = [{"_meta": {"traceparent": f"00-{digit * 32}-{digit * 16}-01"}} for digit in "12"]
    first, second = (read_request({**IDS, **trace}) for trace in traces)
    assert first == second
    assert hash(first) == hash(second)
    assert first != read_request({**IDS, "offsetBytes": 1})


def test_members_of_a_later_contract_are_ignored() -> None:
    assert read_request({**IDS, "colour": "green", "_meta": {"x": 1}}) == read_request(IDS)
