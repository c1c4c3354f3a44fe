// The panel of the chosen token, or of the one under the pointer.

import { make, paint } from "../../dom.js";
import { NUMBER } from "../../numbers.js";
import { visibleParts } from "../../text.js";
import { canCopy, copy, copyOf } from "../input/copy.js";
import { cellRows, unitOf } from "../model/cell-description.js";
import { rangeRows } from "../model/cell-range.js";

/** @import { WordRow } from "../model/cell-description.js" */
/** @import { Copied } from "../input/copy.js" */
/** @import { Model } from "../model/model.js" */
/** @import { Elements } from "../elements.js" */
/** @import { Range } from "../model/cell-range.js" */

/** @typedef {{ token: number | null, range: Range | null }} Chosen a range is shown in place of a token */

/**
 * @param {Elements} elements
 * @param {Model} model
 * @param {Chosen} chosen
 */
export function paintToken(elements, model, { token: i, range }) {
  for (const button of copyButtons(elements)) {
    const what = /** @type {Copied} */ (button.dataset.copy);
    button.disabled = !canCopy(model, i, what);
    if (what === "id") button.textContent = range ? "IDs" : "ID";
  }
  elements["token-title"].textContent = range ? rangeTitle(model, range) : titleOf(model, i);
  if (range) elements.token.replaceChildren(rows(rangeRows(model, range)));
  else if (i === null) {
    const words = model.count ? "Click a token, or use the arrow keys." : "This capture has no tokens.";
    elements.token.replaceChildren(make("p", "quiet", words));
  } else elements.token.replaceChildren(rows(cellRows(model, i)));
}

/** @param {WordRow[]} all */
function rows(all) {
  const list = make("dl");
  list.append(...all.flatMap(pair));
  return list;
}

/**
 * The buttons copy what `chosen` names when they are pressed.
 * @param {Elements} elements
 * @param {() => { model: Model } & Chosen} chosen
 */
export function offerCopies(elements, chosen) {
  for (const button of copyButtons(elements)) {
    button.onclick = () => {
      const { model, token, range } = chosen();
      const words = copyOf(model, token, /** @type {Copied} */ (button.dataset.copy), range);
      copy(button, words);
    };
  }
}

/** @param {Elements} elements */
function copyButtons(elements) {
  return /** @type {NodeListOf<HTMLButtonElement>} */ (elements.copies.querySelectorAll("[data-copy]"));
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
