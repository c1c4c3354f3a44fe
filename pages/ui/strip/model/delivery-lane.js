// A delivery lane: where the text of each cell arrived, as runs of cells that met the same fate.

import { Column } from "./number-columns.js";

/** @import { KindRow, LaneChange, Run } from "./payload.d.ts" */

const NO_RUN = -1;
/** @type {Record<string, string>} */
const LETTERS = { reasoning: "R", content: "C", tool: "T", other: "O" };
/** @type {Record<string, string>} */
const STATE_LABELS = {
  dropped: "not delivered",
  garbled: "garbled",
  reordered: "out of order",
};

export class Lane {
  /** @param {string} label */
  constructor(label) {
    this.label = label;
    /** @type {Run[]} */
    this.runs = [];
    this.at = new Column(new Int32Array(64));
  }

  /**
   * Take the runs that follow the first `from`. Returns the first cell that may look different.
   * @param {LaneChange} change
   * @param {number} cells
   */
  change({ label, from, runs }, cells) {
    this.label = label;
    // Runs are told after their cells, so new ones may begin far before the last cell.
    const first = Math.min(this.runs[from]?.[0] ?? this.at.length, runs[0]?.[0] ?? this.at.length);
    this.runs.length = from;
    for (const run of runs) this.runs.push(run);
    const filled = Math.min(first, this.at.length);
    this.at.grow(cells);
    this.at.values.fill(NO_RUN, filled, cells);
    for (let k = from; k < this.runs.length; k++) this.at.values.fill(k, this.runs[k][0], this.runs[k][1]);
    return filled;
  }

  /**
   * Make room for cells whose runs are not known yet.
   * @param {number} cells
   */
  grow(cells) {
    const filled = this.at.length;
    this.at.grow(cells);
    if (filled < cells) this.at.values.fill(NO_RUN, filled, cells);
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
}

/**
 * The hue of a field: each has its own, server-side tools and plain completions share one.
 * @param {string | null} field
 */
export function fieldHue(field) {
  if (field === "reasoning" || field === "content") return field;
  return field?.startsWith("tool_calls") ? "tool" : "other";
}

/**
 * The letter that tells ribbons apart where their label does not fit, and where there are no colours.
 * @param {string | null} field
 */
export function fieldLetter(field) {
  return field === null ? "" : (LETTERS[fieldHue(field)] ?? "");
}

/** @param {string | null} field */
export function fieldWords(field) {
  const call = /^tool_calls\[(\d+)\]\.(name|arguments)$/.exec(field ?? "");
  if (!call) return field ?? "";
  return (call[1] === "0" ? "tool " : `tool ${Number(call[1]) + 1} `) + call[2];
}

/**
 * @param {Run} run
 * @param {Record<string, KindRow>} kinds
 */
export function runLabel([, , field, state], kinds) {
  if (state === "ok") return fieldWords(field);
  if (state === "misrouted") return `in ${fieldWords(field)}`;
  if (state === "unknown") return `${fieldWords(field)}?`;
  return STATE_LABELS[state] ?? kinds[state]?.label ?? state;
}
