"""What cards say about stored output: to a client that can read it, and to every other."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adapter.hosts.simulated.outputs import new_output, stored_bytes
from tests.adapter_process import Json, running_adapter
from tests.output_clients import KEY, OPT_IN, READ, Reader, handles, page_bytes, reading
from tests.output_hosts import ITEM, SESSION, reference, stored
from tests.scripted_hosts import place
from tests.storing_hosts import HANDLE, StoringHost

PATCH = "muse/patch"
TRUNCATED = "muse/truncated"
CARD_BYTES = 49_152
READABLE = {"method": READ, "maxLengthBytes": 1_048_576}
COMMAND_SECONDS = 60.0

AVAILABLE = {"outputRef": reference()}
MISSING = {"outputRef": reference(availability="missing")}


def shown_of(tmp_path: Path, revisions: list[Json], *, asks: bool = True, **settings: Any) -> list[Json]:
    """Every update of the card of a turn with these revisions, in order."""
    host = place(tmp_path / "host", StoringHost, revisions=revisions, **settings)
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize(**(OPT_IN if asks else {}))
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "go")
        # What the host tells after the turn is on the wire before the answer to this.
        adapter.new_session(tmp_path)
        assert adapter.finish() == 0
        card = [update for update in adapter.updates(session_id) if "toolCallId" in update]
    assert {update["toolCallId"] for update in card} == {ITEM}, "whatever is announced, the card is the same"
    assert [update["sessionUpdate"] for update in card] == ["tool_call", *["tool_call_update"] * (len(card) - 1)]
    return card


def texts(card: list[Json]) -> list[str]:
    """The texts of a card, each of which took the place of the one before."""
    return [update["content"][0]["content"]["text"] for update in card if "content" in update]


def handle(**members: Any) -> Json:
    """What is announced of an output that can be read."""
    return {**HANDLE, "byteLen": 300_000, "availability": "available", "mediaType": "text/plain", **READABLE, **members}


def unreadable(availability: str) -> Json:
    """What is announced of one that cannot."""
    return {name: value for name, value in handle(availability=availability).items() if name not in READABLE}


# -- handles


def test_a_handle_comes_with_the_first_revision_that_has_a_reference(tmp_path: Path) -> None:
    card = shown_of(tmp_path, [AVAILABLE, AVAILABLE])
    assert card[0]["_meta"][KEY] == handle()
    assert handles(card) == [handle()], "it is told once"


def test_a_handle_comes_as_soon_as_a_later_revision_has_one(tmp_path: Path) -> None:
    card = shown_of(tmp_path, [{}, AVAILABLE])
    assert "_meta" not in card[0]
    assert handles(card) == [handle()]
    assert card[-1]["status"] == "completed"


@pytest.mark.parametrize("late", [0, 1, 2])
def test_a_card_follows_the_availability_back_and_forth_also_when_it_has_ended(tmp_path: Path, late: int) -> None:
    card = shown_of(tmp_path, [{}, MISSING, AVAILABLE, MISSING, AVAILABLE], late=late)
    assert handles(card) == [unreadable("missing"), handle(), unreadable("missing"), handle()]
    for update in card[2:]:
        assert set(update) == {"sessionUpdate", "toolCallId", "_meta"}, "nothing else of an ended card changes"


@pytest.mark.parametrize("word", ["missing", "unsupported", "accessFailed", "thawing"])
def test_the_hosts_word_is_handed_on_and_only_what_is_available_names_the_method(tmp_path: Path, word: str) -> None:
    assert handles(shown_of(tmp_path, [{}, {"outputRef": reference(availability=word)}])) == [unreadable(word)]


@pytest.mark.parametrize("late", [0, 1])
def test_a_reference_that_disappears_is_announced_as_gone(tmp_path: Path, late: int) -> None:
    card = shown_of(tmp_path, [{}, AVAILABLE, {}], late=late)
    assert handles(card) == [handle(), None]


def test_an_output_without_a_media_type_is_announced_without(tmp_path: Path) -> None:
    told = handles(shown_of(tmp_path, [{}, {"outputRef": reference(mediaType=None)}]))
    assert told == [{name: value for name, value in handle().items() if name != "mediaType"}]


UNUSABLE: list[Any] = [
    *(reference() | {"id": bad} for bad in ("", "x" * 1025, 5, None)),
    *(reference() | {"byteLen": bad} for bad in (-1, 1.0, True, 2**53, "5", None)),
    *(reference() | {"availability": bad} for bad in ("", None, 1)),
    "muse-output://elsewhere",
    [],
]


@pytest.mark.parametrize("unusable", UNUSABLE, ids=lambda value: json.dumps(value)[:60])
def test_a_reference_that_cannot_be_used_is_not_announced_but_logged(tmp_path: Path, unusable: Any) -> None:
    host = place(tmp_path / "host", StoringHost, revisions=[{}, {"outputRef": unusable}])
    with running_adapter(tmp_path, muse=host.muse) as adapter:
        adapter.initialize(**OPT_IN)
        session_id = adapter.new_session(tmp_path)
        assert adapter.prompt(session_id, "go")["stopReason"] == "end_turn"
        assert handles(adapter.updates(session_id)) == []
        assert adapter.finish() == 0
        assert adapter.stderr.count(b"adapter.output") == 1


def test_the_longest_names_and_numbers_are_announced(tmp_path: Path) -> None:
    ref = reference("x" * 1024, 2**53 - 1)
    told = handles(shown_of(tmp_path, [{}, {"outputRef": ref}]))
    assert told == [handle(outputRef="x" * 1024, byteLen=2**53 - 1)]


@pytest.mark.parametrize("kind", ["userShell", "mural"])
def test_any_kind_of_item_with_a_reference_has_a_card_with_a_handle(tmp_path: Path, kind: str) -> None:
    assert handles(shown_of(tmp_path, [AVAILABLE, AVAILABLE], kind=kind)) == [handle()]


def test_a_patch_has_a_key_of_its_own_beside_the_output(tmp_path: Path) -> None:
    patch = reference("patch-quince", 77)
    card = shown_of(tmp_path, [{}, {"patchRef": patch}, {"patchRef": patch, **AVAILABLE}, AVAILABLE])
    assert handles(card, PATCH) == [handle(outputRef="patch-quince", byteLen=77)] * 2 + [None]
    assert handles(card) == [handle()] * 2


def test_other_meta_of_the_card_stays_when_a_handle_changes(tmp_path: Path) -> None:
    cut = {"visibleOutput": "begin\n", "truncated": True}
    card = shown_of(tmp_path, [{}, cut | AVAILABLE, cut | MISSING, cut], late=1)
    first, second, third = (update["_meta"] for update in card[1:])
    facts = first[TRUNCATED]
    assert facts["totalBytes"] == 300_000
    # Whether a client merges `_meta` or replaces it, the rest of it is there.
    assert second == {KEY: unreadable("missing"), TRUNCATED: facts}
    assert third == {KEY: None, TRUNCATED: facts}


# -- what every client sees


def numbers(text: str) -> list[int]:
    """All numbers in a notice."""
    return [int(word) for word in re.findall(r"(?<![\w-])\d+(?![\w-])", text)]


def cut_apart(text: str) -> tuple[str, str, str]:
    """What stands before, in and after the notice of a card's text."""
    found = re.search(r"^\[(?:muse-adapter|The Muse host) shows [^\n]*\]$", text, re.MULTILINE)
    assert found is not None, text[-500:]
    return text[: found.start()], found.group(), text[found.end() :]


def test_a_client_that_did_not_ask_sees_what_the_host_cut_and_the_command_that_gives_all(tmp_path: Path) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "shell 300000")
        assert adapter.finish() == 0
        card = [update for update in adapter.updates(session_id) if "toolCallId" in update]
    assert handles(card) == []
    item_id = card[-1]["toolCallId"]
    whole = stored_bytes(new_output(item_id, "lines", 300_000), 0, 300_000)
    head, notice, tail = cut_apart(texts(card)[-1])
    shown = head.removeprefix("```\n").removesuffix("\n```\n").encode()
    assert whole.startswith(shown)
    assert head.endswith("\n```\n") and not tail
    facts = card[-1]["_meta"][TRUNCATED]
    size = facts["shownBytes"]
    assert len(shown) == size or shown + b"\n" == whole[:size]
    assert facts == {
        "source": "host",
        "shownBytes": size,
        "totalBytes": 300_000,
        "headBytes": size,
        "tailBytes": 0,
    }
    assert notice.startswith(f"[The Muse host shows {size} of 300000 bytes. ")
    command = f"muse-adapter --muse simulated output {session_id} {item_id}"
    assert notice.endswith(f"{command}]")
    run = [sys.executable, "-m", "adapter.cli.entry", "--muse", "simulated", *command.split()[1:]]
    env = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(run, capture_output=True, env=env, cwd=tmp_path, timeout=COMMAND_SECONDS, check=True)
    assert done.stdout == whole, "the command does what the notice says"


@pytest.mark.parametrize("tool", ["bash", "grep"])
@pytest.mark.parametrize("asks", [False, True])
def test_text_is_bounded_in_bytes_with_head_and_tail_and_true_numbers(tmp_path: Path, tool: str, asks: bool) -> None:
    output = "```begin ✓\n" + stored(299_980).decode(errors="ignore") + "東京 end"
    size = len(output.encode())
    ref = {"outputRef": reference(size=size)}
    card = shown_of(tmp_path, [{"tool": tool}, {"tool": tool, "visibleOutput": output, **ref}], asks=asks)
    text, facts = texts(card)[-1], card[-1]["_meta"][TRUNCATED]
    assert len(text.encode()) <= CARD_BYTES
    head, notice, tail = cut_apart(text)
    assert text.count("```") % 2 == 0 or text.startswith("````"), "no fence is left open"
    inside = re.sub(r"^`{4,}\n|\n`{3,}\n?$", "", head)
    assert output.startswith(inside)
    assert "end" in tail[-20:] and "�" not in text
    assert facts["source"] == "adapter"
    assert facts["totalBytes"] == size
    assert facts["shownBytes"] == facts["headBytes"] + facts["tailBytes"]
    assert abs(len(inside.encode()) - facts["headBytes"]) <= 1, "but for the end of a line"
    assert output.encode()[: facts["headBytes"]].decode().rstrip("\n") == inside.rstrip("\n")
    assert output.encode()[-facts["tailBytes"] :].decode() in tail
    expected = [facts["shownBytes"], size, facts["headBytes"], facts["tailBytes"]]
    assert numbers(notice)[:4] == expected
    if asks:
        assert f"{READ}, outputRef {HANDLE['outputRef']}, offsetBytes {facts['headBytes']}]" in notice
    else:
        assert f" output {SESSION} {ITEM}]" in notice
        assert KEY not in card[-1]["_meta"]


def test_a_client_that_asked_reads_on_where_the_notice_says(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        client.start()
        told = client.handle_of("shell 300000")
        card = [update for update in client.adapter.updates() if update.get("toolCallId") == told["itemId"]]
        _, notice, _ = cut_apart(texts(card)[-1])
        at = re.search(rf"{READ}, outputRef {told['outputRef']}, offsetBytes (\d+)\]", notice)
        assert at is not None, notice
        shown = int(at.group(1))
        assert card[-1]["_meta"][TRUNCATED]["headBytes"] == shown
        whole = stored_bytes(new_output(told["itemId"], "lines", 300_000), 0, 300_000)
        page = client.read(told, offsetBytes=shown, lengthBytes=1000)
        assert page_bytes(page) == whole[shown : shown + page["byteLen"]]
        assert client.adapter.finish() == 0


@pytest.mark.parametrize("asks", [False, True])
def test_what_stands_for_bytes_that_are_no_text_is_not_an_offset(tmp_path: Path, asks: bool) -> None:
    with running_adapter(tmp_path) as adapter:
        adapter.initialize(**(OPT_IN if asks else {}))
        session_id = adapter.new_session(tmp_path)
        adapter.prompt(session_id, "shell binary 300000")
        card = [update for update in adapter.updates(session_id) if "toolCallId" in update]
        _, notice, _ = cut_apart(texts(card)[-1])
        assert notice.endswith(
            "offsetBytes 0]" if asks else f"muse-adapter --muse simulated output {session_id} {card[0]['toolCallId']}]"
        )
        assert adapter.finish() == 0


def test_a_structured_result_is_read_before_anything_is_added_to_it(tmp_path: Path) -> None:
    words = "Grüße ✓\n" * 10_000
    printed = json.dumps({"output": words, "exitCode": 3, "cwd": "/srv/demo/orchard"}, ensure_ascii=False)
    ended = {"visibleOutput": printed, "exitCode": 3, **AVAILABLE}
    card = shown_of(tmp_path, [{}, ended])
    assert card[-1]["rawOutput"] == {"exitCode": 3, "cwd": "/srv/demo/orchard"}
    text = texts(card)[-1]
    assert text.startswith("```\nGrüße ✓\nGrüße ✓\n")
    assert '"output"' not in text and "\\n" not in text
    _, notice, tail = cut_apart(text)
    assert notice.startswith("[muse-adapter shows ")
    assert "Grüße ✓" in tail and tail.endswith("exit code 3")
    assert card[-1]["_meta"][TRUNCATED]["totalBytes"] == len(words.encode())
    assert notice.endswith("offsetBytes 0]"), "the stored bytes are those of the whole result"


@pytest.mark.parametrize(
    ("members", "advice"),
    [({}, "The rest is not stored"), (MISSING, "The host says of the whole output: missing")],
)
@pytest.mark.parametrize("asks", [False, True])
def test_nothing_is_promised_that_cannot_be_read(tmp_path: Path, members: Json, advice: str, asks: bool) -> None:
    card = shown_of(tmp_path, [{}, {"visibleOutput": "begin\n", "truncated": True, **members}], asks=asks)
    _, notice, _ = cut_apart(texts(card)[-1])
    assert notice.endswith(f"{advice}]")
    assert card[-1]["_meta"][TRUNCATED]["totalBytes"] == (300_000 if members else None)
    assert "muse-adapter output" not in notice and READ not in notice


def test_whole_output_carries_no_notice(tmp_path: Path) -> None:
    card = shown_of(tmp_path, [{}, {"visibleOutput": "all of it\n", "truncated": False, **AVAILABLE}], asks=False)
    assert texts(card) == ["```\nall of it\n```"]
    assert all("_meta" not in update for update in card)


def test_pictures_are_described_and_no_path_is_shown_as_if_it_were_one(tmp_path: Path) -> None:
    seen = {"type": "image", "mediaType": "image/png", "path": "/srv/Skizze №1.png", "caption": "a bridge"}
    entries = [seen | {"width": 640, "height": 480}, {"type": "document", "uri": "file:///srv/plan.pdf"}, "junk"]
    card = shown_of(tmp_path, [{}, {"visibleOutput": "[image]", "modelVisibleContent": entries}], asks=False)
    text = texts(card)[-1]
    assert "[image, image/png, 640 x 480: not shown here]" in text
    assert "[document: not shown here]" in text
    assert "Skizze" not in text and "a bridge" not in text and "plan.pdf" not in text


def test_the_card_of_a_loaded_session_says_the_same(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        session_id = client.start()
        told = client.handle_of("shell 300000")
        edited = client.handle_of("edit", PATCH)
        live = client.adapter.updates()
        assert client.adapter.finish() == 0
    with reading(tmp_path) as client:
        client.open_stored(session_id)
        again = client.adapter.updates()
        assert client.adapter.finish() == 0
    assert handles(again) == [told]
    assert handles(again, PATCH) == [edited]
    assert last_of(live, told) == last_of(again, told)


def last_of(updates: list[Json], told: Json) -> Json:
    """Text and `_meta` a card has in the end."""
    card: Json = {}
    for update in updates:
        if update.get("toolCallId") == told["itemId"]:
            card |= {name: value for name, value in update.items() if name in ("content", "_meta", "status", "title")}
    return card


def test_a_client_that_did_not_ask_sees_no_handle_after_loading_either(tmp_path: Path) -> None:
    with reading(tmp_path) as client:
        session_id = client.start()
        client.handle_of("shell 300000")
        assert client.adapter.finish() == 0
    with running_adapter(tmp_path) as adapter:
        adapter.initialize()
        client = Reader(adapter, tmp_path)
        client.open_stored(session_id)
        client.open_stored(session_id, "session/resume")
        assert adapter.prompt(session_id, "hello")["stopReason"] == "end_turn"
        assert adapter.finish() == 0
        assert KEY not in str(adapter.frames)
