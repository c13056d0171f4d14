"""What is hidden of a host's words, and what is not."""

from __future__ import annotations

import pytest

from adapter.msp.secrets import HIDDEN, scrub

ENVIRON = {"DEMO_API_KEY": "sekretvalue123", "GITHUB_PAT": "ghx_0123456789", "HOME": "/home/ada", "DEBUG_TOKEN": "true"}
SECRET = "Quince9xMedlar"
BLOCK = "-----BEGIN RSA " + f"PRIVATE KEY-----\nMIIEpAIBAAK\n{SECRET}\n-----END RSA PRIVATE KEY-----"


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
        # behind a name
        f"DB_PASS={SECRET}",
        f"export COOKIE={SECRET}",
        f"passphrase: {SECRET}",
        f"API_KEY_PROD = {SECRET}",
        f"clientSecret := {SECRET}",
        f"'token' => '{SECRET}'",
        f"env[API_KEY]={SECRET}",
        f"pwd: {SECRET}",
        f"password:{SECRET},user:ada",
        f"AccountKey={SECRET};Endpoint=x",
        f'{{"password": "two {SECRET} words"}}',
        f'{{"password":"a\\"{SECRET}"}}',
        f'said {{\\"apiKey\\":\\"{SECRET}\\"}}',
        f"x-auth-token:{SECRET}",
        f'["--token", "{SECRET}"]',
        f"--db-pass '{SECRET} x'",
        f"curl -u ada:{SECRET} example.invalid",
        # in headers
        f"Cookie: sid={SECRET}; other={SECRET}",
        f'"Cookie": "a={SECRET}; b=2"',
        f"set-cookie: {SECRET}; path=/",
        f"Authorization: {SECRET}",
        f"{{'Authorization': 'Bearer {SECRET}'}}",
        f"sent Bearer {SECRET}",
        # in sentences
        f"password is {SECRET}.",
        f"wrong password '{SECRET}'",
        f"the api key is {SECRET}",
        # in URLs
        f"GET https://x.invalid/y?sig={SECRET}&a=1",
        f"GET https://x.invalid/y?code={SECRET}",
        f"url=https://x.invalid/y?a=1&token={SECRET}#z",
        f"https://{SECRET}@example.invalid/x",
        f"postgres://ada:p@{SECRET}@db.invalid/x",
        f"postgres://ada:p/{SECRET}@db.invalid/x",
        f"ada:{SECRET}@db.invalid:5432",
        f"https://hooks.slack.com/services/T0/B0/{SECRET}",
        # by how they look
        f"sk-{SECRET}",
        f"sk_live_{SECRET}",
        f"ghp_{SECRET}",
        f"gho_{SECRET}",
        f"github_pat_{SECRET}",
        f"xoxb-1234-{SECRET}",
        f"AIzaSyA-123456{SECRET}",
        f"eyJhbGciOiJI.{SECRET}.abc-def_123",
        BLOCK,
        BLOCK.replace("\n", "\\n"),
        BLOCK.partition("-----END")[0],
        "before it\n" + BLOCK.partition("\n")[2],
        "before it\n" + 2 * (BLOCK.partition("\n")[2] + "\nbehind it\n"),
    ],
)
def test_q2_what_stands_where_secrets_do_or_looks_like_one_is_hidden(text: str) -> None:
    scrubbed = scrub(text, {})
    assert HIDDEN in scrubbed
    assert SECRET not in scrubbed and "MIIE" not in scrubbed
    assert scrub(scrubbed, {}) == scrubbed


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("password is quince, user is ada", f"password is {HIDDEN}, user is ada"),
        ("pass=quince pass: medlar", f"pass={HIDDEN} pass: {HIDDEN}"),
        ("AKIA" + "IOSFODNN7EXAMPLE is it", f"{HIDDEN} is it"),
        ("Basic YWRhOmFiY2RlZg== sent", f"Basic {HIDDEN} sent"),
        (f"at 3:\n{BLOCK}\nas read", f"at 3:\n{HIDDEN}\nas read"),
        ("--token abcdefgh, --wait 3", f"--token {HIDDEN}, --wait 3"),
    ],
)
def test_q1_what_stands_beside_a_secret_stays(text: str, shown: str) -> None:
    assert scrub(text, {}) == shown


@pytest.mark.parametrize(
    "text",
    [
        "model-red is not in your plan",
        "the key is missing",
        "primary key is id",
        "key 'colour' is unknown",
        "unknown key: colour in settings.json",
        "cannot read /home/ada/muse/settings.json: line 3",
        "cannot read /home/ada/.muse/login.json",
        "token limit reached after 4096 tokens",
        "max_tokens: 4096, max_tokens=4096",
        "unexpected token: comma",
        "unexpected token: }",
        "the option --token is required",
        "the password is wrong",
        "password: required",
        "authorization: required",
        "auth: login required",
        "the bearer token is missing",
        "Bearer authentication failed",
        "Basic Authentication is off",
        "basic understanding of it",
        "https://example.invalid/path?x=1",
        "http://localhost:8080/x@y",
        "git@github.com:acme/orchard.git",
        "npm:left-pad@1.3.0",
        "repo:tag@sha256:abcdef",
        "exit code: 403, code=3",
        "PWD=/home/ada/work pwd: /home/ada/work",
        "KEY_FILE=/home/ada/k.pem",
        "tests: pass: 12, fail: 3",
        "author: Ada Quince, bypass: no, monkey: banana, keyboard: us, compass: north",
        "Muse Code 1.2.1 (1.2.1-R2847.1) on 10.20.30.40:8080",
        "task-12345678 disk-0123456789 session 0198f000-0000-7000-8000-000000000001",
        "digest sha256:0123456789abcdef0123456789abcdef",
        "-----BEGIN CERTIFICATE-----",
        "2026-11-30T10:00:00Z ERROR at Object.<anonymous> (/srv/app/index.js:10:5)",
        "it is true, and A=1",
    ],
)
def test_q1_what_explains_a_failure_stays(text: str) -> None:
    values = {
        "MAX_TOKENS": "4096",
        "A_KEY": "1",
        "LOGIN_CREDENTIALS": "/home/ada/.muse/login.json",
        "KEY_PATH": "/home",
    }
    assert scrub(text, ENVIRON | values) == text


def test_scrubbing_twice_changes_nothing() -> None:
    once = scrub("API_KEY=abcdefgh and --token abcdefgh and Bearer abcdefgh", {})
    assert scrub(once, {}) == once


PIECES = [
    *("x", "x-", "--a", "a://", "x.", "key ", "key=", "key: ", 'key="', 'key=\\"', '--key "', "\\", "=", "\t", "1"),
    *("a:", "a:@", "a:b@", "a://b:", "://@", " -u a", "-u a:", "?code=", "cookie:", "authorization: bearer "),
    *("bearer ", "basic a", "password is ", 'password "', "key is a", "sk-a", "eyJaaaaaa.", "AKIA", "ghp_"),
    *("-----BEGIN " + "PRIVATE KEY-----", "-----END PRIVATE KEY-----", "-----BEGIN "),
]


@pytest.mark.parametrize("piece", PIECES)
def test_a_long_text_is_scrubbed_in_one_pass(piece: str) -> None:
    """One look from each of so many characters on would take hours."""
    text = piece * (200_000 // len(piece)) + "\n token=abcdefgh"
    scrubbed = scrub(text, {"DEMO_TOKEN": "sesame-open", "DEMO_KEY": "x" * 50})
    assert "abcdefgh" not in scrubbed


@pytest.mark.parametrize("piece", ["x", "x-", "--a", "a://", "x.", "key "])
def test_what_is_harmless_stays_however_long_it_is(piece: str) -> None:
    text = piece * (100_000 // len(piece)) + " token=abcdefgh"
    assert scrub(text, {}).endswith(f"{piece} token={HIDDEN}")


def test_what_hides_in_the_middle_of_a_word_is_found() -> None:
    assert scrub("x--token abcdefgh, 1https://ada:abcdefgh@host my.api_key:abcdefgh", {}) == (
        f"x--token {HIDDEN}, 1https://{HIDDEN}@host my.api_key:{HIDDEN}"
    )
