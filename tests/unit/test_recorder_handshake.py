"""The protocol and the host are told from the first frames."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from adapter.hosts.recorder.handshake import PATIENCE, Handshake, plain

FINGERPRINT = "sha256:" + "0a" * 32


def line(**members: Any) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", **members})


def shown(*lines: tuple[str, bytes]) -> Handshake:
    handshake = Handshake()
    for direction, each in lines:
        handshake.notice(direction, each)
    return handshake


def asked(**params: Any) -> tuple[str, bytes]:
    return "client", line(id=1, method="initialize", params={"clientInfo": {"name": "a"}, **params})


def test_a_muse_host() -> None:
    result = {
        "serverInfo": {"name": "muse-session-server", "version": "1.2.1"},
        "schema": {"version": 1, "fingerprint": FINGERPRINT, "more": "x"},
    }
    handshake = shown(asked(capabilities={}), ("server", line(id=1, result=result)))

    assert (handshake.protocol, handshake.done) == ("msp", True)
    assert handshake.host == result["serverInfo"]
    assert handshake.schema == {"version": 1, "fingerprint": FINGERPRINT}


def test_an_acp_agent() -> None:
    result = {"protocolVersion": 1, "agentInfo": {"name": "muse-adapter", "version": "0.1.0", "title": "Muse Code"}}
    handshake = shown(asked(protocolVersion=1), ("server", line(id=1, result=result)))

    assert (handshake.protocol, handshake.done, handshake.schema) == ("acp", True, None)
    assert handshake.host == {"name": "muse-adapter", "version": "0.1.0"}


def test_what_is_not_the_handshake_tells_nothing() -> None:
    handshake = shown(
        ("client", b'no JSON, but "initialize"'),
        ("client", line(method="session/list", params={"q": "initialize"})),
        ("server", line(id=1, result={"serverInfo": {"name": "too early"}})),
    )
    assert handshake.protocol is None

    handshake = shown(asked(), ("server", line(id=2, result={})), ("server", line(id=1, method="x")))
    assert (handshake.protocol, handshake.done) == ("msp", False)


def test_a_refused_handshake_is_over_and_tells_the_protocol_only() -> None:
    handshake = shown(asked(), ("server", line(id=1, error={"code": -32602, "message": "no"})))

    assert (handshake.protocol, handshake.done, handshake.host) == ("msp", True, {})


def test_it_is_not_waited_for_without_end() -> None:
    handshake = Handshake()
    assert not any(handshake.notice("client", b"{}") for _ in range(PATIENCE))
    assert handshake.done and not handshake.notice(*asked())


@pytest.mark.parametrize("said", ["", "x" * 101, "a\nb", "Muse\x1b[31m", "café"])
def test_what_is_no_version_is_not_repeated(said: str) -> None:
    assert plain(said) is None
    assert plain("Muse Code 1.2.1 (1.2.1-R2847.1)") is not None
    info = {"serverInfo": {"name": said, "version": "1"}}
    assert shown(asked(), ("server", line(id=1, result=info))).host == {"version": "1"}
