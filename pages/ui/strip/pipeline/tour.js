// "Watch it happen": plays the stream once by itself on the first visit, then rests at its first finding.

import { describeCell } from "../model/cell-description.js";

/** @import { Strip } from "../strip.js" */

const WATCHED = "harmony-inspector-watched";

export class Tour {
  /** @param {Strip} strip */
  constructor(strip) {
    this.strip = strip;
    this.plays = false;
    this.touched = false; // nobody chose a token in the picture yet: what it says of one waits for that
    for (const event of /** @type {const} */ (["keydown", "pointerdown"])) {
      strip.root.addEventListener(event, () => {
        this.touched = true;
      });
    }
    strip.elements.watch.onclick = () => this.toggle();
  }

  toggle() {
    const { time, model } = this.strip;
    if (!time.playing) {
      this.#start();
      return;
    }
    this.plays = true;
    time.moveTo(model.count);
    time.pause();
  }

  /** A stream is shown: the first one of a browser plays by itself, unless it asks for less motion. */
  first() {
    if (this.strip.model.count === 0 || window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    try {
      if (localStorage.getItem(WATCHED)) return;
      localStorage.setItem(WATCHED, "yes");
    } catch {
      return; // a browser that keeps nothing would play it every time
    }
    this.#start();
  }

  #start() {
    this.plays = true;
    this.strip.time.watch();
  }

  paint() {
    const { strip } = this;
    const { elements, selection, model, time } = strip;
    elements["watch-word"].textContent = time.playing ? "Skip" : "Watch it happen";
    elements.watch.disabled = model.count === 0;
    elements.watch.style.visibility = strip.feed ? "hidden" : ""; // it happens now
    const token = selection.hover ?? (this.touched ? selection.token : null);
    const chosen = token === null || time.playing ? "" : describeCell(model, token);
    const words = strip.figure.explanation || chosen;
    if (elements["pipeline-words"].textContent !== words) elements["pipeline-words"].textContent = words;
    if (!this.plays || time.playing) return;
    this.plays = false;
    if (time.shown >= model.count) this.#rest();
  }

  /** All was played: rest at the first finding that has a place. */
  #rest() {
    const { strip } = this;
    const finding = strip.model.findings.find(({ start }) => start !== null);
    if (finding) strip.choose(finding.number);
    else strip.figure.fit();
  }
}
