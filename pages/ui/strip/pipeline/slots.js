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
 *   label: string, inserted: Inserted | null }} Slot
 */
/** @typedef {Insert & { picture: number }} Inserted */

export const FONT =
  '12px ui-monospace, "SF Mono", "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace';
export const PILL_FONT =
  '12px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
/** Of special tokens, and of IDs. */
export const SMALL_MONO = FONT.replace("12px", "10px");
export const CELL = 0;
export const PILL = 1;
export const INSERT = 2;
const KINDS = /** @type {const} */ (["cell", "pill", "insert"]);
const GAP = 4; // pixels between two slots
const PAD = 12;
const LEAST = 16;
const MOST = 220;
const CHARACTERS = 28;

export class Slots {
  /**
   * @param {Model} model
   * @param {TextWidth} textWidth
   * @param {boolean} opened whether every token of a header stands for itself, with room for its ID
   */
  constructor(model, textWidth, opened) {
    this.model = model;
    this.textWidth = textWidth;
    this.opened = opened;
    this.length = 0;
    this.kinds = new Uint8Array(64);
    this.starts = new Int32Array(64);
    this.ends = new Int32Array(64);
    this.ranks = new Int32Array(64);
    this.widths = new Uint16Array(64);
    this.xs = new Float64Array(64);
    /** @type {Map<number, Inserted>} by slot */
    this.inserted = new Map();
    this.slotOf = new Int32Array(64);
    this.cells = 0; // of the model, that have slots
    this.version = -1; // of the pictures
    /** @type {Map<number, { label: string, width: number }>} by token ID */
    this.shapes = new Map();
    this.update(0);
  }

  /** The width of all slots, in pixels. */
  get width() {
    const last = this.length - 1;
    return last < 0 ? 0 : this.xs[last] + this.widths[last];
  }

  /**
   * @param {number} k
   * @returns {Slot}
   */
  slot(k) {
    const [start, end, kind] = [this.starts[k], this.ends[k], this.kinds[k]];
    const inserted = this.inserted.get(k) ?? null;
    const label = inserted ? shown(inserted.text) : this.#label(kind, start, end);
    const place = { rank: this.ranks[k], x: this.xs[k], width: this.widths[k] };
    return { kind: KINDS[kind], start, end, ...place, label, inserted };
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
      this.slotOf = widened(this.slotOf, Math.max(model.count, this.slotOf.length * 2));
    }
    // The slot of the cell before may be a pill that grows.
    const kept = rank > 0 ? Math.max(0, this.slotOf[rank - 1]) : 0;
    if (kept < this.length) rank = Math.min(rank, this.ranks[kept]);
    this.length = Math.min(kept, this.length);
    for (const k of this.inserted.keys()) if (k >= this.length) this.inserted.delete(k);
    const inserts = this.#inserts();
    const isFraming = (/** @type {number} */ i) => {
      if (model.blockAt(i).kind === "refused") return false;
      for (const picture of model.pictures) if (picture.fateOf(i) === "framing") return true;
      return false;
    };
    while (rank < model.count) {
      const i = model.arrived(rank);
      if (inserts.size) for (const inserted of inserts.get(i) ?? []) this.#insert(inserted, rank);
      let end = i + 1;
      if (!this.opened && isFraming(i)) {
        while (end < model.count && model.arrived(rank + end - i) === end && isFraming(end)) end++;
        const wide = this.textWidth(this.#label(PILL, i, end), PILL_FONT) + 2 * PAD;
        this.#push(PILL, i, end, rank, wide);
      } else this.#push(CELL, i, end, rank, this.#shape(i).width);
      for (let cell = i; cell < end; cell++) this.slotOf[cell] = this.length - 1;
      rank += end - i;
    }
    for (const inserted of inserts.get(model.count) ?? []) this.#insert(inserted, model.count);
    this.cells = model.count;
  }

  #inserts() {
    /** @type {Map<number, Inserted[]>} */
    const by = new Map();
    for (const [picture, { inserts }] of this.model.pictures.entries()) {
      for (const insert of inserts) {
        const at = Math.min(insert.at, this.model.count);
        const there = by.get(at);
        if (there) there.push({ ...insert, picture });
        else by.set(at, [{ ...insert, picture }]);
      }
    }
    return by;
  }

  /**
   * @param {Inserted} inserted
   * @param {number} rank
   */
  #insert(inserted, rank) {
    this.#push(INSERT, inserted.at, inserted.at, rank, this.textWidth(shown(inserted.text), FONT) + PAD);
    this.inserted.set(this.length - 1, inserted);
  }

  /**
   * @param {number} kind
   * @param {number} start
   * @param {number} end
   * @param {number} rank
   * @param {number} width
   */
  #push(kind, start, end, rank, width) {
    const k = this.length;
    if (k === this.kinds.length) {
      for (const name of /** @type {const} */ (["kinds", "starts", "ends", "ranks", "widths", "xs"])) {
        /** @type {Record<string, Columns>} */ (/** @type {unknown} */ (this))[name] = widened(
          this[name],
          k * 2,
        );
      }
    }
    this.xs[k] = k ? this.width + GAP : 0;
    this.kinds[k] = kind;
    this.starts[k] = start;
    this.ends[k] = end;
    this.ranks[k] = rank;
    this.widths[k] = Math.min(MOST, Math.max(LEAST, Math.ceil(width)));
    this.length++;
  }

  /**
   * The text of a cell; of framing the header that it holds, in words, or the special token that ends the stream.
   * @param {number} kind
   * @param {number} start
   * @param {number} end
   */
  #label(kind, start, end) {
    const { model } = this;
    if (kind === CELL) return this.#shape(start).label;
    const block = model.blockAt(end - 1);
    if (block.start >= start || end - 1 < block.body) {
      const { title } = blockWords(model, block, end, end < block.body);
      return plainText(title.replace(/^.* → (functions\.)?/, "→ "), 40);
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
      const label = text ? shown(text) : (model.unsentOf(i)?.label ?? "…");
      const special = id !== null && model.specialTokens.has(id);
      const width = special ? this.textWidth(label, SMALL_MONO) + PAD + 4 : this.textWidth(label, FONT) + PAD;
      const ofId = this.opened && id !== null ? this.textWidth(String(id), SMALL_MONO) + 4 : 0;
      shape = { label, width: Math.max(width, ofId) };
      if (id !== null) this.shapes.set(id, shape);
    }
    return shape;
  }

  /**
   * The number of the slot at a place; -1 when there is none.
   * @param {number} x
   */
  at(x) {
    return lastAtMost(this.xs.subarray(0, this.length), x, (value) => value);
  }

  /**
   * Where the cells end that had arrived when there were `rank`.
   * @param {number} rank
   */
  edge(rank) {
    if (rank <= 0 || !this.cells) return 0;
    const k = this.slotOf[this.model.arrived(Math.min(rank, this.cells) - 1)];
    return this.xs[k] + this.widths[k] + GAP / 2;
  }
}

/** @typedef {Uint8Array | Uint16Array | Int32Array | Float64Array} Columns */

/**
 * @template {Columns} Column
 * @param {Column} column
 * @param {number} length
 * @returns {Column}
 */
function widened(column, length) {
  const wider = new /** @type {new (length: number) => Column} */ (column.constructor)(length);
  wider.set(column);
  return wider;
}

/** @param {string} text */
function shown(text) {
  const spaces = text.trim() === "";
  return plainText(spaces ? text : text.replace(/^ /, ""), CHARACTERS, spaces || /[\n\t]/.test(text)) || "·";
}
