"""What is said in the handshake, and what is read from any host's answer to it."""

from __future__ import annotations

from typing import Any

import pytest

from adapter.msp.handshake import SESSION_CAPABILITIES, Handshake, initialize_params

WHOLE: dict[str, Any] = {
    "serverInfo": {"name": "muse", "version": "1.4.13"},
    "schema": {"version": 1, "fingerprint": "sha256:aa"},
    "grantedCapabilities": ["sessionMcp"],
    "sessionDurability": "ephemeral",
    "sandboxAvailability": "unavailable",
    "sandboxUnavailableReason": "no bubblewrap",
}


def test_a_whole_answer_is_read() -> None:
    shaken = Handshake.read(WHOLE)
    assert (shaken.server_name, shaken.server_version, shaken.fingerprint) == ("muse", "1.4.13", "sha256:aa")
    assert shaken.granted == frozenset({"sessionMcp"})
    assert (shaken.durable, shaken.sandbox_problem) == (False, "no bubblewrap")


@pytest.mark.parametrize("member", sorted(WHOLE))
@pytest.mark.parametrize("value", [None, 17, "odd", [], [17, None], {}, {"name": 3, "fingerprint": []}], ids=repr)
def test_n9_a_member_of_any_shape_is_no_error(member: str, value: Any) -> None:
    shaken = Handshake.read({**WHOLE, member: value})
    assert isinstance(shaken.server_version, str) and isinstance(shaken.granted, frozenset)
    assert isinstance(Handshake.read({}), Handshake)


def test_an_old_host_that_says_nothing_is_durable_and_has_a_sandbox() -> None:
    shaken = Handshake.read({"serverInfo": {"name": "muse", "version": "1.0.1"}})
    assert shaken.durable and shaken.sandbox_problem is None and not shaken.granted


def test_the_version_of_the_adapter_is_said() -> None:
    assert initialize_params("1.2", {}) == {
        "clientInfo": {"name": "muse_adapter", "version": "1.2", "title": "muse-adapter"}
    }
    asked = initialize_params("1.2", SESSION_CAPABILITIES)["capabilities"]
    assert "userInputDialogs" not in asked and "sessionMcp" in asked["requestedCapabilities"]
