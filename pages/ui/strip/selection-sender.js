// Sends Python what is chosen, once the choice rests and only when it is another.

/** @import { Selected } from "./model/payload.d.ts" */

const AFTER = 150; // ms of rest

/** @typedef {Pick<Selected, "key" | "token" | "finding" | "to" | "view">} Chosen */

export class SelectionSender {
  constructor() {
    /** @type {(selected: Selected) => void} */
    this.send = () => {};
    this.sent = "";
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** @param {Chosen} chosen */
  schedule(chosen) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      const json = JSON.stringify(chosen);
      if (json === this.sent) return;
      this.sent = json;
      this.send({ ...chosen, at: Date.now() });
    }, AFTER);
  }

  /** Send the next choice whatever it is: Python has asked for another since. */
  forget() {
    this.sent = "";
  }

  close() {
    clearTimeout(this.timer);
  }
}
