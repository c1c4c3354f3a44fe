// The axis of the time bar: which cells had arrived at a place of it. It is time from the request where the
// capture has times, else one step an event at a fixed pace.

import { lastAtMost } from "./number-columns.js";

/** @import { Model } from "./model.js" */

export const PACE = 12; // events per second, for captures without times; cells where all came in one event
const IDLE = 0.5; // seconds that a wait lasts at most while pauses are shortened

export class TimeAxis {
  /**
   * @param {Model} model
   * @param {boolean} shortened
   */
  constructor(model, shortened) {
    const { events } = model;
    const order = events.order();
    this.timed = events.at !== null && order.length > 0;
    // A capture that is one event without a time: its cells one after the other.
    this.byCell = !this.timed && order.length < 2;
    this.count = model.count;
    this.gaps = 0; // waits that can be shortened
    const steps = this.byCell ? model.count : order.length;
    /** Seconds of the axis at each step. */
    this.places = new Float64Array(steps);
    /** Cells that have arrived with it. */
    this.ends = new Int32Array(steps);
    let place = 0;
    let before = 0;
    let cells = 0;
    for (let step = 0; step < steps; step++) {
      let wait = 0;
      if (events.at !== null && this.timed) {
        const at = events.at[order[step]];
        wait = Math.max(0, at - before);
        before = Math.max(before, at);
      }
      if (this.timed && wait > IDLE) {
        this.gaps++;
        if (shortened) wait = IDLE;
      }
      place = this.timed ? place + wait : (step + 1) / PACE;
      cells += this.byCell ? 1 : events.size(order[step]);
      this.places[step] = place;
      this.ends[step] = cells;
    }
    this.length = place;
  }

  /**
   * Cells that had arrived at a place of the axis.
   * @param {number} place
   */
  shownAt(place) {
    const step = lastAtMost(this.places, place + 1e-9, (value) => value);
    return step < 0 ? 0 : this.ends[step];
  }

  /**
   * The place of the axis at which `shown` cells had arrived.
   * @param {number} shown
   */
  placeOf(shown) {
    if (shown <= 0 || !this.ends.length) return 0;
    let low = 0;
    let high = this.ends.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ends[middle] >= shown) high = middle;
      else low = middle + 1;
    }
    return this.places[low];
  }

  /**
   * Cells that have arrived with the step after the one that brought `shown`.
   * @param {number} shown
   */
  after(shown) {
    const step = lastAtMost(this.ends, shown, (end) => end);
    return this.ends[step + 1] ?? this.count;
  }
}
