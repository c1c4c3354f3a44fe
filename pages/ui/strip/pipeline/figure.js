// The pipeline on the page: a canvas with a view that zooms and follows, and what a pointer does in it.

import { count } from "../../numbers.js";
import { IdsSwitch } from "./ids-switch.js";
import { LEGIBLE, paintPipeline } from "./paint.js";
import { HEIGHT, rowsOf } from "./rows.js";
import { Slots } from "./slots.js";

/** @import { Elements } from "../elements.js" */
/** @import { Picture } from "../model/picture.js" */
/** @import { Model } from "../model/model.js" */
/** @import { TextWidth } from "../layout/sizes.js" */

/**
 * `ghost` is a stream that no server has sent.
 * @typedef {{ shown: number, playing: boolean, live: boolean, ghost?: boolean, selected: number | null,
 *   hover: number | null }} Moment
 */

const NARROW = 640; // pixels of width, below which the names of lanes stand above them
const GUTTER = 128;
const FALLS = 420; // ms
const FOLLOWED = 6; // widths of the view up to which a stream plays at full size
const WHEEL = 0.002;
const AHEAD = 0.86; // of the view, where the newest token stands while it is followed

export class Figure {
  /**
   * @param {Elements} elements
   * @param {TextWidth} textWidth
   * @param {{ select: (i: number) => void, hover: (i: number | null) => void }} on
   */
  constructor(elements, textWidth, on) {
    this.elements = elements;
    this.canvas = elements.pipeline;
    this.textWidth = textWidth;
    this.on = on;
    /** @type {Model | null} */
    this.model = null;
    /** @type {Slots | null} */
    this.slots = null;
    this.ids = new IdsSwitch(elements["pipeline-ids"], () => {
      if (!this.model) return;
      this.show(this.model, { again: true });
      // With room for IDs the whole stream may be too small to read.
      if (this.slots?.opened) this.reveal(this.moment.selected ?? 0, { legibly: true });
    });
    this.scale = 1;
    this.left = 0;
    this.fitted = true; // the whole stream is in view
    this.onBar = false; // the pointer is on a server's bar
    this.follows = true; // the newest token of a growing stream, until the reader looks elsewhere
    /** @type {Moment} */
    this.moment = { shown: 0, playing: false, live: false, selected: null, hover: null };
    /** @type {{ rank: number, at: number }[]} cells that came together, from this rank on, by the clock */
    this.falling = [];
    this.frame = 0;
    this.still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    elements["pipeline-fit"].onclick = () => {
      this.fit();
      this.#looked();
    };
    elements["pipeline-now"].onclick = () => {
      this.follows = true;
      this.#follow();
      this.schedule();
    };
    this.#listen();
  }

  /**
   * @param {Model} model
   * @param {{ again: boolean }} which `again` keeps the view
   */
  show(model, { again }) {
    this.model = model;
    this.slots = new Slots(model, this.textWidth, this.ids.opens(model));
    this.falling = [];
    if (!again) this.follows = true;
    if (!again || this.fitted) this.fit();
    this.schedule();
  }

  /** @param {number} from first cell that may be new */
  grow(from) {
    this.slots?.update(from);
    if (this.fitted) this.fit();
    this.schedule();
  }

  get width() {
    return this.canvas.clientWidth;
  }

  get gutter() {
    return this.width >= NARROW ? GUTTER : 0;
  }

  get rows() {
    return rowsOf(this.model?.pictures ?? [], this.gutter === 0, {
      opened: this.slots?.opened ?? false,
      inView: (picture) => this.#lanesInView(picture),
    });
  }

  /**
   * The lanes in which a cell of the view stands or is missing; all of them where cells are too small to tell.
   * @param {Picture} picture
   */
  #lanesInView(picture) {
    const { slots, model } = this;
    if (!slots || !model || this.scale < LEGIBLE) return new Set(picture.lanes.keys());
    /** @type {Set<number>} */
    const lanes = new Set();
    const [first, last] = [slots.at(this.left), slots.at(this.left + this.room / this.scale)];
    for (let k = Math.max(0, first); k <= last; k++) {
      const inserted = slots.inserted.get(k);
      if (inserted) {
        if (model.pictures[inserted.picture] === picture) lanes.add(inserted.lane);
        continue;
      }
      for (let i = slots.starts[k]; i < slots.ends[k]; i++) {
        for (const lane of [picture.ownLane(i), picture.laneOf(i)]) if (lane !== null) lanes.add(lane);
      }
    }
    for (const { start, lane } of picture.spans) {
      if (start < slots.cells && slots.slotOf[start] >= first && slots.slotOf[start] <= last) lanes.add(lane);
    }
    return lanes;
  }

  /** Pixels of the slots that the view would show at full size. */
  get room() {
    return Math.max(1, this.width - this.gutter);
  }

  /** The scale at which all is in view. */
  get least() {
    return Math.min(1, this.room / Math.max(1, this.slots?.width ?? 1));
  }

  /** Whether not all tokens are in view as boxes, or only when the view moves. */
  get partly() {
    return this.least < LEGIBLE;
  }

  fit() {
    this.fitted = true;
    this.scale = this.least;
    this.left = 0;
    this.schedule();
  }

  resized() {
    if (this.fitted) this.fit();
    else this.#to(this.left);
    this.schedule();
  }

  /**
   * Bring a cell into view; `legibly` at full size.
   * @param {number} i
   * @param {{ legibly: boolean }} how
   */
  reveal(i, { legibly }) {
    if (!this.slots || i >= this.slots.cells) return;
    const slot = this.slots.slot(this.slots.slotOf[i]);
    if (legibly && this.scale < LEGIBLE) {
      this.fitted = false;
      this.scale = 1;
      this.#to(slot.x + slot.width / 2 - this.room / 2);
    } else if (!this.fitted) {
      const span = this.room / this.scale;
      const [first, last] = [slot.x - 40, slot.x + slot.width + 40];
      if (first < this.left) this.#to(first - span * 0.2);
      else if (last > this.left + span) this.#to(last - span * 0.8);
    }
    this.#looked();
    this.schedule();
  }

  /** @param {number} left */
  #to(left) {
    const most = (this.slots?.width ?? 0) - this.room / this.scale;
    this.left = Math.max(0, Math.min(left, most));
  }

  /** @param {Moment} moment */
  paint(moment) {
    const before = this.moment;
    this.moment = moment;
    const grows = moment.playing || moment.live;
    const moves = grows && !this.still;
    if (moves && moment.shown > before.shown) {
      this.falling.push({ rank: before.shown, at: performance.now() });
    }
    if (!moves || moment.shown < before.shown) this.falling = [];
    if (grows) this.#follow();
    this.schedule();
  }

  /** The reader chose what is in view: a growing stream is followed while that is its newest token. */
  #looked() {
    const edge = this.slots?.edge(this.moment.shown) ?? 0;
    this.follows = this.fitted ? this.least >= LEGIBLE : edge <= this.left + this.room / this.scale;
  }

  /** Keep the newest token in view, at full size where the stream is not too long for that. */
  #follow() {
    const { slots, moment } = this;
    if (!slots || (moment.live && !this.follows)) return;
    const wide = slots.width / this.room;
    if (wide <= 1 / LEGIBLE || (wide > FOLLOWED && !moment.live)) {
      if (!this.fitted) this.fit();
      return;
    }
    this.fitted = false;
    this.scale = 1;
    const edge = slots.edge(moment.shown);
    if (edge > this.left + this.room * AHEAD || edge < this.left) this.#to(edge - this.room * AHEAD);
  }

  schedule() {
    if (!this.frame) this.frame = requestAnimationFrame(() => this.#draw());
  }

  #draw() {
    this.frame = 0;
    const { model, slots, moment, elements } = this;
    if (!model || !slots || !this.width) return;
    if (this.fitted) this.scale = this.least;
    const now = performance.now();
    this.falling = this.falling.filter(({ at }) => now - at < FALLS);
    const { falling } = this;
    const { rows } = this;
    const height = `${rows.height}px`;
    if (this.canvas.style.height !== height) this.canvas.style.height = height;
    paintPipeline(this.canvas, {
      model,
      slots,
      rows,
      width: this.width,
      gutter: this.gutter,
      scale: this.scale,
      left: this.left,
      shown: moment.shown,
      ghost: moment.ghost ?? false,
      now: moment.live || moment.shown < model.count,
      selected: moment.playing ? null : moment.selected,
      hover: moment.hover,
      fallen: (rank) => {
        for (let k = falling.length - 1; k >= 0; k--) {
          if (rank >= falling[k].rank) return ease(Math.min(1, (now - falling[k].at) / FALLS));
        }
        return 1;
      },
    });
    elements["pipeline-fit"].hidden = this.fitted || !this.partly;
    elements["pipeline-now"].hidden = !moment.live || this.follows;
    if (falling.length) this.schedule();
  }

  /**
   * The cell at a place of the screen; null beside all cells.
   * @param {number} clientX
   */
  #cellAt(clientX) {
    const { slots } = this;
    const x = this.#slotsX(clientX);
    const k = slots?.at(x) ?? -1;
    const slot = slots && k >= 0 ? slots.slot(k) : null;
    if (!slot || slot.kind === "insert" || x > slot.x + slot.width + 4 || slot.rank >= this.moment.shown)
      return null;
    return slot.kind === "pill" ? slot.end - 1 : slot.start;
  }

  /** @param {number} clientX */
  #slotsX(clientX) {
    const { left } = this.canvas.getBoundingClientRect();
    return (clientX - left - this.gutter) / this.scale + this.left;
  }

  /** @param {PointerEvent} event */
  #onBar(event) {
    const y = event.clientY - this.canvas.getBoundingClientRect().top;
    return this.rows.servers.some(({ bar }) => bar <= y && y <= bar + HEIGHT.bar);
  }

  /** What the ticks on a server's bar are, while the pointer is on it. */
  get explanation() {
    const { model } = this;
    const perEvent = model?.pictures[0]?.perEvent ?? 0;
    if (!this.onBar || perEvent < 2) return "";
    const most = count(perEvent, "token");
    return `Each tick is an event of the stream: the server sent up to ${most} in one.`;
  }

  /** @param {PointerEvent} event */
  #onMap(event) {
    return !this.fitted && event.clientY - this.canvas.getBoundingClientRect().top < HEIGHT.map + 4;
  }

  #listen() {
    const { canvas } = this;
    /** @type {{ x: number, left: number, moved: boolean, map: boolean } | null} */
    let drag = null;
    const toMap = (/** @type {PointerEvent} */ event) => {
      const { left } = canvas.getBoundingClientRect();
      const share = (event.clientX - left - this.gutter) / this.room;
      this.#to(share * (this.slots?.width ?? 0) - this.room / this.scale / 2);
      this.#looked();
      this.schedule();
    };
    canvas.onpointerdown = (event) => {
      if (event.button) return;
      drag = { x: event.clientX, left: this.left, moved: false, map: this.#onMap(event) };
      canvas.setPointerCapture(event.pointerId);
      if (drag.map) toMap(event);
    };
    canvas.onpointermove = (event) => {
      if (!drag) {
        const onBar = this.#onBar(event);
        const i = this.scale >= LEGIBLE && !onBar ? this.#cellAt(event.clientX) : null;
        if (i === this.moment.hover && onBar === this.onBar) return;
        this.onBar = onBar;
        this.on.hover(i);
        return;
      }
      if (drag.map) {
        toMap(event);
        return;
      }
      if (Math.abs(event.clientX - drag.x) > 4) drag.moved = true;
      if (drag.moved && !this.fitted) {
        this.#to(drag.left - (event.clientX - drag.x) / this.scale);
        this.#looked();
        this.schedule();
      }
    };
    canvas.onpointerup = (event) => {
      const { moved, map } = drag ?? { moved: true, map: false };
      drag = null;
      if (moved || map) return;
      const i = this.#cellAt(event.clientX);
      if (i !== null) this.on.select(i);
    };
    canvas.onpointercancel = () => {
      drag = null;
    };
    canvas.onpointerleave = () => {
      this.onBar = false;
      this.on.hover(null);
    };
    canvas.addEventListener(
      "wheel",
      (event) => {
        const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
        // A stream that is in view as a whole leaves the wheel to the page, but to zoom into it.
        if (this.fitted && (sideways || event.deltaY > 0 || this.least >= LEGIBLE)) return;
        event.preventDefault();
        if (sideways) this.#to(this.left + (event.deltaX || event.deltaY) / this.scale);
        else this.#zoom(Math.exp(-event.deltaY * WHEEL * (event.ctrlKey ? 4 : 1)), event.clientX);
        this.#looked();
        this.schedule();
      },
      { passive: false },
    );
  }

  /**
   * @param {number} factor
   * @param {number} clientX what stands there stays there
   */
  #zoom(factor, clientX) {
    const x = this.#slotsX(clientX);
    const before = this.scale;
    this.scale = Math.max(this.least, Math.min(1, this.scale * factor));
    this.fitted = this.scale <= this.least;
    this.#to(x - (x - this.left) * (before / this.scale));
  }

  close() {
    cancelAnimationFrame(this.frame);
  }
}

/** @param {number} share of the way */
function ease(share) {
  return share * share * (3 - 2 * share);
}
