"""Which references of an item are believed, and what a card says about them."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.bridge.stored_output.references import (
    OutputRef,
    card_meta,
    find_reference,
    read_reference,
    unusable_references,
)

Json = dict[str, Any]

MAX = 2**53 - 1
GOOD: Json = {
    "id": "out-plum",
    "uri": "muse-output://ses-plum/out-plum",
    "kind": "tool_output",
    "byteLen": 300_000,
    "availability": "available",
    "mediaType": "text/plain",
}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, OutputRef("out-plum", 300_000, "available", "text/plain")),
        ({"id": "x"}, OutputRef("x", 300_000, "available", "text/plain")),
        ({"id": "ü" * 1024}, OutputRef("ü" * 1024, 300_000, "available", "text/plain")),
        ({"byteLen": 0}, OutputRef("out-plum", 0, "available", "text/plain")),
        ({"byteLen": MAX}, OutputRef("out-plum", MAX, "available", "text/plain")),
        ({"availability": "missing"}, OutputRef("out-plum", 300_000, "missing", "text/plain")),
        ({"availability": "onTape"}, OutputRef("out-plum", 300_000, "onTape", "text/plain")),
        ({"mediaType": None}, OutputRef("out-plum", 300_000, "available")),
        ({"mediaType": ""}, OutputRef("out-plum", 300_000, "available")),
        ({"mediaType": "m" * 256}, OutputRef("out-plum", 300_000, "available", "m" * 256)),
        ({"mediaType": "m" * 257}, OutputRef("out-plum", 300_000, "available")),
        ({"mediaType": 5}, OutputRef("out-plum", 300_000, "available")),
    ],
)
def test_a_reference_is_read_as_the_host_gave_it(changes: Json, expected: OutputRef) -> None:
    assert read_reference({**GOOD, **changes}) == expected


BAD: list[Json] = [
    *({"id": bad} for bad in ("", "x" * 1025, None, 5, ["out-plum"])),
    *({"byteLen": bad} for bad in (-1, MAX + 1, 300_000.0, True, "300000", None)),
    *({"availability": bad} for bad in ("", None, True, ["available"])),
]


@pytest.mark.parametrize("changes", BAD, ids=repr)
def test_a_reference_that_cannot_be_right_is_not_announced(changes: Json) -> None:
    item = {"itemId": "item-plum", "outputRef": {**GOOD, **changes}}
    assert read_reference(item["outputRef"]) is None
    assert card_meta("ses-plum", "item-plum", item) == {}
    assert unusable_references(item) == 1


@pytest.mark.parametrize("value", ["out-plum", 5, ["out-plum"], True, {}])
def test_what_is_no_reference_at_all_is_not_announced(value: Any) -> None:
    assert read_reference(value) is None
    assert unusable_references({"outputRef": value}) == 1


@pytest.mark.parametrize("member", ["id", "byteLen", "availability"])
def test_a_reference_without_a_required_member_is_not_announced(member: str) -> None:
    assert read_reference({name: value for name, value in GOOD.items() if name != member}) is None


@pytest.mark.parametrize("item", [{}, {"outputRef": None}, {"outputRef": GOOD}, {"patchRef": GOOD}])
def test_no_reference_and_good_ones_are_not_unusable(item: Json) -> None:
    assert unusable_references(item) == 0


def test_an_unusable_patch_is_noticed_beside_a_good_output() -> None:
    item = {"outputRef": GOOD, "patchRef": {**GOOD, "byteLen": -1}}
    assert unusable_references(item) == 1
    assert list(card_meta("ses-plum", "item-plum", item)) == ["muse/output"]


def test_a_card_says_how_to_read_an_available_output() -> None:
    assert card_meta("ses-plum", "item-plum", {"outputRef": GOOD}) == {
        "muse/output": {
            "sessionId": "ses-plum",
            "itemId": "item-plum",
            "outputRef": "out-plum",
            "byteLen": 300_000,
            "availability": "available",
            "mediaType": "text/plain",
            "method": "_muse/readOutput",
            "maxLengthBytes": 1_048_576,
        }
    }


@pytest.mark.parametrize("availability", ["missing", "unsupported", "accessFailed", "onTape", "Available"])
def test_a_card_names_no_method_for_what_cannot_be_read(availability: str) -> None:
    reference = {"id": "out-plum", "byteLen": 7, "availability": availability}
    assert card_meta("ses-plum", "item-plum", {"outputRef": reference}) == {
        "muse/output": {
            "sessionId": "ses-plum",
            "itemId": "item-plum",
            "outputRef": "out-plum",
            "byteLen": 7,
            "availability": availability,
        }
    }


def test_a_patch_has_a_handle_of_its_own() -> None:
    meta = card_meta("ses-plum", "item-plum", {"outputRef": GOOD, "patchRef": {**GOOD, "id": "patch-plum"}})
    assert {key: handle["outputRef"] for key, handle in meta.items()} == {
        "muse/output": "out-plum",
        "muse/patch": "patch-plum",
    }
    assert meta["muse/patch"]["method"] == "_muse/readOutput"


ITEM: Json = {"outputRef": GOOD, "patchRef": {**GOOD, "id": "patch-plum", "byteLen": 9}}


@pytest.mark.parametrize(
    ("ref_id", "found"),
    [
        ("out-plum", OutputRef("out-plum", 300_000, "available", "text/plain")),
        ("patch-plum", OutputRef("patch-plum", 9, "available", "text/plain")),
        ("out-plu", None),
        ("OUT-PLUM", None),
        ("muse-output://ses-plum/out-plum", None),
        ("", None),
    ],
)
def test_a_reference_is_found_by_exactly_its_id(ref_id: str, found: OutputRef | None) -> None:
    assert find_reference(ITEM, ref_id) == found


def test_an_unusable_reference_is_not_found() -> None:
    assert find_reference({"outputRef": {**GOOD, "byteLen": -1}}, "out-plum") is None
