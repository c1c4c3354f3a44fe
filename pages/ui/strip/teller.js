// Tells Python what is chosen, once it rests and only when it is another.

/** @import { Selected } from "./payload.d.ts" */

const AFTER = 150; // ms of rest

/** @typedef {Pick<Selected, "key" | "token" | "finding" | "to" | "view">} Chosen */

export class Teller {
  constructor() {
    /** @type {(selected: Selected) => void} */
    this.send = () => {};
    this.told = "";
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** @param {Chosen} chosen */
  tell(chosen) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const words = JSON.stringify(chosen);
      if (words === this.told) return;
      this.told = words;
      this.send({ ...chosen, at: Date.now() });
    }, AFTER);
  }

  /** Tell the next one whatever it is: Python has asked for another since. */
  forget() {
    this.told = "";
  }

  close() {
    clearTimeout(this.timer);
  }
}
