// What the user can choose to see: folded messages, hidden headers, token probabilities as heat, the client's view.

import { paintClient } from "../panels/client-view.js";
import { onKey } from "./keyboard.js";

/** @import { Strip } from "../strip.js" */

export class DisplayOptions {
  /** @param {Strip} strip */
  constructor(strip) {
    this.strip = strip;
    this.client = false;
    this.painted = ""; // what the client view shows
    const { framing, heat, "client-view": button, client } = strip.elements;
    framing.onchange = () => this.showFraming(!framing.checked);
    heat.onchange = () => this.#relayout();
    button.onclick = () => this.showClient(!this.client);
    client.onclick = (event) => {
      const piece = event.target instanceof Element ? event.target.closest("[data-i]") : null;
      if (piece instanceof HTMLElement) strip.select(Number(piece.dataset.i));
    };
    client.addEventListener("keydown", (event) => onKey(strip, event));
  }

  get heat() {
    const { model, elements } = this.strip;
    return model.logprobs !== null && elements.heat.checked;
  }

  /** Another model is shown. */
  renew() {
    const { model, elements, layout } = this.strip;
    elements["heat-label"].hidden = model.logprobs === null;
    elements["framing-label"].hidden = !model.blocks.some(
      (block) => block.kind === "message" && block.body > block.start,
    );
    elements["client-view"].hidden = model.pictures.length === 0;
    elements.client.classList.toggle("both", model.compared);
    if (model.pictures.length === 0) this.client = false;
    elements.framing.checked = !layout.folds.framing;
    this.painted = "";
    this.#place();
  }

  /** @param {boolean} shown */
  showFraming(shown) {
    this.strip.layout.folds.framing = shown;
    this.#relayout();
  }

  /**
   * @param {boolean} shown
   * @param {{ asked?: boolean }} [how] `asked` by Python, which need not be told
   */
  showClient(shown, { asked = false } = {}) {
    const { strip } = this;
    if (shown === this.client || (shown && strip.model.pictures.length === 0)) return;
    this.client = shown;
    this.#place();
    if (shown) strip.paint();
    else this.#relayout();
    if (asked) return;
    strip.tell();
    const { client, scroller } = strip.elements;
    (shown ? client : scroller).focus({ preventScroll: true });
  }

  /** @param {number | null} start first cell of a block; all blocks without one */
  fold(start) {
    const { folds } = this.strip.layout;
    if (start === null) folds.toggleAll();
    else folds.toggle(start);
    this.#relayout();
  }

  /**
   * Show a cell that is folded away.
   * @param {number} i
   */
  open(i) {
    if (this.strip.layout.folds.open(i)) this.#relayout();
  }

  /** @param {number} shown cells that had arrived */
  paint(shown) {
    if (!this.client) return;
    const { model, selection, elements } = this.strip;
    const wanted = `${model.count} ${shown}`;
    if (wanted !== this.painted) {
      elements.client.replaceChildren(...paintClient(model, shown));
    }
    this.painted = wanted;
    for (const before of elements.client.querySelectorAll(".selected")) before.classList.remove("selected");
    const pieces = selection.token === null ? [] : piecesWith(elements.client, selection.token);
    for (const piece of pieces) piece.classList.add("selected");
    pieces[0]?.scrollIntoView({ block: "nearest" });
  }

  #place() {
    const { elements } = this.strip;
    elements["client-view"].setAttribute("aria-pressed", String(this.client));
    elements.client.hidden = !this.client;
    elements.frame.hidden = this.client;
  }

  #relayout() {
    const { strip } = this;
    strip.elements.framing.checked = !strip.layout.folds.framing;
    strip.layout.heat = this.heat;
    strip.view.relayout(0);
    strip.paint();
  }
}

/**
 * @param {HTMLElement} box
 * @param {number} cell
 */
function piecesWith(box, cell) {
  const pieces = /** @type {NodeListOf<HTMLElement>} */ (box.querySelectorAll("[data-i]"));
  return [...pieces].filter(({ dataset }) => Number(dataset.i) <= cell && cell < Number(dataset.end));
}
