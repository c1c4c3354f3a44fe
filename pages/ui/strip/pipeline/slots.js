// Where everything of the pipeline stands: slots from left to right in the order of arrival. A slot is a cell, the
// framing before a body (one pill, unless headers are shown), or text that arrived without a cell.

import { plainText } from "../../text.js";
import { blockWords } from "../model/blocks.js";
import { lastAtMost } from "../model/number-columns.js";

/** @import { Model } from "../model/model.js" */
/** @import { Insert } from "../model/picture.js" */
/** @import { TextWidth } from "../layout/sizes.js" */

/**
 * `start` to `end` are cells; of an insert there is none, and it stands before cell `start`.
 * @typedef {{ kind: "cell" | "pill" | "insert", start: number, end: number, rank: number, x: number, width: number,
 *   label: string, inserted?: Insert & { picture: number } }} Slot
 */

export const FONT =
  '12px ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
export const PILL_FONT =
  '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const GAP = 4; // pixels between two slots
const PAD = 12;
const LEAST = 16;
const MOST = 220;
const CHARACTERS = 28;

export class Slots {
  /**
   * @param {Model} model
   * @param {TextWidth} textWidth
   * @param {boolean} framing whether every token of a header stands for itself
   */
  constructor(model, textWidth, framing) {
    this.model = model;
    this.textWidth = textWidth;
    this.framing = framing;
    /** @type {Slot[]} */
    this.list = [];
    this.slotOf = new Int32Array(0);
    this.cells = 0; // of the model, that have slots
    this.version = -1; // of the pictures
    /** @type {Map<number, { label: string, width: number }>} by token ID */
    this.shapes = new Map();
    this.update(0);
  }

  /** The width of all slots, in pixels. */
  get width() {
    const last = this.list.at(-1);
    return last ? last.x + last.width : 0;
  }

  /**
   * Lay out the cells from `from` on, or all where the pictures changed what stands between them.
   * @param {number} from
   */
  update(from) {
    const { model } = this;
    const moved = model.pictured !== this.version && model.pictures.some(({ inserts }) => inserts.length);
    this.version = model.pictured;
    let rank = moved || model.events.inOrder ? 0 : Math.min(from, this.cells);
    if (this.slotOf.length < model.count) {
      const wider = new Int32Array(Math.max(model.count, this.slotOf.length * 2));
      wider.set(this.slotOf);
      this.slotOf = wider;
    }
    // The slot of the cell before may be a pill that grows.
    const kept = rank > 0 ? Math.max(0, this.slotOf[rank - 1]) : 0;
    if (kept < this.list.length) rank = Math.min(rank, this.list[kept].rank);
    this.list.length = Math.min(kept, this.list.length);
    const inserts = this.#inserts();
    while (rank < model.count) {
      const i = model.arrived(rank);
      for (const inserted of inserts.get(i) ?? []) this.#insert(inserted, rank);
      rank += this.#place(rank, i);
    }
    for (const inserted of inserts.get(model.count) ?? []) this.#insert(inserted, model.count);
    this.cells = model.count;
  }

  #inserts() {
    /** @type {Map<number, (Insert & { picture: number })[]>} */
    const by = new Map();
    for (const [picture, { inserts }] of this.model.pictures.entries()) {
      for (const insert of inserts) {
        const at = Math.min(insert.at, this.model.count);
        by.set(at, [...(by.get(at) ?? []), { ...insert, picture }]);
      }
    }
    return by;
  }

  /**
   * A slot for the cell that arrived `rank`-th, or for the framing that begins with it; returns its cells.
   * @param {number} rank
   * @param {number} i
   */
  #place(rank, i) {
    const { model } = this;
    let end = i + 1;
    if (!this.framing && this.#isFraming(i)) {
      while (end < model.count && model.arrived(rank + end - i) === end && this.#isFraming(end)) end++;
      const label = this.#pillLabel(i, end);
      this.#push({ kind: "pill", start: i, end, rank, label }, this.textWidth(label, PILL_FONT) + 2 * PAD);
    } else {
      const { label, width } = this.#shape(i);
      this.#push({ kind: "cell", start: i, end, rank, label }, width);
    }
    this.slotOf.fill(this.list.length - 1, i, end);
    return end - i;
  }

  /**
   * @param {Insert & { picture: number }} inserted
   * @param {number} rank
   */
  #insert(inserted, rank) {
    const label = shown(inserted.text);
    const { at: start } = inserted;
    const width = this.textWidth(label, FONT) + PAD;
    this.#push({ kind: "insert", start, end: start, rank, label, inserted }, width);
  }

  /**
   * @param {Omit<Slot, "x" | "width">} slot
   * @param {number} width
   */
  #push(slot, width) {
    const x = this.list.length ? this.width + GAP : 0;
    this.list.push({ ...slot, x, width: Math.min(MOST, Math.max(LEAST, Math.ceil(width))) });
  }

  /** @param {number} i */
  #isFraming(i) {
    return this.model.pictures.some((picture) => picture.fateOf(i) === "framing");
  }

  /**
   * The header that the cells hold, in words; else the special token that ends the stream.
   * @param {number} start
   * @param {number} end
   */
  #pillLabel(start, end) {
    const { model } = this;
    const block = model.blockAt(end - 1);
    if (block.start >= start || end - 1 < block.body) {
      const { title } = blockWords(model, block, end, end < block.body);
      return plainText(title.replace("→ functions.", "→ "), 40);
    }
    return plainText((model.textOf(end - 1) ?? "").replace(/^<\|(.*)\|>$/, "$1"), 20);
  }

  /** @param {number} i */
  #shape(i) {
    const { model } = this;
    const id = model.texts[i] === undefined && !model.unsent.has(i) ? (model.ids?.[i] ?? null) : null;
    let shape = id === null ? undefined : this.shapes.get(id);
    if (!shape) {
      const text = model.textOf(i);
      const label = text ? shown(text) : model.unsentOf(i) ? "not sent" : "…";
      shape = { label, width: this.textWidth(label, FONT) + PAD };
      if (id !== null) this.shapes.set(id, shape);
    }
    return shape;
  }

  /**
   * The number of the slot at a place; -1 when there is none.
   * @param {number} x
   */
  at(x) {
    return lastAtMost(this.list, x, (slot) => slot.x);
  }

  /**
   * Where the cells end that had arrived when there were `shown`.
   * @param {number} rank
   */
  edge(rank) {
    if (rank <= 0 || !this.list.length) return 0;
    const slot = this.list[this.slotOf[this.model.arrived(Math.min(rank, this.cells) - 1)]];
    return slot.x + slot.width + GAP / 2;
  }
}

/** @param {string} text */
function shown(text) {
  const spaces = text.trim() === "";
  return plainText(spaces ? text : text.replace(/^ /, ""), CHARACTERS, spaces || /[\n\t]/.test(text)) || "·";
}
