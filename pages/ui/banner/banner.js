// The verdict of a capture: a sentence with its level, why, and facts.

import { drawn, make, paint } from "../dom.js";
import { visibleParts } from "../text.js";

/** @import { Component } from "../component.d.ts" */

/**
 * @typedef {object} Judgement
 * @property {string} level
 * @property {string} sentence
 * @property {string} why
 * @property {string} known
 * @property {[before: string, value: string, after: string][]} facts
 * @property {string[]} notes
 */

const UNKNOWN = { sign: "?", word: "no verdict" };
const LEVELS = new Map([
  ["error", { sign: "✕", word: "error" }],
  ["warning", { sign: "!", word: "warning" }],
  ["clean", { sign: "✓", word: "clean" }],
]);

/** @param {Component<[Judgement]>} component */
export default function ({ data: [data], parentElement }) {
  const root = /** @type {HTMLElement} */ (parentElement.querySelector(".banner"));
  const { sign, word } = LEVELS.get(data.level) ?? UNKNOWN;
  const card = make("section", "card");
  card.dataset.level = data.level;
  card.setAttribute("aria-label", "Verdict");
  const bullet = make("span", "bullet", sign);
  bullet.setAttribute("role", "img");
  bullet.setAttribute("aria-label", word);
  const sentence = paint(make("h1"), visibleParts(data.sentence, { spaces: false, most: 600 }));
  card.append(bullet, sentence, paragraph("why", data.why, 900));
  if (data.known) card.append(paragraph("why", data.known, 600));
  for (const note of data.notes) card.append(paragraph("note", note, 600));
  const facts = make("ul", "facts");
  facts.setAttribute("aria-label", "Facts");
  for (const [before, value, after] of data.facts) {
    const fact = make("li");
    const strong = paint(make("b"), visibleParts(value, { spaces: false, most: 60 }));
    fact.append(before ? `${before} ` : "", strong, after ? ` ${after}` : "");
    facts.append(fact);
  }
  root.replaceChildren(card, facts);
  drawn(parentElement);
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
