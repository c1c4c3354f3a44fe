// The panel of the chosen token, or of the one under the pointer.

import { make, paint } from "../dom.js";
import { NUMBER } from "../numbers.js";
import { visibleParts } from "../text.js";
import { cellRows, unitOf } from "./cell-words.js";
import { canCopy, copy, copyOf } from "./copying.js";

/** @import { WordRow } from "./cell-words.js" */
/** @import { Copied } from "./copying.js" */
/** @import { Model } from "./model.js" */
/** @import { Parts } from "./parts.js" */

/**
 * @param {Parts} parts
 * @param {Model} model
 * @param {number | null} i
 */
export function paintToken(parts, model, i) {
  for (const button of copyButtons(parts)) {
    button.disabled = !canCopy(model, i, /** @type {Copied} */ (button.dataset.copy));
  }
  parts["token-title"].textContent = titleOf(model, i);
  if (i === null) {
    const words = model.count ? "Click a token, or use the arrow keys." : "This capture has no tokens.";
    parts.token.replaceChildren(make("p", "quiet", words));
  } else parts.token.replaceChildren(...cellRows(model, i).flatMap(pair));
}

/**
 * The buttons copy what `chosen` names when they are pressed.
 * @param {Parts} parts
 * @param {() => { model: Model, token: number | null }} chosen
 */
export function offerCopies(parts, chosen) {
  for (const button of copyButtons(parts)) {
    button.onclick = () => {
      const { model, token } = chosen();
      const words = copyOf(model, token, /** @type {Copied} */ (button.dataset.copy));
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

/** @param {WordRow} row */
function pair([name, value, style]) {
  const term = paint(make("dt"), visibleParts(name, { spaces: false, most: 40 }));
  const text = make("dd", style === "bytes" ? "mono" : (style ?? ""));
  return [term, paint(text, visibleParts(value, { spaces: style === "mono", most: 400 }))];
}
