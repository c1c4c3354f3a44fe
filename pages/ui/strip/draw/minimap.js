// The whole stream in one line under the track: its messages, how dense its losses are, and what the track shows.

import { blockHue } from "../model/blocks.js";
import { inkOf, penOf } from "./canvas.js";
import { KNOB, shareOf } from "./time-track.js";

/** @import { TimeAxis } from "../model/time-axis.js" */
/** @import { Model } from "../model/model.js" */
/** @import { Zoom } from "../model/axis-zoom.js" */

const BIN = 3; // pixels

/** @typedef {{ width: number, version: number, share: Float32Array }} Density lost cells of those in each bin */

/** @type {WeakMap<TimeAxis, Density>} made once for an axis and a width: it reads all cells */
const known = new WeakMap();

/**
 * @param {HTMLCanvasElement} map
 * @param {Model} model
 * @param {TimeAxis} axis
 * @param {{ zoom: Zoom, shown: number }} state
 */
export function paintMinimap(map, model, axis, { zoom, shown }) {
  const { clientWidth: width, clientHeight: height } = map;
  if (!width) return;
  const pen = penOf(map, width, height);
  if (!model.count) return;
  const ink = inkOf(map);
  const wide = width - KNOB * 2;
  const x = (/** @type {number} */ share) => KNOB + wide * share;
  const upTo = axis.length ? axis.placeOf(shown) / axis.length : 1;
  let last = 0;
  for (const block of model.blocks) {
    const end = x(shareOf(model, axis, block.end - 1));
    if (model.rankOf(block.start) >= shown) continue;
    pen.fillStyle = ink(`--${blockHue(block)}`);
    pen.fillRect(
      Math.min(last || KNOB, end),
      height - 3,
      Math.max(1, Math.min(end, x(upTo)) - (last || KNOB)),
      3,
    );
    last = end;
  }
  const { share } = densityOf(model, axis, wide);
  pen.fillStyle = ink("--loss");
  for (let bin = 0; bin < share.length; bin++) {
    if (!share[bin] || (bin * BIN) / wide > upTo) continue;
    const high = 2 + (height - 6) * Math.min(1, share[bin]);
    pen.fillRect(KNOB + bin * BIN, height - 4 - high, BIN - 1, high);
  }
  if (!zoom.zoomed) return;
  const [left, right] = [x(zoom.from), x(zoom.until)];
  pen.fillStyle = ink("--accent");
  pen.globalAlpha = 0.16;
  pen.fillRect(left, 0, Math.max(2, right - left), height);
  pen.globalAlpha = 1;
  pen.strokeStyle = ink("--accent");
  pen.strokeRect(left + 0.5, 0.5, Math.max(2, right - left - 1), height - 1);
}

/**
 * The share of an axis at a place of the map.
 * @param {HTMLCanvasElement} map
 * @param {number} clientX
 */
export function shareAt(map, clientX) {
  const { left, width } = map.getBoundingClientRect();
  return Math.max(0, Math.min(1, (clientX - left - KNOB) / (width - KNOB * 2)));
}

/**
 * @param {Model} model
 * @param {TimeAxis} axis
 * @param {number} width
 */
function densityOf(model, axis, width) {
  const before = known.get(axis);
  const version = model.findings.length;
  if (before && before.width === width && before.version === version) return before;
  const bins = Math.ceil(width / BIN) + 1;
  const all = new Uint32Array(bins);
  const lost = new Uint32Array(bins);
  const wrong = model.wrong.values;
  let step = 0;
  for (let rank = 0; rank < model.count; rank++) {
    while (step < axis.ends.length - 1 && axis.ends[step] <= rank) step++;
    const place = axis.length ? (axis.places[step] ?? 0) / axis.length : 0;
    const bin = Math.floor((place * width) / BIN);
    const cell = model.arrived(rank);
    all[bin]++;
    if (wrong[cell] || model.unsentOf(cell)) lost[bin]++;
  }
  const drawing = {
    width,
    version,
    share: Float32Array.from(lost, (count, bin) => (all[bin] ? count / all[bin] : 0)),
  };
  known.set(axis, drawing);
  return drawing;
}
