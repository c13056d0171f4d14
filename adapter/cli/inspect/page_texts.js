"use strict";
// Texts of a recording as elements of the page: never markup, and nothing in them unseen.

function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

// What cannot be seen, or turns the direction of a text, is written out.
function visible(text) {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g,
    (found) => "\\u" + found.charCodeAt(0).toString(16).padStart(4, "0"));
}

function clock(ms) {
  const total = Math.abs(ms);
  const minutes = Math.floor(total / 60000);
  const hours = Math.floor(minutes / 60);
  const seconds = (total % 60000) / 1000;
  const tail = minutes ? seconds.toFixed(3).padStart(6, "0") : seconds.toFixed(3);
  const middle = hours ? String(minutes % 60).padStart(2, "0") + ":" : minutes ? minutes + ":" : "";
  return (ms < 0 ? "-" : "") + (hours ? hours + ":" : "") + middle + tail;
}

function lasted(ms) {
  if (ms < 1000) return ms + " ms";
  return ms < 60000 ? (ms / 1000).toFixed(1) + " s" : Math.floor(ms / 60000) + " min " + Math.floor((ms % 60000) / 1000) + " s";
}

// All strings of a frame, with the escapes of JSON undone.
function unescaped(raw) {
  const texts = [];
  try {
    JSON.parse(raw, (key, value) => { if (typeof value === "string") texts.push(value); return value; });
  } catch { /* It is no JSON, and has been searched as it is. */ }
  return texts.join("\n");
}

// The text with what is searched for marked in it.
function marked(name, text, wanted) {
  const made = element("span", name);
  const sought = visible(wanted).toLowerCase();
  const low = text.toLowerCase();
  let at = 0;
  // Some letters change their length with their case; places would be wrong then.
  if (sought && low.length === text.length) {
    for (let found = low.indexOf(sought); found >= 0; found = low.indexOf(sought, at)) {
      made.append(text.slice(at, found), element("mark", "", text.slice(found, found + sought.length)));
      at = found + sought.length;
    }
  }
  made.append(text.slice(at));
  return made;
}

// JSON laid out, each token as it was written: numbers and escapes are not changed by being read.
function pretty(raw) {
  const tokens = [];
  let depth = 0;
  let at = 0;
  const line = () => "\n" + "  ".repeat(depth);
  while (at < raw.length) {
    const letter = raw[at];
    if (letter === '"') {
      let end = at + 1;
      while (end < raw.length && raw[end] !== '"') end += raw[end] === "\\" ? 2 : 1;
      const token = raw.slice(at, end + 1);
      at = end + 1;
      tokens.push([/^\s*:/.test(raw.slice(at, at + 20)) ? "key" : "text", token]);
    } else if (letter === "{" || letter === "[") {
      const close = /^\s*[}\]]/.exec(raw.slice(at + 1, at + 20));
      if (close) {
        tokens.push(["", letter + close[0].trim()]);
        at += 1 + close[0].length;
      } else {
        depth += 1;
        tokens.push(["", letter + line()]);
        at += 1;
      }
    } else if (letter === "}" || letter === "]") {
      depth -= 1;
      tokens.push(["", line() + letter]);
      at += 1;
    } else if (letter === "," || letter === ":") {
      tokens.push(["", letter === "," ? "," + line() : ": "]);
      at += 1;
    } else if (/\s/.test(letter)) {
      at += 1;
    } else {
      const token = /^[^\s{}[\],:"]+/.exec(raw.slice(at, at + 400))[0];
      tokens.push(["value", token]);
      at += token.length;
    }
  }
  return tokens;
}
