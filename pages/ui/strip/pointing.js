// What the pointer does on the tokens: choose one, choose a range, look at one.

/**
 * @typedef {object} Listener
 * @property {(i: number) => void} select
 * @property {(i: number, from?: number) => void} extend the range to a cell
 * @property {(i: number | null) => void} hover
 * @property {(start: number) => void} fold the block that begins with a cell
 */

export class Pointing {
  /**
   * @param {HTMLElement} canvas
   * @param {Listener} on
   */
  constructor(canvas, on) {
    this.canvas = canvas;
    /** @type {number | null} the cell under the pointer */
    let under = null;
    /** @type {number | null} the cell where a drag began */
    let dragged = null;
    canvas.onclick = (event) => {
      const i = cellAt(event);
      const sign = event.target instanceof Element ? event.target.closest(".fold") : null;
      if (sign instanceof HTMLElement) on.fold(Number(sign.dataset.start));
      if (i === null) return;
      if (event.shiftKey) on.extend(i);
      else on.select(i);
    };
    canvas.onpointerdown = (event) => {
      // A finger that moves scrolls.
      const drags = event.pointerType === "mouse" && event.button === 0 && !event.shiftKey;
      dragged = drags ? cellAt(event) : null;
    };
    canvas.onpointermove = (event) => {
      if (event.pointerType === "touch") return;
      const i = cellAt(event);
      if (event.buttons === 0) dragged = null;
      if (i === under) return;
      under = i;
      if (dragged === null) on.hover(i);
      else if (i !== null) {
        on.hover(null);
        on.extend(i, dragged);
      }
    };
    canvas.onpointerleave = () => {
      under = null;
      on.hover(null);
    };
  }

  close() {
    const { canvas } = this;
    canvas.onclick = canvas.onpointerdown = canvas.onpointermove = canvas.onpointerleave = null;
  }
}

/** @param {MouseEvent} event */
function cellAt(event) {
  const cell = event.target instanceof Element ? event.target.closest(".cell") : null;
  if (!(cell instanceof HTMLElement) || cell.classList.contains("ghost")) return null;
  return Number(cell.dataset.i);
}
