"""Reading versions: from what `--version` prints and from a live handshake."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from host_probe.version import RAW_CHARACTERS, HostVersion, parse_server_version, parse_version

NUMBERS = st.integers(min_value=0, max_value=9999)
RELEASES = st.builds("{}.{}.{}".format, NUMBERS, NUMBERS, NUMBERS)
SUFFIXES = st.builds(lambda parts: "-R" + ".".join(map(str, parts)), st.lists(NUMBERS, min_size=1, max_size=3))
# Text that names no version of its own, with everything a terminal might get.
NOISE = st.text(st.sampled_from("ab Muse:-.()/\t\r\x1b[31m\x07é—"), max_size=60)


@pytest.mark.parametrize(
    ("printed", "release", "build"),
    [
        ("Muse Code 1.2.1 (1.2.1-R2847.1)\n", "1.2.1", "1.2.1-R2847.1"),
        ("1.4.2-R4684.1\n", "1.4.2", "1.4.2-R4684.1"),
        ("1.2.1", "1.2.1", None),
        ("v1.2.1\r\n", "1.2.1", None),
        ("muse/1.2.1 linux-x64", "1.2.1", None),
        ("Muse Code version 1.2.1.", "1.2.1", None),
        ("muse 1.2.1, built today", "1.2.1", None),
        ("Muse Code 1.3.0 ( 1.3.0-R3401.1 )", "1.3.0", "1.3.0-R3401.1"),
        ("Muse Code 1.2.10 (1.2.10-R1)", "1.2.10", "1.2.10-R1"),
        ("11.2.1", "11.2.1", None),
    ],
)
def test_usual_lines(printed: str, release: str, build: str | None) -> None:
    assert parse_version(printed, "") == HostVersion(release, build, printed.strip())


@pytest.mark.parametrize(
    ("stdout", "stderr", "release", "build"),
    [
        pytest.param("Welcome!\n\nMuse Code 1.2.1 (1.2.1-R2847.1)\n", "", "1.2.1", "1.2.1-R2847.1", id="banner"),
        pytest.param(
            "*** Muse 1.5.0 is here! ***\nMuse Code 1.2.1 (1.2.1-R2847.1)\n", "", "1.2.1", "1.2.1-R2847.1", id="news"
        ),
        pytest.param("node v18.0.0 is deprecated\nmuse 1.2.1\n", "", "1.2.1", None, id="another program's version"),
        pytest.param("", "Muse Code 1.2.1 (1.2.1-R2847.1)\n", "1.2.1", "1.2.1-R2847.1", id="stderr"),
        pytest.param("1.2.1\n", "Muse 1.3.0 (1.3.0-R3401.1) is available\n", "1.2.1", None, id="stdout first"),
        pytest.param("1.4.0-R3057.1 (x)\n", "", "1.4.0", "1.4.0-R3057.1", id="something else in parentheses"),
        pytest.param("\x1b[1;32mMuse Code\x1b[0m \x1b[1m1.2.1\x1b[0m\n", "", "1.2.1", None, id="colours"),
        pytest.param("\x1b]0;muse 9.9.9\x07Muse 1.2.1\n", "", "1.2.1", None, id="window title"),
        pytest.param("checking...\rMuse 1.2.1\n", "", "1.2.1", None, id="progress line"),
        pytest.param("1\x001.2.1\n", "", "1.2.1", None, id="control characters separate"),
    ],
)
def test_n8_unusual_output_is_still_read(stdout: str, stderr: str, release: str, build: str | None) -> None:
    version = parse_version(stdout.encode(), stderr.encode())
    assert (version.release, version.build) == (release, build)


@pytest.mark.parametrize(
    "printed",
    [
        "1.2.1x",
        "x1.2.1",
        "1.2.1-beta",
        "1.2.1+dirty",
        "1.2.1~rc1",
        "1.2.1.4",
        "0.1.2.1",
        "1.2.1..2",
        "1.2.1_2",
        "-1.2.1",
        "1.2.1-R",
        "1.2.1-R2847.1x",
        "1.2.1-R2847..1",
        "1.2",
        "١.٢.١",
        "/opt/muse/1.2.1/bin",
        "Muse Code",
        "",
    ],
)
def test_what_only_looks_like_a_version_is_none(printed: str) -> None:
    assert parse_version(printed, "") == HostVersion(raw=printed)


def test_two_answers_are_no_answer() -> None:
    version = parse_version("Update to Muse Code 1.5.0!\nMuse Code 1.2.1\n", "")
    assert version == HostVersion(raw="Update to Muse Code 1.5.0!")


def test_the_same_answer_twice_is_one() -> None:
    assert parse_version("muse 1.2.1\nmuse 1.2.1\n", "").release == "1.2.1"


def test_bytes_that_are_not_text_do_not_hurt() -> None:
    assert parse_version(b"\xff\xfe\x00Muse \xc3\n1.2.1\n\x00", b"\x80").release == "1.2.1"


@pytest.mark.parametrize(
    ("printed", "raw"),
    [
        ("\n \nsorry\nno idea\n", "sorry"),
        ("m" * RAW_CHARACTERS, "m" * RAW_CHARACTERS),
        # Not a part of it: a part of a secret is not recognised as one.
        ("m" * 500, "(500 characters in one line)"),
        (f"Muse Code 1.2.1 {'m' * 484}", "(500 characters in one line)"),
    ],
)
def test_raw_is_the_first_line_that_says_anything_and_bounded(printed: str, raw: str) -> None:
    assert parse_version("", printed).raw == raw


@given(st.binary() | st.text(), st.binary() | st.text())
def test_any_output_is_answered(stdout: bytes | str, stderr: bytes | str) -> None:
    version = parse_version(stdout, stderr)
    assert version.release is None or re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", version.release)
    assert version.build is None or version.build.startswith(f"{version.release}-R")
    assert len(version.raw) <= RAW_CHARACTERS
    assert not re.search(r"[\x00-\x08\x0a-\x1f\x7f]", version.raw)


@given(NOISE, RELEASES, SUFFIXES)
def test_the_documented_line_is_read_after_any_banner(banner: str, release: str, suffix: str) -> None:
    line = f"Muse Code {release} ({release}{suffix})"
    assert parse_version(f"{banner}\n{line}\n", "") == HostVersion(release, release + suffix, line)


@given(RELEASES, SUFFIXES | st.just(""), NOISE)
def test_stderr_is_read_when_stdout_has_no_version(release: str, suffix: str, noise: str) -> None:
    assume(parse_version(noise, "").release is None)
    version = parse_version(noise, f"{release}{suffix}\n")
    assert (version.release, version.build) == (release, release + suffix if suffix else None)


@given(st.characters(categories=("L", "N")) | st.sampled_from("-+_.~"), RELEASES)
def test_a_release_that_something_is_glued_to_is_another(glue: str, release: str) -> None:
    after, before = parse_version(release + glue + "1", "").release, parse_version("1" + glue + release, "").release
    assert after is None or (glue.isdecimal() and after != release)
    assert before is None or (glue.isdecimal() and before != release)


@pytest.mark.parametrize(
    ("text", "release", "build"),
    [("1.2.1", "1.2.1", None), ("1.2.1-R2847.1", "1.2.1", "1.2.1-R2847.1"), ("1.4.2-R4684", "1.4.2", "1.4.2-R4684")],
)
def test_a_live_version_is_the_whole_text(text: str, release: str, build: str | None) -> None:
    assert parse_server_version(text) == HostVersion(release, build, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "v1.2.1",
        "1.2.1 ",
        " 1.2.1",
        "1.2.1\n",
        "1.2.1x",
        "Muse Code 1.2.1",
        "1.2.1 (1.2.1-R2847.1)",
        "0.0.0-fixture",
    ],
)
def test_a_live_version_with_anything_around_it_is_none(text: str) -> None:
    assert parse_server_version(text) == HostVersion(raw=text.strip())


@given(st.text() | RELEASES | st.builds("{}{}".format, RELEASES, SUFFIXES))
def test_any_live_version_is_answered(text: str) -> None:
    version = parse_server_version(text)
    assert (version.build or version.release) in (None, text)
