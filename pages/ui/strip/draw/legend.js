// The legend over the tokens: of what the strip shows, no more.

import { make, paint } from "../../dom.js";
import { count } from "../../numbers.js";
import { visibleParts } from "../../text.js";
import { fieldHue, fieldLetter } from "../model/fields.js";
import { barLook } from "../model/picture.js";
import { serverLetter } from "./token-row.js";

/** @import { Model } from "../model/model.js" */

/** Without `words`, the state is a kind of finding, and its label is shown.
 * @typedef {{ kind: "ribbon" | "sample", state: string, hue?: string, words?: string }} Entry */

/** @type {Entry[]} */
const ENTRIES = [
  { kind: "ribbon", state: "delivered", hue: "reasoning", words: "delivered as reasoning" },
  { kind: "ribbon", state: "delivered", hue: "content", words: "as content" },
  { kind: "ribbon", state: "delivered", hue: "tool", words: "as tool arguments" },
  { kind: "ribbon", state: "delivered", hue: "other", words: "in another field" },
  { kind: "ribbon", state: "unknown", hue: "other", words: "delivered, possibly incomplete" },
  { kind: "ribbon", state: "lost", hue: "other", words: "not delivered" },
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
const RIBBONS = new Set(ENTRIES.map(({ state }) => state)); // a state without an entry is shown as lost

/**
 * @param {HTMLElement} element
 * @param {Model} model
 */
export function paintLegend(element, model) {
  const shown = shownIn(model);
  const items = ENTRIES.filter((entry) => shown.has(nameOf(entry))).map((entry) => item(entry, model));
  const perEvent = model.pictures[0]?.perEvent ?? 0;
  if (perEvent > 1) {
    const most = count(perEvent, "token");
    items.push(make("span", "item", `a wider gap: the next event, of up to ${most}`));
  }
  if (model.compared) items.push(...model.pictures.map((_, number) => serverItem(model, number)));
  element.replaceChildren(...items);
}

/** @param {Entry} entry */
function nameOf({ state, hue }) {
  return state === "delivered" ? `delivered ${hue}` : state;
}

/** @param {Model} model */
function shownIn(model) {
  const shown = new Set();
  for (const picture of model.pictures) {
    for (const run of picture.runs) {
      const look = barLook(run);
      if (look === "delivered") shown.add(`delivered ${fieldHue(picture.fieldOf(run[4]))}`);
      else if (look) shown.add(RIBBONS.has(look) ? look : "lost");
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
  if (state === "delivered") swatch.dataset.letter = LETTERS.get(hue) ?? "";
  element.append(swatch, words ?? kinds[state]?.label ?? state);
  return element;
}

/**
 * @param {Model} model
 * @param {number} number
 */
function serverItem(model, number) {
  const element = make("span", "item");
  const name = visibleParts(model.serverName(number), { spaces: false, most: 400 });
  element.append(make("b", "lane-key", serverLetter(model, number)), paint(make("span"), name));
  return element;
}
