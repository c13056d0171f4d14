"""Which releases stored output is verified on, and whose a schema fingerprint is."""

import muse_code_msp
import muse_code_msp.experimental
import pytest

from host_probe import surfaces
from host_probe.surfaces import (
    KNOWN_FINGERPRINTS,
    NEWEST_RELEASE,
    VERIFIED_SURFACES,
    Unverified,
    Verified,
    VerifiedSurface,
    is_newer_than_known,
    known_fingerprint,
    releases_verified_for_reading,
    verified_for_reading,
)
from host_probe.version import HostVersion, parse_server_version, parse_version


@pytest.mark.parametrize("text", ["1.2.1", "1.2.1-R2847.1", "1.2.1-R9999"])
def test_stored_output_is_verified_on_1_2_1_whatever_its_build(text: str) -> None:
    result = verified_for_reading(parse_server_version(text))
    assert isinstance(result, Verified)
    assert result.reason == "verified"
    assert (result.entry.release, result.entry.surface) == ("1.2.1", "storedOutput")
    assert result.entry.evidence == "fixtures/hosts/1.2.1/"


@pytest.mark.parametrize("text", ["1.2.10", "11.2.1", "1.2.0", "1.3.0", "1.2.2", "01.2.1", "1.3.0-R3401.1", "1.1.1"])
def test_no_other_release_is_verified(text: str) -> None:
    result = verified_for_reading(parse_server_version(text))
    assert isinstance(result, Unverified)
    assert result.reason == "releaseNotVerified"
    assert text in result.details
    assert "1.2.1" in result.details


def test_n9_a_far_newer_host_is_not_verified_and_nothing_fails() -> None:
    result = verified_for_reading(parse_version("Muse Code 99.0.0 (99.0.0-R1.1) [early access]", ""))
    assert isinstance(result, Unverified)
    assert result.reason == "releaseNotVerified"


@pytest.mark.parametrize(
    ("text", "said"), [("0.0.0-fixture", "'0.0.0-fixture'"), ("1.2.1x", "'1.2.1x'"), ("", "does not")]
)
def test_n8_an_unknown_version_is_a_reason_not_an_error(text: str, said: str) -> None:
    result = verified_for_reading(parse_server_version(text))
    assert isinstance(result, Unverified)
    assert result.reason == "versionUnknown"
    assert said in result.details


def test_the_release_decides_alone() -> None:
    assert isinstance(verified_for_reading(HostVersion(raw="Muse Code 1.2.1")), Unverified)


def test_every_entry_has_evidence_named_after_its_release() -> None:
    for entry in VERIFIED_SURFACES:
        assert entry.evidence == f"fixtures/hosts/{entry.release}/"
        assert entry.note


def test_the_official_packages_own_fingerprints_are_known() -> None:
    assert known_fingerprint(muse_code_msp.SCHEMA_FINGERPRINT) == "Muse 1.4.13"
    assert known_fingerprint(muse_code_msp.experimental.SCHEMA_FINGERPRINT) == "Muse 1.4.13 (experimental surface)"


def test_a_fingerprint_is_known_by_its_digest_with_or_without_prefix() -> None:
    digest = next(digest for digest, host in KNOWN_FINGERPRINTS.items() if host == "Muse 1.2.1")
    assert known_fingerprint(digest) == known_fingerprint(f"sha256:{digest}") == "Muse 1.2.1"


@pytest.mark.parametrize("digest", ["", "sha256:", "c7ff6c5d", "sha256:" + "0" * 64])
def test_another_fingerprint_is_not_known(digest: str) -> None:
    assert known_fingerprint(digest) is None


def test_every_known_fingerprint_is_a_whole_digest() -> None:
    assert all(len(digest) == 64 and set(digest) <= set("0123456789abcdef") for digest in KNOWN_FINGERPRINTS)


def test_an_entry_more_is_named_where_others_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = VerifiedSurface(release="1.9.2", surface="storedOutput", evidence="", note="")
    monkeypatch.setattr(surfaces, "VERIFIED_SURFACES", (*VERIFIED_SURFACES, entry))
    assert releases_verified_for_reading() == ["1.2.1", "1.9.2"]
    assert "Muse 1.2.1, 1.9.2 only" in verified_for_reading(parse_server_version("1.3.0")).details


@pytest.mark.parametrize(
    ("text", "newer"),
    [
        (NEWEST_RELEASE, False),
        (f"{NEWEST_RELEASE}-R9999.1", False),
        ("1.4.2", False),
        ("1.04.013", False),
        ("1.4.14", True),
        ("1.10.0", True),
        ("99.1.0", True),
        (f"{'9' * 5000}.0.0", True),
        ("99.0", False),
        ("", False),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else str(value),
)
def test_n9_a_newer_release_is_told_by_its_numbers(text: str, newer: bool) -> None:
    assert is_newer_than_known(parse_server_version(text)) is newer


def test_the_newest_release_is_that_of_the_newest_fingerprint() -> None:
    named = [parse_version(host, "") for host in KNOWN_FINGERPRINTS.values()]
    assert NEWEST_RELEASE in {version.release for version in named}
    assert not any(is_newer_than_known(version) for version in named)
