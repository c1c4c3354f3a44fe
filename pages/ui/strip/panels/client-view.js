// The response as a client shows it: reasoning, answer and tool calls as they were delivered, with marks where
// something is missing or in the wrong place.

import { make, paint } from "../../dom.js";
import { count } from "../../numbers.js";
import { visibleParts } from "../../text.js";
import { fieldHue, fieldWords } from "../model/delivery-lane.js";

/** @import { Placed } from "../model/blocks.js" */
/** @import { Lane } from "../model/delivery-lane.js" */
/** @import { Model } from "../model/model.js" */

const SINGLE = 3000; // cells that are pieces of their own, so that each can be chosen
const MOST = 60_000; // characters of a section

/**
 * Cells of one fate in a row; `state` as in `Run`, `lost` when the client did not get them.
 * @typedef {{ start: number, end: number, state: string, lost: boolean, text: string }} Piece
 */
/** @typedef {{ field: string, title: string, pieces: Piece[] }} Section what arrived in one field */

/**
 * The sections in the order in which their fields were first delivered, or should have been.
 * @param {Model} model
 * @param {number} shown cells that had arrived
 * @param {number} [number] of the lane
 * @returns {Section[]}
 */
export function sectionsOf(model, shown, number = 0) {
  /** @type {Map<string, Section>} */
  const sections = new Map();
  const single = model.count <= SINGLE;
  let tools = -1;
  let block = -1;
  const lane = model.lanes[number];
  for (const [start, end, delivered, state] of lane?.runs ?? []) {
    for (let i = start, to; i < end; i = to) {
      const b = model.blockOf(i);
      for (; block < b; block++) if (begins(model, lane, model.blocks[block + 1])) tools++;
      to = single ? i + 1 : Math.min(end, model.blocks[b].end);
      if (model.rankOf(i) >= shown) continue;
      const field = delivered ?? intended(model.blocks[b], tools);
      const section = sections.get(field) ?? { field, title: titleOf(model.blocks[b], field), pieces: [] };
      sections.set(field, section);
      const lost = model.lostStates.has(state);
      section.pieces.push({ start: i, end: to, state, lost, text: textOf(model, i, to) });
    }
  }
  return [...sections.values()];
}

/**
 * @param {Model} model
 * @param {number} shown
 */
export function paintClient(model, shown) {
  const sides = model.lanes.map((_, number) => sectionsOf(model, shown, number).map(sectionBox));
  if (sides.length === 1) return sides[0].length ? sides[0] : [nothing()];
  return sides.map((sections, number) => {
    const side = make("div", "side-view");
    side.append(paint(make("p", "caption"), visibleParts(model.lanes[number].label, { spaces: false })));
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
function pieceBox({ start, end, state, lost, text }, left) {
  const wrong = !lost && state !== "ok" && state !== "unknown";
  const element = make(lost ? "del" : wrong ? "mark" : "span");
  element.dataset.i = String(start);
  element.dataset.end = String(end);
  if (lost) element.title = "the model wrote this; it was not delivered";
  else if (wrong)
    element.title = state === "misrouted" ? "delivered in the wrong field" : `delivered ${state}`;
  const most = left < 0 ? Math.max(1, text.length + left) : Infinity;
  return paint(element, visibleParts(text, { spaces: false, most }));
}

/** @param {Placed | undefined} block */
function calls(block) {
  return block?.kind === "message" && (block.recipient?.startsWith("functions.") ?? false);
}

/**
 * True where a tool call of this lane begins; in a comparison some blocks are of the other side, or go on.
 * @param {Model} model
 * @param {Lane} lane
 * @param {Placed} block
 */
function begins(model, lane, block) {
  if (!calls(block) || block.continued) return false;
  if (model.lanes.length === 1) return true;
  for (let i = block.start; i < block.end; i++) if (lane.numberAt(i) >= 0) return true;
  return false;
}

/**
 * The field that the text of a block belongs in.
 * @param {Placed} block
 * @param {number} tool number of the last tool call so far
 */
function intended(block, tool) {
  if (block.kind === "field") return block.channel ?? "";
  if (calls(block)) return `tool_calls[${tool}].arguments`;
  if (block.recipient || block.kind === "refused") return "";
  return block.channel === "analysis" ? "reasoning" : "content";
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
