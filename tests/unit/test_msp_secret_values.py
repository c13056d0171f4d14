"""Which values of an environment are secret, and that they are found however they are spelled."""

from __future__ import annotations

import base64
import json
from urllib.parse import quote, quote_plus

import pytest

from adapter.msp import secret_values
from adapter.msp.secret_names import is_secret_name
from adapter.msp.secret_values import hide, spellings
from adapter.msp.secrets import HIDDEN, scrub

VALUE = "Quince/9x Medlar+"

SECRET_NAMES = """PASSPHRASE DB_PASS DBPASS API_KEY_2 APIKEY1 MY_AUTH SECRET_SAUCE API_KEY_PROD GH_TOKEN_2 COOKIE
    SENTRY_DSN DB_PWD SESSION_COOKIE REDIS_PW NPM_CONFIG__AUTH GITHUB_PAT CREDENTIALS SLACK_WEBHOOK_URL META_API_KEY
    AWS_SECRET_ACCESS_KEY MYTOKEN dbPassword clientSecret api-key x-auth-token --token"""
OTHER_NAMES = """PWD OLDPWD PATH KEYBOARD KEYMAP TOKENIZERS_PARALLELISM GIT_AUTHOR_NAME SSH_AUTH_SOCK SSH_ASKPASS
    KEY_FILE AUTH_URL TOKEN_TTL MONKEY BYPASS AUTHORITY XAUTHORITY SECRETARY PASSENGER 12 _"""


@pytest.mark.parametrize("name", SECRET_NAMES.split())
def test_a_name_with_a_secret_word_in_it_is_one_of_a_secret(name: str) -> None:
    assert is_secret_name(name)
    assert scrub(f"not {VALUE}, said it", {name: VALUE}) == f"not {HIDDEN}, said it"


@pytest.mark.parametrize("name", OTHER_NAMES.split())
def test_a_name_that_only_begins_like_one_is_none(name: str) -> None:
    assert not is_secret_name(name)
    assert scrub(f"not {VALUE}, said it", {name: VALUE}) == f"not {VALUE}, said it"


@pytest.mark.parametrize(
    "spelled",
    [
        VALUE,
        VALUE.upper(),
        VALUE.lower(),
        quote(VALUE, safe=""),
        quote_plus(VALUE),
        quote(VALUE),
        VALUE.encode().hex(),
        base64.b64encode(VALUE.encode()).decode(),
        base64.b64encode(b"ada:" + VALUE.encode() + b"!").decode(),
        base64.b64encode(b"adam:" + VALUE.encode()).decode(),
        base64.urlsafe_b64encode(VALUE.encode()).decode(),
    ],
)
def test_a_value_is_found_however_it_is_spelled(spelled: str) -> None:
    shown = scrub(f"it was {spelled} here", {"DEMO_KEY": VALUE})
    assert shown.startswith("it was ") and shown.endswith(" here") and HIDDEN in shown
    # Of base64 the first and the last character may depend on what stands beside the value as well.
    assert len(shown.replace(HIDDEN, "")) <= len("it was  here") + 10


@pytest.mark.parametrize("spell", [json.dumps, repr, lambda text: json.dumps(text, ensure_ascii=False)])
def test_a_value_that_has_to_be_quoted_is_found_in_quotation(spell: object) -> None:
    assert callable(spell)
    value = 'half "ü" \\ and\ttab'
    assert scrub(spell(value), {"DEMO_KEY": value})[1:-1] == HIDDEN


@pytest.mark.parametrize(
    ("value", "text", "shown"),
    [
        ("port", "port 80, report, Port", f"{HIDDEN} 80, report, {HIDDEN}"),
        ("2468", "2468 of 12468", f"{HIDDEN} of 12468"),
        ("ab1", "ab1", "ab1"),
        ("true", "true", "true"),
        ("required", "required", "required"),
        ("quincequince", "xquincequincex", f"x{HIDDEN}x"),
    ],
)
def test_a_short_word_is_hidden_where_it_is_one(value: str, text: str, shown: str) -> None:
    assert scrub(text, {"DEMO_PASSWORD": value}) == shown


def test_a_password_in_a_url_is_one_by_itself() -> None:
    environ = {"ORCHARD": "postgres://ada:qui%2Fnce9@db.invalid/x", "OTHER": "https://medlar42@x.invalid"}
    assert scrub("no login with qui/nce9, qui%2Fnce9, medlar42", environ) == (
        f"no login with {HIDDEN}, {HIDDEN}, {HIDDEN}"
    )


def test_each_line_of_a_value_is_one_by_itself() -> None:
    """Of a text that was cut only some are there."""
    environ = {"DEPLOY_KEY": "-----BEGIN X-----\nMIIEpAIBAAKCAQEA\nquincequince9xx\nend"}
    assert scrub("MIIEpAIBAAKCAQEA\nend", environ) == f"{HIDDEN}\nend"


def test_values_that_overlap_leave_nothing_between_them() -> None:
    assert scrub("quince-medlar-pear", {"A_KEY": "quince-medlar", "B_KEY": "medlar-pear"}) == HIDDEN


def test_spellings_are_found_out_once_but_for_long_values() -> None:
    secret_values._remembered_spellings.cache_clear()
    short, long = "k1-häh/0123456789", "x" * (secret_values.LONGEST_REMEMBERED + 1)
    assert spellings([short, long]) == spellings([short, long]) == spellings([short]) | spellings([long])
    seen = secret_values._remembered_spellings.cache_info()
    assert (seen.misses, seen.currsize, seen.maxsize) == (1, 1, secret_values.MOST_REMEMBERED)


def test_letters_are_found_in_any_case_beside_others_that_have_none_or_two() -> None:
    assert hide("İİ K1-HÄH ß k1-hÄh", ["K1-hÄH"]) == "İİ [hidden] ß [hidden]"
