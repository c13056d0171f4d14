"""What is nobody's business in the settings of MCP servers, and how much of it is remembered."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.msp.errors import HostClosed, MspError
from adapter.msp.secret_parts import MOST_PARTS, parts
from adapter.msp.secret_shapes import without_shapes
from adapter.msp.secret_values import SHORTEST_SECRET
from adapter.msp.secrets import HIDDEN, PLAIN, scrub
from adapter.msp.server_secrets import MOST_LOOKED_INTO, MOST_VALUES, ServerSecrets


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
        ({"url": "https://[x.invalid/?token=quince"}, ("quince",)),
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


KEY = "cnry5QZ7xv9Lm3"
"""Looks as if it was drawn by lot."""


@pytest.mark.parametrize(
    ("server", "part"),
    [
        *(({"args": [argument]}, "quince") for argument in (
            "Authorization: Bearer quince", "X-Api-Key: quince", "--header=Authorization: token quince",
            "Cookie: theme=dark; session_key=quince", "postgres://u:quince@h/db", "postgres://a:b@h,amqp://u:quince@h",
            "Server=h;Password=quince;Port=5432", "{\"api_key\": [\"quince\"]}", "jdbc:postgresql://h/db?password=quince",
        )),
        ({"args": ["postgres://u:quin/ce@h/db"]}, "quin/ce"),
        ({"args": ["postgres://u:quin%2Fce@h/db"]}, "quin/ce"),
        ({"args": ["-H", "X-Api-Key: quince"]}, "quince"),
        ({"args": ["--conn", "Server=h;Password=quince;"]}, "quince"),
        ({"args": ["-u", "ada:quince"]}, "quince"),
        ({"args": ["-k", KEY]}, KEY),
        ({"args": [KEY]}, KEY),
        ({"args": ["550e8400-e29b-41d4-a716-446655440000"]}, "550e8400-e29b-41d4-a716-446655440000"),
        *(({"env": {"ORCHARD": value}}, "quince-0815") for value in (
            "the first\n  quince-0815\nthe last", "pear, quince-0815,plum", "a=1;b=quince-0815", "v1=quince-0815",
            '{"trees": [1, {"old": "quince-0815"}]}', '["pear", "quince-0815"]', '{"old": "pear\\nquince-0815"}',
            "https://ada:quince-0815@x.invalid/", '{"broken": "quince-0815"',
        )),
        ({"env": {"ORCHARD_KEYS": "pear,plum"}}, "plum"),
        ({"env": {"ORCHARD": f"a {KEY} word"}}, KEY),
        ({"headers": {"X-Orchard": "t=1,v1=quince-0815"}}, "quince-0815"),
        ({"headers": {"Authorization": "Basic YWRhOnF1aW5jZQ=="}}, "quince"),
        ({"args": ["--header", "Authorization: Basic YWRhOnF1aW5jZQ=="]}, "quince"),
        *(({"url": f"https://x.invalid/{rest}"}, KEY) for rest in (
            f"mcp/{KEY}/sse", f"?s={KEY}", f"#access_token={KEY}", f"#{KEY}",
        )),
        ({"url": "https://x.invalid/#access_token=quince"}, "quince"),
    ],
)  # fmt: skip
def test_q2_parts_that_are_secrets_by_themselves_are_known(server: dict[str, Any], part: str) -> None:
    values = learned(**server)
    assert part in values
    assert scrub(f"it was <{part}>", {}, values) == f"it was <{HIDDEN}>"


@pytest.mark.parametrize(
    "argument",
    [
        "@scope/server-filesystem@2025.1.14", "/home/ada/projects/quince2/src", "node-v18.12.1-linux-x64",
        "https://registry.invalid/@scope/package-name", "http://localhost:8080/@quince/medlar", "--port=8080",
        "C:\\Users\\ada\\file.json", "--max-old-space-size=4096", "20261130T143025Z", "modelContextProtocol2",
        "x86_64-unknown-linux-gnu", "theme: quince-0815", "postgres://h/db", "--tokens-file=/home/ada/tokens.json",
        "ghcr.invalid/ada/quince:v1.2.3",
    ],
)  # fmt: skip
def test_what_explains_a_failure_is_not_hidden(argument: str) -> None:
    assert learned(args=[argument, "-v"], command=argument) == ()


def test_words_of_a_private_key_that_shapes_know_it_by_stay() -> None:
    key = "-----BEGIN " + "PRIVATE KEY-----\nquince-medlar-quince\nshort\n-----END PRIVATE KEY-----"
    values = learned(env={"ORCHARD": key})
    assert "quince-medlar-quince" in values and not any(value.startswith("-----") for value in values if value != key)


def test_parts_make_room_for_values_and_for_newer_ones() -> None:
    secrets = ServerSecrets()
    for number in range(MOST_VALUES):
        secrets.learn({"mcpServers": {"one": {"env": {"A": f"part-{number:06},none"}}}})
    assert f"part-{MOST_VALUES - 1:06},none" in secrets.values and "part-000000,none" in secrets.values
    assert len(secrets.values) == MOST_VALUES
    few = ServerSecrets()
    few.learn({"mcpServers": {"one": {"args": [f"key=quince-{number:06}" for number in range(MOST_VALUES + 1)]}}})
    few.learn({"mcpServers": {"one": {"args": [f"-H X-Key: medlar-{number:06}" for number in range(10)]}}})
    assert len(few.values) == MOST_VALUES and "medlar-000009" in few.values


def test_of_what_is_long_the_value_alone_is_known() -> None:
    listed = ",".join(f"quince-{number:06}" for number in range(2 * MOST_PARTS))
    assert 1 < len(learned(env={"A": listed})) <= MOST_PARTS + 1
    endless = "a" * MOST_LOOKED_INTO + ",quince-000000"
    assert learned(env={"A": endless}) == (endless,)
    secrets = ServerSecrets()
    half = "a" * (MOST_LOOKED_INTO // 2) + ",quince-"
    secrets.learn(
        {"mcpServers": {"one": {"env": {"A": half + "000000", "B": half + "111111", "C": "x,quince-222222"}}}}
    )
    assert [value for value in secrets.values if len(value) < 100] == [
        "x,quince-222222",
        "quince-000000",
        "quince-222222",
    ]


@given(st.text("ab1Z=:/@.,;{}[]\"'\\\n &-?#%", max_size=200), st.booleans())
def test_no_text_breaks_it_and_no_part_is_too_short(text: str, private: bool) -> None:
    assert all(len(part) >= SHORTEST_SECRET for part in parts("", text, private=private))


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
