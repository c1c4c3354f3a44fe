// The legend over the tokens: of what the strip shows, no more.

import { make, paint } from "../../dom.js";
import { visibleParts } from "../../text.js";
import { fieldHue, fieldLetter } from "../model/delivery-lane.js";
import { laneLetter } from "./token-row.js";

/** @import { Lane } from "../model/delivery-lane.js" */
/** @import { Model } from "../model/model.js" */

/** Without `words`, the state is a kind of finding, and its label is shown.
 * @typedef {{ kind: "ribbon" | "sample", state: string, hue?: string, words?: string }} Entry */

/** @type {Entry[]} */
const ENTRIES = [
  { kind: "ribbon", state: "ok", hue: "reasoning", words: "delivered as reasoning" },
  { kind: "ribbon", state: "ok", hue: "content", words: "as content" },
  { kind: "ribbon", state: "ok", hue: "tool", words: "as tool arguments" },
  { kind: "ribbon", state: "ok", hue: "other", words: "in another field" },
  { kind: "ribbon", state: "unknown", hue: "other", words: "delivered, possibly incomplete" },
  { kind: "ribbon", state: "dropped", hue: "other", words: "not delivered" },
  { kind: "ribbon", state: "misrouted", hue: "content", words: "in the wrong field" },
  { kind: "ribbon", state: "unserved", hue: "other" },
  { kind: "sample", state: "marker", words: "special token" },
  { kind: "sample", state: "header", words: "header" },
  { kind: "sample", state: "culprit", words: "rejected by the parser" },
  { kind: "sample", state: "unsent", words: "not sent" },
  { kind: "sample", state: "reconstructed", words: "reconstructed" },
];
/** @type {Map<string | undefined, string>} */
const LETTERS = new Map(
  ["reasoning", "content", "tool_calls", ""].map((field) => [fieldHue(field), fieldLetter(field)]),
);
const RIBBONS = new Set(ENTRIES.map(({ state }) => state)); // a state without an entry is shown as dropped

/**
 * @param {HTMLElement} element
 * @param {Model} model
 */
export function paintLegend(element, model) {
  const shown = shownIn(model);
  const items = ENTRIES.filter((entry) => shown.has(nameOf(entry))).map((entry) => item(entry, model));
  if (model.lanes.length > 1) {
    items.push(...model.lanes.map(laneItem));
  }
  element.replaceChildren(...items);
}

/** @param {Entry} entry */
function nameOf({ state, hue }) {
  return state === "ok" ? `ok ${hue}` : state;
}

/** @param {Model} model */
function shownIn(model) {
  const shown = new Set();
  for (const lane of model.lanes) {
    for (const [, , field, state] of lane.runs) {
      if (state === "ok") shown.add(`ok ${fieldHue(field)}`);
      else shown.add(RIBBONS.has(state) ? state : "dropped");
    }
  }
  if (model.ids !== null && model.blocks.some((block) => block.kind === "message")) {
    shown.add("marker").add("header");
  }
  if (model.blocks.some((block) => block.culprit)) shown.add("culprit");
  if (model.unsent.size) shown.add("unsent");
  if (model.reconstructed) shown.add("reconstructed");
  return shown;
}

/**
 * @param {Entry} entry
 * @param {Model} model
 */
function item({ kind, state, hue, words }, { kinds }) {
  const element = make("span", "item");
  const swatch = make("i", `swatch ${kind} ${state}`, kind === "sample" ? "ab" : "");
  if (hue) swatch.dataset.hue = hue;
  if (state === "ok") swatch.dataset.letter = LETTERS.get(hue) ?? "";
  element.append(swatch, words ?? kinds[state]?.label ?? state);
  return element;
}

/** @param {Lane} lane */
function laneItem(lane) {
  const element = make("span", "item");
  const words = paint(make("span"), visibleParts(lane.label, { spaces: false, most: 400 }));
  element.append(make("b", "lane-key", laneLetter(lane)), words);
  return element;
}
