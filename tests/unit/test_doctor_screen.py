"""The report for people: what it says in the end, how it looks, and that it fits."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from rich.console import Console

from adapter.cli.doctor import screen
from adapter.cli.doctor.conclusion import conclusion
from adapter.cli.doctor.offers import features_of, reasons_of
from adapter.cli.doctor.report import Check, HostFacts, Offer, Report, Status, Withheld
from adapter.cli.doctor.screen import plain, shown

VERIFIED: dict[str, Any] = {"verifiedReleases": {"storedOutput": ["1.2.1"]}}
LONG = "a sentence that is long enough to be broken wherever a terminal ends, and goes on for a while longer"
OFFERS = (
    Offer("baseline", ("loadSession",), (Withheld("muse/output", "It did not ask."), Withheld("prompt.audio", "No."))),
    Offer("zed", ("muse/output", "loadSession"), (Withheld("prompt.audio", "No."),)),
)


def check(check_id: str, status: Status = "pass", fix: str | None = None, **details: Any) -> Check:
    details = {"why": "Why.", **details}
    return Check(id=check_id, status=status, summary=f"{check_id}: {LONG}.", details=details, fix=fix)


def report(*checks: Check, version: str | None = "1.2.1", offers: tuple[Offer, ...] = OFFERS) -> Report:
    host = HostFacts("/usr/bin/muse", version, None, "PATH")
    return Report(adapter={"version": "0.1.0"}, host=host, checks=checks, negotiation=offers)


# -- the conclusion


def test_everything_works_with_stored_output() -> None:
    said = conclusion(report(check("executable"), check("surfaces", storedOutput="verified", **VERIFIED)))
    assert said == "Everything works. Stored output is offered to clients that ask for muse/output."


def test_a_version_that_is_not_verified_does_not_keep_everything_from_working() -> None:
    surfaces = check("surfaces", "warn", "Fix.", storedOutput="releaseNotVerified", version="1.3.0", **VERIFIED)
    assert conclusion(report(surfaces, version="1.3.0")) == (
        "Everything works. Stored output is not offered, because this host is 1.3.0; it is verified on 1.2.1 only."
    )


def test_a_version_that_is_not_known_is_the_reason() -> None:
    surfaces = check("surfaces", "warn", "Fix.", storedOutput="versionUnknown", **VERIFIED)
    for version in (None, "1.2.1"):
        assert "because `--version` does not tell the version of this host" in conclusion(
            report(surfaces, version=version)
        )


def test_what_is_remembered_is_the_reason_if_it_is_another_version() -> None:
    surfaces = check(
        "surfaces", "warn", "Fix.", storedOutput="releaseNotVerified", version="1.3.0", remembered=True, **VERIFIED
    )
    assert "because 1.3.0 is what is remembered of this Muse;" in conclusion(report(surfaces, version="1.2.1"))
    assert "because this host is 1.3.0;" in conclusion(report(surfaces, version="1.3.0"))


def test_an_offer_whose_reads_are_all_refused_is_told_as_that() -> None:
    surfaces = check("surfaces", "warn", "Fix.", storedOutput="verified", readsRefused=True, **VERIFIED)
    assert "but every read is refused" in conclusion(report(surfaces))


def test_a_host_that_does_not_answer_is_not_said_to_work() -> None:
    said = conclusion(report(check("sessionStore", "warn", "Look.", unanswered="session/list")))
    assert said == (
        "Whether it works cannot be told, because the host did not answer session/list: look at sessionStore. Look."
    )


def test_warnings_are_named() -> None:
    said = conclusion(report(check("executable", "warn", "Fix."), check("leftovers", "warn", "Fix.")))
    assert said == "It works, but look at executable, leftovers."


def test_a_failure_is_begun_with_the_first_and_nothing_is_said_to_work() -> None:
    said = conclusion(report(check("executable", "fail", "Install Muse."), check("handshake", "fail", "Run it.")))
    assert said == "2 checks failed: executable, handshake. Begin with executable. Install Muse."
    one = conclusion(report(check("executable", "fail", "Install Muse."), check("handshake", "skipped")))
    assert one == "One check failed: executable. Install Muse."


def test_a_login_that_is_not_known_is_told_of_and_one_that_was_not_looked_at_is_not() -> None:
    assert conclusion(report(check("login", "skipped", "Run x."))) == "Everything works. Run x."
    assert conclusion(report(check("login", "skipped", "Run x.", because="executable"))) == "Everything works."


def test_a_read_that_stops_is_no_failure_of_everything_else() -> None:
    said = conclusion(report(check("executable"), check("read.7", "fail", "Look at the id.", name="stored")))
    assert said == "Everything works. The read stops at read.7 (stored). Look at the id."


def test_a_read_that_was_not_walked_to_its_end_is_told() -> None:
    reads = (check("read.10", name="offset"), check("read.11", "skipped", name="served"))
    said = conclusion(report(check("executable"), *reads))
    assert said == "Everything works. The read was not walked to its end: look at read.11 (served)."


# -- the document


def test_a_report_is_ok_unless_a_check_failed() -> None:
    assert report(check("executable", "warn", "Fix."), check("login", "skipped")).ok
    assert not report(check("executable", "fail", "Fix.")).ok


# -- offers


def test_features_come_in_the_order_of_the_report_and_reasons_with_them() -> None:
    assert features_of(OFFERS) == ["loadSession", "prompt.audio", "muse/output"]
    assert reasons_of(OFFERS) == {
        ("prompt.audio", "No."): ["baseline", "zed"],
        ("muse/output", "It did not ask."): ["baseline"],
    }


# -- what is no character


def test_bytes_that_are_no_characters_are_replaced_wherever_they_stand() -> None:
    half = "caf\udce9"
    odd = Check(id="executable", status="warn", summary=half, details={"why": half, half: [half]}, fix=half)
    one = Report(
        adapter={"version": "0.1.0"},
        host=HostFacts(f"/{half}", "1.2.1", None, "PATH"),
        checks=(odd,),
        negotiation=(Offer(half, (), (Withheld("loadSession", half),)),),
    )

    document = json.loads(one.document())
    assert document["checks"][0]["details"]["caf\ufffd"] == ["caf\ufffd"]
    assert document["host"]["path"] == "/caf\ufffd" and document["negotiation"][0]["client"] == "caf\ufffd"
    assert plain(one).encode().count("caf\ufffd".encode()) >= 5


def test_escapes_in_a_path_do_not_reach_a_terminal() -> None:
    host = HostFacts("/bin/\x1b[31mmuse\nX", "1.2.1", None, "PATH")
    text = plain(Report(adapter={"version": "0.1.0"}, host=host, checks=(), negotiation=()))
    assert "\x1b" not in text and text.startswith("muse-adapter 0.1.0 and Muse 1.2.1 (/bin/ [31mmuse X)\n")


# -- plain text


CHECKS = (check("executable"), check("surfaces", "warn", "Do this."), check("login", "skipped", "Do that."))


@pytest.mark.parametrize("columns", [30, 59, 60, 80, 120])
def test_plain_text_fits_and_has_neither_rules_nor_colours_nor_blanks_at_the_end(columns: int) -> None:
    text = plain(report(*CHECKS), columns)

    lines = text.splitlines()
    assert max(map(len, lines)) <= columns
    assert not any(line != line.rstrip() for line in lines)
    assert re.fullmatch(r"[\x20-\x7e\n]*", text), "nothing but plain characters"
    words = " ".join(text.split())
    for part in ("executable", "Why.", "To do: Do this.", "To do: Do that.", "loadSession", "It did not ask."):
        assert part in words


@pytest.mark.parametrize("columns", [40, 60, 100])
def test_a_long_path_is_broken_and_not_cut(columns: int) -> None:
    path = f"/{'orchard' * 40}/muse"
    long = Check(
        id="executable", status="warn", summary=f"{path} is it.", details={"why": "Why."}, fix=f"Look at {path}."
    )
    text = plain(report(long, offers=(Offer("zed", (), (Withheld("loadSession", path),)),)), columns)
    assert "…" not in text
    assert "".join(text.split()).count(path) == 3


def test_plain_tables_are_columns_that_can_be_read_by_eye() -> None:
    text = plain(report(*CHECKS), 80)
    assert re.search(r"^feature +baseline +zed$", text, re.MULTILINE)
    assert re.search(r"^muse/output +no +yes$", text, re.MULTILINE)
    assert re.search(r"^muse/output +It did not ask\. \(for baseline\)$", text, re.MULTILINE)
    assert re.search(r"^prompt\.audio +No\.$", text, re.MULTILINE), "withheld from everybody"


def test_a_narrow_window_has_the_clients_one_after_the_other() -> None:
    offers = tuple(Offer(f"client-{number}", ("loadSession",), ()) for number in range(9))
    text = plain(report(*CHECKS, offers=offers), 50)
    assert re.search(r"^client-8, 1 offered$", text, re.MULTILINE)


def test_without_clients_there_is_no_part_about_them() -> None:
    assert "CLIENTS" not in plain(report(*CHECKS, offers=()))


def test_reads_stand_apart_with_their_names() -> None:
    text = plain(report(*CHECKS, check("read.7", name="stored")), 100)
    assert text.index("A READ, STEP BY STEP") < text.index("read.7 stored")


# -- on a terminal


def on_terminal(monkeypatch: pytest.MonkeyPatch, encoding: str = "utf-8", **environ: str) -> str:
    for name in ("NO_COLOR", "TERM", "COLORTERM", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", **environ}.items():
        monkeypatch.setenv(name, value)

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    Terminal.encoding = encoding
    monkeypatch.setattr(screen, "Console", lambda **more: Console(file=Terminal(), width=300, **more))
    return shown(report(*CHECKS)).decode(encoding)


def test_a_terminal_gets_symbols_colours_and_rules_and_no_endless_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    text = on_terminal(monkeypatch)
    assert "\x1b[32m✓ pass" in text and "\x1b[33m! warn" in text
    assert "─" in text and "→ Do this." in text
    assert not re.search(r" (?:\x1b\[[\d;]*m| )*$", text, re.MULTILINE), "no blanks at the end of a line"
    assert max(len(re.sub(r"\x1b\[[\d;]*m", "", line)) for line in text.splitlines()) <= screen.MOST_COLUMNS


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    text = on_terminal(monkeypatch, NO_COLOR="1")
    assert not re.search(r"\x1b\[(?:\d+;)*3\d", text), "no colour"
    assert "✓ pass" in text


def test_a_terminal_without_symbols_gets_words(monkeypatch: pytest.MonkeyPatch) -> None:
    text = on_terminal(monkeypatch, encoding="latin-1")
    assert "✓" not in text and "?" not in text
    assert "To do: Do this." in text


def test_a_dumb_terminal_gets_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    text = on_terminal(monkeypatch, TERM="dumb")
    assert "\x1b" not in text and "─" not in text
