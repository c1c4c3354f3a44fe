// What is chosen in the strip, and where a step from there leads.

import { between } from "./cell-range.js";
import { lastAtMost } from "./number-columns.js";
import { holds, narrowestAt } from "./placed-findings.js";

/** @import { PlacedFinding } from "./placed-findings.js" */
/** @import { Model } from "./model.js" */
/** @import { Head } from "./payload.d.ts" */
/** @import { Range } from "./cell-range.js" */

export class Selection {
  constructor() {
    this.clear();
  }

  clear() {
    /** @type {number | null} the chosen cell */
    this.token = null;
    /** @type {number | null} the number of the chosen finding */
    this.finding = null;
    /** @type {number | null} the cell under the pointer */
    this.hover = null;
    /** @type {number | null} the cell where the chosen range began */
    this.anchor = null;
    /** @type {number | null} the cell at its other end */
    this.other = null;
  }

  /** @returns {Range | null} the chosen range, of two cells at least */
  get range() {
    return this.anchor === null || this.other === null ? null : between(this.anchor, this.other);
  }

  /**
   * Forget what a model does not have.
   * @param {Model} model
   */
  fit(model) {
    if (this.token !== null && this.token >= model.count) this.token = null;
    if (this.hover !== null && this.hover >= model.count) this.hover = null;
    if (Math.max(this.anchor ?? 0, this.other ?? 0) >= model.count) this.anchor = this.other = null;
    if (this.finding !== null && this.finding >= model.findings.length) this.finding = null;
  }

  /**
   * Choose a cell, and a finding; without one the chosen finding stays while it holds the cell.
   * @param {Model} model
   * @param {number | null} i
   * @param {number} [finding]
   */
  choose(model, i, finding) {
    const now = this.findingIn(model);
    this.token = i;
    this.anchor = this.other = null;
    if (finding !== undefined) this.finding = finding;
    else if (i === null || now === null || !holds(now, i)) this.finding = findingAt(model, i);
  }

  /**
   * Choose the cells from where the range began, or from the chosen cell, to cell i.
   * @param {Model} model
   * @param {number} i
   */
  extend(model, i, from = this.anchor ?? this.token ?? i) {
    this.choose(model, i);
    this.anchor = from;
    this.other = i;
  }

  /**
   * Choose what Python asks for, as far as the model has it; false when it has none of it.
   * @param {Model} model
   * @param {Pick<Head, "token" | "finding" | "to">} asked
   */
  follow(model, asked) {
    const cell = cellIn(model, asked.token);
    const to = cellIn(model, asked.to);
    const known = (asked.finding === null ? undefined : model.findings[asked.finding]) ?? null;
    if (cell === null && known === null) return false;
    this.token = cell ?? known?.start ?? null;
    this.finding = known ? known.number : findingAt(model, this.token);
    [this.anchor, this.other] = cell === null || to === null ? [null, null] : [to, cell];
    return true;
  }

  /**
   * @param {Model} model
   * @returns {PlacedFinding | null}
   */
  findingIn(model) {
    return this.finding === null ? null : (model.findings[this.finding] ?? null);
  }

  /**
   * How many cells must have arrived for all that is chosen to be known.
   * @param {Model} model
   */
  needs(model) {
    const token = this.token === null ? 0 : model.rankOf(this.token) + 1;
    return Math.max(token, this.findingIn(model)?.knownAt ?? 0);
  }
}

/**
 * @param {Model} model
 * @param {number | null | undefined} wanted
 */
function cellIn(model, wanted) {
  const known = typeof wanted === "number" && Number.isInteger(wanted) && wanted >= 0;
  return known && wanted < model.count ? wanted : null;
}

/**
 * The finding to show with a cell.
 * @param {Model} model
 * @param {number | null} i
 */
export function findingAt(model, i) {
  return i === null || !model.wrong.values[i] ? null : narrowestAt(model.findings, i);
}

/**
 * The cell to show with a finding: its first, or the first of its event; null when it has no place.
 * @param {Model} model
 * @param {PlacedFinding} finding
 */
export function cellOf(model, finding) {
  if (finding.start !== null || finding.event_start === null || finding.event_start === undefined) {
    return finding.start;
  }
  const k = lastAtMost(model.events.index, finding.event_start, (event) => event);
  return k >= 0 && model.count ? model.events.start[k] : null;
}

/**
 * The number of the next or previous finding, going round; null when there is none.
 * @param {Model} model
 * @param {Selection} selection
 * @param {1 | -1} by
 */
export function nextFinding(model, { token, finding }, by) {
  const { findings } = model;
  if (!findings.length) return null;
  if (finding !== null) return (finding + by + findings.length) % findings.length;
  const origin = token ?? -1;
  const order = by > 0 ? findings : [...findings].reverse();
  const beyond = order.find(({ start }) => start !== null && (by > 0 ? start >= origin : start <= origin));
  return (beyond ?? order[0]).number;
}

/**
 * The first cell of the next block, or of this one or the previous; null when there is no cell.
 * @param {Model} model
 * @param {number | null} token
 * @param {1 | -1} by
 */
export function nextBlock(model, token, by) {
  const { blocks } = model;
  if (!model.count) return null;
  const at = token === null ? -1 : model.blockOf(token);
  if (token !== null && by < 0 && token > blocks[at].start) return blocks[at].start;
  return blocks[Math.max(0, Math.min(blocks.length - 1, at + by))].start;
}
