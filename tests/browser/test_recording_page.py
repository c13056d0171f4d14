"""A browser opens the page of a recording, searches, filters, opens frames and follows links to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapter.cli.inspect.page import write_page
from tests.browser.chromium import Chromium
from tests.inspecting import OTHER, SESSION, TURN, Json, Transcript

HOSTILE = "</script><script>window.hit=1</script><img src=https://example.org/x onerror='window.hit=2'><b>bold</b>"

SHOWN = "[...document.querySelectorAll('.row')].map((row) => row.querySelector('.number').textContent).join(' ')"


def conversation() -> Transcript:
    """21 frames in 18 rows: two sessions, two turns, an approval, a failure, a text in pieces."""
    made = Transcript()
    made.shake_hands()
    started = made.ask("turn/start", {"sessionId": SESSION, "input": [{"type": "text", "text": "count the trees"}]})
    made.answer(started, {"turnId": TURN, "disposition": "started"})
    made.item("started", {"itemId": "m1", "kind": "agentMessage", "status": "inProgress"})
    for piece in ('Three "oaks"\n', "and an ", "elm. Grüße"):
        made.tell("item/delta", {"sessionId": SESSION, "itemId": "m1", "delta": piece})
    axe = {"itemId": "i1", "kind": "toolCall", "tool": "axe", "status": "failed", "visibleOutput": 'Äste: "knorrig"'}
    made.item("completed", axe)
    approval = {"sessionId": SESSION, "turnId": TURN, "approvalId": "a1", "toolName": "saw"}
    made.answer(made.ask("approval/request", approval, by="server"), {}, by="client")
    made.tell("turn/completed", {"sessionId": SESSION, "turnId": TURN, "terminal": "completed"})
    made.tell("turn/started", {"sessionId": OTHER, "turnId": "t2"})
    made.tell("session/nameChanged", {"sessionId": OTHER, "name": "Bushes"})
    made.tell("turn/completed", {"sessionId": OTHER, "turnId": "t2", "terminal": "completed"})
    made.refuse(made.ask("model/list", {}), -32601, "no such method", {"kind": "methodNotFound"})
    made.ask("skill/list", {})
    made.server("not a frame \u202e at all")
    return made


def page_of(made: Transcript, directory: Path, manifest: Json | None = None) -> str:
    """The address of the page."""
    recording, ladder = made.read(directory / "recording", manifest)
    target = directory / "page.html"
    write_page(target, recording, ladder, "trees")
    return target.as_uri()


@pytest.fixture
def opened(browser: Chromium, tmp_path: Path) -> Chromium:
    browser.look(1280, 900)
    browser.open(page_of(conversation(), tmp_path))
    return browser


def choose(browser: Chromium, filter_id: str, value: str) -> None:
    """As a user does, by which the page learns of it."""
    browser.run(
        f"(() => {{ const one = document.getElementById('{filter_id}'); one.value = '{value}';"
        " one.dispatchEvent(new Event('change')); })()"
    )


def wait_for_frame(browser: Chromium, number: int) -> None:
    """Wait until this frame is open and its address is the page's."""
    title = "document.querySelector('#detail h2')?.textContent"
    browser.wait(f"location.hash === '#f{number}' && `${{{title}}} `.startsWith('Frame {number} ')")


def test_the_page_shows_the_facts_and_the_ladder(opened: Chromium) -> None:
    assert opened.run("document.title") == "trees"
    assert "MSP" in opened.text("#gist") and "muse-session-server 1.2.1" in opened.text("#gist")
    assert opened.run(SHOWN) == "1 2 3 4 5 6 9 10 11 12 13 14 15 16 17 18 19"
    assert opened.text("#count") == "17 rows"
    assert opened.run("document.querySelector('#r0').className.trim()") == "row client request current"
    assert opened.text("#r0 .method") == "initialize" and opened.text("#r0 .words") == "tester 3"
    assert opened.text("#r5 .words") == 'answer: "Three "oaks" and an elm. Grüße", 32 bytes in 3 pieces'
    left, arrow, right = (
        opened.run(f"document.querySelector('{one}').getBoundingClientRect().left")
        for one in ("#r0 .said", "#r0 .arrow", "#r1 .said")
    )
    assert left < arrow < right, "what the client says stands left, what the host says right"


def test_the_head_opens_and_leads_to_frames(opened: Chromium) -> None:
    opened.click("#about summary")
    opened.wait("document.getElementById('about').open")

    assert "tester 3" in opened.text("#facts")
    titles = opened.run("[...document.querySelectorAll('#summaries h2')].map((one) => one.textContent).join()")
    assert titles == "Turns,Asked of the user,Failures,Not available here,Slowest answers,Never answered"
    opened.click("#summaries table:last-of-type a")
    wait_for_frame(opened, 18)
    assert opened.text("#detail h2") == "Frame 18 skill/list"


@pytest.mark.parametrize(
    ("sought", "rows"),
    [
        ("OAKS", "6"),
        ("grüße", "6"),
        ('äste: "kn', "9"),
        ("itemId", "5 6 9"),
        ("-32601", "17"),
        ("no such word", ""),
    ],
)
def test_search_finds_text_in_frames(opened: Chromium, sought: str, rows: str) -> None:
    opened.click("#search")
    opened.type(sought)
    opened.wait("document.getElementById('count').textContent !== '17 rows'")

    assert opened.run(SHOWN) == rows
    assert opened.text("#count") == f"{len(rows.split())} of 17 rows"
    if not rows:
        assert opened.text("#empty") == "Nothing fits."
    opened.click("#clear")
    assert opened.text("#count") == "17 rows"


@pytest.mark.parametrize(
    ("filter_id", "value", "rows"),
    [
        ("direction", "client", "1 3 11 16 18"),
        ("kind", "consent", "10 11"),
        ("session", "2", "13 14 15"),
        ("turn", "1", "3 4 5 6 9 10 11 12"),
    ],
)
def test_filters_choose_rows(opened: Chromium, filter_id: str, value: str, rows: str) -> None:
    choose(opened, filter_id, value)

    assert opened.run(SHOWN) == rows


def test_filters_work_together(opened: Chromium) -> None:
    opened.click("#failed")
    assert opened.run(SHOWN) == "9 19", "what is not available, as 17, is no failure"
    choose(opened, "session", "1")
    assert opened.run(SHOWN) == "9"
    turns = opened.run("[...document.querySelectorAll('#turn option')].map((one) => one.textContent).join()")
    assert turns == 'all turns,turn 1 "count the trees"', "only the turns of the session can be chosen"


def test_a_click_opens_the_frame_and_its_partner_is_a_link_away(opened: Chromium) -> None:
    opened.click("#r2")
    wait_for_frame(opened, 3)

    assert opened.text("#detail h2") == "Frame 3 turn/start"
    assert "request of the client \u00b7 at 0.020 \u00b7 session 1 \u00b7 turn 1" in opened.text("#detail")
    assert '\n    "sessionId": "0198f000-' in opened.text("#detail pre")
    opened.click("#detail nav a:nth-of-type(2)")
    wait_for_frame(opened, 4)
    assert opened.text("#detail h2") == "Frame 4 turn/start"
    assert "10 ms after its request" in opened.text("#detail")
    opened.run("history.back()")
    wait_for_frame(opened, 3)
    opened.click("#detail .close")
    assert opened.run("document.getElementById('detail').hidden && location.hash === ''")


def test_what_is_searched_for_is_marked_in_the_frame(opened: Chromium) -> None:
    opened.click("#search")
    opened.type("trees")
    opened.wait("document.getElementById('count').textContent !== '17 rows'")
    opened.click("#r0")
    wait_for_frame(opened, 3)

    assert opened.text("#detail pre mark") == "trees"


def test_a_link_leads_to_its_frame_also_into_the_middle_of_a_row(browser: Chromium, tmp_path: Path) -> None:
    browser.look(1280, 900)
    browser.open(page_of(conversation(), tmp_path) + "#f7")

    assert browser.text("#detail h2") == "Frame 7 item/delta"
    assert "piece 2 of 3" in browser.text("#detail") and '"and an "' in browser.text("#detail pre")
    assert browser.text(".row.current .number") == "6"
    choose(browser, "kind", "consent")
    assert "hidden by the filters" in browser.text("#detail")
    browser.run("location.hash = '#f99999'")
    browser.wait("document.getElementById('detail').hidden")


def test_the_keyboard_is_enough(opened: Chromium) -> None:
    opened.press("/")
    opened.type("turn")
    opened.press("Enter")
    assert opened.run("document.activeElement.id") == "scroll"
    opened.press("ArrowDown")
    opened.press("j")
    assert opened.text(".row.current .number") == "5"
    assert opened.run("document.getElementById('scroll').getAttribute('aria-activedescendant')") == "r2"
    opened.press("Enter")
    wait_for_frame(opened, 5)
    opened.press("ArrowUp")
    wait_for_frame(opened, 4)
    opened.press("End")
    opened.wait("document.querySelector('.row.current .number').textContent === '15'")
    opened.press("Escape")
    assert opened.run("document.getElementById('detail').hidden")


def test_numbers_and_escapes_are_shown_as_they_were_sent(browser: Chromium, tmp_path: Path) -> None:
    made = Transcript()
    made.client(
        '{"id":12345678901234567890,"method":"m\\u202e","params":{"a":1.10,"b":[],"c":{"d":[1,{}]},"e":"\u202e"}}'
    )
    browser.look(1280, 900)
    browser.open(page_of(made, tmp_path) + "#f1")

    assert browser.text("#detail pre") == (
        '{\n  "id": 12345678901234567890,\n  "method": "m\\u202e",\n  "params": {\n    "a": 1.10,\n    "b": [],\n'
        '    "c": {\n      "d": [\n        1,\n        {}\n      ]\n    },\n    "e": "\\u202e"\n  }\n}'
    )


def test_nothing_that_was_recorded_acts_in_the_page(browser: Chromium, tmp_path: Path) -> None:
    made = Transcript()
    made.call("initialize", {"clientInfo": {"name": HOSTILE}}, {"serverInfo": {"name": HOSTILE, "version": HOSTILE}})
    made.tell(HOSTILE, {"sessionId": HOSTILE, "turnId": HOSTILE})
    made.item("completed", {"itemId": "i", "kind": "agentMessage", "status": "failed", "text": HOSTILE})
    made.tell("session/nameChanged", {"sessionId": HOSTILE, "name": HOSTILE})
    made.tell("approval/requested", {"approvalId": "a", "toolName": HOSTILE, "availableChoices": [{"label": HOSTILE}]})
    made.server(HOSTILE)
    made.lines.append(HOSTILE)
    browser.look(1280, 900)
    browser.open(page_of(made, tmp_path, {"scenario": HOSTILE, "description": HOSTILE, "provenance": HOSTILE}))
    browser.click("#about summary")
    for number in range(1, 9):
        browser.run(f"location.hash = '#f{number}'")
        wait_for_frame(browser, number)
        assert "<img src=https://example.org/x" in browser.text("#detail")

    assert browser.run("window.hit === undefined && document.querySelector('img, b') === null")
    assert browser.run("document.scripts.length") == 2
    assert browser.run("document.title").startswith("</script><script>")


def test_the_policy_of_the_page_stops_what_would_come_in(opened: Chromium) -> None:
    """The page's own policy is in force, and what it stops is noticed here."""
    opened.run("document.body.append(Object.assign(document.createElement('img'), {src: 'https://example.org/x'}))")
    opened.run("document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hit = 1'}))")

    assert opened.run("window.hit") is None
    stopped = [complaint for complaint in opened.complaints if "Content Security Policy" in complaint]
    assert len(stopped) == len(opened.complaints) == 2
    opened.complaints.clear()
    opened.requests.remove("https://example.org/x")


def test_twenty_thousand_frames_are_searched_and_only_those_seen_are_in_the_page(
    browser: Chromium, tmp_path: Path
) -> None:
    made = Transcript()
    for number in range(20_000):
        made.tell("session/nameChanged", {"sessionId": SESSION, "name": f"tree {number}"})
    browser.look(1280, 900)
    browser.open(page_of(made, tmp_path))

    assert browser.text("#count") == "20,000 rows"
    assert browser.run("document.querySelectorAll('.row').length") < 100
    browser.click("#scroll")
    browser.press("End")
    browser.wait("document.querySelector('.row.current .number').textContent === '20000'")
    assert browser.run("document.querySelectorAll('.row').length") < 100
    browser.click("#search")
    browser.type("tree 1999")
    browser.wait("document.getElementById('count').textContent === '11 of 20,000 rows'")
    assert browser.run("[...document.querySelectorAll('.row .number')].at(-1).textContent") == "20000"


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (420, False)])
def test_the_page_fits_its_window_in_both_colours(opened: Chromium, width: int, dark: bool) -> None:
    opened.look(width, 800, dark=dark)
    opened.click("#r2")
    wait_for_frame(opened, 3)

    assert opened.run("document.documentElement.scrollWidth") <= width
    ground = opened.run("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(20, 23, 28)" if dark else "rgb(255, 255, 255)")


def test_what_is_printed_has_all_rows_and_the_facts(opened: Chromium) -> None:
    count = "document.querySelectorAll('.row').length"
    opened.run(f"addEventListener('beforeprint', () => {{ window.printed = {count}; }})")
    opened.look(1280, 200)
    assert opened.printed().startswith(b"%PDF")

    assert opened.run("window.printed") == 17
    assert opened.run("document.getElementById('about').open")


def test_probes_are_apart_from_failures_and_can_be_chosen(browser: Chromium, tmp_path: Path) -> None:
    made = Transcript()
    made.shake_hands()
    nobody = {"sessionId": "00000000-0000-0000-0000-000000000000"}
    made.refuse(made.ask("skill/list", nobody), -32601, "no such method", {"kind": "methodNotFound"})
    made.refuse(made.ask("skill/list", {"sessionId": SESSION}), -32601, "no such method", {"kind": "methodNotFound"})
    browser.look(1280, 900)
    browser.open(page_of(made, tmp_path))
    colours = [
        browser.run(f"getComputedStyle(document.querySelector('#r{place} .words')).color") for place in (1, 3, 5)
    ]
    assert len(set(colours)) == 3, "usual, a probe, not available"
    choose(browser, "kind", "probe")
    assert browser.run(SHOWN) == "3 4"
    assert browser.run("[...document.querySelectorAll('#session option')].length") == 2
    choose(browser, "kind", "")
    browser.click("#failed")
    assert browser.run(SHOWN) == ""


def test_how_the_host_ended_stands_below_the_ladder(browser: Chromium, tmp_path: Path) -> None:
    browser.look(1280, 900)
    browser.open(page_of(conversation(), tmp_path, {"ended": {"signal": 11}}))
    assert browser.text("#ending") == "The host ended by SIGSEGV."
    assert browser.run("document.querySelector('#ending').className") == "failed"
    browser.click("#about summary")
    browser.wait("document.getElementById('about').open")
    assert "ended by SIGSEGV" in browser.text("#summaries")

    browser.open(page_of(conversation(), tmp_path, {}))
    assert browser.run("document.getElementById('ending').hidden")


@pytest.mark.parametrize("height", [800, 500])
def test_on_a_phone_an_open_frame_hides_neither_the_filters_nor_the_ladder(
    browser: Chromium, tmp_path: Path, height: int
) -> None:
    browser.look(400, height)
    browser.open(page_of(conversation(), tmp_path, {"ended": {"exitCode": 1}}) + "#f9")
    box = "document.querySelector('{}').getBoundingClientRect()"
    edges = [
        [browser.run(f"{box.format(one)}.{edge}") for edge in ("top", "bottom")]
        for one in ("#filters", "#scroll", "#ending", "#detail", "#detail pre")
    ]
    filters, ladder, ending, detail, frame = edges
    assert filters[0] >= 0 and filters[1] <= ladder[0] and ladder[1] <= ending[0] and ending[1] <= detail[0]
    assert detail[1] <= height and ladder[1] - ladder[0] >= 2 * 28 and frame[1] - frame[0] >= 2 * 18
    current = [browser.run(f"{box.format('.row.current')}.{edge}") for edge in ("top", "bottom")]
    assert ladder[0] <= current[0] + 1 and current[1] - 1 <= ladder[1], "the row of the frame is seen"
    cut = browser.run("[...document.querySelectorAll('#filters select')].some((one) => one.clientWidth < 120)")
    assert not cut
