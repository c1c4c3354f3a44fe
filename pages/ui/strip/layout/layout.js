// Where each cell stands, exactly, without drawing it: rows are filled from left to right, and only the first
// row of a block carries its header. Texts are measured by a function, so this needs no browser.

import { blockWords } from "../model/blocks.js";
import { lastAtMost } from "../model/number-columns.js";
import { Cells, endsLine } from "./cell-content.js";
import { Folds } from "./folds.js";
import { FONT, SIZE } from "./sizes.js";

/** @import { Placed } from "../model/blocks.js" */
/** @import { Model } from "../model/model.js" */
/** @import { TextWidth } from "./sizes.js" */

/** @typedef {{ i: number, x: number, width: number, rule: boolean }} CellPlace */
/** @typedef {{ row: number, first: number, i: number, y: number }} Resumed */

const FOLDED = -1; // in place of a row's height: nothing of it is shown
const META_LINES = 3;
const WORD_LINES = 4;

export class Layout {
  /**
   * @param {Model} model
   * @param {TextWidth} textWidth
   */
  constructor(model, textWidth) {
    this.model = model;
    this.textWidth = textWidth;
    this.cells = new Cells(model, textWidth);
    /** @type {number[]} first cell of each row */
    this.rowStart = [];
    /** @type {number[]} */
    this.rowTop = [];
    /** @type {number[]} 1 when some lane has a run in the row */
    this.rowTall = [];
    /** @type {number[]} */
    this.rowBlock = [];
    /** @type {number[]} */
    this.blockTop = [];
    /** @type {number[]} */
    this.blockFirstRow = [];
    /** @type {number[]} heights of the heads */
    this.blockHead = [];
    this.width = 0;
    this.breaks = false;
    this.folds = new Folds(model);
    this.heat = false; // probabilities are shown in place of IDs
    this.height = 0;
  }

  /**
   * Fill rows for a width, from the row that holds cell `from` on.
   * @param {number} width
   */
  fill(width, from = 0) {
    const { model } = this;
    let first = 0;
    if (width === this.width && from > 0 && this.blockTop.length) {
      first = Math.min(model.blockOf(Math.min(from, model.count - 1)), this.blockTop.length - 1);
    }
    this.width = width;
    const resumed = from > 0 ? this.#rowToResume(first, from) : null;
    const row = resumed ? resumed.row : first === 0 ? 0 : this.blockFirstRow[first];
    let y = first === 0 ? 0 : this.blockTop[first];
    for (const list of [this.rowStart, this.rowTop, this.rowTall, this.rowBlock]) list.length = row;
    for (const list of [this.blockTop, this.blockFirstRow, this.blockHead]) list.length = first;
    for (let b = first; b < model.blocks.length; b++) y = this.#fillBlock(b, y, b === first ? resumed : null);
    this.height = Math.max(0, y - SIZE.blockGap);
  }

  /**
   * The row of a block that holds cell `from`, where the rows before it can stay: a block that grew.
   * @param {number} b
   * @param {number} from
   * @returns {Resumed | null}
   */
  #rowToResume(b, from) {
    const first = this.blockFirstRow[b];
    const block = this.model.blocks[b];
    if (first === undefined || !block || this.rowStart[first] !== block.start) return null;
    if (this.blockHead[b] !== this.headerHeight(block)) return null;
    let row = first;
    let end = this.blockFirstRow[b + 1] ?? this.rowStart.length;
    while (end - row > 1) {
      const middle = (row + end) >> 1;
      if (this.rowStart[middle] <= from) row = middle;
      else end = middle;
    }
    return row === first ? null : { row, first, i: this.rowStart[row], y: this.rowTop[row] };
  }

  /**
   * @param {number} b
   * @param {number} top
   * @param {Resumed | null} resumed
   */
  #fillBlock(b, top, resumed) {
    const { model } = this;
    const block = model.blocks[b];
    this.blockTop.push(top);
    this.blockFirstRow.push(resumed?.first ?? this.rowStart.length);
    this.blockHead.push(this.headerHeight(block));
    let y = resumed?.y ?? top + SIZE.blockPadY + this.blockHead[b];
    const { start, end: last } = this.folds.spanOf(block);
    let i = resumed?.i ?? start;
    if (start >= last) {
      for (const list of [this.rowStart, this.rowTop, this.rowBlock, this.rowTall]) list.push(0);
      const row = this.rowStart.length - 1;
      [this.rowStart[row], this.rowTop[row], this.rowBlock[row]] = [block.start, y, b];
      this.rowTall[row] = FOLDED;
      return y + SIZE.blockPadY + SIZE.blockGap + 2;
    }
    while (i < last) {
      const { end, tall } = this.#fillRow(i, last);
      // The first row stands for what is hidden before it.
      this.rowStart.push(i === start ? block.start : i);
      this.rowTop.push(y);
      this.rowBlock.push(b);
      this.rowTall.push(tall);
      y += this.rowHeight(tall) + SIZE.rowGap;
      i = end;
    }
    return y - SIZE.rowGap + SIZE.blockPadY + SIZE.blockGap + 2;
  }

  /**
   * How far a row reaches that begins with cell i, and whether some lane has a run in it.
   * @param {number} i
   * @param {number} last
   */
  #fillRow(i, last) {
    const { model, inner } = this;
    const { rules } = model;
    const starts = model.events.start;
    let event = model.events.of(i);
    if (starts[event] !== i) event++;
    let x = 0;
    let tall = 0;
    let end = i;
    while (end < last) {
      const opens = starts[event] === end;
      const lead = opens && rules ? SIZE.eventGap : x === 0 ? 0 : SIZE.cellGap;
      const width = this.#cellWidth(end, inner);
      if (x > 0 && x + lead + width > inner) break;
      if (opens) event++;
      x += lead + width;
      if (!tall && model.hasBar(end)) tall = 1;
      end++;
      if (this.breaks && endsLine(model, end - 1)) break;
    }
    return { end, tall };
  }

  /**
   * Left edges of a row's cells, and where an event's rule stands.
   * @param {number} r
   */
  cellsOf(r) {
    const { model, inner } = this;
    const { rules } = model;
    /** @type {CellPlace[]} */
    const cells = [];
    const left = model.compared ? SIZE.gutter : 0;
    let x = left;
    const { start, end } = this.folds.spanOf(model.blocks[this.rowBlock[r]]);
    for (let i = Math.max(start, this.rowStart[r]); i < Math.min(end, this.rowEnd(r)); i++) {
      const rule = rules && model.events.startsAt(i);
      if (rule) x += SIZE.eventGap;
      else if (x !== left) x += SIZE.cellGap;
      const width = this.#cellWidth(i, inner);
      cells.push({ i, x, width, rule });
      x += width;
    }
    return cells;
  }

  /**
   * @param {number} i
   * @param {number} inner
   */
  #cellWidth(i, inner) {
    return Math.min(this.cells.width(i), inner - SIZE.eventGap);
  }

  /** Pixels that a row of cells has. */
  get inner() {
    return this.width - SIZE.blockPadX * 2 - 4 - (this.model.compared ? SIZE.gutter : 0);
  }

  /** @param {Placed} block */
  headerHeight(block) {
    const words = block.kind === "refused" ? this.wordLines(block) * SIZE.wordsHeight + 4 : 0;
    return SIZE.headerHeight + this.metaLines(block) * SIZE.metaHeight + words;
  }

  /**
   * Lines of meta under the title; 0 where both fit on one line.
   * @param {Placed} block
   */
  metaLines(block) {
    const words = blockWords(this.model, block, this.model.count, false);
    const room = this.width - SIZE.blockPadX * 2 - 6 - SIZE.fold;
    const meta = this.textWidth(words.meta, FONT.meta);
    if (this.textWidth(words.title, FONT.title) + 14 + meta <= room) return 0;
    return Math.min(META_LINES, Math.ceil((meta * 1.06) / room));
  }

  /**
   * Lines of the parser's words in the head of a refused run.
   * @param {Placed} block
   */
  wordLines(block) {
    const wide = this.textWidth(block.reason, FONT.words) * 1.08;
    return Math.min(WORD_LINES, Math.max(1, Math.ceil(wide / Math.max(80, this.inner))));
  }

  /** @param {number} tall */
  rowHeight(tall) {
    if (tall === FOLDED) return 0;
    const ids = this.model.ids ? SIZE.idHeight : 0;
    return SIZE.textHeight + ids + (tall ? this.model.pictures.length * SIZE.laneHeight + 2 : 0);
  }

  /** @param {number} r */
  rowEnd(r) {
    const block = this.model.blocks[this.rowBlock[r]];
    const next = this.rowStart[r + 1];
    return next !== undefined && next < block.end ? next : block.end;
  }

  /** @param {number} i */
  rowOf(i) {
    return lastAtMost(this.rowStart, i, (start) => start);
  }

  /** @param {number} y */
  rowAt(y) {
    return Math.max(
      0,
      lastAtMost(this.rowTop, y, (top) => top),
    );
  }

  /** @param {number} r */
  rowBottom(r) {
    return this.rowTop[r] + this.rowHeight(this.rowTall[r]);
  }

  /**
   * The cell that many rows below, or above, nearest in x.
   * @param {number} i
   * @param {number} rows
   */
  beside(i, rows) {
    const r = this.rowOf(i);
    const target = Math.max(0, Math.min(this.rowStart.length - 1, r + rows));
    const place = this.cellsOf(r).find((cell) => cell.i === i);
    if (target === r || !place) return i;
    const away = (/** @type {CellPlace} */ cell) =>
      Math.abs(cell.x + cell.width / 2 - place.x - place.width / 2);
    const step = Math.sign(rows);
    for (let row = target; row >= 0 && row < this.rowStart.length; row += step) {
      const cells = this.cellsOf(row);
      if (cells.length) return cells.reduce((best, cell) => (away(cell) < away(best) ? cell : best)).i;
    }
    return i;
  }
}
