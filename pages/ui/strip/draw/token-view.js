// Draws the rows in sight and nothing else. A row is built once when it comes into sight and thrown away when
// it leaves; marks (selection, hover, findings, what has arrived) are painted over what is there.

import { make } from "../../dom.js";
import { Pointer } from "../input/pointer.js";
import { SIZE } from "../layout/sizes.js";
import { Frame } from "./block-frame.js";
import { Row } from "./token-row.js";

/** @import { Layout } from "../layout/layout.js" */
/** @import { Elements } from "../elements.js" */
/** @import { Listener as Pointed } from "../input/pointer.js" */
/** @import { Marks } from "./token-row.js" */

/** @typedef {Omit<Pointed, "scroll"> & { describe: (i: number) => string }} Listener */

const BEYOND = 120; // pixels above and below the window that are drawn
const FADE = 26; // pixels at the bottom that fade out, as tokens.css has it
const NOTHING = "This response has no tokens and no delivered text.";
const WAITING = "Waiting for the first token.";

export class View {
  /**
   * @param {Elements} elements
   * @param {Listener} on
   */
  constructor(elements, on) {
    this.scroller = elements.scroller;
    this.canvas = elements.canvas;
    this.frameElement = /** @type {HTMLElement} */ (elements.scroller.parentElement);
    this.on = on;
    /** @type {Map<number, Row>} */
    this.rows = new Map();
    /** @type {Map<number, Frame>} */
    this.frames = new Map();
    /** @type {Layout | null} */
    this.layout = null;
    /** @type {Marks} */
    this.marks = { selected: null, hover: null, finding: null, range: null, shown: 0, hits: new Set() };
    this.waits = false; // for cells of a running stream
    this.scrolls = false;
    this.pending = 0;
    /** @type {number | undefined} */
    this.barWidth = undefined;
    /** @type {HTMLElement | undefined} */
    this.placeholder = undefined;
    this.scroller.onscroll = () => this.schedule();
    this.pointer = new Pointer(elements.canvas, elements.scroller, {
      ...on,
      scroll: (pixels) => {
        this.scroller.scrollTop += pixels;
        this.draw();
      },
    });
  }

  /** @param {Layout} layout */
  show(layout) {
    this.layout = layout;
    this.relayout(0);
  }

  get tallest() {
    const narrow = this.frameElement.clientWidth < 560;
    return Math.max(320, Math.min(Math.round(window.innerHeight * (narrow ? 0.6 : 0.55)), 600));
  }

  /**
   * Lay out again for the width at hand, holding the row at the top of the window in its place.
   * `toEnd` goes to the last row in the same drawing, for a stream that is followed.
   * @param {number} from
   */
  relayout(from, { toEnd = false } = {}) {
    const { layout, scroller } = this;
    const outer = this.frameElement.clientWidth;
    if (!layout || !outer) return;
    const anchor = from === 0 && layout.rowStart.length ? this.#anchor(layout) : null;
    layout.cells.measure(from);
    this.#fill(layout, outer, from);
    scroller.style.overflowY = this.scrolls ? "scroll" : "hidden";
    scroller.style.height = `${Math.max(62, this.scrolls ? this.tallest : layout.height)}px`;
    this.canvas.style.height = `${layout.height}px`;
    this.#forget(layout, from);
    if (toEnd) scroller.scrollTop = layout.height;
    else if (anchor) scroller.scrollTop = layout.rowTop[layout.rowOf(anchor.i)] - anchor.offset;
    this.draw();
  }

  /**
   * Fill the rows, beside a scroll bar where they do not fit the window.
   * @param {Layout} layout
   * @param {number} outer
   * @param {number} from
   */
  #fill(layout, outer, from) {
    layout.fill(this.scrolls ? outer - this.#bar() : outer, from);
    if (!this.scrolls && layout.height > this.tallest) {
      this.scrolls = true;
      layout.fill(outer - this.#bar(), 0);
    } else if (this.scrolls && layout.height < this.tallest * 0.8) {
      layout.fill(outer, 0);
      this.scrolls = layout.height > this.tallest;
      if (this.scrolls) layout.fill(outer - this.#bar(), 0);
    }
  }

  /**
   * Throw away what is drawn of cells from `from` on.
   * @param {Layout} layout
   * @param {number} from
   */
  #forget(layout, from) {
    const firstRow = from === 0 ? 0 : Math.max(0, layout.rowOf(from) - 1);
    const firstBlock = from === 0 ? 0 : (layout.rowBlock[firstRow] ?? 0);
    drop(this.rows, (r) => r >= firstRow);
    if (from === 0) drop(this.frames, () => true);
    for (const [b, frame] of this.frames) if (b >= firstBlock) frame.stale = true;
  }

  #bar() {
    if (this.barWidth === undefined) {
      const probe = make("div");
      probe.style.cssText =
        "position:absolute;visibility:hidden;overflow-y:scroll;width:60px;height:60px;scrollbar-width:thin";
      this.canvas.append(probe);
      this.barWidth = probe.offsetWidth - probe.clientWidth;
      probe.remove();
    }
    return this.barWidth;
  }

  /** @param {Layout} layout */
  #anchor(layout) {
    const { scrollTop } = this.scroller;
    const r = layout.rowAt(scrollTop);
    if (r === 0 && scrollTop < 40) return null;
    return { i: layout.rowStart[r], offset: layout.rowTop[r] - scrollTop };
  }

  schedule() {
    if (this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
    });
  }

  draw() {
    const { layout, scroller } = this;
    this.#placeholder(!layout?.rowStart.length);
    if (!layout?.rowStart.length) {
      drop(this.rows, () => true);
      drop(this.frames, () => true);
      return;
    }
    const top = scroller.scrollTop - BEYOND;
    const end = scroller.scrollTop + scroller.clientHeight;
    this.frameElement.classList.toggle("more", end < layout.height - 8);
    const first = layout.rowAt(top);
    let last = first;
    while (last + 1 < layout.rowTop.length && layout.rowTop[last + 1] < end + BEYOND) last++;
    const firstBlock = layout.rowBlock[first];
    const lastBlock = layout.rowBlock[last];
    drop(this.frames, (b) => b < firstBlock || b > lastBlock);
    drop(this.rows, (r) => r < first || r > last);
    for (let b = firstBlock; b <= lastBlock; b++) this.#frame(layout, b).paint(this.marks.shown);
    for (let r = first; r <= last; r++) this.#row(layout, r).paint(this.marks, this.on.describe);
  }

  /** @param {boolean} empty */
  #placeholder(empty) {
    const words = empty ? (this.waits ? WAITING : NOTHING) : undefined;
    if (words === this.placeholder?.textContent) return;
    this.placeholder?.remove();
    this.placeholder = words ? make("p", "quiet empty", words) : undefined;
    if (this.placeholder) this.scroller.append(this.placeholder);
  }

  /**
   * @param {Layout} layout
   * @param {number} b
   */
  #frame(layout, b) {
    const before = this.frames.get(b);
    if (before && !before.stale) return before;
    const frame = new Frame(layout, b);
    if (before) {
      before.element.replaceWith(frame.element);
      for (const [r, row] of this.rows) if (layout.rowBlock[r] === b) frame.element.append(row.element);
    } else insert(this.frames, b, frame.element, this.canvas);
    this.frames.set(b, frame);
    return frame;
  }

  /**
   * @param {Layout} layout
   * @param {number} r
   */
  #row(layout, r) {
    const drawn = this.rows.get(r);
    if (drawn) return drawn;
    const row = new Row(layout, r);
    const frame = /** @type {Frame} */ (this.frames.get(layout.rowBlock[r]));
    insert(this.rows, r, row.element, frame.element);
    this.rows.set(r, row);
    return row;
  }

  /**
   * Paint some of the marks anew.
   * @param {Partial<Marks>} marks
   */
  mark(marks) {
    Object.assign(this.marks, marks);
    if (!this.layout) return;
    this.draw();
    const { selected } = this.marks;
    if (selected !== null && this.rows.has(this.layout.rowOf(selected))) {
      this.scroller.setAttribute("aria-activedescendant", `cell-${selected}`);
    } else this.scroller.removeAttribute("aria-activedescendant");
  }

  /**
   * Bring a cell into sight, with its block's header where the block begins.
   * @param {number} i
   */
  reveal(i, { center = false } = {}) {
    const { layout, scroller } = this;
    if (!this.scrolls || !layout?.rowStart.length) return;
    const r = layout.rowOf(i);
    const b = layout.rowBlock[r];
    const head = layout.headerHeight(layout.model.blocks[b]) + 12;
    const top = layout.blockFirstRow[b] === r ? layout.blockTop[b] : layout.rowTop[r] - head;
    const bottom = layout.rowBottom(r) + SIZE.blockPadY + 4;
    const { scrollTop, clientHeight } = scroller;
    // The last rows in sight fade out where more follow.
    const faded = bottom + FADE < layout.height ? FADE : 0;
    if (top >= scrollTop && bottom + faded <= scrollTop + clientHeight) return;
    if (center) scroller.scrollTop = Math.max(0, layout.rowTop[r] - clientHeight * 0.4);
    else scroller.scrollTop = top < scrollTop ? top : bottom + faded - clientHeight;
    this.draw();
  }

  get rowsInSight() {
    return Math.max(1, Math.floor(this.scroller.clientHeight / 66) - 1);
  }

  close() {
    cancelAnimationFrame(this.pending);
    this.scroller.onscroll = null;
    this.pointer.close();
  }
}

/**
 * @template {{ element: HTMLElement }} Drawn
 * @param {Map<number, Drawn>} drawn
 * @param {(number: number) => boolean} gone
 */
function drop(drawn, gone) {
  for (const [number, row] of drawn) {
    if (!gone(number)) continue;
    row.element.remove();
    drawn.delete(number);
  }
}

/**
 * Keep the page in reading order: screen readers follow it.
 * @template {{ element: HTMLElement }} Drawn
 * @param {Map<number, Drawn>} drawn
 * @param {number} number
 * @param {HTMLElement} element
 * @param {HTMLElement} parent
 */
function insert(drawn, number, element, parent) {
  let next = null;
  let nearest = Infinity;
  for (const [other, row] of drawn) {
    if (other > number && other < nearest && row.element.parentElement === parent) {
      nearest = other;
      next = row.element;
    }
  }
  parent.insertBefore(element, next);
}
