// What happened in one column of pixels, where many cells stand in it.

/** @import { Picture } from "../model/picture.js" */
/** @import { Inserted } from "./slots.js" */

export const ARRIVED = 1;
export const STRAY = 2; // text that does not belong into the lane, or not so
export const HOLE = 4;

/** What the cells of one column of pixels did, by server and lane. */
export class PixelColumn {
  /** @param {Picture[]} pictures */
  constructor(pictures) {
    this.pictures = pictures;
    this.cell = 0;
    this.framing = false;
    this.marks = pictures.map(({ lanes }) => new Uint8Array(lanes.length));
    this.stopped = pictures.map(() => false);
  }

  /**
   * @param {number} cell
   * @param {boolean} framing
   */
  begin(cell, framing) {
    this.cell = cell;
    this.framing = framing;
    for (const marks of this.marks) marks.fill(0);
    this.stopped.fill(false);
  }

  /** @param {number} i */
  add(i) {
    for (let number = 0; number < this.pictures.length; number++) {
      const picture = this.pictures[number];
      const marks = this.marks[number];
      const fate = picture.fateOf(i);
      if (fate === "framing" || fate === "pending") continue;
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
