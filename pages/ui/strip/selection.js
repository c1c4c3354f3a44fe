// What is chosen in the strip, and where a step from there leads.

import { lastAtMost } from "./columns.js";
import { holds, narrowestAt } from "./findings.js";

/** @import { PlacedFinding } from "./findings.js" */
/** @import { Model } from "./model.js" */

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
  }

  /**
   * Forget what a model does not have.
   * @param {Model} model
   */
  fit(model) {
    if (this.token !== null && this.token >= model.count) this.token = null;
    if (this.hover !== null && this.hover >= model.count) this.hover = null;
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
    if (finding !== undefined) this.finding = finding;
    else if (i === null || now === null || !holds(now, i)) this.finding = findingAt(model, i);
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
  const here = token ?? -1;
  const order = by > 0 ? findings : [...findings].reverse();
  const beyond = order.find(({ start }) => start !== null && (by > 0 ? start >= here : start <= here));
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
