// Shows the recording that the page carries. All of it is untrusted; `page_texts.js`, which
// stands before this in the page, makes text of it.

const recording = JSON.parse(document.getElementById("recording").textContent);
const ROW = parseInt(getComputedStyle(document.documentElement).getPropertyValue("--row"), 10);
const SPARE = 12; // Rows drawn beyond each edge of what is seen.
const PRINTED = 2000; // Rows that are printed; a printer takes minutes for a long recording.
const MOST = 200000; // Characters of a frame that are laid out unasked.
const KINDS = {
  handshake: "handshake", session: "session", turn: "turns", text: "texts", item: "items", consent: "asked of the user",
  read: "stored output", history: "history", probe: "probes", other: "other",
};

const $ = (id) => document.getElementById(id);
const frames = new Map(recording.frames);
const rowOfFrame = new Map(recording.rows.flatMap((row, at) => row.numbers.map((number) => [number, at])));
const haystacks = new Map();

let shown = recording.rows.map((_, at) => at); // Rows that fit the filters.
let lanes = []; // By shown row: what its lanes show.
let current = 0; // Among the shown ones.
let opened = null; // The number of the frame that is open.
let printing = false;

function side(row) {
  return row.direction === "unknown" ? "unknown" : recording.sides[row.direction];
}

// The head.

function fillHead() {
  const gist = Object.fromEntries(recording.facts);
  $("gist").textContent = [gist.protocol, gist[recording.sides.server], gist.holds].filter(Boolean).join(" \u00b7 ");
  for (const [label, text] of recording.facts) {
    $("facts").append(element("dt", "", label), element("dd", "", visible(text)));
  }
  for (const note of recording.notes) $("notes").append(element("li", "", visible(note)));
  if (recording.notes.length) $("about").open = true;
  for (const summary of recording.summaries) {
    const head = element("tr", "", ...["line", ...summary.columns].map((name) => element("th", "", name)));
    const table = element("table", "", head);
    for (const [line, cells] of summary.rows) {
      const first = line === null ? "" : link(line, String(line));
      table.append(element("tr", "", element("td", "", first), ...cells.map((cell) => element("td", "", visible(cell)))));
    }
    $("summaries").append(element("h2", "", summary.title), table);
  }
  if (recording.ending) {
    $("ending").textContent = `The ${recording.sides.server} ended ${recording.ending.words}.`;
    $("ending").classList.toggle("failed", recording.ending.failed);
    $("ending").hidden = false;
  }
  $("client").textContent = recording.sides.client;
  $("server").textContent = recording.sides.server;
  const root = document.documentElement.style;
  const last = recording.rows.at(-1);
  root.setProperty("--numbers", Math.max(4, String(last.numbers.at(-1)).length + 1) + "ch");
  if (recording.rows.some((row) => row.at_ms !== null)) root.setProperty("--times", "9ch");
}

// Filters.

function fillFilters() {
  const used = new Set(recording.rows.map((row) => row.kind));
  options("direction", [["", "both sides"], ["client", recording.sides.client], ["server", recording.sides.server]]);
  options("kind", [["", "all kinds"], ...Object.entries(KINDS).filter(([kind]) => used.has(kind))]);
  options("session", [["", "all sessions"],
    ...recording.sessions.map((one) => [one.number, `session ${one.number}: ${visible(one.name)}`])]);
  fillTurns();
  for (const id of ["direction", "kind", "turn", "failed"]) $(id).addEventListener("change", apply);
  $("session").addEventListener("change", () => { fillTurns(); apply(); });
  let waiting = 0;
  $("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(apply, 80); });
  $("clear").addEventListener("click", clear);
}

function fillTurns() {
  const session = $("session").value;
  const turns = recording.turns.filter((turn) => !session || String(turn.session) === session);
  options("turn", [["", "all turns"], ...turns.map((one) => [one.number, `turn ${one.number} ${visible(one.prompt)}`])]);
}

function options(id, pairs) {
  const made = pairs.map(([value, label]) => {
    const option = element("option", "", label);
    option.value = value;
    return option;
  });
  $(id).replaceChildren(...made);
}

function clear() {
  for (const id of ["search", "direction", "kind", "session"]) $(id).value = "";
  $("failed").checked = false;
  fillTurns();
  apply();
}

// What is searched of a row: its words, its frames as they were sent, and with the escapes of JSON undone.
function haystack(at) {
  if (!haystacks.has(at)) {
    const row = recording.rows[at];
    const texts = [row.method, row.words];
    for (const number of row.numbers) {
      const raw = frames.get(number);
      texts.push(raw);
      if (raw.includes("\\")) texts.push(unescaped(raw));
    }
    haystacks.set(at, texts.join("\n").toLowerCase());
  }
  return haystacks.get(at);
}

function apply() {
  const kept = shown[current];
  const [direction, kind, session, turn] = ["direction", "kind", "session", "turn"].map((id) => $(id).value);
  const failed = $("failed").checked;
  const sought = $("search").value.toLowerCase();
  shown = [];
  recording.rows.forEach((row, at) => {
    if (direction && row.direction !== direction) return;
    if (kind && row.kind !== kind) return;
    if (session && String(row.session) !== session) return;
    if (turn && String(row.turn) !== turn) return;
    if (failed && !row.failed) return;
    if (sought && !haystack(at).includes(sought)) return;
    shown.push(at);
  });
  current = Math.max(0, shown.indexOf(kept));
  layOut();
  reveal();
  if (opened !== null) open(opened);
}

// Lanes of turns: one for each turn that is running, used anew when it is over.

function layLanes() {
  const ends = new Map(recording.turns.map((turn) => [turn.number, turn.last]));
  const spans = new Map();
  shown.forEach((at, place) => {
    const row = recording.rows[at];
    if (row.turn === null || row.numbers[0] > ends.get(row.turn)) return;
    spans.set(row.turn, [spans.get(row.turn)?.[0] ?? place, place]);
  });
  const until = [];
  lanes = shown.map(() => []);
  for (const [turn, [first, last]] of [...spans].sort((a, b) => a[1][0] - b[1][0])) {
    const free = until.findIndex((end) => end < first);
    const lane = free < 0 ? until.length : free;
    until[lane] = last;
    for (let place = first; place <= last; place++) lanes[place][lane] = [turn, place === first, place === last];
  }
  document.documentElement.style.setProperty("--lanes", until.length ? until.length * 9 + "px" : "0px");
  return until.length;
}

function laneElements(place, count) {
  const row = recording.rows[shown[place]];
  return Array.from({ length: count }, (_, lane) => {
    const span = lanes[place][lane];
    if (!span) return element("span", "lane");
    const [turn, first, last] = span;
    const names = ["lane on", row.turn === turn && "of", first && !last && "begin", last && !first && "end"];
    const made = element("span", names.filter(Boolean).join(" "));
    made.style.setProperty("--turn", `hsl(${(turn * 67 + 190) % 360} 60% 56%)`);
    if (row.turn === turn) made.title = "turn " + turn;
    return made;
  });
}

// Rows. Only those that can be seen are in the page, so that long recordings stay fast.

let laneCount = 0;
let drawn = new Map(); // By place.

function layOut() {
  laneCount = layLanes();
  $("rows").style.height = shown.length * ROW + "px";
  const all = recording.rows.length.toLocaleString("en");
  const fitting = shown.length.toLocaleString("en");
  $("count").textContent = fitting === all ? `${all} rows` : `${fitting} of ${all} rows`;
  drawAnew();
}

function drawAnew() {
  drawn = new Map();
  $("rows").replaceChildren();
  if (!shown.length) {
    const empty = element("div", "", "Nothing fits.");
    empty.id = "empty";
    $("rows").append(empty);
  }
  if (printing && shown.length > PRINTED) {
    $("rows").append(element("p", "", `The first ${PRINTED} of ${shown.length} rows. Filters choose what is printed.`));
  }
  draw();
}

// A row that stays is left where it is: one that is taken away under a pressed mouse gets no click.
function draw() {
  const scroll = $("scroll");
  const first = printing ? 0 : Math.max(0, Math.floor(scroll.scrollTop / ROW) - SPARE);
  const seen = printing ? PRINTED : Math.ceil((scroll.scrollTop + scroll.clientHeight) / ROW) + SPARE;
  const last = Math.min(shown.length, seen);
  for (const [place, row] of drawn) {
    if (place >= first && place < last) continue;
    row.remove();
    drawn.delete(place);
  }
  let below = null;
  for (let place = last - 1; place >= first; place--) {
    let row = drawn.get(place);
    if (!row) {
      row = rowElement(place);
      drawn.set(place, row);
      $("rows").insertBefore(row, below);
    }
    row.classList.toggle("current", place === current);
    row.setAttribute("aria-selected", String(place === current));
    below = row;
  }
  if (shown.length) scroll.setAttribute("aria-activedescendant", "r" + current);
  else scroll.removeAttribute("aria-activedescendant");
}

function rowElement(place) {
  const row = recording.rows[shown[place]];
  const said = element("span", "said", element("span", "method", visible(row.method)), " ", element("span", "words", visible(row.words)));
  if (row.elapsed_ms !== null) said.append(" ", element("span", "aside", lasted(row.elapsed_ms)));
  if (row.shape === "request" && row.partner === null) said.append(" ", element("span", "aside", "never answered"));
  const made = element("div", ["row", row.direction, row.shape, row.kind === "probe" && "probe", row.lacking && "lacking",
    row.failed && "failed"].filter(Boolean).join(" "),
    element("span", "number", String(row.numbers[0])),
    element("span", "at", row.at_ms === null ? "" : clock(row.at_ms)),
    element("span", "lanes", ...laneElements(place, laneCount)),
    element("span", "arrow"),
    said);
  made.id = "r" + place;
  made.title = visible(`${side(row)}: ${row.method} ${row.words}`);
  made.setAttribute("role", "option");
  made.setAttribute("aria-setsize", String(shown.length));
  made.setAttribute("aria-posinset", String(place + 1));
  if (!printing) made.style.top = place * ROW + "px";
  made.addEventListener("click", () => { current = place; go(row.numbers[0]); draw(); });
  return made;
}

function reveal() {
  const scroll = $("scroll");
  const top = current * ROW;
  const far = top < scroll.scrollTop - ROW || top > scroll.scrollTop + scroll.clientHeight + ROW;
  if (far) scroll.scrollTop = top - scroll.clientHeight / 2;
  else if (top < scroll.scrollTop) scroll.scrollTop = top;
  else if (top + ROW > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + ROW - scroll.clientHeight;
  draw();
}

function move(to) {
  if (!shown.length) return;
  current = Math.min(Math.max(to, 0), shown.length - 1);
  reveal();
  if (opened !== null) go(recording.rows[shown[current]].numbers[0]);
}

// One frame.

// Opens at once: the news of a changed address comes later, and the user may be elsewhere by then.
function go(number) {
  if (location.hash !== "#f" + number) history.pushState(null, "", "#f" + number);
  open(number);
}

function follow() {
  const found = /^#f(\d+)$/.exec(location.hash);
  if (found && rowOfFrame.has(Number(found[1]))) open(Number(found[1]));
  else close();
}

function link(number, label) {
  const made = element("a", "", label);
  made.href = "#f" + number;
  return made;
}

function open(number) {
  opened = number;
  const at = rowOfFrame.get(number);
  const row = recording.rows[at];
  const place = shown.indexOf(at);
  if (place >= 0) current = place;
  const raw = frames.get(number);
  const closer = element("button", "close", "Close");
  closer.type = "button";
  closer.addEventListener("click", leave);
  const about = [
    `${row.shape} of the ${side(row)}`,
    row.at_ms === null ? "" : "at " + clock(row.at_ms),
    row.elapsed_ms === null ? "" : lasted(row.elapsed_ms) + " after its request",
    row.session === null ? "" : "session " + row.session,
    row.turn === null ? "" : "turn " + row.turn,
    new TextEncoder().encode(raw).length.toLocaleString("en") + " bytes",
    place < 0 ? "hidden by the filters" : "",
  ];
  const ways = element("nav", "", link(number, "link to this frame"));
  if (row.partner !== null) ways.append(link(row.partner, row.shape === "request" ? `answer: frame ${row.partner}` : `request: frame ${row.partner}`));
  const piece = row.numbers.indexOf(number);
  if (row.numbers.length > 1) {
    ways.append(element("span", "", `piece ${piece + 1} of ${row.numbers.length}`));
    if (piece > 0) ways.append(link(row.numbers[piece - 1], "previous piece"));
    if (piece < row.numbers.length - 1) ways.append(link(row.numbers[piece + 1], "next piece"));
  }
  const top = element("div", "top", closer, element("h2", "", visible(`Frame ${number} ${row.method}`)),
    element("p", "", visible(row.words)), element("p", "", about.filter(Boolean).join(" \u00b7 ")), ways);
  const text = element("pre", "");
  text.tabIndex = 0;
  fillFrame(text, ways, raw, MOST);
  $("detail").replaceChildren(top, text);
  $("detail").hidden = false;
  reveal();
}

function leave() {
  history.pushState(null, "", location.pathname + location.search);
  close();
}

function close() {
  opened = null;
  $("detail").hidden = true;
  $("detail").replaceChildren();
  draw();
}

function fillFrame(text, ways, raw, most) {
  const part = raw.slice(0, most);
  let isJson = true;
  try { JSON.parse(raw); } catch { isJson = false; }
  const tokens = isJson ? pretty(part) : [["", part]];
  text.replaceChildren(...tokens.map(([name, token]) => marked(name, visible(token), $("search").value)));
  if (part.length === raw.length) return;
  const more = element("button", "", `show all ${raw.length.toLocaleString("en")} characters`);
  more.type = "button";
  more.addEventListener("click", () => { more.remove(); fillFrame(text, ways, raw, raw.length); });
  ways.append(more);
}

// Keys, scrolling, printing.

const KEYS = {
  ArrowDown: () => move(current + 1), j: () => move(current + 1),
  ArrowUp: () => move(current - 1), k: () => move(current - 1),
  PageDown: () => move(current + Math.floor($("scroll").clientHeight / ROW)),
  PageUp: () => move(current - Math.floor($("scroll").clientHeight / ROW)),
  Home: () => move(0), End: () => move(shown.length - 1),
  Enter: () => { if (shown.length) go(recording.rows[shown[current]].numbers[0]); },
};

$("scroll").addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) return;
  event.preventDefault();
  KEYS[event.key]();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && opened !== null) {
    leave();
    $("scroll").focus();
  } else if (event.key === "/" && !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) {
    event.preventDefault();
    $("search").focus();
  } else if (event.key === "Enter" && event.target === $("search")) {
    apply();
    $("scroll").focus();
  }
});

let drawing = 0;
$("scroll").addEventListener("scroll", () => {
  cancelAnimationFrame(drawing);
  drawing = requestAnimationFrame(draw);
});
addEventListener("resize", () => (opened === null ? draw() : reveal()));
addEventListener("hashchange", follow);
addEventListener("beforeprint", () => { printing = true; $("about").open = true; drawAnew(); });
addEventListener("afterprint", () => { printing = false; drawAnew(); });

fillHead();
fillFilters();
layOut();
follow();
