// What a cell shows, and how wide it must be for that.

import { spacedHex, visibleParts } from "../../text.js";
import { Column } from "../model/number-columns.js";
import { barLook } from "../model/picture.js";
import { FONT, SIZE } from "./sizes.js";

/** @import { Part } from "../../text.js" */
/** @import { Model } from "../model/model.js" */
/** @import { UnsentCell } from "../model/payload.d.ts" */
/** @import { TextWidth } from "./sizes.js" */

const LABELLED = 12; // cells of a run that are widened until its label can be read

export class Cells {
  /**
   * @param {Model} model
   * @param {TextWidth} textWidth
   */
  constructor(model, textWidth) {
    this.model = model;
    this.textWidth = textWidth;
    this.widths = new Column(new Uint16Array(64));
    /** @type {Map<number | null, { parts: Part[], width: number }>} by id, shared by all its cells */
    this.shapes = new Map();
  }

  /** @param {number} i */
  parts(i) {
    return this.#shape(i).parts;
  }

  /** @param {number} i */
  width(i) {
    return this.widths.values[i];
  }

  /** Widths from cell `from` on. A run with a label that must be read is at least as wide as its label. */
  measure(from = 0) {
    const { model } = this;
    this.widths.grow(model.count);
    const widths = this.widths.values;
    for (let i = from; i < model.count; i++) widths[i] = this.#shape(i).width;
    for (const picture of model.pictures) {
      for (let k = picture.runs.length - 1; k >= 0; k--) {
        const run = picture.runs[k];
        const [start, end] = run;
        if (end <= from) break;
        const look = barLook(run);
        if (look === null || look === "delivered" || look === "unknown" || end - start > LABELLED) continue;
        let sum = SIZE.cellGap * (end - start - 1);
        for (let i = start; i < end; i++) sum += widths[i];
        const missing = Math.ceil(this.textWidth(picture.barLabel(run, model.kinds), FONT.label)) + 13 - sum;
        if (missing <= 0) continue;
        const each = Math.ceil(missing / (end - start));
        for (let i = start; i < end; i++) widths[i] += each;
      }
    }
  }

  /** @param {number} i */
  #shape(i) {
    const { model } = this;
    const shared = model.ids !== null && model.texts[i] === undefined && !model.unsent.has(i);
    const id = shared ? (model.ids?.[i] ?? null) : null;
    let shape = shared ? this.shapes.get(id) : undefined;
    if (!shape) {
      const parts = cellParts(model, i);
      shape = { parts, width: this.#widthOf(parts, i) };
      if (shared) this.shapes.set(id, shape);
    }
    return shape;
  }

  /**
   * @param {Part[]} parts
   * @param {number} i
   */
  #widthOf(parts, i) {
    let width = SIZE.cellPad * 2;
    for (const { text, name } of parts) {
      width += name ? this.textWidth(text, FONT.name) + 8 : this.textWidth(text, FONT.text);
    }
    const { ids } = this.model;
    if (ids) width = Math.max(width, this.textWidth(String(ids[i] ?? ""), FONT.id) + 2);
    return Math.min(Math.max(Math.ceil(width), SIZE.leastCell), 2000);
  }
}

/**
 * Parts of a cell's text, or the bytes of an unfinished character.
 * @param {Model} model
 * @param {number} i
 * @returns {Part[]}
 */
export function cellParts(model, i) {
  const unsent = model.unsentOf(i);
  if (unsent) return unsentParts(model, unsent);
  const text = model.textOf(i);
  if (text === undefined) return [{ text: "not in vocabulary", name: true }];
  if (text === null)
    return [{ text: spacedHex(model.bytesOf(i) ?? "").toUpperCase() || "no bytes", name: true }];
  if (text === "") return [{ text: "empty", name: true }];
  return visibleParts(text, { most: SIZE.mostCharacters });
}

/**
 * A token that was not sent, with its id where the cells have none; a header by the words that the error quotes.
 * @param {Model} model
 * @param {UnsentCell} unsent
 * @returns {Part[]}
 */
function unsentParts(model, unsent) {
  if (unsent.kind === "gap") return [{ text: "tokens not sent", name: true }];
  /** @type {Part[]} */
  const id = unsent.id === null || model.ids ? [] : [{ text: String(unsent.id), name: true }];
  /** @type {Part[]} */
  const kind = unsent.kind === "header" ? [{ text: "header", name: true }] : [];
  if (!unsent.text) {
    return kind.length || id.length ? [...kind, ...id] : [{ text: "not in vocabulary", name: true }];
  }
  return [...kind, ...visibleParts(unsent.text, { most: SIZE.mostCharacters }), ...id];
}

/**
 * Whether any cell ends a line, as far as the first texts tell.
 * @param {Model} model
 */
export function endsLines(model) {
  const checked = new Set();
  for (let i = 0; i < model.count && checked.size < 5000; i++) {
    const id = model.ids && model.texts[i] === undefined ? model.ids[i] : `cell ${i}`;
    if (checked.has(id)) continue;
    checked.add(id);
    if (endsLine(model, i)) return true;
  }
  return false;
}

/**
 * @param {Model} model
 * @param {number} i
 */
export function endsLine(model, i) {
  return model.textOf(i)?.endsWith("\n") ?? false;
}
