// What a server made of each cell: its fate, the lane that it was generated for and the one that it arrived in,
// and text in a lane that no cell accounts for. Python tells it (views/strip/pipeline.py); while a stream grows,
// cells that no audit has seen are pending.

import { fieldHue, fieldWords } from "./delivery-lane.js";
import { Column } from "./number-columns.js";

/** @import { CellFate, Pipeline, Run, Sign } from "./payload.d.ts" */
/** @import { Model } from "./model.js" */

/** @typedef {CellFate | "pending"} Fate */
/** @typedef {{ field: string, label: string, hue: string }} PictureLane */
/** @typedef {{ at: number, lane: number, text: string, sign: Sign }} Insert text that stands before cell `at` */
/** @typedef {{ start: number, end: number, lane: number, text: string | null, sign: Sign }} Span
 *   cells that arrived with other text than theirs, or in a second lane */

/** @type {Fate[]} */
const FATES = [
  "pending",
  "framing",
  "delivered",
  "misrouted",
  "lost",
  "left_out",
  "rejected",
  "unsent",
  "unknown",
];
/** @type {Sign[]} */
const SIGNS = ["", "reordered", "garbled", "unserved", "added", "duplicated", "separator"];
const NO_LANE = 255;
const MORE_LANES = 254; // lanes that can be told apart; what comes after shares the last one

export class Picture {
  constructor() {
    this.server = "";
    /** @type {PictureLane[]} */
    this.lanes = [];
    /** @type {Insert[]} */
    this.inserts = [];
    /** @type {Span[]} */
    this.spans = [];
    this.fates = new Column(new Uint8Array(64));
    this.signs = new Column(new Uint8Array(64));
    this.own = new Column(new Uint8Array(64));
    this.arrived = new Column(new Uint8Array(64));
  }

  /** @param {number} i */
  fateOf(i) {
    return FATES[this.fates.values[i]];
  }

  /** Whether a cell is framing, for loops over all cells. */
  framing() {
    const { values } = this.fates;
    const framing = FATES.indexOf("framing");
    return (/** @type {number} */ i) => values[i] === framing;
  }

  /** @param {number} i */
  signOf(i) {
    return SIGNS[this.signs.values[i]];
  }

  /**
   * The lane that cell i was generated for; null when there is none.
   * @param {number} i
   */
  ownLane(i) {
    return laneNumber(this.own.values[i]);
  }

  /**
   * The lane that cell i arrived in; null when it did not.
   * @param {number} i
   */
  laneOf(i) {
    return laneNumber(this.arrived.values[i]);
  }

  get #columns() {
    return [this.fates, this.signs, this.own, this.arrived];
  }

  /**
   * Make room for cells that no audit has seen.
   * @param {Model} model
   */
  grow(model) {
    const before = this.fates.length;
    for (const column of this.#columns) column.grow(model.count);
    this.#clear(model, Math.min(before, model.count));
  }

  /**
   * @param {Model} model
   * @param {number} from
   */
  #clear(model, from) {
    this.signs.values.fill(0, from, model.count);
    this.own.values.fill(NO_LANE, from, model.count);
    this.arrived.values.fill(NO_LANE, from, model.count);
    for (let i = from; i < model.count; i++) this.fates.values[i] = FATES.indexOf(untold(model, i));
  }

  /**
   * @param {Model} model
   * @param {Pipeline} pipeline
   */
  tell(model, { server, lanes, fates }) {
    this.server = server;
    this.lanes = lanes.map(({ field, label }) => ({ field, label, hue: fieldHue(field) }));
    for (const column of this.#columns) column.grow(model.count);
    this.#clear(model, Math.min(model.count, fates.at(-1)?.[1] ?? 0));
    for (const [start, end, fate, own, arrived, sign] of fates) {
      const last = Math.min(end, model.count);
      this.fates.values.fill(FATES.indexOf(fate), start, last);
      this.signs.values.fill(SIGNS.indexOf(sign), start, last);
      this.own.values.fill(own === null ? NO_LANE : Math.min(own, MORE_LANES), start, last);
      this.arrived.values.fill(arrived === null ? NO_LANE : Math.min(arrived, MORE_LANES), start, last);
    }
    this.inserts = [];
    this.spans = [];
    for (const [lane, { pieces }] of lanes.entries()) {
      for (const [start, end, text, sign] of pieces) {
        if (start >= model.count && start !== end) continue;
        if (start === end) this.inserts.push({ at: start, lane, text: text ?? "", sign });
        else if (text !== null || sign === "duplicated") this.spans.push({ start, end, lane, text, sign });
      }
    }
  }

  /**
   * The picture of pieces as they arrive: what each lane got is known, and not what was generated.
   * @param {Model} model
   * @param {Run[]} runs
   */
  tellRuns(model, runs) {
    const fields = [...new Set(runs.map(([, , field]) => field))];
    this.tell(model, {
      server: "the server",
      lanes: fields.map((field) => ({ field: field ?? "", label: laneLabel(field), pieces: [] })),
      fates: runs.map(([start, end, field]) => {
        const lane = fields.indexOf(field);
        return [start, end, "unknown", lane, lane, ""];
      }),
    });
  }
}

/** @param {string | null} field */
function laneLabel(field) {
  return field === "content" ? "answer" : fieldWords(field);
}

/** @param {number} value */
function laneNumber(value) {
  return value === NO_LANE ? null : value;
}

/**
 * What is known of a cell before an audit saw it.
 * @param {Model} model
 * @param {number} i
 * @returns {Fate}
 */
function untold(model, i) {
  const unsent = model.unsentOf(i);
  if (unsent) return unsent.kind === "gap" ? "unsent" : "rejected";
  const state = model.stateOf(i);
  if (state === "refused") return "rejected";
  return state === "marker" || state === "header" ? "framing" : "pending";
}
