// The summary of a capture: a headline with its level, whose fault it is, what differs, what repairs it, and facts.

import { drawn, make, paint } from "../dom.js";
import { fieldStretch } from "../fields/stretch.js";
import { visibleParts } from "../text.js";

/** @import { Component } from "../component.d.ts" */
/** @import { FieldPart } from "../fields/stretch.js" */

/** @typedef {[before: string, value: string, after: string]} Fact */
/**
 * @typedef {object} Judgement
 * @property {string} level
 * @property {boolean} silent the client got nothing and was not told
 * @property {string} sentence
 * @property {string} blame whose fault it is; may be empty
 * @property {string} why
 * @property {[field: string, differences: [left: FieldPart[], right: FieldPart[]][]][]} fields that differ
 * @property {string} source where the left column is from, if not from tokens
 * @property {number} more differences that are not here
 * @property {[text: string, url: string | null][]} fixes
 * @property {boolean} decided false where another cause remains
 * @property {Fact[]} facts
 * @property {string[]} notes
 * @property {{ facts: Fact[], sentences: string[], threads: [text: string, url: string][] } | null} details folded
 * @property {string | null} report the bug report; empty until it is asked for, null where there are no buttons
 * @property {boolean} checks whether a button checks the server
 */

const UNKNOWN = { sign: "?", word: "no verdict" };
const LEVELS = new Map([
  ["error", { sign: "✕", word: "error" }],
  ["warning", { sign: "!", word: "warning" }],
  ["clean", { sign: "✓", word: "clean" }],
]);
const COPIES = "Copy bug report";
/** @type {WeakMap<Element, string>} the report that was copied last */
const copied = new WeakMap();

/** @param {Component<[Judgement]>} component */
export default function ({ data: [data], parentElement, setTriggerValue }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".banner"));
  const { sign, word } = LEVELS.get(data.level) ?? UNKNOWN;
  const card = make("section", "card");
  card.dataset.level = data.silent ? "error" : data.level;
  card.setAttribute("aria-label", "Verdict");
  const bullet = make("span", "bullet", sign);
  bullet.setAttribute("role", "img");
  bullet.setAttribute("aria-label", word);
  const sentence = paint(make("h1"), visibleParts(data.sentence, { spaces: false, most: 600 }));
  card.append(bullet, sentence);
  if (data.blame || data.why) {
    const why = paragraph("why", data.why, 900);
    if (data.blame) why.prepend(make("b", "", data.blame));
    card.append(why);
  }
  if (data.fields.length) card.append(table(data));
  const want = (/** @type {string} */ wish) => setTriggerValue?.("wanted", wish);
  const last = make("div", "last");
  if (data.fixes.length) last.append(fix(data, want));
  if (data.report !== null) last.append(buttons(root, data, data.report, want));
  if (last.childElementCount) card.append(last);
  for (const note of data.notes) card.append(paragraph("note", note, 600));
  const below = make("div", "below");
  below.append(facts(data.facts));
  if (data.details) below.append(details(data.details, want, root.querySelector("details")?.open ?? false));
  root.replaceChildren(card, below);
  drawn(parentElement);
}

/**
 * @param {NonNullable<Judgement["details"]>} folded
 * @param {(wish: string) => void} want
 * @param {boolean} open
 */
function details({ facts: times, sentences, threads }, want, open) {
  const box = make("details");
  box.open = open;
  box.append(make("summary", "", "details"));
  for (const words of sentences) box.append(paragraph("", words, 900));
  const known = make("p");
  for (const [words, url] of threads) {
    if (url.startsWith("https://")) known.append("Known as ", link(words, url), ". ");
    else known.append(turn(words, url, want));
  }
  if (threads.length) box.append(known);
  if (times.length) box.append(facts(times));
  return box;
}

/** @param {Fact[]} all */
function facts(all) {
  const list = make("ul", "facts");
  list.setAttribute("aria-label", "Facts");
  for (const [before, value, after] of all) {
    const fact = make("li");
    const strong = paint(make("b"), visibleParts(value, { spaces: false, most: 60 }));
    fact.append(before ? `${before} ` : "", strong, after ? ` ${after}` : "");
    list.append(fact);
  }
  return list;
}

/** @param {Judgement} data */
function table({ fields, more, source }) {
  const element = make("table", "differences");
  const head = make("tr");
  const sides = [`the model wrote${source}`, "your client got"];
  head.append(make("td"), ...sides.map((words) => Object.assign(make("th", "", words), { scope: "col" })));
  element.append(head);
  for (const [field, differences] of fields) {
    for (const [k, [left, right]] of differences.entries()) {
      const line = make("tr");
      if (!k) {
        const name = paint(make("th"), visibleParts(field, { spaces: false, most: 60 }));
        Object.assign(name, { scope: "rowgroup", rowSpan: differences.length });
        line.append(name);
      }
      line.append(side(left, "lost"), side(right, "found"));
      element.append(line);
    }
  }
  if (more) {
    const line = make("tr");
    const cell = make("td", "quiet", `and ${more} more ${more > 1 ? "differences" : "difference"}`);
    Object.assign(cell, { colSpan: 2 });
    line.append(make("td"), cell);
    element.append(line);
  }
  element.setAttribute("role", "table"); // the narrow page lays it out as a grid
  for (const part of element.querySelectorAll("tr, th, td")) part.setAttribute("role", roleOf(part));
  return element;
}

/** @param {Element} part of a table */
function roleOf(part) {
  if (part.matches("tr")) return "row";
  if (part.matches("td")) return "cell";
  return part.matches("[scope=col]") ? "columnheader" : "rowheader";
}

/**
 * @param {FieldPart[]} parts
 * @param {string} style
 */
function side(parts, style) {
  const cell = make("td");
  const text = make("div", "text");
  if (!parts.some(([kind]) => kind !== "gap")) text.append(make("span", "quiet", "empty"));
  else text.append(...parts.map((part) => fieldStretch(part, style)));
  cell.append(text);
  return cell;
}

/**
 * @param {Judgement} data
 * @param {(wish: string) => void} want
 */
function fix({ fixes, decided }, want) {
  const line = make("p", "fix");
  line.append(make("b", "", decided ? "Fix: " : "Likely fix: "));
  for (const [k, [words, url]] of fixes.entries()) {
    if (k) line.append(/^(https:|diagnose\?)/.test(url ?? "") ? " · " : " ");
    if (url === null) line.append(...paragraph("", words, 900).childNodes);
    else if (url.startsWith("https://")) line.append(link(words, url));
    else line.append(turn(words, url, want));
  }
  return line;
}

/**
 * A link to another page: the app turns to it, unless another tab is asked for.
 * @param {string} words
 * @param {string} url
 * @param {(wish: string) => void} want
 */
function turn(words, url, want) {
  const anchor = Object.assign(make("a", "", words), { href: url });
  anchor.onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    want(`page ${url}`);
  };
  return anchor;
}

/**
 * @param {string} words
 * @param {string} url
 */
function link(words, url) {
  return Object.assign(make("a", "", words), { href: url, target: "_blank", rel: "noreferrer" });
}

/**
 * @param {HTMLElement} button
 * @param {string} text
 */
function put(button, text) {
  navigator.clipboard.writeText(text).then(
    () => {
      button.textContent = "Copied";
    },
    () => {
      button.textContent = "Copy again"; // the browser asks for another click
    },
  );
}

/**
 * @param {HTMLElement} root
 * @param {Judgement} data
 * @param {string} report
 * @param {(wish: string) => void} want
 */
function buttons(root, { checks, fixes }, report, want) {
  const box = make("div", "buttons");
  const copy = make("button", fixes.length ? "" : "main", COPIES); // where a fix is known, that comes first
  if (report && copied.get(root) !== report) put(copy, report);
  copied.set(root, report);
  copy.onclick = () => {
    if (report) put(copy, report);
    else want("report");
  };
  box.append(copy);
  if (!checks) return box;
  const check = make("button", "", "Check this server");
  check.title = "Send it prompts that break servers, and name what to change";
  check.onclick = () => want("check");
  box.append(check);
  return box;
}

/**
 * @param {string} style
 * @param {string} words
 * @param {number} most
 */
function paragraph(style, words, most) {
  const line = make("p", style);
  const parts = words.slice(0, most * 2).split("`");
  // An odd number of backquotes quotes nothing.
  if (parts.length % 2 === 0) return paint(line, visibleParts(words, { spaces: false, most }));
  for (const [k, part] of parts.entries()) {
    line.append(paint(make(k % 2 ? "code" : "span"), visibleParts(part, { spaces: false, most })));
  }
  return line;
}
