"""The blocks of a prompt: which are accepted, and which field an error names."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from adapter.acp.capabilities import AgentCapabilities, PromptCapabilities
from adapter.acp.content import Audio, Block, EmbeddedText, Image, ResourceLink, Text
from adapter.acp.params import read_prompt_request
from adapter.wire.envelope import RpcError

ALL = PromptCapabilities(image=True, audio=True, embedded_context=True)
NONE = PromptCapabilities()
HELLO = {"type": "text", "text": "hello"}


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


PNG = b64(b"\x89PNG\r\n\x1a\n and so on")
JPEG = b64(b"\xff\xd8\xff\xe0 and so on")
GIF = b64(b"GIF89a and so on")
WEBP = b64(b"RIFF\x10\x00\x00\x00WEBPVP8 and so on")


def blocks(*given: Any, accepted: PromptCapabilities = ALL) -> tuple[Block, ...]:
    asked = {"sessionId": "ses-alder", "prompt": list(given)}
    return read_prompt_request(asked, AgentCapabilities(prompt=accepted)).blocks


def refused_field(*given: Any, accepted: PromptCapabilities = ALL) -> str:
    with pytest.raises(RpcError) as caught:
        blocks(*given, accepted=accepted)
    assert caught.value.code == -32602
    assert caught.value.data is not None
    field = caught.value.data["field"]
    assert type(field) is str
    return field


def test_every_kind_is_read() -> None:
    assert blocks(
        HELLO,
        {"type": "resource_link", "uri": "file:///a%20b.txt", "name": "a b.txt", "mimeType": "text/plain", "size": 3},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "audio", "data": "iVBORw==", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "file:///a", "text": "unsaved"}},
        {"type": "resource", "resource": {"uri": "file:///b", "blob": b64("söt".encode()), "mimeType": "text/x"}},
        {"type": "resource", "resource": {"uri": "file:///c", "blob": GIF, "mimeType": "image/gif"}},
    ) == (
        Text("hello"),
        ResourceLink("file:///a%20b.txt", "a b.txt", "text/plain"),
        Image(PNG, "image/png"),
        Audio("iVBORw==", "audio/wav"),
        EmbeddedText("file:///a", "unsaved"),
        EmbeddedText("file:///b", "söt", "text/x"),
        Image(GIF, "image/gif", "file:///c"),
    )


def test_an_empty_prompt_is_a_prompt() -> None:
    assert blocks() == ()


def test_unknown_and_bad_descriptive_members_are_ignored() -> None:
    block = {"type": "resource_link", "uri": "u", "name": "n", "title": 5, "annotations": "x", "colour": "red"}
    assert blocks(block) == (ResourceLink("u", "n"),)
    assert blocks({**HELLO, "annotations": 7, "_meta": []}) == (Text("hello"),)


@pytest.mark.parametrize(
    ("block", "field"),
    [
        ({"type": "image", "data": PNG, "mimeType": "image/png"}, "prompt[1].type"),
        ({"type": "audio", "data": "iVBORw==", "mimeType": "audio/wav"}, "prompt[1].type"),
        (
            {"type": "resource", "resource": {"uri": "u", "blob": PNG, "mimeType": "image/png"}},
            "prompt[1].resource.blob",
        ),
    ],
)
def test_o5_what_was_not_advertised_is_refused_by_index(block: dict[str, Any], field: str) -> None:
    assert refused_field(HELLO, block, accepted=NONE) == field
    assert len(blocks(HELLO, block)) == 2


def test_embedded_text_is_accepted_unasked() -> None:
    block = {"type": "resource", "resource": {"uri": "file:///a", "text": "unsaved"}}
    assert blocks(block, accepted=NONE) == (EmbeddedText("file:///a", "unsaved"),)


@pytest.mark.acp(61)
@pytest.mark.parametrize(
    ("block", "field"),
    [
        ("hello", "prompt[1]"),
        (None, "prompt[1]"),
        ({}, "prompt[1].type"),
        ({"type": 1}, "prompt[1].type"),
        ({"type": "mural"}, "prompt[1].type"),
        ({"type": "Text", "text": "x"}, "prompt[1].type"),
        ({"type": "text"}, "prompt[1].text"),
        ({"type": "text", "text": ["x"]}, "prompt[1].text"),
        ({"type": "resource_link", "name": "n"}, "prompt[1].uri"),
        ({"type": "resource_link", "uri": "u"}, "prompt[1].name"),
        ({"type": "resource_link", "uri": 1, "name": "n"}, "prompt[1].uri"),
        ({"type": "image", "mimeType": "image/png"}, "prompt[1].data"),
        ({"type": "image", "data": "iVBORw=="}, "prompt[1].mimeType"),
        ({"type": "image", "data": "iVBORw==", "mimeType": "text/plain"}, "prompt[1].mimeType"),
        ({"type": "audio", "data": "iVBORw==", "mimeType": "image/png"}, "prompt[1].mimeType"),
        ({"type": "resource"}, "prompt[1].resource"),
        ({"type": "resource", "resource": "x"}, "prompt[1].resource"),
        ({"type": "resource", "resource": {"text": "x"}}, "prompt[1].resource.uri"),
        ({"type": "resource", "resource": {"uri": "u"}}, "prompt[1].resource.text"),
        ({"type": "resource", "resource": {"uri": "u", "text": 1}}, "prompt[1].resource.text"),
    ],
)
def test_a_bad_block_is_named(block: Any, field: str) -> None:
    assert refused_field(HELLO, block) == field


@pytest.mark.acp(62)
@pytest.mark.parametrize("data", ["iVBORw=", "iVB ORw==", "!!!!", "iVBORw==\n", "äöü", "iVBORw-_"])
def test_base64_that_does_not_decode_is_refused(data: str) -> None:
    assert refused_field({"type": "image", "data": data, "mimeType": "image/png"}) == "prompt[0].data"
    assert refused_field({"type": "audio", "data": data, "mimeType": "audio/wav"}) == "prompt[0].data"
    for kind in ("text/plain", "image/png"):
        resource = {"uri": "u", "blob": data, "mimeType": kind}
        assert refused_field({"type": "resource", "resource": resource}) == "prompt[0].resource.blob"


@pytest.mark.parametrize("declared", ["image/png", "IMAGE/PNG", "image/jpg", "image/webp; q=1"])
@pytest.mark.parametrize(
    ("data", "kind"), [(PNG, "image/png"), (JPEG, "image/jpeg"), (GIF, "image/gif"), (WEBP, "image/webp")]
)
def test_o5_a_picture_is_what_its_bytes_are(data: str, kind: str, declared: str) -> None:
    assert blocks({"type": "image", "data": data, "mimeType": declared}) == (Image(data, kind),)


@pytest.mark.parametrize("data", ["", b64(b"GIF"), b64(b"<svg/>"), b64(b"RIFF1234WAVE")])
def test_o5_what_is_no_picture_is_refused(data: str) -> None:
    assert refused_field({"type": "image", "data": data, "mimeType": "image/png"}) == "prompt[0].data"


@pytest.mark.acp(62)
@pytest.mark.parametrize("kind", ["image/svg+xml", "image/tiff", "image/", "png", "video/mp4"])
def test_o5_pictures_that_models_do_not_look_at_are_refused(kind: str) -> None:
    assert refused_field({"type": "image", "data": PNG, "mimeType": kind}) == "prompt[0].mimeType"


@pytest.mark.parametrize("kind", ["text/plain", "application/json", "application/problem+json", "image/svg+xml"])
def test_o5_an_embedded_file_of_text_is_text(kind: str) -> None:
    resource = {"uri": "u", "blob": b64("\ufeff{}\n".encode()), "mimeType": f"{kind}; charset=utf-8"}
    assert blocks({"type": "resource", "resource": resource}) == (EmbeddedText("u", "{}\n", kind),)
    resource["blob"] = b64(b"\xff\xfe")
    assert refused_field({"type": "resource", "resource": resource}) == "prompt[0].resource.blob"


@pytest.mark.parametrize("kind", ["application/octet-stream", "application/pdf", "audio/wav", "", None])
def test_o5_an_embedded_file_of_another_kind_is_refused(kind: str | None) -> None:
    resource = {"uri": "u", "blob": PNG, "mimeType": kind}
    assert refused_field({"type": "resource", "resource": resource}) == "prompt[0].resource.mimeType"


@pytest.mark.parametrize("prompt", [None, "hello", {}, 1])
def test_the_prompt_must_be_a_list(prompt: Any) -> None:
    with pytest.raises(RpcError) as caught:
        read_prompt_request({"sessionId": "s", "prompt": prompt, "content": []}, AgentCapabilities())
    assert caught.value.data is not None
    assert caught.value.data["field"] == "prompt"
