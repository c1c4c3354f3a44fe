// A strip that follows a growing run: it reads the run's increments and takes their cells at its right end.

import { Feed } from "./feed.js";
import { emptyPayload, startsOver, unitAfter } from "./growth.js";
import { paintLegend } from "./legend.js";

/** @import { Increment } from "./payload.d.ts" */
/** @import { Strip } from "./strip.js" */

/**
 * @param {Strip} strip
 * @param {string | null} address
 */
export function follow(strip, address) {
  if (address === (strip.feed?.address ?? null)) return;
  strip.feed?.close();
  strip.feed = null;
  if (address === null) return;
  const state = (/** @type {string} */ words) => {
    strip.root.dataset.feed = words;
  };
  strip.feed = new Feed(address, { grow: (columns) => strip.append(columns), state });
}

/**
 * @param {Strip} strip
 * @param {Increment} columns
 */
export function append(strip, columns) {
  if (startsOver(strip.model, columns)) {
    const { key, kinds } = strip.model;
    strip.show(emptyPayload(key, unitAfter(strip.model, columns), kinds), { again: true });
  }
  const { model, time, view } = strip;
  if (columns.from > model.count) return;
  const follows = time.shown >= model.count;
  const { scrollTop, clientHeight, scrollHeight } = view.scroller;
  const atBottom = scrollTop + clientHeight >= scrollHeight - 40;
  const changed = model.append(columns);
  if (columns.findings) strip.panels.renew();
  if (model.rules !== strip.rules) view.relayout(0);
  strip.rules = model.rules;
  time.grow(follows);
  view.marks.shown = time.shown;
  view.relayout(changed, { toEnd: follows && atBottom });
  paintLegend(strip.parts.legend, model);
  strip.finder.refresh();
  strip.paint();
}
