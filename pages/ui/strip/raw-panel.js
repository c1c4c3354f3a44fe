// The raw event of the chosen token, below the tokens.

import { paint } from "../dom.js";
import { NUMBER } from "../numbers.js";
import { visibleParts } from "../text.js";

/** @import { Model } from "./model.js" */
/** @import { Parts } from "./parts.js" */
/** @import { RawEvent } from "./raw-events.js" */

const MOST = 8000; // characters
/** @type {WeakMap<HTMLElement, string>} */
const painted = new WeakMap();

/**
 * @param {Parts} parts
 * @param {Model} model
 * @param {RawEvent | null} raw
 * @param {number | null} token
 */
export function paintRaw(parts, model, raw, token) {
  parts["raw-card"].hidden = raw === null;
  if (raw === null) return;
  const { event } = raw;
  // Python tells the event a little after the choice.
  const k = token === null ? -1 : model.events.of(token);
  const wanted = k < 0 || model.events.index[k] < 0 ? event : model.events.index[k];
  const state = wanted === event ? "as received" : "loading";
  parts["raw-title"].textContent = wanted === null ? "Event" : `Event ${NUMBER.format(wanted)}, ${state}`;
  parts["raw-copy"].disabled = event === null;
  const shown = event === null ? "Select a token to see the event that brought it." : raw.text;
  if (painted.get(parts.raw) === shown) return;
  painted.set(parts.raw, shown);
  paint(parts.raw, visibleParts(shown, { spaces: false, most: MOST }));
  if (raw.more) parts.raw.append(` … ${NUMBER.format(raw.more)} more characters: see the tab Events`);
}
