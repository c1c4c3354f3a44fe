// Paints the pipeline: each token as a box where it is legible, and bands of one colour where it is not.

import { count, duration, NUMBER } from "../../numbers.js";
import { plainText } from "../../text.js";
import { inkOf, penOf } from "../draw/canvas.js";
import { blockHue } from "../model/blocks.js";
import { paintIds, paintMessages } from "./messages.js";
import { ARRIVED, columnsOf, HOLE, STRAY } from "./pixel-column.js";
import { HEIGHT, laneTop, modelTop } from "./rows.js";
import { CELL, FONT, INSERT, PILL_FONT, SMALL_MONO } from "./slots.js";

/** @import { Model } from "../model/model.js" */
/** @import { PixelColumn } from "./pixel-column.js" */
/** @import { Picture, Span } from "../model/picture.js" */
/** @import { ServerRows, Rows } from "./rows.js" */
/** @import { Slot, Slots } from "./slots.js" */

/**
 * @typedef {object} Scene
 * @property {Model} model
 * @property {Slots} slots
 * @property {Rows} rows
 * @property {number} width
 * @property {number} gutter
 * @property {number} scale
 * @property {number} left of the view, in the pixels of the slots
 * @property {number} shown cells that had arrived
 * @property {boolean} ghost whether no server has sent it: nothing in it is solid
 * @property {boolean} now whether more is to come
 * @property {number | null} selected
 * @property {number | null} hover
 * @property {(rank: number) => number} fallen how far a cell has fallen, 0 to 1
 */

export const LEGIBLE = 0.82; // of the scale, from which tokens are drawn as boxes with their text
const RING = 4; // pixels around a chosen cell
const SMALL_FONT =
  '600 11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const NAME_FONT =
  '600 12.5px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const SIGN_MARKS = { reordered: "⇄", garbled: "≠", added: "+", duplicated: "×2", separator: "↵" };

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Scene} scene
 */
export function paintPipeline(canvas, scene) {
  new Painter(canvas, scene).paint();
}

class Painter {
  /**
   * @param {HTMLCanvasElement} canvas
   * @param {Scene} scene
   */
  constructor(canvas, scene) {
    this.scene = scene;
    const ink = inkOf(canvas);
    /** @type {Map<string, string>} */
    const inks = new Map();
    this.ink = (/** @type {string} */ name) => {
      let colour = inks.get(name);
      if (colour === undefined) {
        colour = ink(`--${name}`) || "#888";
        inks.set(name, colour);
      }
      return colour;
    };
    this.pen = penOf(canvas, scene.width, scene.rows.height);
    this.legible = scene.scale >= LEGIBLE;
    /** @type {(() => void)[]} words beside cells, to be drawn last */
    this.labels = [];
    /** @type {Map<number, number>} by height how far to the right words stand */
    this.worded = new Map();
    const { slots, left, scale, width, gutter } = scene;
    this.first = Math.max(0, slots.at(left - 8));
    this.last = slots.at(left + (width - gutter) / scale);
  }

  paint() {
    const { pen, scene } = this;
    this.#tracks();
    pen.save();
    pen.beginPath();
    pen.rect(scene.gutter - RING, 0, scene.width - scene.gutter + RING, scene.rows.height);
    pen.clip();
    for (const [number, server] of scene.rows.servers.entries())
      this.#bar(server, scene.model.pictures[number]);
    if (this.legible) this.#boxes();
    else this.#bands();
    if (scene.rows.ids) this.#opened();
    this.#times();
    this.#now();
    pen.restore();
    this.#names();
    this.#map();
  }

  #opened() {
    const brush = {
      pen: this.pen,
      ink: this.ink,
      x: (/** @type {number} */ x) => this.#x(x),
      top: (/** @type {number} */ i) => this.#modelTop(i),
    };
    paintMessages(brush, this.scene, this.first);
    if (this.legible) paintIds(brush, this.scene, this.first, this.last);
  }

  /** @param {number} x of the slots */
  #x(x) {
    const { gutter, left, scale } = this.scene;
    return gutter + (x - left) * scale;
  }

  /** @param {Slot} slot */
  #isIn(slot) {
    return slot.rank < this.scene.shown;
  }

  #tracks() {
    const { pen, scene } = this;
    pen.fillStyle = this.ink("line");
    for (const { rows } of scene.rows.servers) {
      for (const { top } of rows)
        pen.fillRect(scene.gutter, top + HEIGHT.box / 2, scene.width - scene.gutter, 1);
    }
  }

  /**
   * The bar of a server; where there is none, its outline.
   * @param {ServerRows} server
   * @param {Picture | undefined} picture
   */
  #bar({ bar }, picture) {
    const { pen, scene } = this;
    pen.beginPath();
    if (picture?.server === "") {
      pen.roundRect(scene.gutter + 0.5, bar + 0.5, scene.width - scene.gutter - 1, HEIGHT.bar - 1, 4);
      pen.setLineDash([5, 4]);
      pen.lineWidth = 1;
      pen.strokeStyle = this.ink("line-strong");
      pen.stroke();
      pen.setLineDash([]);
      return;
    }
    pen.fillStyle = this.ink("bar");
    pen.roundRect(scene.gutter, bar, scene.width - scene.gutter, HEIGHT.bar, 4);
    if (scene.ghost) {
      this.#outline();
      return;
    }
    pen.fill();
    if (scene.now) {
      const x = Math.max(scene.gutter, this.#x(scene.slots.edge(scene.shown)));
      pen.globalAlpha = 0.5; // what is to come
      pen.fillStyle = this.ink("ground");
      pen.fillRect(x, bar, scene.width - x, HEIGHT.bar);
      pen.globalAlpha = 1;
    }
    if (!this.legible || (picture?.perEvent ?? 0) < 2) return;
    pen.fillStyle = this.ink("bar-text");
    pen.globalAlpha = 0.45;
    for (let k = Math.max(this.first, 1); k <= this.last; k++) {
      const { slots } = scene;
      if (slots.ranks[k] >= scene.shown) break;
      if (slots.kinds[k] !== INSERT && scene.model.events.startsAt(slots.starts[k])) {
        pen.fillRect(Math.round(this.#x(slots.xs[k]) - 3), bar + HEIGHT.bar - 7, 1, 7);
      }
    }
    pen.globalAlpha = 1;
  }

  #outline() {
    const { pen } = this;
    pen.setLineDash([4, 3]);
    pen.lineWidth = 1.5;
    pen.strokeStyle = this.ink("faint");
    pen.stroke();
    pen.setLineDash([]);
  }

  #boxes() {
    const { scene } = this;
    for (let k = this.first; k <= this.last; k++) {
      const slot = scene.slots.slot(k);
      if (!this.#isIn(slot)) break;
      if (slot.kind === "pill") this.#pill(slot);
      else if (slot.kind === "insert") this.#insert(slot);
      else this.#cell(slot, k);
    }
    for (const [number, { spans }] of scene.model.pictures.entries()) {
      for (const span of spans) this.#span(span, scene.rows.servers[number]);
    }
    for (const label of this.labels) label(); // over all lines that cross them
  }

  /** @param {Slot} slot */
  #pill(slot) {
    const y = this.#modelTop(slot.start);
    this.#box(slot, y, { line: "line-strong", fill: "ground-2", text: "faint", round: 12, font: PILL_FONT });
    this.#ring(slot, y, 12);
  }

  /** @param {number} i */
  #modelTop(i) {
    const { model, rows } = this.scene;
    return model.pictures.length < 2
      ? rows.model
      : modelTop(
          rows,
          model.pictures.map((picture) => picture.fateOf(i)),
        );
  }

  /**
   * @param {Slot} slot
   * @param {number} k
   */
  #cell(slot, k) {
    const { model, rows } = this.scene;
    const i = slot.start;
    const block = model.blockAt(i);
    const hue = blockHue(block);
    const y = this.#modelTop(i);
    const fates = model.pictures.map((picture) => picture.fateOf(i));
    for (const [number, picture] of model.pictures.entries()) {
      if (fates.length > 1 && fates[number] === "pending") continue; // this server's stream does not have it
      this.#fall(slot, picture, rows.servers[number], k);
    }
    if (block.kind === "field" && fates[0] !== "lost") {
      this.#box(slot, y, { line: "line-strong", dash: [2, 3], text: "faint", label: "?" });
    } else if (block.kind === "refused" || fates.includes("rejected") || fates.includes("unsent")) {
      const line = fates.includes("unsent") ? "line-strong" : "loss";
      this.#box(slot, y, {
        line,
        dash: [4, 3],
        text: line === "loss" ? "loss-text" : "faint",
        hatch: line,
      });
    } else if (fates.every((fate) => fate === "framing")) {
      const special = model.isSpecialToken(i);
      const [line, font] = special ? ["line-strong", SMALL_MONO] : ["ground-2", `italic ${FONT}`];
      this.#box(slot, y, { line, fill: "ground-2", text: "faint", round: special ? 12 : 4, font });
    } else {
      const dash = model.reconstructed ? [2, 3] : undefined;
      this.#box(slot, y, { line: hue, fill: hue, alpha: 0.14, text: "text", dash });
    }
    this.#ring(slot, y, 4);
  }

  /**
   * The way of a token from the model through a server into a lane, or to where it ends.
   * @param {Slot} slot
   * @param {Picture} picture
   * @param {ServerRows} server
   * @param {number} k
   */
  #fall(slot, picture, server, k) {
    const { fallen } = this.scene;
    const i = slot.start;
    const fate = picture.fateOf(i);
    if (this.scene.model.blockAt(i).kind === "refused") this.#refusal(slot, picture, server, k);
    if (fate === "framing" || picture.server === "") return;
    const [own, lane, sign] = [picture.ownLane(i), picture.laneOf(i), picture.signOf(i)];
    const model = this.#modelTop(i);
    const from = server.down > 0 ? model + HEIGHT.box + this.scene.rows.ids : model;
    const stop = server.down > 0 ? server.bar : server.bar + HEIGHT.bar;
    const far = fallen(slot.rank);
    const wrong = fate === "misrouted" || sign === "garbled" || sign === "reordered";
    if (own !== null && lane !== own && fate !== "unknown" && fate !== "unsent")
      this.#hole(slot, laneTop(server, own));
    if (lane === null) {
      const end = fate === "rejected" || fate === "unsent" ? from + (stop - from) * 0.45 : stop;
      if (fate === "pending" || fate === "unsent") return;
      const expected = fate === "left_out" || fate === "unknown" || (fate === "lost" && sign === "unserved");
      const bad = expected ? "faint" : "loss";
      this.#line(slot, from, from + (end - from) * far, bad, 2);
      if (far < 1) return;
      if (fate === "lost") this.#cross(slot, stop - 6 * server.down, bad);
      if (fate === "rejected") this.#stop(slot, end);
      if (fate === "unknown") this.#word(slot, "?", end - 8 * server.down, bad);
      this.#caption(slot, picture, server, k, bad);
      return;
    }
    const top = laneTop(server, lane);
    const hue = picture.lanes[lane]?.hue ?? "other";
    const end = server.down > 0 ? top : top + HEIGHT.box;
    this.#line(slot, from, from + (end - from) * far, wrong ? "loss" : "line-strong", wrong ? 2.5 : 1);
    const y = far < 1 ? model + (top - model) * far : top;
    if (wrong || fate === "rejected") {
      this.#box(slot, y, { line: "loss", fill: "ground", text: "loss-text", thick: 2, mark: markOf(sign) });
    } else if (fate === "unknown") {
      this.#box(slot, y, { line: hue, fill: hue, alpha: 0.2, text: "text", dash: [2, 3] });
    } else if (this.scene.ghost) {
      this.#box(slot, y, { line: hue, fill: hue, alpha: 0.14, text: "text", dash: [4, 3] });
    } else {
      this.#box(slot, y, { line: hue, fill: hue, text: "on-hue" });
    }
    if (wrong && far >= 1) this.#caption(slot, picture, server, k, "loss");
    this.#ring(slot, y, 4);
  }

  /**
   * One word for a run of cells of one fate: below the first lost one, after the last in a wrong lane.
   * @param {Slot} slot
   * @param {Picture} picture
   * @param {ServerRows} server
   * @param {number} k
   * @param {string} ink
   */
  #caption(slot, picture, server, k, ink) {
    const { slots } = this.scene;
    const i = slot.start;
    const [fate, sign] = [picture.fateOf(i), picture.signOf(i)];
    const other = (/** @type {1 | -1} */ step) => {
      let n = k + step;
      // Between two tokens of this server may be some of the other one.
      while (slots.kinds[n] === CELL && n < slots.length && picture.fateOf(slots.starts[n]) === "pending")
        n += step;
      if (n < 0 || n >= slots.length || slots.kinds[n] !== CELL) return true;
      return picture.fateOf(slots.starts[n]) !== fate || picture.signOf(slots.starts[n]) !== sign;
    };
    if (fate === "misrouted" && other(1)) this.#astray(k, picture, server, ink);
    if ((fate === "lost" || fate === "left_out") && other(-1)) {
      const y = server.bar + (server.down > 0 ? HEIGHT.bar + 9 : -9);
      const words = sign === "unserved" ? "no field for it" : "lost";
      this.#below(slot, fate === "left_out" ? "left out: stop string" : words, y, ink);
    }
  }

  /**
   * Words beside text in a lane that is not its own: behind it, else before it, else none.
   * @param {number} k the last slot of the text
   * @param {Picture} picture
   * @param {ServerRows} server
   * @param {string} ink
   */
  #astray(k, picture, server, ink) {
    const { slots, model } = this.scene;
    const lane = picture.laneOf(slots.starts[k]) ?? 0;
    const stands = (/** @type {number} */ n) => {
      const inserted = slots.inserted.get(n);
      if (inserted) return model.pictures[inserted.picture] === picture && inserted.lane === lane;
      const i = slots.starts[n];
      return slots.kinds[n] === CELL && (picture.laneOf(i) === lane || picture.ownLane(i) === lane);
    };
    let first = k;
    while (first > 0 && stands(first - 1) && picture.fateOf(slots.starts[first - 1]) === "misrouted") first--;
    const y = laneTop(server, lane) + HEIGHT.box / 2;
    const wide = this.#wide("← wrong field") + 16;
    const [begin, end] = [this.#x(slots.xs[first]), this.#x(slots.xs[k] + slots.widths[k])];
    if (this.#edge(k, 1, stands) - end >= wide) {
      this.labels.push(() => this.#onGround("← wrong field", end + 8, y, ink));
    } else if (begin - this.#edge(first, -1, stands) >= wide) {
      this.labels.push(() => this.#onGround("wrong field →", begin - wide + 8, y, ink));
    }
  }

  /**
   * Why a token is rejected, above the bar between the lines of other tokens: the words of the server's error where
   * it has one.
   * @param {Slot} slot
   * @param {Picture} picture
   * @param {ServerRows} server
   * @param {number} k
   */
  #refusal(slot, picture, server, k) {
    const { slots, model } = this.scene;
    const { culprit, start, reason, quoted, state } = model.blockAt(slot.start);
    let first = culprit?.[0] ?? start;
    if (model.unsentOf(first)?.kind === "gap") first++;
    if (slot.start !== first) return;
    const inHeader = state?.startsWith("header");
    const words = quoted
      ? `“${plainText(reason, 80)}”`
      : inHeader
        ? "not a header of Harmony"
        : "<|start|> expected";
    const falls = (/** @type {number} */ n) =>
      slots.kinds[n] === CELL &&
      model.blockAt(slots.starts[n]).kind !== "refused" &&
      picture.fateOf(slots.starts[n]) !== "framing";
    const [left, right] = [this.#edge(k, -1, falls) + 6, this.#edge(k, 1, falls) - 6];
    const fitted = this.#fitted(words, right - left);
    const x = Math.max(left, Math.min(this.#x(slot.x), right - this.#wide(fitted)));
    const y = server.down > 0 ? server.bar - 9 : server.bar + HEIGHT.bar + 9;
    this.labels.push(() => this.#text(fitted, x, y, "loss"));
  }

  /**
   * Where the next slot to one side ends or begins for which something holds, else the edge of the view.
   * @param {number} k
   * @param {1 | -1} step
   * @param {(k: number) => boolean} holds
   */
  #edge(k, step, holds) {
    const { slots, shown, gutter, width } = this.scene;
    for (let n = k + step; n >= this.first && n <= this.last && slots.ranks[n] < shown; n += step) {
      if (holds(n)) return this.#x(slots.xs[n] + (step > 0 ? 0 : slots.widths[n]));
    }
    return step > 0 ? width : gutter;
  }

  /**
   * Words centred below a cell, within the view, unless there are some already.
   * @param {Slot} slot
   * @param {string} words
   * @param {number} y
   * @param {string} ink
   */
  #below(slot, words, y, ink) {
    const { gutter, width } = this.scene;
    const wide = this.#wide(words);
    const x = Math.max(gutter + 2, Math.min(this.#middle(slot) - wide / 2, width - wide - 2));
    if (x < (this.worded.get(y) ?? 0) + 6) return;
    this.worded.set(y, x + wide);
    this.labels.push(() => this.#text(words, x, y, ink));
  }

  /** @param {string} words */
  #wide(words, font = SMALL_FONT) {
    this.pen.font = font;
    return this.pen.measureText(words).width;
  }

  /**
   * As much of a text as a width has room for; its beginning is what says something.
   * @param {string} words
   * @param {number} room
   */
  #fitted(words, room, font = SMALL_FONT) {
    if (this.#wide(words, font) <= room) return words;
    const letters = Array.from(words);
    while (letters.length && this.#wide(`${letters.join("")}…`, font) > room) letters.pop();
    return letters.length > 2 ? `${letters.join("")}…` : "";
  }

  /** @param {Slot} slot */
  #insert(slot) {
    const { inserted } = slot;
    if (!inserted) return;
    const { picture, lane, sign } = inserted;
    const server = this.scene.rows.servers[picture];
    const quiet = sign === "separator";
    const [line, text] = quiet ? ["line-strong", "faint"] : ["loss", "loss-text"];
    const hatch = quiet ? undefined : "loss";
    this.#box(slot, laneTop(server, lane), { line, fill: "ground", text, hatch, mark: markOf(sign) });
  }

  /**
   * Cells that arrived with other text, or once more in a second lane.
   * @param {Span} span
   * @param {ServerRows} server
   */
  #span({ start, end, lane, text, sign }, server) {
    const { slots, model, shown } = this.scene;
    if (start >= slots.cells) return;
    const first = slots.slot(slots.slotOf[start]);
    const last = slots.slot(slots.slotOf[Math.min(end, model.count) - 1]);
    if (last.rank >= shown || last.x < first.x) return;
    const label = text ?? model.textOf(start) ?? "";
    const box = {
      ...first,
      width: last.x + last.width - first.x,
      label: label.replace(/\s+/g, " ").slice(0, 200),
    };
    const [line, ink] = sign === "" ? ["line-strong", "text"] : ["loss", "loss-text"];
    this.#box(box, laneTop(server, lane), { line, fill: "ground", text: ink, thick: 2, mark: markOf(sign) });
  }

  /**
   * @param {Slot} slot
   * @param {number} y
   * @param {{ line: string, text: string, fill?: string, alpha?: number, dash?: number[], round?: number,
   *   thick?: number, hatch?: string, mark?: string, label?: string, font?: string }} look
   */
  #box(
    slot,
    y,
    { line, text, fill, alpha = 1, dash = [], round = 4, thick = 1, hatch, mark, label, font = FONT },
  ) {
    const { pen } = this;
    const [x, width] = [this.#x(slot.x), slot.width * this.scene.scale];
    const outline = new Path2D();
    outline.roundRect(x + 0.5, y + 0.5, width - 1, HEIGHT.box - 1, Math.min(round, width / 2));
    if (fill || hatch) {
      pen.fillStyle = this.ink("ground");
      pen.fill(outline);
      pen.globalAlpha = alpha;
      pen.fillStyle = this.ink(fill ?? "ground");
      pen.fill(outline);
      pen.globalAlpha = 1;
    }
    pen.save();
    pen.clip(outline);
    if (hatch) this.#hatch(x, y, width, hatch);
    const words = this.#fitted(label ?? slot.label, width - 1, font);
    pen.fillStyle = this.ink(text);
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    pen.fillText(words, x + width / 2, y + HEIGHT.box / 2 + 0.5);
    pen.restore();
    pen.setLineDash(dash);
    pen.lineWidth = thick;
    pen.strokeStyle = this.ink(line);
    pen.stroke(outline);
    pen.setLineDash([]);
    if (mark) this.#text(mark, x + width - 6, y - 5, "loss-text");
  }

  /**
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {string} ink
   */
  #hatch(x, y, width, ink) {
    const { pen } = this;
    pen.globalAlpha = 0.22;
    pen.strokeStyle = this.ink(ink);
    pen.lineWidth = 1;
    pen.beginPath();
    for (let at = x - HEIGHT.box; at < x + width; at += 6) {
      pen.moveTo(at, y + HEIGHT.box);
      pen.lineTo(at + HEIGHT.box, y);
    }
    pen.stroke();
    pen.globalAlpha = 1;
  }

  /**
   * @param {Slot} slot
   * @param {number} y
   */
  #hole(slot, y) {
    const { pen } = this;
    pen.setLineDash([4, 3]);
    pen.lineWidth = 1.5;
    pen.strokeStyle = this.ink("loss");
    pen.fillStyle = this.ink("ground");
    pen.beginPath();
    pen.roundRect(this.#x(slot.x) + 0.5, y + 0.5, slot.width * this.scene.scale - 1, HEIGHT.box - 1, 4);
    pen.fill();
    pen.stroke();
    pen.setLineDash([]);
  }

  /**
   * @param {Slot} slot
   * @param {number} from
   * @param {number} to
   * @param {string} ink
   * @param {number} thick
   */
  #line(slot, from, to, ink, thick) {
    const { pen } = this;
    pen.fillStyle = this.ink(ink);
    pen.fillRect(this.#middle(slot) - thick / 2, Math.min(from, to), thick, Math.abs(to - from));
  }

  /** @param {Slot} slot */
  #middle(slot) {
    return this.#x(slot.x) + (slot.width * this.scene.scale) / 2;
  }

  /**
   * @param {Slot} slot
   * @param {number} y
   * @param {string} ink
   */
  #cross(slot, y, ink) {
    const { pen } = this;
    const x = this.#middle(slot);
    pen.strokeStyle = this.ink(ink);
    pen.lineWidth = 2;
    pen.beginPath();
    pen.moveTo(x - 5, y - 5);
    pen.lineTo(x + 5, y + 5);
    pen.moveTo(x + 5, y - 5);
    pen.lineTo(x - 5, y + 5);
    pen.stroke();
  }

  /**
   * @param {Slot} slot
   * @param {number} y
   */
  #stop(slot, y) {
    this.pen.fillStyle = this.ink("loss");
    this.pen.fillRect(this.#middle(slot) - 8, y - 1.5, 16, 3);
  }

  /**
   * @param {Slot} slot
   * @param {string} word
   * @param {number} y
   * @param {string} ink
   */
  #word(slot, word, y, ink) {
    this.#text(word, this.#middle(slot), y, ink, "center");
  }

  /**
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {string} ink
   * @param {CanvasTextAlign} [align]
   */
  #text(text, x, y, ink, align = "left", font = SMALL_FONT) {
    const { pen } = this;
    pen.font = font;
    pen.fillStyle = this.ink(ink === "loss" ? "loss-text" : ink);
    pen.textBaseline = "middle";
    pen.textAlign = align;
    pen.fillText(text, x, y);
  }

  /**
   * A text that nothing behind it strikes through.
   * @param {string} text
   * @param {number} x
   * @param {number} y
   * @param {string} ink
   */
  #onGround(text, x, y, ink, ground = "ground", font = SMALL_FONT) {
    const { pen } = this;
    pen.font = font;
    pen.fillStyle = this.ink(ground);
    pen.fillRect(x - 3, y - 9, pen.measureText(text).width + 6, 18);
    this.#text(text, x, y, ink, "left", font);
  }

  /**
   * @param {Slot} slot
   * @param {number} y
   * @param {number} round
   */
  #ring(slot, y, round) {
    const { model, selected, hover } = this.scene;
    const holds = (/** @type {number | null} */ i) => i !== null && slot.start <= i && i < slot.end;
    if (!holds(selected) && !holds(hover)) return;
    const { pen } = this;
    pen.lineWidth = holds(selected) ? 2.5 : 1.5;
    pen.strokeStyle = this.ink("accent");
    pen.globalAlpha = model.count && holds(selected) ? 1 : 0.6;
    pen.beginPath();
    const [left, right] = [
      Math.max(1.5, this.#x(slot.x) - 2.5),
      this.#x(slot.x) + slot.width * this.scene.scale + 2.5,
    ];
    pen.roundRect(left, y - 2.5, right - left, HEIGHT.box + 5, round + 2);
    pen.stroke();
    pen.globalAlpha = 1;
  }

  /** Columns of pixels where cells are too small for a box: what is wrong in one is seen before what is right. */
  #bands() {
    const { scene } = this;
    for (const column of columnsOf(scene, this.first, this.last)) {
      if (column.rank >= scene.shown) break;
      this.#column(column);
    }
    this.pen.globalAlpha = 1;
  }

  /** @param {PixelColumn} column */
  #column(column) {
    const { x, width } = column;
    const { pen, scene } = this;
    const { model, rows } = scene;
    const fill = (
      /** @type {string} */ ink,
      /** @type {number} */ y,
      /** @type {number} */ height,
      /** @type {number} */ alpha,
    ) => {
      pen.globalAlpha = alpha;
      pen.fillStyle = this.ink(ink);
      pen.fillRect(x, y, ink === "loss" ? Math.max(2, width) : width, height);
    };
    fill(column.framing ? "line-strong" : blockHue(model.blockAt(column.cell)), rows.model, HEIGHT.box, 0.45);
    for (const [number, { lanes }] of model.pictures.entries()) {
      const server = rows.servers[number];
      const marks = column.marks[number];
      for (let lane = 0; lane < marks.length; lane++) {
        if (!marks[lane]) continue;
        const top = laneTop(server, lane);
        if (marks[lane] & ARRIVED) fill(lanes[lane]?.hue ?? "other", top, HEIGHT.box, 1);
        if (marks[lane] & STRAY) fill("loss", top, HEIGHT.box, 1);
        if (marks[lane] & HOLE) fill("loss", top + HEIGHT.box - 3, 3, 1);
      }
      if (column.stopped[number])
        fill("loss", server.down > 0 ? server.bar - 10 : server.bar + HEIGHT.bar, 10, 1);
    }
  }

  #times() {
    const { scene } = this;
    const { model, slots, rows } = scene;
    let free = scene.gutter;
    let before = "";
    const y = rows.time + HEIGHT.time / 2 - 2;
    for (
      let k = this.first;
      k <= this.last;
      k += this.legible ? 1 : Math.max(1, (this.last - this.first) >> 8)
    ) {
      if (slots.ranks[k] >= scene.shown) break;
      const start = slots.starts[k];
      if (slots.kinds[k] === INSERT || (this.legible && !model.events.startsAt(start))) continue;
      const x = this.#x(slots.xs[k]);
      const label = duration(model.events.time(start));
      if (!label || label === before || x < free) continue;
      this.#text(label, x, y, "faint", "left", PILL_FONT);
      free = x + 84;
      before = label;
    }
  }

  #now() {
    const { pen, scene } = this;
    if (!scene.now) return;
    const x = this.#x(scene.slots.edge(scene.shown));
    pen.fillStyle = this.ink("accent");
    pen.fillRect(Math.round(x), (scene.rows.band ?? scene.rows.time + HEIGHT.time) - 4, 2, scene.rows.height);
    const right = x > scene.width - 40;
    this.#text("now", x + (right ? -5 : 7), scene.rows.height - 5, "accent", right ? "right" : "left");
  }

  #names() {
    const { pen, scene } = this;
    const { rows, model, gutter } = scene;
    for (const [number, server] of rows.servers.entries()) {
      const picture = model.pictures[number];
      const most = picture?.perEvent ?? 0;
      const events = most > 1 ? ` · up to ${NUMBER.format(most)} tokens per event` : "";
      const y = server.bar + HEIGHT.bar / 2;
      const x = (gutter || 8) + 10;
      if (picture?.server === "")
        this.#onGround("no server: a list of token IDs", x, y, "faint", "ground", NAME_FONT);
      else if (scene.ghost) this.#onGround(picture?.server ?? "", x, y, "text", "ground", NAME_FONT);
      else this.#onGround((picture?.server ?? "the server") + events, x, y, "bar-text", "bar", NAME_FONT);
      for (const { top, lanes } of server.rows) {
        const lane = picture?.lanes[lanes[0]];
        if (lane) this.#name(lanes.length > 1 ? `${lanes.length} more` : lane.label, top, lane.hue);
      }
      if (server.folded && number === rows.servers.length - 1) {
        const words = `${count(server.folded, "more field")}, without tokens in view`;
        this.#text(words, 0, rows.height - 9, "faint");
      }
    }
    if (gutter) this.#name("the model wrote", rows.model, "text");
    if (gutter && rows.ids)
      this.#text("token IDs", 0, rows.model + HEIGHT.box + rows.ids / 2, "faint", "left", SMALL_MONO);
    pen.textAlign = "left";
  }

  /**
   * @param {string} words
   * @param {number} top
   * @param {string} hue
   */
  #name(words, top, hue) {
    const { scene } = this;
    const y = scene.gutter ? top + HEIGHT.box / 2 : top - 9;
    const most = (scene.gutter || scene.width) - 10;
    const fits = this.#wide(words, NAME_FONT) <= most;
    const shorter = fits ? words : this.#fitted(words.replace(/\(…\)$/, ""), most, NAME_FONT);
    this.#text(shorter, 0, y, hue, "left", NAME_FONT);
  }

  /** The whole stream in one line, where the view is a part of it: messages, what is wrong, and the view. */
  #map() {
    const { pen, scene } = this;
    const { model, slots, gutter } = scene;
    const wide = scene.width - gutter;
    const share = wide / scene.scale / (slots.width || 1);
    if (share >= 0.999 || !slots.length) return;
    const x = (/** @type {number} */ at) => gutter + (at / slots.width) * wide;
    for (const block of model.blocks) {
      if (block.end > slots.cells || block.end <= block.start) continue;
      const [a, b] = [slots.slotOf[block.start], slots.slotOf[block.end - 1]];
      pen.fillStyle = this.ink(blockHue(block));
      pen.globalAlpha = 0.55;
      const right = x(slots.xs[b] + slots.widths[b]);
      pen.fillRect(x(slots.xs[a]), 3, Math.max(1, right - x(slots.xs[a])), 5);
    }
    pen.globalAlpha = 1;
    pen.fillStyle = this.ink("loss");
    for (const { start, marks } of model.findings) {
      if (start === null || !marks || start >= slots.cells) continue;
      pen.fillRect(x(slots.xs[slots.slotOf[start]]) - 1, 0, 3, HEIGHT.map);
    }
    pen.strokeStyle = this.ink("accent");
    pen.lineWidth = 1.5;
    pen.strokeRect(x(scene.left), 0.75, Math.max(4, share * wide), HEIGHT.map - 1.5);
  }
}

/** @param {string} sign */
function markOf(sign) {
  return SIGN_MARKS[/** @type {keyof typeof SIGN_MARKS} */ (sign)];
}
