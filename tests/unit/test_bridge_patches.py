"""The diffs a host has stored: read whole, in whatever of the known shapes, and never more than a card can show."""

from __future__ import annotations

import base64
import json
from typing import Any, cast

import pytest

from adapter.bridge.tool_cards.file_changes import FILE_BYTES
from adapter.bridge.tool_cards.patches import CARD_DIFF_BYTES, MOST_FILES, PATCH_BYTES, patch_content, read_patch
from adapter.msp.errors import HostClosed, MspError
from adapter.msp.host import Host

ROOT = "/srv/demo/orchard"
FILE = {"path": "a.txt", "oldText": "a", "newText": "b"}
DIFF = {"type": "diff", "path": f"{ROOT}/a.txt", "oldText": "a", "newText": "b"}
FENCE = {"type": "content", "content": {"type": "text", "text": "```diff\n-a\n+b\n```"}}


@pytest.mark.acp(83)
@pytest.mark.parametrize(
    ("patch", "content"),
    [
        ({"files": [FILE]}, [DIFF]),
        ({"changes": [{"filePath": "a.txt", "before": "a", "after": "b"}]}, [DIFF]),
        ([FILE], [DIFF]),
        (FILE, [DIFF]),
        ({"files": [FILE | {"diff": "-a\n+b"}]}, [DIFF]),
        ({"files": [{"path": "a.txt", "diff": "-a\n+b"}]}, [FENCE]),
        ({"diff": "-a\n+b"}, [FENCE]),
        # A new file is one the host says was not there; saying nothing is not saying so.
        (FILE | {"oldText": None}, [{"type": "diff", "path": f"{ROOT}/a.txt", "newText": "b"}]),
        ({"path": "a.txt", "newText": "b", "diff": "-a\n+b"}, [FENCE]),
        ({"path": "a.txt", "newText": "b"}, []),
        (FILE | {"oldText": 3}, []),
        (FILE | {"newText": "a"}, []),
        (FILE | {"newText": None, "diff": "-a\n+b"}, [FENCE]),
        (FILE | {"path": 3}, []),
        ({"files": "a.txt"}, []),
        ({"files": [3, None]}, []),
        (None, []),
        ("-a\n+b", []),
    ],
)
def test_j5_a_stored_diff_in_any_known_shape(patch: Any, content: list[Any]) -> None:
    assert patch_content(patch, ROOT) == content


@pytest.mark.acp(83)
def test_stored_diffs_are_capped_by_their_size_and_number() -> None:
    large = {"path": "l.txt", "oldText": "", "newText": "x" * FILE_BYTES}
    content = patch_content({"files": [large, large | {"path": "m.txt"}, large | {"path": "n.txt"}, FILE]}, ROOT)
    assert [item["type"] for item in content] == ["diff", "diff", "content", "content"]
    assert f"n.txt: {FILE_BYTES} bytes" in content[2]["content"]["text"]
    assert sum(len(item.get("newText", "")) for item in content) <= CARD_DIFF_BYTES
    many = patch_content([FILE] * (MOST_FILES + 5), ROOT)
    assert len(many) == MOST_FILES + 1 and many[-1]["content"]["text"] == "[5 more files]"


# -- reading it


class Serves:
    """A host that serves one stored patch in pieces."""

    def __init__(self, data: bytes, piece: int = PATCH_BYTES, **changes: Any) -> None:
        self.data = data
        self.piece = piece
        self.changes = changes
        self.asked: list[dict[str, Any]] = []

    async def query(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert method == "item/readOutput"
        self.asked.append(params)
        at = params["offsetBytes"]
        piece = self.data[at : at + self.piece]
        content = {"content": base64.b64encode(piece).decode(), "encoding": "base64"}
        return {**content, "eof": at + len(piece) >= len(self.data), **self.changes}


async def read(host: Any, **reference: Any) -> list[dict[str, Any]]:
    raw = {
        "itemId": "i1",
        "patchRef": {"id": "patch-1", "byteLen": 5, "availability": "available", **reference},
    }
    return await read_patch(cast(Host, host), "ses-1", raw, ROOT)


@pytest.mark.anyio
async def test_a_patch_is_read_to_its_end() -> None:
    host = Serves(json.dumps({"files": [FILE | {"newText": "grüßt"}]}, ensure_ascii=False).encode(), piece=7)
    assert await read(host) == [DIFF | {"newText": "grüßt"}]
    assert len(host.asked) > 5
    assert host.asked[0] == {
        "sessionId": "ses-1",
        "itemId": "i1",
        "outputRef": "patch-1",
        "offsetBytes": 0,
        "lengthBytes": PATCH_BYTES,
    }


@pytest.mark.anyio
async def test_a_patch_as_text() -> None:
    text = json.dumps(FILE)
    assert await read(Serves(b"", content=text, encoding="utf8", eof=True)) == [DIFF]


@pytest.mark.anyio
@pytest.mark.parametrize(
    "host",
    [
        Serves(b"no json"),
        Serves(b'{"files": [', piece=3),
        Serves(json.dumps(FILE).encode(), eof=False, content=""),
        Serves(b"x" * PATCH_BYTES, eof=False),
        Serves(json.dumps(FILE).encode(), piece=1),
        Serves(b"", content=None),
        Serves(b"", content="%%%"),
    ],
    ids=["no json", "half", "never ends", "too long", "in too many pieces", "no content", "no base64"],
)
async def test_what_is_no_whole_patch_shows_nothing(host: Serves) -> None:
    host.asked.clear()
    assert await read(host) == []
    assert len(host.asked) <= 20


@pytest.mark.anyio
@pytest.mark.parametrize("error", [MspError(-32041, "outputUnavailable", "gone"), HostClosed("it ended")])
async def test_a_host_that_refuses_shows_nothing(error: Exception) -> None:
    class Refuses:
        async def query(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
            raise error

    assert await read(Refuses()) == []


@pytest.mark.anyio
async def test_a_reference_that_is_not_to_be_believed_is_not_read() -> None:
    host = Serves(json.dumps(FILE).encode())
    assert await read(host, id="") == [] and host.asked == []
