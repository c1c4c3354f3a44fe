// What a server made of each cell: runs of cells of one fate, the lane that they were generated for and the one that
// they arrived in, and text in a lane that no cell accounts for. Python tells it (views/strip/pipeline.py); while a
// stream grows, cells that no audit has seen are pending, but pieces, which are where they arrived.

import { fieldHue, fieldWords } from "./fields.js";
import { Column } from "./number-columns.js";

/** @import { CellFate, FateRun, KindRow, Piece, PipelineChange, Sign } from "./payload.d.ts" */
/** @import { Model } from "./model.js" */

/** @typedef {CellFate | "pending"} Fate */
/** @typedef {{ field: string, label: string, hue: string, pieces: Piece[] }} PictureLane */
/** @typedef {{ at: number, lane: number, text: string, sign: Sign }} Insert text that stands before cell `at` */
/** @typedef {{ start: number, end: number, lane: number, text: string | null, sign: Sign }} Span
 *   cells that arrived with other text than theirs, or in a second lane */
/** @typedef {Exclude<CellFate, "framing" | "left_out" | "rejected" | "unsent"> | Exclude<Sign, "">} BarLook */

const NO_RUN = -1;
/** @type {Partial<Record<BarLook, string>>} */
const BAR_LABELS = { lost: "not delivered", garbled: "garbled", reordered: "out of order" };

export class Picture {
  #model;
  #audited = 0; // runs of the last audit; those after them are pieces that no audit has seen

  /** @param {Model} model */
  constructor(model) {
    this.#model = model;
    this.server = "the server"; // none where it is empty: a list of token IDs
    /** @type {number | null} tokens of the fullest event, where that was measured */
    this.perEvent = null;
    /** @type {PictureLane[]} */
    this.lanes = [];
    /** @type {FateRun[]} */
    this.runs = [];
    this.at = new Column(new Int32Array(64)); // by cell the number of its run
    /** @type {Insert[]} */
    this.inserts = [];
    /** @type {Span[]} */
    this.spans = [];
  }

  /**
   * The number of the run that holds cell i; negative when none does.
   * @param {number} i
   */
  numberAt(i) {
    return this.at.values[i];
  }

  /** @param {number} i */
  runAt(i) {
    const k = this.at.values[i];
    return k < 0 ? null : this.runs[k];
  }

  /**
   * @param {number} i
   * @returns {Fate}
   */
  fateOf(i) {
    return this.runAt(i)?.[2] ?? untold(this.#model, i);
  }

  /**
   * @param {number} i
   * @returns {Sign}
   */
  signOf(i) {
    return this.runAt(i)?.[5] ?? "";
  }

  /**
   * The lane that cell i was generated for; null when there is none.
   * @param {number} i
   */
  ownLane(i) {
    return this.runAt(i)?.[3] ?? null;
  }

  /**
   * The lane that cell i arrived in; null when it did not.
   * @param {number} i
   */
  laneOf(i) {
    return this.runAt(i)?.[4] ?? null;
  }

  /**
   * The field of a lane; null when there is none.
   * @param {number | null} lane
   */
  fieldOf(lane) {
    return lane === null ? null : this.lanes[lane].field;
  }

  /**
   * Whether the client did not get cell i, which the server has had.
   * @param {number} i
   */
  lost(i) {
    const run = this.runAt(i);
    return run !== null && isLost(run);
  }

  /**
   * The words on the bar of a run.
   * @param {FateRun} run with a bar
   * @param {Record<string, KindRow>} kinds
   */
  barLabel(run, kinds) {
    const look = barLook(run);
    const field = fieldWords(this.fieldOf(run[4]));
    if (look === "delivered") return field;
    if (look === "misrouted") return `in ${field}`;
    if (look === "unknown") return `${field}?`;
    return (look && (BAR_LABELS[look] ?? kinds[look]?.label ?? look)) ?? "";
  }

  /** Make room for new cells. Of pieces is known where they arrived, and not what was generated. */
  grow() {
    const before = this.at.length;
    const model = this.#model;
    this.at.grow(model.count);
    if (model.unit === "piece") {
      const covered = this.runs.at(-1)?.[1] ?? 0;
      for (const { kind, start, end, channel } of model.blocks) {
        if (kind !== "field" || end <= covered) continue;
        const lane = this.#laneOf(channel ?? "");
        this.runs.push([Math.max(start, covered), end, "unknown", lane, lane, ""]);
      }
    }
    this.#fill(Math.min(before, model.count));
  }

  /** @param {string} field */
  #laneOf(field) {
    const lane = this.lanes.findIndex((lane) => lane.field === field);
    if (lane >= 0) return lane;
    const label = field === "content" ? "answer" : fieldWords(field);
    return this.lanes.push({ field, label, hue: fieldHue(field), pieces: [] }) - 1;
  }

  /**
   * Take what an audit told. Returns the first cell that may look different.
   * @param {PipelineChange} change
   */
  change({ server, per_event, lanes, fates }) {
    this.server = server;
    this.perEvent = per_event;
    this.lanes = lanes.map(({ field, label, from, pieces }, number) => {
      const kept = from ? this.lanes[number].pieces.slice(0, from) : [];
      return { field, label, hue: fieldHue(field), pieces: kept.concat(pieces) };
    });
    const { count } = this.#model;
    const before = Math.min(this.at.length, count);
    const from = Math.min(fates.from, this.#audited);
    const first = Math.min(count, this.runs[from]?.[0] ?? count, fates.items[0]?.[0] ?? count);
    this.runs.length = from;
    for (const run of fates.items) this.runs.push(run);
    this.#audited = this.runs.length;
    this.at.grow(count);
    this.#fill(Math.min(first, before));
    this.inserts = [];
    this.spans = [];
    for (const [lane, { pieces }] of this.lanes.entries()) {
      for (const [start, end, text, sign] of pieces) {
        if (start >= count && start !== end) continue;
        if (start === end) this.inserts.push({ at: start, lane, text: text ?? "", sign });
        else if (text !== null || sign === "duplicated") this.spans.push({ start, end, lane, text, sign });
      }
    }
    return first;
  }

  /** @param {number} from the first cell whose run may be another one */
  #fill(from) {
    const { count } = this.#model;
    this.at.values.fill(NO_RUN, from, count);
    for (let k = this.runs.length - 1; k >= 0 && this.runs[k][1] > from; k--) {
      this.at.values.fill(k, Math.max(from, this.runs[k][0]), Math.min(count, this.runs[k][1]));
    }
  }
}

/**
 * How the bar under a run of tokens looks: where its text arrived, or why it did not; null where there is no bar.
 * @param {FateRun} run
 * @returns {BarLook | null}
 */
export function barLook([, , fate, , arrived, sign]) {
  if (sign) return sign;
  if (fate === "lost") return fate;
  if (arrived === null) return null;
  return fate === "delivered" || fate === "unknown" ? fate : "misrouted";
}

/** @param {FateRun} run */
export function isLost(run) {
  const look = barLook(run);
  return look === "lost" || look === "unserved";
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
