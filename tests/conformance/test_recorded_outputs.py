"""The recordings about stored output: true to the wire types, repeatable, and played to the adapter."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import anyio
import orjson
import pytest

from adapter.hosts.recorded import load_script
from adapter.hosts.simulated.outputs import new_output, stored_bytes
from adapter.hosts.simulated.profiles import PROFILES
from adapter.wire.envelope import RpcError
from tests.adapter_process import running_adapter
from tests.oracles.msp_types import Direction, check_transcript
from tests.record_fixtures import FIXTURES
from tests.record_outputs import (
    CUT_BYTES,
    READ_BYTES,
    RECORDINGS,
    REFUSALS,
    SCENARIOS,
    WORKSPACE,
    answer_of,
    first_page,
    reader_of,
    record,
    three_pages,
)

Json = dict[str, Any]
Dialogue = list[tuple[Direction, Any]]

READ = ["session/read", "view/page", "item/readOutput"]
"""What one read asks of a host that is ready."""

ENDS_AFTER = {
    "hostVersionUnverified": 0,
    "sessionNotStored": 1,
    "workspaceMismatch": 1,
    "outputNotFound": 2,
    "outputUnavailable": 2,
    "offsetOutOfRange": 2,
}
"""How many of these questions a refused read gets to ask; the others ask all."""

recording = pytest.mark.parametrize(("version", "scenario"), RECORDINGS, ids=map("/".join, RECORDINGS))


def dialogue(version: str, scenario: str) -> Dialogue:
    return [(line.direction, line.frame) for line in load_script(FIXTURES / version / scenario).lines]


def asked(version: str, scenario: str, method: str) -> list[Json]:
    """The params of each request of the client for that method."""
    frames = [frame for direction, frame in dialogue(version, scenario) if direction == "client"]
    return [frame["params"] for frame in frames if frame["method"] == method]


def handle_in(version: str, scenario: str) -> Json:
    """What names the output that the recorded history tells of."""
    for _, frame in dialogue(version, scenario):
        for event in frame.get("result", {}).get("events", []):
            item = event["params"].get("item", {})
            if "outputRef" in item:
                session_id = event["params"]["sessionId"]
                return {"sessionId": session_id, "itemId": item["itemId"], "outputRef": item["outputRef"]["id"]}
    raise AssertionError("there is no stored output in it")


# -- what they are


def test_every_recording_is_there() -> None:
    found = {path.parent.relative_to(FIXTURES).parts for path in FIXTURES.glob("*/*/transcript.ndjson")}
    assert found >= set(RECORDINGS)
    assert {scenario for _, scenario in RECORDINGS} == set(SCENARIOS)


@recording
def test_every_frame_has_its_official_type(version: str, scenario: str) -> None:
    check_transcript(dialogue(version, scenario), profile=version, closed=True)


@recording
def test_the_manifest_tells_the_truth(version: str, scenario: str) -> None:
    about = orjson.loads((FIXTURES / version / scenario / "manifest.json").read_bytes())
    assert (about["scenario"], about["description"]) == (scenario, SCENARIOS[scenario])
    assert about["provenance"] == "simulated"
    assert "no real host was recorded" in about["provenanceNote"]
    assert about["schema"]["fingerprint"] == PROFILES[version].fingerprint
    assert about["versionOutput"] == f"Muse Code {version} ({PROFILES[version].build})"


@recording
def test_nothing_of_the_machine_is_in_it(version: str, scenario: str) -> None:
    for name in ("transcript.ndjson", "manifest.json"):
        text = (FIXTURES / version / scenario / name).read_text("utf-8")
        for directory in (tempfile.gettempdir(), str(Path.home()), str(Path(__file__).resolve().parents[2])):
            assert f"{directory}/" not in text


@recording
def test_the_adapter_still_says_the_same(version: str, scenario: str) -> None:
    # Each side by itself: what crosses on the wire may cross at another place.
    for side in ("client", "server"):
        again = [orjson.loads(entry["raw"]) for entry in record(version, scenario) if entry["dir"] == side]
        assert again == [frame for direction, frame in dialogue(version, scenario) if direction == side]


@pytest.mark.parametrize("scenario", [scenario for _, scenario in RECORDINGS if scenario.startswith("read-")])
def test_a_host_that_reads_was_asked_nothing_else(scenario: str) -> None:
    (version,) = [version for version, other in RECORDINGS if other == scenario]
    methods = [frame["method"] for direction, frame in dialogue(version, scenario) if direction == "client"]
    assert methods[:2] == ["initialize", "initialized"]
    if scenario == "read-three-pages":
        assert methods[2:] == READ * 3
    else:
        assert methods[2:] == READ[: ENDS_AFTER.get(scenario.removeprefix("read-refused-"), len(READ))]


# -- what the adapter makes of them


def answers(version: str, scenario: str, params: list[Json], workspace: str = WORKSPACE) -> list[Json | RpcError]:
    """What a client is answered with the recording in the place of the host that reads."""

    async def read() -> list[Json | RpcError]:
        async with reader_of(f"recorded:{FIXTURES / version / scenario}", workspace, {}) as output:
            return [await answer_of(output, each) for each in params]

    return anyio.run(read)


def test_three_pages_are_the_whole_output() -> None:
    handle = handle_in("1.2.1", "read-three-pages")
    pages = answers("1.2.1", "read-three-pages", three_pages(handle))
    whole = b""
    for page in pages:
        assert isinstance(page, dict), page
        assert page["offsetBytes"] == len(whole)
        whole += page["content"].encode()
        assert page["eof"] is (len(whole) == READ_BYTES)
    assert len(pages) == 3
    assert whole == stored_bytes(new_output("", "lines", READ_BYTES), 0, READ_BYTES)


@pytest.mark.parametrize("reason", list(REFUSALS))
def test_a_read_is_refused_as_its_recording_is_named(reason: str) -> None:
    refusal, scenario = REFUSALS[reason], f"read-refused-{reason}"
    if ENDS_AFTER.get(reason, 2) < 2:
        # It never comes to the history; only the session has to be the recorded one.
        sessions = [params["sessionId"] for params in asked(refusal.version, scenario, "session/read")]
        handle = {"sessionId": sessions[0] if sessions else "any", "itemId": "any", "outputRef": "any"}
    else:
        handle = handle_in(refusal.version, scenario)
    (answer,) = answers(refusal.version, scenario, [first_page(handle) | refusal.changes], refusal.workspace)
    assert isinstance(answer, RpcError), answer
    assert answer.data is not None
    assert answer.data["reason"] == reason


OFFERED = {"1.1.1": False, "1.2.1": True}


@pytest.mark.parametrize("version", list(OFFERED))
def test_a_session_is_loaded_from_a_recording(version: str, tmp_path: Path) -> None:
    (resumed,) = asked(version, "load-after-restart", "session/resume")
    muse = f"recorded:{FIXTURES / version / 'load-after-restart'}"
    with running_adapter(tmp_path, muse=muse) as adapter:
        hello = adapter.initialize(clientCapabilities={"_meta": {"muse/output": 1}})
        assert ("muse/output" in hello.get("_meta", {})) is OFFERED[version]
        adapter.call("session/load", {"cwd": WORKSPACE, "mcpServers": [], "sessionId": resumed["sessionId"]})
        assert adapter.text(variant="user_message_chunk") == f"shell {CUT_BYTES}"
        handles = [
            update["_meta"]["muse/output"] for update in adapter.updates() if "muse/output" in update.get("_meta", {})
        ]
        if OFFERED[version]:
            handle = handle_in(version, "load-after-restart")
            assert handles
            assert all(each | handle == each for each in handles)
            assert handles[-1]["byteLen"] == CUT_BYTES
        else:
            assert not handles
        assert adapter.finish() == 0


@pytest.mark.parametrize("version", list(OFFERED))
def test_a_cut_output_is_announced_from_a_recording(version: str, tmp_path: Path) -> None:
    muse = f"recorded:{FIXTURES / version / 'truncated-output'}"
    with running_adapter(tmp_path, muse=muse) as adapter:
        adapter.initialize(clientCapabilities={"_meta": {"muse/output": 1}})
        session_id = adapter.new_session(tmp_path)
        assert adapter.prompt(session_id, f"shell {CUT_BYTES}")["stopReason"] == "end_turn"
        metas = [update.get("_meta", {}) for update in adapter.updates(session_id)]
        handles = [meta["muse/output"] for meta in metas if "muse/output" in meta]
        assert bool(handles) is OFFERED[version]
        assert all((each["byteLen"], each["availability"]) == (CUT_BYTES, "available") for each in handles)
        cuts = [meta["muse/truncated"] for meta in metas if "muse/truncated" in meta]
        assert cuts[-1]["totalBytes"] == CUT_BYTES
        assert adapter.finish() == 0
