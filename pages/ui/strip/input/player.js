// Plays the strip: moves the play head on at the chosen pace, once or over and over between two marks.

import { speedOf, watchingSpeed } from "../model/playback-speed.js";

/** @import { TimeAxis } from "../model/time-axis.js" */
/** @import { PlaybackSpeed } from "../model/playback-speed.js" */
/** @import { Elements } from "../elements.js" */

/**
 * The play head: `shown` cells have arrived at `place` of the axis.
 * @typedef {object} Head
 * @property {TimeAxis} axis
 * @property {number} shown
 * @property {number} place
 * @property {(shown: number) => void} rewind without choosing a cell
 * @property {(shown: number) => void} showCells
 * @property {(place: number) => void} showPlace
 * @property {() => void} paint
 */
/** @typedef {{ from: number, until: number }} Marks cells that have arrived at both ends of what is played */

const HOLD = 700; // ms that the end of a loop stays

export class Player {
  /**
   * @param {Head} head
   * @param {Elements} elements
   * @param {{ marks: () => Marks | null, paused: () => void }} on `marks` are those of the chosen range
   */
  constructor(head, elements, on) {
    this.head = head;
    this.elements = elements;
    this.on = on;
    this.frame = 0; // the next frame, 0 while paused
    this.watched = false; // as the picture plays: all of it in a few seconds
    elements.play.onclick = () => this.toggle();
    elements.speed.onchange = () => {
      this.pause();
      head.paint();
    };
    elements.loop.onclick = () => {
      elements.loop.setAttribute("aria-pressed", String(!this.loops));
      head.paint();
    };
  }

  get playing() {
    return this.frame !== 0;
  }

  get loops() {
    return this.elements.loop.getAttribute("aria-pressed") === "true";
  }

  get pace() {
    if (this.watched) return watchingSpeed(this.head.axis);
    return speedOf(this.elements.speed.value, this.head.axis);
  }

  /** True where a click shows one more event or token. */
  get clicks() {
    const { pace } = this;
    return pace.by !== "time" && pace.rate === 0;
  }

  /** What is played: all, or what stands between the marks while it loops. */
  get marks() {
    const all = { from: 0, until: this.head.axis.count };
    return this.loops && !this.watched ? (this.on.marks() ?? all) : all;
  }

  /** Play all from the start, in a few seconds. */
  watch() {
    this.pause();
    if (!this.head.axis.count) return;
    this.watched = true;
    this.head.rewind(0);
    this.#play();
  }

  toggle() {
    const { head, marks } = this;
    if (this.playing) {
      this.pause();
      return;
    }
    if (!head.axis.count) return;
    if (head.shown >= marks.until || head.shown < marks.from) head.rewind(marks.from);
    if (this.clicks) {
      head.showCells(this.#after(this.pace));
    } else this.#play();
  }

  #play() {
    let before = performance.now();
    let held = 0;
    let due = 1; // cells or events that are to be shown, as a sum of elements of them
    /** @param {number} now */
    const frame = (now) => {
      const { head, pace, marks } = this;
      const passed = (now - before) / 1000;
      before = now;
      this.frame = requestAnimationFrame(frame);
      if (head.shown >= marks.until) {
        held += passed * 1000;
        if (!this.loops || this.watched) this.pause();
        else if (held >= HOLD) {
          head.rewind(marks.from);
          held = 0;
          due = 1;
        }
        return;
      }
      if (pace.by === "time") {
        head.showPlace(Math.min(head.place + passed * pace.factor, head.axis.placeOf(marks.until)));
      } else {
        due += passed * pace.rate;
        if (due < 1) return;
        let shown = head.shown;
        for (; due >= 1 && shown < marks.until; due--) shown = this.#after(pace, shown);
        head.showCells(shown);
      }
    };
    this.frame = requestAnimationFrame(frame);
    this.head.paint();
  }

  /**
   * Cells that have arrived with one more event or token.
   * @param {PlaybackSpeed} pace
   */
  #after({ by }, shown = this.head.shown) {
    return by === "token" ? Math.min(shown + 1, this.head.axis.count) : this.head.axis.after(shown);
  }

  pause() {
    if (!this.frame) return;
    this.close();
    this.watched = false;
    this.head.paint();
    this.on.paused();
  }

  close() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
  }
}
