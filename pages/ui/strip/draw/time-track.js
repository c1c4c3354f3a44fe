// The track of the time bar, as far as it is zoomed: ticks at message boundaries, marks at findings, the played
// part, the chosen range and the chosen cell.

import { inkOf, penOf } from "./canvas.js";

/** @import { TimeAxis } from "../model/time-axis.js" */
/** @import { Model } from "../model/model.js" */
/** @import { Range } from "../model/cell-range.js" */
/** @import { Zoom } from "../model/axis-zoom.js" */

export const KNOB = 8; // half the width of the slider's knob
const MARK = 3; // pixels that one finding takes
const CROWDED = 0.2; // share of the track that marks may fill before they are drawn as density

/**
 * @typedef {object} TrackState
 * @property {Zoom} zoom
 * @property {number} share the played part of the axis
 * @property {number} shown cells that had arrived
 * @property {number | null} selected
 * @property {Range | null} range
 */

/**
 * @param {HTMLCanvasElement} track
 * @param {Model} model
 * @param {TimeAxis} axis
 * @param {TrackState} state
 */
export function paintTrack(track, model, axis, { zoom, share, shown, selected, range }) {
  const { clientWidth: width, clientHeight: height } = track;
  if (!width) return;
  const pen = penOf(track, width, height);
  const ink = inkOf(track);
  const middle = height / 2;
  const wide = width - KNOB * 2;
  const inside = (/** @type {number} */ view) => KNOB + wide * Math.max(0, Math.min(1, view));
  const x = (/** @type {number} */ cell) => KNOB + wide * zoom.toView(shareOf(model, axis, cell));
  /**
   * @param {number} left
   * @param {number} right
   * @param {number} high
   * @param {string} colour
   */
  const bar = (left, right, high, colour) => {
    pen.fillStyle = colour;
    pen.fillRect(left, middle - high / 2, right - left, high);
  };
  if (range) {
    const [left, right] = [range.start, range.end - 1].map((cell) => zoom.toView(shareOf(model, axis, cell)));
    pen.globalAlpha = 0.22;
    bar(inside(left) - 1, inside(right) + 1, height, ink("--accent"));
    pen.globalAlpha = 1;
  }
  bar(KNOB, width - KNOB, 3, ink("--line-strong"));
  bar(KNOB, inside(zoom.toView(share)), 3, ink("--accent"));
  let last = -9;
  for (const block of model.blocks) {
    if (block.start === 0) continue;
    const at = Math.round(x(block.start));
    if (at - last < 2 || at < 0 || at > width) continue;
    last = at;
    bar(at - 0.5, at + 0.5, 12, ink("--faint"));
  }
  const marks = marksIn(model, shown, x, width);
  const most = Math.max(1, ...[...marks.values()].map((mark) => mark.count));
  const crowded = marks.size * MARK > wide * CROWDED;
  for (const [at, mark] of marks) {
    const colour = ink(mark.error ? "--loss" : "--warn");
    if (crowded) bar(at - 0.5, at + 0.5, 5 + (9 * mark.count) / most, colour);
    else bar(at - MARK / 2, at + MARK / 2, 16, colour);
  }
  if (selected === null || selected >= model.count) return;
  const at = x(selected);
  pen.fillStyle = ink("--accent");
  pen.beginPath();
  pen.moveTo(at - 4, height);
  pen.lineTo(at + 4, height);
  pen.lineTo(at, height - 6);
  pen.fill();
}

/**
 * The place of a cell on the axis, as a share of it.
 * @param {Model} model
 * @param {TimeAxis} axis
 * @param {number} cell
 */
export function shareOf(model, axis, cell) {
  return axis.length ? axis.placeOf(model.rankOf(cell) + 1) / axis.length : 0;
}

/**
 * How many findings each mark stands for, by its pixel.
 * @param {Model} model
 * @param {number} shown
 * @param {(cell: number) => number} x
 * @param {number} width
 */
function marksIn(model, shown, x, width) {
  /** @type {Map<number, { count: number, error: boolean }>} */
  const marks = new Map();
  for (const { start, knownAt, severity } of model.findings) {
    if (start === null || knownAt > shown) continue;
    const at = Math.round(x(start) / MARK) * MARK;
    if (at < 0 || at > width) continue;
    const mark = marks.get(at) ?? { count: 0, error: false };
    marks.set(at, { count: mark.count + 1, error: mark.error || severity === "error" });
  }
  return marks;
}
