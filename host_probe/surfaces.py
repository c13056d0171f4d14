"""What has been verified on which host version, and which hosts are known at all."""

from typing import Literal

import msgspec

from host_probe.version import HostVersion

Surface = Literal["storedOutput"]


class VerifiedSurface(msgspec.Struct, frozen=True):
    """A surface that can be relied on with a release, whatever its build.

    `note` says how that is known; `evidence` is a folder below the project's root with recordings of it.
    """

    release: str
    surface: Surface
    evidence: str
    note: str


class Verified(msgspec.Struct, frozen=True):
    """The host's release is in the table; `entry` says why."""

    entry: VerifiedSurface
    details: str
    reason: Literal["verified"] = "verified"


class Unverified(msgspec.Struct, frozen=True):
    """The host's release is not in the table, or cannot be told. `details` is a sentence for people."""

    reason: Literal["versionUnknown", "releaseNotVerified"]
    details: str


# Every release that stored output is verified on. An entry is added together with recordings of a read.
VERIFIED_SURFACES = (
    VerifiedSurface(
        release="1.2.1",
        surface="storedOutput",
        evidence="fixtures/hosts/1.2.1/",
        note="others measured item/readOutput on a real host (build 1.2.1-R2847.1): 300,000 bytes, whole, also after a "
        "restart of the host; the recordings here are of the simulated host, none is of a real one yet",
    ),
)

NEWEST_RELEASE = "1.4.13"

# Digests of the schema surface, for diagnostics only: a release can have two, and an unknown one means nothing.
KNOWN_FINGERPRINTS = {
    "03312c213efd14277a0e0a102f70adeae497a469ca4edf7242f479953ed758b7": "Muse 1.0.2",
    "cfd31ee77d78fdada9febc4edccd29b0434ff8f6bf157c7c03fd0ecfcbc29f5a": "SDK revision fbce769 (no host seen with it)",
    "c7ff6c5d1e89cd42f803aea1f05b8e72082f2099685802473eb726903484713b": "Muse 1.2.1",
    "ab69549a7ebb423fce94068762da0b5ff3cdec1f8fc263dcc17248eda117f852": "Muse 1.3.0",
    "7469c9e352e67def4a59df7e439984d7194fa351e1c8b7abb34060fd977ced81": "Muse 1.3.0 (1.3.0-R3401.1)",
    "b1e6676d624e116e2c1b150fec3192200d2cbca8ed79898e44f8921759c7872f": "SDK package 1.3.1",
    "e0e163db6ccf00dbe68402ce55d6319b3edc33c421f31e9583b587b2de8a118f": "Muse 1.4.1",
    "61afea3112e0906e9dc3a536144278a74cb4b36fc6e20901a91d4432ba3568e2": "Muse 1.4.2",
    "4cb671082574037fc1070a136db7c0c8dc24e65e78cf3d209a10944ff9f9845f": "Muse 1.4.3",
    "7fddaf646dbc317e5fcac0785e135eb04df14fbb0db1863089dfd6da21730e5b": "Muse 1.4.13",
    "92770f6e8883d1479dd33acc1b3687c70057de316980e6f2cd9cef25ea8e30fd": "Muse 1.4.13 (experimental surface)",
    "c8d1a2a1866814e220fd396d382a9a75861412feee884b5021b2ee359bd3dc59": "a recorded transcript (not a live host)",
}


def verified_for_reading(version: HostVersion) -> Verified | Unverified:
    """Whether stored output is verified on exactly this release, whatever its build."""
    if version.release is None:
        said = f"it says {version.raw!r}" if version.raw else "it does not say"
        return Unverified("versionUnknown", f"The host's version cannot be told ({said}).")
    for entry in VERIFIED_SURFACES:
        if entry.surface == "storedOutput" and entry.release == version.release:
            return Verified(entry, f"Reading is verified on Muse {entry.release}.")
    where, this = ", ".join(releases_verified_for_reading()), version.build or version.release
    return Unverified("releaseNotVerified", f"Reading is verified on Muse {where} only, and this host is {this}.")


def releases_verified_for_reading() -> list[str]:
    """The releases that stored output is verified on."""
    return [entry.release for entry in VERIFIED_SURFACES if entry.surface == "storedOutput"]


def is_newer_than_known(version: HostVersion) -> bool:
    """Whether the release is newer than any this project knows of; no, if it cannot be told."""
    return version.release is not None and _numbers(version.release) > _numbers(NEWEST_RELEASE)


def _numbers(release: str) -> list[tuple[int, str]]:
    """For comparing: by digits, because a number of any length may come and `int` refuses very long ones."""
    return [(len(digits), digits) for digits in (number.lstrip("0") for number in release.split("."))]


def known_fingerprint(digest: str) -> str | None:
    """The host or package whose schema has this SHA-256 (64 hex digits, perhaps after `sha256:`), else None."""
    return KNOWN_FINGERPRINTS.get(digest.removeprefix("sha256:").lower())
