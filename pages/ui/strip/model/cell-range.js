// A chosen range of cells: how many, how long they took, what became of them, and their text.

import { count, duration, NUMBER } from "../../numbers.js";
import { isUndelivered } from "./search.js";

/** @import { WordRow } from "./cell-description.js" */
/** @import { Model } from "./model.js" */

/** @typedef {{ start: number, end: number }} Range cells, half-open */

/**
 * The range from one cell to another, in either order; null when they are the same.
 * @param {number} first
 * @param {number} second
 * @returns {Range | null}
 */
export function between(first, second) {
  return first === second ? null : { start: Math.min(first, second), end: Math.max(first, second) + 1 };
}

/**
 * Cells that had arrived before and with a range.
 * @param {Model} model
 * @param {Range} range
 */
export function marksOf(model, { start, end }) {
  let from = Infinity;
  let until = 0;
  for (let i = start; i < end; i++) {
    const rank = model.rankOf(i);
    from = Math.min(from, rank);
    until = Math.max(until, rank + 1);
  }
  return { from, until };
}

/**
 * What is known of a range, in rows.
 * @param {Model} model
 * @param {Range} range
 * @returns {WordRow[]}
 */
export function rangeRows(model, range) {
  const unit = model.unit === "piece" ? "piece" : "token";
  const { sent, lost, events, seconds, rate } = measured(model, range);
  /** @type {WordRow[]} */
  const rows = [[`${unit}s`, NUMBER.format(sent)]];
  if (events) rows.push(["events", NUMBER.format(events)]);
  if (seconds !== null) rows.push(["time", duration(seconds)]);
  if (rate !== null) rows.push(["speed", `${NUMBER.format(Number(rate.toPrecision(3)))} ${unit}s/s`]);
  if (lost) rows.push(["lost", `${count(lost, unit)} not delivered`, "bad"]);
  rows.push(["text", textOf(model, range), "mono"]);
  return rows;
}

/**
 * The text of a range as the model wrote it, special tokens and all.
 * @param {Model} model
 * @param {Range} range
 */
export function textOf(model, { start, end }) {
  let text = "";
  for (let i = start; i < end; i++) text += model.textOf(i) ?? "";
  return text;
}

/**
 * The speed counts what came after the first event: that one's wait belongs to what is before the range.
 * @param {Model} model
 * @param {Range} range
 */
function measured(model, { start, end }) {
  let [sent, lost, first, last] = [0, 0, Infinity, -Infinity];
  let opening = 0; // cells that came at the first moment of the range
  const events = new Set();
  for (let i = start; i < end; i++) {
    if (isUndelivered(model, i)) lost++;
    if (model.unsentOf(i)) continue;
    sent++;
    const k = model.events.of(i);
    if (k >= 0 && model.events.index[k] >= 0) events.add(k);
    const at = model.events.time(i);
    if (at === null) continue;
    if (at < first) [first, opening] = [at, 0];
    if (at === first) opening++;
    last = Math.max(last, at);
  }
  const seconds = last >= first ? last - first : null;
  const rate = seconds ? (sent - opening) / seconds : null;
  return { sent, lost, events: events.size, seconds, rate };
}

/**
 * A range in a few words, after those on its last cell.
 * @param {Range} range
 * @param {Model} model
 */
export function rangeWords({ start, end }, model) {
  const unit = model.unit === "piece" ? "piece" : "token";
  return ` · ${count(end - start, unit)} selected, ${NUMBER.format(start)} to ${NUMBER.format(end - 1)}`;
}
