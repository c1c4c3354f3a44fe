// The time bar: the play head, and the buttons and the slider that move it.

import { count, duration, NUMBER } from "../../numbers.js";
import { paintMinimap } from "../draw/minimap.js";
import { paintTrack, shareOf } from "../draw/time-track.js";
import { Zoom } from "../model/axis-zoom.js";
import { marksOf } from "../model/cell-range.js";
import { autoSpeedLabel } from "../model/playback-speed.js";
import { PACE, TimeAxis } from "../model/time-axis.js";
import { Player } from "./player.js";
import { listenToZoom } from "./zoom-controls.js";

/** @import { Model } from "../model/model.js" */
/** @import { Elements } from "../elements.js" */
/** @import { Range } from "../model/cell-range.js" */

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
   * @param {Elements} elements
   * @param {Model} model
   * @param {{ shown: (shown: number, playing: boolean) => void, selected: () => number | null,
   *   range: () => Range | null }} on
   */
  constructor(elements, model, on) {
    this.elements = elements;
    this.on = on;
    this.model = model;
    this.axis = new TimeAxis(model, elements.gaps.checked);
    this.shown = 0; // cells that had arrived
    this.place = 0; // of the play head on the axis
    this.share = 0; // of the axis, that is played
    this.player = new Player(this, elements, {
      marks: () => {
        const range = on.range();
        return range && marksOf(this.model, range);
      },
      paused: () => this.on.shown(this.shown, false),
    });
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.lagging = undefined;
    this.zoom = new Zoom();
    /** @type {number | null} the cell that was chosen when the track was painted */
    this.painted = null;
    listenToZoom(elements, this.zoom, {
      changed: () => this.paint(),
      around: () => this.#chosenShare(),
      seek: (share) => {
        this.pause();
        this.showPlace(this.axis.length * share);
      },
    });
    elements.back.onclick = () => this.step(-1);
    elements.forward.onclick = () => this.step(1);
    elements.all.onclick = () => this.moveTo(this.model.count);
    elements.scrub.oninput = () => {
      this.pause();
      this.showPlace(this.axis.length * this.zoom.fromView(Number(elements.scrub.value) / STEPS));
    };
    elements.scrub.onkeydown = (event) => {
      const by = SLIDER_KEYS.get(event.key);
      if (by === undefined && event.key !== " ") return;
      event.preventDefault();
      if (by === undefined) this.toggle();
      else this.step(by);
    };
    elements.gaps.onchange = () => this.show(this.model, { keep: true });
  }

  /**
   * Show a model, or one that grew. `keep` leaves the play head where it is, unless it stood at the end.
   * @param {Model} model
   */
  show(model, { keep = false } = {}) {
    const { elements } = this;
    const atEnd = !keep || this.shown >= this.axis.count;
    if (!keep) this.zoom.fit();
    this.model = model;
    this.axis = new TimeAxis(model, elements.gaps.checked);
    elements["gaps-label"].hidden = this.axis.gaps === 0;
    const steps = this.axis.byCell ? "tokens" : "events";
    elements.auto.textContent = autoSpeedLabel(this.axis);
    const untimed = !this.axis.timed && model.count > 0;
    const none = model.compared ? "no times that both share" : "no times in this capture";
    elements.pace.textContent = untimed ? `${none}: plays ${PACE} ${steps} per second` : "";
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

  /** Play all from the start, in a few seconds. */
  watch() {
    this.player.watch();
  }

  pause() {
    this.player.pause();
  }

  paint() {
    const { elements, model, axis } = this;
    elements.root.classList.toggle("playing", this.playing);
    elements["play-word"].textContent = this.playing ? "pause" : this.player.clicks ? "step" : "play";
    const all = this.shown >= model.count;
    elements.all.disabled = all || model.count === 0;
    this.share = all || !axis.length ? 1 : this.place / axis.length;
    if (this.playing) this.zoom.include(this.share);
    elements.scrub.value = String(Math.round(this.zoom.toView(this.share) * STEPS));
    elements["zoom-in"].disabled = !axis.length;
    elements["zoom-out"].disabled = elements["zoom-fit"].disabled = !this.zoom.zoomed;
    const unit = model.unit === "piece" ? "piece" : "token";
    const time = duration(this.seconds);
    const sent = NUMBER.format(Math.min(this.shown, model.sent));
    const cells = all ? count(model.sent, unit) : `${sent} of ${count(model.sent, unit)}`;
    elements.clock.textContent = time ? `${cells} · ${time}` : cells;
    elements.scrub.setAttribute("aria-valuetext", elements.clock.textContent);
    this.paintTrack();
  }

  paintTrack() {
    const { model, axis, zoom, share, shown } = this;
    const selected = this.on.selected();
    if (selected !== this.painted && selected !== null && selected < model.count && !this.playing) {
      zoom.include(shareOf(model, axis, selected));
    }
    this.painted = selected;
    paintTrack(this.elements.track, model, axis, { zoom, share, shown, selected, range: this.on.range() });
    paintMinimap(this.elements.map, model, axis, { zoom, shown });
  }

  /** Show the chosen range in the whole width of the track, or the block of the chosen cell. */
  zoomToChosen() {
    const { model, axis } = this;
    const cell = this.on.selected() ?? model.arrived(Math.max(0, this.shown - 1));
    if (!model.count || !axis.length) return;
    const { start, end } = this.on.range() ?? model.blockAt(cell);
    const { from, until } = marksOf(model, { start, end });
    const [left, right] = [axis.placeOf(from + 1), axis.placeOf(until)].map((place) => place / axis.length);
    const room = (right - left) * 0.05;
    this.zoom.show(left - room, right + room);
    this.paint();
  }

  #chosenShare() {
    const selected = this.on.selected();
    return selected === null ? this.share : shareOf(this.model, this.axis, selected);
  }

  close() {
    clearTimeout(this.lagging);
    this.player.close();
  }
}
