// The response as a client shows it: reasoning, answer and tool calls as they were delivered, with marks where
// something is missing or in the wrong place.

import { make, paint } from "../../dom.js";
import { count } from "../../numbers.js";
import { visibleParts } from "../../text.js";
import { fieldHue, fieldWords } from "../model/fields.js";
import { barLook, isLost } from "../model/picture.js";

/** @import { Placed } from "../model/blocks.js" */
/** @import { Model } from "../model/model.js" */

const SINGLE = 3000; // cells that are pieces of their own, so that each can be chosen
const MOST = 60_000; // characters of a section

/** @import { BarLook } from "../model/picture.js" */
/**
 * Cells of one fate in a row; `lost` when the client did not get them.
 * @typedef {{ start: number, end: number, look: BarLook, lost: boolean, text: string }} Piece
 */
/** @typedef {{ field: string, title: string, pieces: Piece[] }} Section what arrived in one field */

/**
 * The sections in the order in which their fields were first delivered, or should have been.
 * @param {Model} model
 * @param {number} shown cells that had arrived
 * @param {number} [number] of the server
 * @returns {Section[]}
 */
export function sectionsOf(model, shown, number = 0) {
  /** @type {Map<string, Section>} */
  const sections = new Map();
  const single = model.count <= SINGLE;
  const picture = model.pictures[number];
  for (const run of picture?.runs ?? []) {
    const [start, end, , own, arrived] = run;
    const look = barLook(run);
    if (look === null) continue;
    const field = picture.fieldOf(arrived ?? own) ?? "";
    const lost = isLost(run);
    for (let i = start, to; i < end; i = to) {
      const block = model.blockAt(i);
      to = single ? i + 1 : Math.min(end, block.end);
      if (model.rankOf(i) >= shown) continue;
      const section = sections.get(field) ?? { field, title: titleOf(block, field), pieces: [] };
      sections.set(field, section);
      section.pieces.push({ start: i, end: to, look, lost, text: textOf(model, i, to) });
    }
  }
  return [...sections.values()];
}

/**
 * @param {Model} model
 * @param {number} shown
 */
export function paintClient(model, shown) {
  const sides = model.pictures.map((_, number) => sectionsOf(model, shown, number).map(sectionBox));
  if (sides.length === 1) return sides[0].length ? sides[0] : [nothing()];
  return sides.map((sections, number) => {
    const side = make("div", "side-view");
    side.append(paint(make("p", "caption"), visibleParts(model.serverName(number), { spaces: false })));
    side.append(...(sections.length ? sections : [nothing()]));
    return side;
  });
}

function nothing() {
  return make("p", "quiet", "Nothing was delivered.");
}

/** @param {Section} section */
function sectionBox({ field, title, pieces }) {
  const box = make("section");
  box.dataset.hue = fieldHue(field);
  box.setAttribute("aria-label", title);
  const lost = pieces.filter((piece) => piece.lost);
  const head = make("h2");
  head.append(paint(make("span"), visibleParts(title, { spaces: false, most: 120 })));
  const missing = lost.reduce((sum, { start, end }) => sum + end - start, 0);
  if (missing) head.append(make("span", "missing", `${count(missing, "token")} missing`));
  const body = make("div", "said");
  let left = MOST;
  for (const piece of pieces) {
    if (left <= 0) {
      body.append(make("span", "name", `+${count(pieces.at(-1)?.end ?? 0, "token")}`));
      break;
    }
    left -= piece.text.length;
    body.append(pieceBox(piece, left));
  }
  box.append(head, body);
  return box;
}

/**
 * @param {Piece} piece
 * @param {number} left characters that may still be shown after it
 */
function pieceBox({ start, end, look, lost, text }, left) {
  const wrong = !lost && look !== "delivered" && look !== "unknown";
  const element = make(lost ? "del" : wrong ? "mark" : "span");
  element.dataset.i = String(start);
  element.dataset.end = String(end);
  if (lost) element.title = "the model wrote this; it was not delivered";
  else if (wrong) element.title = look === "misrouted" ? "delivered in the wrong field" : `delivered ${look}`;
  const most = left < 0 ? Math.max(1, text.length + left) : Infinity;
  return paint(element, visibleParts(text, { spaces: false, most }));
}

/** @param {Placed | undefined} block */
function calls(block) {
  return block?.kind === "message" && (block.recipient?.startsWith("functions.") ?? false);
}

/**
 * @param {Placed} block the first that brought something
 * @param {string} field
 */
function titleOf(block, field) {
  if (field === "reasoning") return "Reasoning";
  if (field === "content") return "Answer";
  if (field === "text") return "Text";
  if (!field) return "Delivered in no field";
  const name = calls(block) ? block.recipient?.slice("functions.".length) : null;
  return name ? `Call of ${name}` : fieldWords(field);
}

/**
 * @param {Model} model
 * @param {number} start
 * @param {number} end
 */
function textOf(model, start, end) {
  let text = "";
  for (let i = start; i < end; i++) text += model.textOf(i) ?? "";
  return text;
}
