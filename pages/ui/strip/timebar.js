// The time bar: the play head, and the buttons and the slider that move it.

import { count, duration, NUMBER } from "../numbers.js";
import { Axis, PACE } from "./axis.js";
import { autoWords } from "./pace.js";
import { Player } from "./player.js";
import { paintTrack } from "./track.js";

/** @import { Model } from "./model.js" */
/** @import { Parts } from "./parts.js" */
/** @import { Marks } from "./player.js" */

const STEPS = 10_000; // of the slider
const AXIS_AFTER = 300; // ms that the axis of a growing stream may lag
/** @type {Map<string, number>} */
const SLIDER_KEYS = new Map([
  ["ArrowRight", 1],
  ["ArrowUp", 1],
  ["ArrowLeft", -1],
  ["ArrowDown", -1],
]);

export class TimeBar {
  /**
   * @param {Parts} parts
   * @param {Model} model
   * @param {{ shown: (shown: number, playing: boolean) => void, selected: () => number | null,
   *   marks: () => Marks | null }} on `marks` are the ends of the chosen range
   */
  constructor(parts, model, on) {
    this.parts = parts;
    this.on = on;
    this.model = model;
    this.axis = new Axis(model, parts.gaps.checked);
    this.shown = 0; // cells that had arrived
    this.place = 0; // of the play head on the axis
    this.share = 0; // of the axis, that is played
    this.player = new Player(this, parts, {
      marks: on.marks,
      paused: () => this.on.shown(this.shown, false),
    });
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.lagging = undefined;
    parts.back.onclick = () => this.step(-1);
    parts.forward.onclick = () => this.step(1);
    parts.all.onclick = () => this.moveTo(this.model.count);
    parts.scrub.oninput = () => {
      this.pause();
      this.showPlace(this.axis.length * (Number(parts.scrub.value) / STEPS));
    };
    parts.scrub.onkeydown = (event) => {
      const by = SLIDER_KEYS.get(event.key);
      if (by === undefined && event.key !== " ") return;
      event.preventDefault();
      if (by === undefined) this.toggle();
      else this.step(by);
    };
    parts.gaps.onchange = () => this.show(this.model, { keep: true });
  }

  /**
   * Show a model, or one that grew. `keep` leaves the play head where it is, unless it stood at the end.
   * @param {Model} model
   */
  show(model, { keep = false } = {}) {
    const { parts } = this;
    const atEnd = !keep || this.shown >= this.axis.count;
    this.model = model;
    this.axis = new Axis(model, parts.gaps.checked);
    parts["gaps-label"].hidden = this.axis.gaps === 0;
    const steps = this.axis.byCell ? "tokens" : "events";
    parts.auto.textContent = autoWords(this.axis);
    const untimed = !this.axis.timed && model.count > 0;
    parts.pace.textContent = untimed ? `no times in this capture: plays ${PACE} ${steps} per second` : "";
    this.#head(atEnd ? model.count : Math.min(this.shown, model.count));
  }

  /**
   * The model has grown. While the head follows the newest cell the axis lags a little: making it reads all events.
   * @param {boolean} follows
   */
  grow(follows) {
    if (!follows || this.playing || !this.axis.count) this.show(this.model, { keep: true });
    else {
      this.lagging ??= setTimeout(() => {
        this.lagging = undefined;
        this.show(this.model, { keep: true });
      }, AXIS_AFTER);
    }
    if (follows) this.shown = this.model.count;
  }

  /** Seconds from the request to the newest cell shown; null where that is not known. */
  get seconds() {
    if (!this.axis.timed || this.shown === 0) return null;
    return this.model.events.time(this.model.arrived(this.shown - 1));
  }

  /** @param {number} by */
  step(by) {
    this.pause();
    this.moveTo(Math.max(0, Math.min(this.model.count, this.shown + by)));
  }

  /** @param {number} shown */
  moveTo(shown) {
    this.#head(shown);
    this.on.shown(shown, false);
  }

  /**
   * Move the play head on to what is chosen, without choosing the newest cell there.
   * @param {number} shown
   */
  reach(shown) {
    if (shown > this.shown) this.#head(shown);
  }

  /** @param {number} shown */
  rewind(shown) {
    this.#head(shown);
  }

  /** @param {number} shown */
  #head(shown) {
    this.shown = shown;
    this.place = this.axis.placeOf(shown);
    this.paint();
  }

  /**
   * So many cells have arrived, as it plays or is stepped.
   * @param {number} shown
   */
  showCells(shown) {
    this.#head(shown);
    this.on.shown(this.shown, this.playing);
  }

  /** @param {number} place */
  showPlace(place) {
    this.place = Math.max(0, Math.min(this.axis.length, place));
    this.shown = this.place >= this.axis.length ? this.model.count : this.axis.shownAt(this.place);
    this.paint();
    this.on.shown(this.shown, this.playing);
  }

  get playing() {
    return this.player.playing;
  }

  toggle() {
    this.player.toggle();
  }

  pause() {
    this.player.pause();
  }

  paint() {
    const { parts, model, axis } = this;
    parts.root.classList.toggle("playing", this.playing);
    parts["play-word"].textContent = this.playing ? "pause" : this.player.clicks ? "step" : "play";
    const all = this.shown >= model.count;
    parts.all.disabled = all || model.count === 0;
    this.share = all || !axis.length ? 1 : this.place / axis.length;
    parts.scrub.value = String(Math.round(this.share * STEPS));
    const unit = model.unit === "piece" ? "piece" : "token";
    const time = duration(this.seconds);
    const sent = NUMBER.format(Math.min(this.shown, model.sent));
    const cells = all ? count(model.sent, unit) : `${sent} of ${count(model.sent, unit)}`;
    parts.clock.textContent = time ? `${cells} · ${time}` : cells;
    parts.scrub.setAttribute("aria-valuetext", parts.clock.textContent);
    this.paintTrack();
  }

  paintTrack() {
    const { share, shown } = this;
    paintTrack(this.parts.track, this.model, this.axis, { share, shown, selected: this.on.selected() });
  }

  close() {
    clearTimeout(this.lagging);
    this.player.close();
  }
}
