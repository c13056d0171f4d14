"""A read walked on a host that answers anything: there are always thirteen checks, and never an exception."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.bridge.hosts.host_choice import HostChoice
from adapter.bridge.stored_output.negotiation import Negotiation, judged
from adapter.cli.doctor import read_walk
from adapter.cli.doctor.read_walk import walk
from adapter.cli.doctor.report import Check, HostFacts, Report
from adapter.cli.doctor.screen import plain
from adapter.msp.errors import MspError
from adapter.msp.handshake import Handshake
from host_probe import HostVersion
from tests.output_hosts import ITEM, REF, SESSION, reference, revised

Json = dict[str, Any]

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
ANYTHING = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


MISSING = object()


def oddly(right: Json) -> st.SearchStrategy[Json]:
    """All members as they should be but one or two, which are something else or missing."""
    odd = st.dictionaries(st.sampled_from(sorted(right)), st.just(MISSING) | ANYTHING, min_size=1, max_size=2)
    return odd.map(lambda told: {name: value for name, value in {**right, **told}.items() if value is not MISSING})


def refusals(kinds: list[str]) -> st.SearchStrategy[MspError]:
    data = st.fixed_dictionaries(
        {"kind": st.sampled_from(kinds) | ANYTHING},
        optional={"alignedNextOffset": ANYTHING, "availability": ANYTHING, "retryable": ANYTHING, "reason": ANYTHING},
    )
    return st.builds(
        lambda code, message, data: MspError.from_error({"code": code, "message": message, "data": data}),
        st.integers(-33000, 0),
        st.text(max_size=20),
        data,
    )


TEXT = "Grüße"
SESSION_ROW: Json = {"sessionId": SESSION, "workspaceRoot": "/"}
OUTPUT_REF = reference(size=7, digest="sha256:" + "0" * 64)
PAGE: Json = {
    "content": TEXT,
    "encoding": "utf8",
    "mediaType": "text/plain",
    "offsetBytes": 0,
    "byteLen": 7,
    "eof": True,
}
RIGHT: dict[str, Json | MspError] = {
    "session/read": {"session": SESSION_ROW},
    "view/page": {"events": [revised(outputRef=OUTPUT_REF)], "nextCursor": None},
    "item/readOutput": PAGE,
}


def history(ref: Json) -> Json:
    return {"events": [revised(outputRef=ref)], "nextCursor": None}


ODD: dict[str, st.SearchStrategy[Any]] = {
    "session/read": oddly(SESSION_ROW).map(lambda row: {"session": row})
    | oddly({"session": SESSION_ROW})
    | refusals(["sessionNotFound", "sessionAmbiguous"]),
    "view/page": oddly(OUTPUT_REF).map(history)
    | oddly(history(OUTPUT_REF))
    | oddly(revised(outputRef=OUTPUT_REF)).map(lambda event: {"events": [event], "nextCursor": None})
    | refusals(["pageEventTooLarge"]),
    "item/readOutput": oddly(PAGE)
    | refusals(["invalidParams", "outputUnavailable", "notFound", "outputResultTooLarge"]),
}
"""What may come in place of each answer."""


class OddHost:
    """Answers what it is told to answer."""

    def __init__(self, answers: dict[str, Json | MspError], version: str) -> None:
        self._answers = answers
        self._version = version

    async def ready(self) -> Handshake:
        return Handshake("odd", self._version, "", frozenset(), True, None)

    async def query(self, method: str, _params: Json, **_more: Any) -> Json:
        answer = self._answers[method]
        if isinstance(answer, MspError):
            raise answer
        return answer


class OddReadHost:
    """Has one host, which is there at once."""

    host: OddHost

    def __init__(self, *_any: Any, **_more: Any) -> None:
        pass

    @asynccontextmanager
    async def use(self) -> AsyncIterator[OddHost]:
        yield self.host

    async def close(self) -> None:
        pass


async def negotiated(*_any: Any) -> Negotiation:
    return judged(HostVersion("1.2.1"))


def walked(answers: dict[str, Json | MspError], version: str = "1.2.1") -> tuple[Check, ...]:
    with pytest.MonkeyPatch.context() as patched, tempfile.TemporaryDirectory() as home:
        patched.setattr(OddReadHost, "host", OddHost(answers, version), raising=False)
        patched.setattr(read_walk, "ReadHost", OddReadHost)
        patched.setattr(read_walk, "negotiate", negotiated)
        return anyio.run(walk, HostChoice({"DEMO_KEY": "sesame-open"}, Path(home), "muse"), SESSION, ITEM)


def assert_told(checks: tuple[Check, ...]) -> None:
    """There is one of each, and the report can be made."""
    assert [check.id for check in checks] == [f"read.{number}" for number in range(1, 14)]
    statuses = [check.status for check in checks]
    end = next((at for at, status in enumerate(statuses) if status not in ("pass", "warn")), 13)
    assert set(statuses[end + 1 :]) <= {"skipped"}
    report = Report(adapter={"version": "1"}, host=HostFacts(), checks=checks, negotiation=())
    assert msgspec.json.decode(report.document())["schema"] == 1
    assert "read.13" in plain(report)


@pytest.mark.parametrize("method", ODD)
@given(data=st.data())
def test_odd_answers_never_break_it(method: str, data: st.DataObject) -> None:
    assert_told(walked({**RIGHT, method: data.draw(ODD[method])}))


@given(st.text(max_size=30))
def test_an_odd_version_never_breaks_it(version: str) -> None:
    assert_told(walked({"session/read": {}}, version))


def test_the_host_of_these_tests_can_be_read_from() -> None:
    checks = walked(RIGHT)
    # There is a digest, which cannot be right.
    assert {check.status for check in checks[:11]} == {"pass"} and checks[11].details["digest"] == "wrong"
    assert checks[7].details["outputRef"] == REF


def test_a_page_without_anything_is_a_page_that_cannot_be_trusted() -> None:
    checks = walked({**RIGHT, "item/readOutput": {}})
    assert (checks[10].status, checks[11].status) == ("pass", "fail")
    assert checks[11].details["error"]["data"]["reason"] == "inconsistentPage"


@pytest.mark.parametrize("availability", ["sesame-open", "x" * 5000 + " sk-quince-0123456789"])
def test_words_of_the_host_are_told_without_secrets_and_bounded(availability: str) -> None:
    ref = reference(size=7, availability=availability)
    told = msgspec.json.encode(walked({**RIGHT, "view/page": {"events": [revised(outputRef=ref)], "nextCursor": None}}))
    assert b"sesame-open" not in told and b"quince-0123" not in told and len(told) < 20_000


@pytest.mark.parametrize("root", ["/" + "x" * 5000, "/x\udc80", "/proc/1/fd/0/x"])
def test_a_folder_that_cannot_be_looked_at_is_none_here(root: str) -> None:
    checks = walked({**RIGHT, "session/read": {"session": {"sessionId": SESSION, "workspaceRoot": root}}})
    assert checks[6].status == "warn"
