// What happened in each column of pixels, where many cells stand in one: computed once for a view, as it reads all
// cells in it, and painted as far as they had arrived.

import { INSERT, PILL } from "./slots.js";

/** @import { Picture } from "../model/picture.js" */
/** @import { Scene } from "./paint.js" */
/** @import { Inserted, Slots } from "./slots.js" */

export const ARRIVED = 1;
export const STRAY = 2; // text that does not belong into the lane, or not so
export const HOLE = 4;

/** @type {WeakMap<Slots, { view: string, columns: PixelColumn[] }>} */
const known = new WeakMap();

/**
 * The columns of the slots `first` to `last`.
 * @param {Scene} scene
 * @param {number} first
 * @param {number} last
 */
export function columnsOf({ model, slots, gutter, left, scale, width }, first, last) {
  const view = [model.pictured, slots.cells, left, scale, width, first, last].join(" ");
  const before = known.get(slots);
  if (before?.view === view) return before.columns;
  /** @type {PixelColumn[]} */
  const columns = [];
  /** @type {PixelColumn | undefined} */
  let column;
  for (let k = first; k <= last; k++) {
    const x = Math.floor(gutter + (slots.xs[k] - left) * scale);
    const kind = slots.kinds[k];
    if (x !== column?.x) {
      if (column) column.width = Math.max(1, x - column.x);
      column = new PixelColumn(model.pictures, x, slots.ranks[k], slots.starts[k], kind === PILL);
      columns.push(column);
    }
    if (kind === INSERT) column.insert(/** @type {Inserted} */ (slots.inserted.get(k)));
    else if (kind !== PILL) column.add(slots.starts[k]);
  }
  if (column) {
    const end = gutter + (slots.xs[last] + slots.widths[last] - left) * scale;
    column.width = Math.max(1, Math.ceil(end) - column.x);
  }
  known.set(slots, { view, columns });
  return columns;
}

/** What the cells of one column did, by server and lane. */
export class PixelColumn {
  /**
   * @param {Picture[]} pictures
   * @param {number} x
   * @param {number} rank of its first cell
   * @param {number} cell
   * @param {boolean} framing
   */
  constructor(pictures, x, rank, cell, framing) {
    this.pictures = pictures;
    this.x = x;
    this.width = 1;
    this.rank = rank;
    this.cell = cell;
    this.framing = framing;
    this.marks = pictures.map(({ lanes }) => new Uint8Array(lanes.length));
    this.stopped = pictures.map(() => false);
  }

  /** @param {number} i */
  add(i) {
    for (const [number, picture] of this.pictures.entries()) {
      const marks = this.marks[number];
      const fate = picture.fateOf(i);
      if (fate === "framing" || fate === "pending" || fate === "unsent" || fate === "left_out") continue;
      const [own, lane, sign] = [picture.ownLane(i), picture.laneOf(i), picture.signOf(i)];
      const stray = fate === "misrouted" || fate === "rejected" || (sign !== "" && sign !== "unserved");
      if (lane !== null) marks[lane] |= stray ? STRAY : ARRIVED;
      if (own !== null && own !== lane && fate !== "unknown") marks[own] |= HOLE;
      if (fate === "rejected" || fate === "misrouted" || (fate === "lost" && sign !== "unserved")) {
        this.stopped[number] = true;
      }
    }
  }

  /** @param {Inserted} inserted */
  insert({ picture, lane, sign }) {
    if (sign !== "separator") this.marks[picture][lane] |= STRAY;
  }
}
