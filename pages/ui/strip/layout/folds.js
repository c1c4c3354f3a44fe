// What of the strip is folded away: messages, and the framing of all of them.

/** @import { Placed } from "../model/blocks.js" */
/** @import { Model } from "../model/model.js" */

export class Folds {
  /** @param {Model} model */
  constructor(model) {
    this.model = model;
    /** @type {Set<number>} first cells of folded blocks: a block that grows keeps its first cell */
    this.folded = new Set();
    this.framing = true; // headers and the special tokens around bodies are shown
  }

  /** @param {Folds} other */
  takeOver({ folded, framing }) {
    this.folded = folded;
    this.framing = framing;
  }

  /**
   * The cells of a block that are shown.
   * @param {Placed} block
   */
  spanOf(block) {
    const { start, body, end } = block;
    if (this.folded.has(start)) return { start, end: start };
    if (this.framing || block.kind !== "message" || block.in_body === false) return { start, end };
    const closed = block.complete && end > body && this.model.isSpecialToken(end - 1);
    return { start: Math.min(body, end), end: closed ? end - 1 : end };
  }

  /** @param {number} i */
  hides(i) {
    const { start, end } = this.spanOf(this.model.blockAt(i));
    return i < start || i >= end;
  }

  /**
   * The next cell in a direction that is shown; the cell itself when there is none.
   * @param {number} i
   * @param {1 | -1} by
   */
  beside(i, by) {
    for (let next = i + by; next >= 0 && next < this.model.count; next += by) {
      if (!this.hides(next)) return next;
    }
    return i;
  }

  /**
   * The cell, or the next one in a direction where it is hidden; the cell itself when there is none.
   * @param {number} i
   * @param {1 | -1} by
   */
  from(i, by) {
    return this.hides(i) ? this.beside(i, by) : i;
  }

  /**
   * Show a cell that is hidden; false when it was not.
   * @param {number} i
   */
  open(i) {
    if (!this.hides(i)) return false;
    this.folded.delete(this.model.blockAt(i).start);
    if (this.hides(i)) this.framing = true;
    return true;
  }

  /** @param {number} start first cell of a block */
  toggle(start) {
    if (!this.folded.delete(start)) this.folded.add(start);
  }

  /** Fold all messages, or unfold them where all are folded. */
  toggleAll() {
    const { blocks } = this.model;
    const all = blocks.every((block) => this.folded.has(block.start));
    this.folded = new Set(all ? [] : blocks.map((block) => block.start));
  }
}
