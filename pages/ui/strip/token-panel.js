// The panel of the chosen token, or of the one under the pointer.

import { make, paint } from "../dom.js";
import { NUMBER } from "../numbers.js";
import { visibleParts } from "../text.js";
import { cellRows, unitOf } from "./cell-words.js";
import { canCopy, copy, copyOf } from "./copying.js";
import { rangeRows } from "./range.js";

/** @import { WordRow } from "./cell-words.js" */
/** @import { Copied } from "./copying.js" */
/** @import { Model } from "./model.js" */
/** @import { Parts } from "./parts.js" */
/** @import { Range } from "./range.js" */

/** @typedef {{ token: number | null, range: Range | null }} Chosen a range is shown in place of a token */

/**
 * @param {Parts} parts
 * @param {Model} model
 * @param {Chosen} chosen
 */
export function paintToken(parts, model, { token: i, range }) {
  for (const button of copyButtons(parts)) {
    const what = /** @type {Copied} */ (button.dataset.copy);
    button.disabled = !canCopy(model, i, what);
    if (what === "id") button.textContent = range ? "IDs" : "ID";
  }
  parts["token-title"].textContent = range ? rangeTitle(model, range) : titleOf(model, i);
  if (range) parts.token.replaceChildren(rows(rangeRows(model, range)));
  else if (i === null) {
    const words = model.count ? "Click a token, or use the arrow keys." : "This capture has no tokens.";
    parts.token.replaceChildren(make("p", "quiet", words));
  } else parts.token.replaceChildren(rows(cellRows(model, i)));
}

/** @param {WordRow[]} all */
function rows(all) {
  const list = make("dl");
  list.append(...all.flatMap(pair));
  return list;
}

/**
 * The buttons copy what `chosen` names when they are pressed.
 * @param {Parts} parts
 * @param {() => { model: Model } & Chosen} chosen
 */
export function offerCopies(parts, chosen) {
  for (const button of copyButtons(parts)) {
    button.onclick = () => {
      const { model, token, range } = chosen();
      const words = copyOf(model, token, /** @type {Copied} */ (button.dataset.copy), range);
      copy(button, words);
    };
  }
}

/** @param {Parts} parts */
function copyButtons(parts) {
  return /** @type {NodeListOf<HTMLButtonElement>} */ (parts.copies.querySelectorAll("[data-copy]"));
}

/**
 * @param {Model} model
 * @param {number | null} i
 */
function titleOf(model, i) {
  const noun = unitOf(model) === "piece" ? "Piece" : "Token";
  if (i === null) return noun;
  const unsent = model.unsentOf(i);
  if (!unsent) return `${noun} ${NUMBER.format(i)}`;
  return unsent.kind === "gap" ? "Tokens not sent" : `Rejected ${unsent.kind}`;
}

/**
 * @param {Model} model
 * @param {Range} range
 */
function rangeTitle(model, { start, end }) {
  const nouns = unitOf(model) === "piece" ? "Pieces" : "Tokens";
  return `${nouns} ${NUMBER.format(start)}–${NUMBER.format(end - 1)}`;
}

/** @param {WordRow} row */
function pair([name, value, style]) {
  const term = paint(make("dt"), visibleParts(name, { spaces: false, most: 40 }));
  const text = make("dd", style === "bytes" ? "mono" : (style ?? ""));
  return [term, paint(text, visibleParts(value, { spaces: style === "mono", most: 400 }))];
}
