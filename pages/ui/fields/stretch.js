// A part of a field's text: what both sides have, what only this side has, where the other has more, or our words.

import { make, paint } from "../dom.js";
import { visibleParts } from "../text.js";

/** @typedef {[kind: "same" | "mark" | "gap" | "fold" | "note", words: string]} FieldPart */

/**
 * @param {FieldPart} part
 * @param {string} style of what only this side has
 */
export function fieldStretch([kind, words], style) {
  if (kind === "fold") return make("span", "fold", words ? `⋯ ${words} ⋯` : "⋯");
  if (kind === "note") return make("span", "quiet", words);
  if (kind === "mark") return paint(make("mark", style), visibleParts(words, { spaces: false }));
  if (kind === "same") return paint(make("span"), visibleParts(words, { spaces: false }));
  const gap = make("span", "gap");
  gap.setAttribute("role", "img");
  gap.setAttribute("aria-label", "only the other side has text here");
  return gap;
}
