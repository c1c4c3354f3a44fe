// The events that brought the cells: which event brought a cell, when, and in what order cells arrived.

import { Column, lastAtMost } from "./number-columns.js";

/** @import { Events } from "./payload.d.ts" */

export class Arrivals {
  constructor() {
    /** @type {number[]} number of each event in the capture */
    this.index = [];
    /** @type {number[]} its first cell */
    this.start = [];
    /** @type {number[] | null} seconds from the request, where the capture has times */
    this.at = null;
    this.cells = 0;
    this.mostPerEvent = 0;
    this.ranks = new Column(new Int32Array(64));
    /** @type {Int32Array | null} cells in order of arrival, where that is not their order in the strip */
    this.inOrder = null;
    this.ordered = true;
  }

  /**
   * Take the events of new cells; `cells` is the number of all cells then.
   * @param {Events} events
   * @param {number} cells
   * @param {(cell: number) => boolean} sent
   */
  append(events, cells, sent) {
    const before = this.cells;
    const known = this.index.length;
    this.cells = cells;
    for (let k = 0; k < events.index.length; k++) {
      this.index.push(events.index[k]);
      this.start.push(events.start[k]);
    }
    if (events.at === null || (before > 0 && this.at === null)) this.at = null;
    else if (this.at === null || before === 0) this.at = events.at.slice();
    else for (const at of events.at) this.at.push(at);
    this.#number(known, sent);
    this.#rank(before, known);
  }

  /**
   * Place of the event that brought cell i; -1 when no event is known.
   * @param {number} i
   */
  of(i) {
    return lastAtMost(this.start, i, (start) => start);
  }

  /** @param {number} k */
  size(k) {
    return (this.start[k + 1] ?? this.cells) - this.start[k];
  }

  /** @param {number} i */
  startsAt(i) {
    const k = this.of(i);
    return k >= 0 && this.start[k] === i;
  }

  /** @param {number} i */
  time(i) {
    const k = this.of(i);
    return this.at && k >= 0 ? this.at[k] : null;
  }

  /** Places of the events in order of arrival. */
  order() {
    const places = this.index.map((_, k) => k);
    return this.inOrder ? places.sort((a, b) => this.index[a] - this.index[b] || a - b) : places;
  }

  /**
   * The most cells that an event brought; of the events before the new ones only the last can have grown.
   * @param {number} known
   * @param {(cell: number) => boolean} sent
   */
  #number(known, sent) {
    for (let k = Math.max(0, known - 1); k < this.start.length; k++) {
      const size = sent(this.start[k]) ? this.size(k) : 0;
      if (size > this.mostPerEvent) this.mostPerEvent = size;
    }
  }

  /**
   * Token cells arrive in order; pieces stand by field, so their order is by event.
   * @param {number} before
   * @param {number} known
   */
  #rank(before, known) {
    const { index, start } = this;
    this.ranks.grow(this.cells);
    const ranks = this.ranks.values;
    let { ordered } = this;
    for (let k = Math.max(1, known); k < index.length && ordered; k++) ordered = index[k] >= index[k - 1];
    this.ordered = ordered;
    if (ordered) {
      for (let i = before; i < this.cells; i++) ranks[i] = i;
      return;
    }
    this.inOrder = new Int32Array(this.cells);
    let place = 0;
    for (const k of this.order()) {
      for (let i = start[k]; i < (start[k + 1] ?? this.cells); i++) {
        this.inOrder[place] = i;
        ranks[i] = place++;
      }
    }
  }
}
