"""What is nobody's business in the settings of MCP servers, and how much of it is remembered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.msp.errors import HostClosed, MspError
from adapter.msp.secret_shapes import without_shapes
from adapter.msp.secrets import HIDDEN, PLAIN, scrub
from adapter.msp.server_secrets import MOST_VALUES, ServerSecrets


def learned(**server: Any) -> tuple[str, ...]:
    secrets = ServerSecrets()
    secrets.learn({"mcpServers": {"one": server}})
    return secrets.values


@pytest.mark.parametrize(
    ("server", "values"),
    [
        ({"env": {"ORCHARD": "quince-0815", "LEVEL": "info", "API_KEY": "pear"}}, ("quince-0815", "pear")),
        ({"headers": {"X-Orchard": "Bearer quince-0815"}}, ("Bearer quince-0815", "quince-0815")),
        ({"args": ["-v", "--token", "pear", "--api-key=plum", "verbose-thing"]}, ("pear", "plum")),
        ({"url": "https://ada:medlar@x.invalid/?sig=quince&page=overview"}, ("medlar", "quince")),
        ({"url": "https://quince@x.invalid/"}, ("quince",)),
        ({"url": "https://[x.invalid/?token=quince"}, ()),
        ({"env": {"DEBUG_TOKEN": "true"}, "args": ["--token"], "command": "/bin/quince-0815"}, ()),
        ({}, ()),
    ],
)
def test_q2_values_of_settings_are_known(server: dict[str, Any], values: tuple[str, ...]) -> None:
    assert learned(**server) == values


@pytest.mark.parametrize("config", [None, [], {}, {"mcpServers": None}, {"mcpServers": {}}])
def test_without_servers_there_is_nothing_to_learn(config: Any) -> None:
    secrets = ServerSecrets()
    secrets.learn(config)
    assert secrets.values == ()


def test_the_newest_values_are_remembered_and_not_without_end() -> None:
    secrets = ServerSecrets()
    for number in range(MOST_VALUES + 10):
        secrets.learn({"mcpServers": {"one": {"env": {"A": f"quince-{number:06}", "B": "always-the-same"}}}})
    assert len(secrets.values) == MOST_VALUES
    assert "always-the-same" in secrets.values and f"quince-{MOST_VALUES + 9:06}" in secrets.values
    assert "quince-000000" not in secrets.values


def test_q2_what_is_known_is_hidden_in_any_spelling() -> None:
    values = learned(env={"ORCHARD": 'quince "0815"'})
    assert scrub('it is "quince \\"0815\\"", or quince%20%220815%22', {}, values) == f'it is "{HIDDEN}", or {HIDDEN}'


def test_q2_an_error_in_a_log_has_none_of_the_hosts_words() -> None:
    error = MspError(-32050, "commandRejected", "no: quince", data={"reason": "quince and\nmore words"})
    assert str(error) == "commandRejected, … (-32050)"
    gone = HostClosed("it ended", "; its last words: quince")
    assert (str(gone), gone.details) == ("it ended", "it ended; its last words: quince")


@given(st.from_regex(PLAIN, fullmatch=True))
def test_what_is_plain_looks_like_no_secret(text: str) -> None:
    assert without_shapes(text) == text


@pytest.mark.parametrize(
    "text", ["muse", "muse-simulated", "1.2.1", "1.4.0-R3057.1", f"sha256:{64 * 'a'}", "sessionMcp"]
)
def test_what_handshakes_say_is_plain(text: str) -> None:
    assert PLAIN.fullmatch(text)


def test_a_plain_word_that_is_known_for_a_secret_is_hidden() -> None:
    assert scrub("quinces", {"DEMO_TOKEN": "quinces"}) == HIDDEN
