// Panels keep the height that they once had, so that what stands below does not jump from token to token.

export class PanelHeights {
  /** @param {HTMLElement[]} panels */
  constructor(panels) {
    this.panels = panels;
    /** @type {Map<Element, { width: number, height: number }>} */
    this.taken = new Map();
    this.observer = new ResizeObserver((entries) => {
      for (const { target, borderBoxSize } of entries) {
        const [{ inlineSize, blockSize }] = borderBoxSize;
        this.#hold(/** @type {HTMLElement} */ (target), inlineSize, blockSize);
      }
    });
    for (const panel of panels) this.observer.observe(panel);
  }

  /**
   * @param {HTMLElement} panel
   * @param {number} width
   * @param {number} height
   */
  #hold(panel, width, height) {
    const before = this.taken.get(panel);
    if (width === 0) return; // hidden
    if (before && before.width === width && before.height >= height) return;
    const anew = before && before.width !== width && panel.style.minHeight !== "";
    this.taken.set(panel, { width, height: anew ? 0 : height });
    panel.style.minHeight = anew ? "" : `${height}px`;
  }

  /** Another capture: the panels begin anew. */
  clear() {
    this.taken.clear();
    for (const panel of this.panels) panel.style.minHeight = "";
  }

  close() {
    this.observer.disconnect();
  }
}
