// What the pointer does on the tokens: choose one, choose a range, look at one.

/**
 * @typedef {object} Listener
 * @property {(i: number) => void} select
 * @property {(i: number, from?: number) => void} extend the range to a cell
 * @property {(i: number | null) => void} hover
 * @property {(start: number) => void} fold the block that begins with a cell
 * @property {(pixels: number) => void} scroll the tokens
 */

const FASTEST = 900; // pixels a second that a drag scrolls
const REACH = 90; // pixels beyond the edge at which it is as fast

export class Pointer {
  /**
   * @param {HTMLElement} canvas
   * @param {HTMLElement} scroller the window over it
   * @param {Listener} on
   */
  constructor(canvas, scroller, on) {
    this.canvas = canvas;
    this.scroller = scroller;
    this.on = on;
    /** @type {number | null} the cell under the pointer */
    this.under = null;
    /** @type {number | null} the cell where a drag began */
    this.dragged = null;
    this.point = { x: 0, y: 0 };
    this.frame = 0; // the next frame of a drag that scrolls, 0 while it does not
    canvas.onclick = (event) => {
      const i = cellOf(event.target);
      const sign = event.target instanceof Element ? event.target.closest(".fold") : null;
      if (sign instanceof HTMLElement) on.fold(Number(sign.dataset.start));
      if (i === null) return;
      if (event.shiftKey) on.extend(i);
      else on.select(i);
    };
    canvas.onpointerdown = (event) => {
      // A finger that moves scrolls.
      const drags = event.pointerType === "mouse" && event.button === 0 && !event.shiftKey;
      this.dragged = drags ? cellOf(event.target) : null;
      if (this.dragged === null) return;
      window.addEventListener("pointermove", this.#beyond);
      window.addEventListener("pointerup", this.#end);
    };
    canvas.onpointermove = (event) => {
      if (event.pointerType === "touch") return;
      if (event.buttons === 0) this.#end();
      this.#reach(cellOf(event.target));
    };
    canvas.onpointerleave = () => {
      this.under = null;
      on.hover(null);
    };
  }

  /** @param {number | null} i */
  #reach(i) {
    if (i === this.under) return;
    this.under = i;
    if (this.dragged === null) this.on.hover(i);
    else if (i !== null) {
      this.on.hover(null);
      this.on.extend(i, this.dragged);
    }
  }

  /** Follow a drag that leaves the window over the tokens. */
  #beyond = (/** @type {PointerEvent} */ event) => {
    this.point = { x: event.clientX, y: event.clientY };
    if (!this.frame && this.#speed() !== 0) this.#scroll();
  };

  #scroll() {
    let before = performance.now();
    const step = (/** @type {number} */ now) => {
      const speed = this.#speed();
      this.frame = speed === 0 || this.dragged === null ? 0 : requestAnimationFrame(step);
      if (!this.frame) return;
      this.on.scroll((speed * (now - before)) / 1000);
      before = now;
      this.#reach(this.#nearest());
    };
    this.frame = requestAnimationFrame(step);
  }

  /** Pixels a second, by how far the pointer is beyond the edge; negative above it. */
  #speed() {
    const { top, bottom } = this.scroller.getBoundingClientRect();
    const { y } = this.point;
    const far = y < top ? y - top : y > bottom ? y - bottom : 0;
    return (FASTEST * Math.max(-REACH, Math.min(REACH, far))) / REACH;
  }

  /** The cell of the first or last row in sight that is nearest to the pointer. */
  #nearest() {
    const { top, bottom } = this.scroller.getBoundingClientRect();
    const { x, y } = this.point;
    const above = y < top;
    let best = null;
    let least = Infinity;
    for (const cell of this.canvas.querySelectorAll(".cell:not(.ghost)")) {
      const box = cell.getBoundingClientRect();
      if (box.bottom < top || box.top > bottom) continue;
      const across = x < box.left ? box.left - x : x > box.right ? x - box.right : 0;
      const away = (above ? box.top - top : bottom - box.bottom) * 1000 + across;
      if (away < least) [best, least] = [cell, away];
    }
    return cellOf(best);
  }

  #end = () => {
    this.dragged = null;
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    window.removeEventListener("pointermove", this.#beyond);
    window.removeEventListener("pointerup", this.#end);
  };

  close() {
    const { canvas } = this;
    this.#end();
    canvas.onclick = canvas.onpointerdown = canvas.onpointermove = canvas.onpointerleave = null;
  }
}

/** @param {EventTarget | null} target */
function cellOf(target) {
  const cell = target instanceof Element ? target.closest(".cell") : null;
  if (!(cell instanceof HTMLElement) || cell.classList.contains("ghost")) return null;
  return Number(cell.dataset.i);
}
