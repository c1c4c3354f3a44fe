// The switch of the picture that opens it: each token with its ID, headers too, under the names of their messages.
// A browser remembers it, for live runs (where it is on at first) apart from captures.

/** @import { Model } from "../model/model.js" */

const KEPT = "harmony-inspector-ids";

export class IdsSwitch {
  /**
   * @param {HTMLButtonElement} button
   * @param {() => void} changed
   */
  constructor(button, changed) {
    this.button = button;
    this.live = false;
    this.on = false;
    this.#turn(kept(KEPT) ?? false);
    button.onclick = () => {
      this.#turn(!this.on);
      keep(this.#key, this.on);
      changed();
    };
  }

  /** @param {{ live: boolean }} page */
  of({ live }) {
    if (live === this.live) return;
    this.live = live;
    this.#turn(kept(this.#key) ?? live);
  }

  /**
   * Whether the picture of a model is opened. Pieces have no IDs, and reconstructed headers were never on the wire.
   * @param {Model | null} model
   */
  opens(model) {
    const possible = model !== null && model.unit === "token" && !model.reconstructed;
    this.button.hidden = !possible;
    return possible && this.on;
  }

  get #key() {
    return this.live ? `${KEPT}-live` : KEPT;
  }

  /** @param {boolean} on */
  #turn(on) {
    this.on = on;
    this.button.setAttribute("aria-checked", String(on));
  }
}

/** @param {string} key */
function kept(key) {
  try {
    const value = localStorage.getItem(key);
    return value === null ? null : value === "on";
  } catch {
    return null; // a browser that keeps nothing
  }
}

/**
 * @param {string} key
 * @param {boolean} on
 */
function keep(key, on) {
  try {
    localStorage.setItem(key, on ? "on" : "off");
  } catch {
    // A browser that keeps nothing.
  }
}
