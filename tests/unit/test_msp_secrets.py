"""What is hidden of a host's words, and what is not."""

from __future__ import annotations

import pytest

from adapter.msp.secrets import HIDDEN, scrub

ENVIRON = {"DEMO_API_KEY": "sekretvalue123", "GITHUB_PAT": "ghx_0123456789", "HOME": "/home/ada", "DEBUG_TOKEN": "true"}


@pytest.mark.parametrize(
    "text",
    [
        "bad key sekretvalue123 refused",
        "used ghx_0123456789 twice: ghx_0123456789",
        "+ export OTHER_API_KEY=sk-abcdef",
        "+ export ACME_PAT=sk-abcdef",
        'config {"api_key":"sk-abcdef"}',
        "config {'client_secret': 'sk-abcdef'}",
        "Authorization: Basic sk-abcdef",
        "Authorization: Bearer sk-abcdef",
        "token: sk-abcdef",
        "run with --token sk-abcdef now",
        "run with --api-key=sk-abcdef now",
        "fetch https://ada:sk-abcdef@example.invalid/x",
    ],
)
def test_q2_secrets_are_hidden(text: str) -> None:
    scrubbed = scrub(text, ENVIRON)
    assert HIDDEN in scrubbed
    assert not any(secret in scrubbed for secret in ("sekretvalue123", "ghx_0123456789", "sk-abcdef"))


@pytest.mark.parametrize(
    "text",
    [
        "model-red is not in your plan",
        "the key is missing",
        "cannot read /home/ada/muse/settings.json: line 3",
        "token limit reached after 4096 tokens",
        "https://example.invalid/path?x=1",
        "it is true",
    ],
)
def test_q1_what_explains_a_failure_stays(text: str) -> None:
    assert scrub(text, ENVIRON) == text


def test_scrubbing_twice_changes_nothing() -> None:
    once = scrub("API_KEY=abcdefgh and --token abcdefgh and Bearer abcdefgh", {})
    assert scrub(once, {}) == once


@pytest.mark.parametrize("piece", ["x", "x-", "--a", "a://", "x.", "key "])
def test_a_long_text_is_scrubbed_in_one_pass(piece: str) -> None:
    """One look from each of so many characters on would take hours."""
    text = piece * (1_000_000 // len(piece)) + " token=abcdefgh"
    assert scrub(text, {}).endswith(f"{piece} token={HIDDEN}")


def test_what_hides_in_the_middle_of_a_word_is_found() -> None:
    assert scrub("x--token abcdefgh, 1https://ada:abcdefgh@host my.api_key:abcdefgh", {}) == (
        f"x--token {HIDDEN} 1https://{HIDDEN}@host my.api_key:{HIDDEN}"
    )
