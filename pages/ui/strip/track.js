// The track of the time bar: ticks at message boundaries, marks at findings, the played part, the chosen cell.

/** @import { Axis } from "./axis.js" */
/** @import { Model } from "./model.js" */

const KNOB = 8; // half the width of the slider's knob

/**
 * @typedef {object} TrackState
 * @property {number} share the played part of the axis
 * @property {number} shown cells that had arrived
 * @property {number | null} selected
 */

/**
 * @param {HTMLCanvasElement} track
 * @param {Model} model
 * @param {Axis} axis
 * @param {TrackState} state
 */
export function paintTrack(track, model, axis, { share, shown, selected }) {
  const { clientWidth: width, clientHeight: height } = track;
  if (!width) return;
  const pen = penOf(track, width, height);
  const style = getComputedStyle(track);
  const ink = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const middle = height / 2;
  /** @param {number} cell */
  const x = (cell) => {
    const place = axis.length ? axis.placeOf(model.rankOf(cell) + 1) / axis.length : 0;
    return KNOB + (width - KNOB * 2) * place;
  };
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
  bar(KNOB, width - KNOB, 3, ink("--line-strong"));
  bar(KNOB, KNOB + (width - KNOB * 2) * share, 3, ink("--accent"));
  let last = -9;
  for (const block of model.blocks) {
    if (block.start === 0) continue;
    const at = Math.round(x(block.start));
    if (at - last < 2) continue;
    last = at;
    bar(at - 0.5, at + 0.5, 12, ink("--faint"));
  }
  last = -9;
  for (const finding of model.findings) {
    if (finding.start === null || finding.knownAt > shown) continue;
    const at = Math.round(x(finding.start));
    if (at === last) continue;
    last = at;
    bar(at - 1.5, at + 1.5, 16, ink(finding.severity === "error" ? "--loss" : "--warn"));
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
 * A pen for an empty canvas with as many points as the screen has.
 * @param {HTMLCanvasElement} track
 * @param {number} width
 * @param {number} height
 */
function penOf(track, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [points, lines] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (track.width !== points) track.width = points;
  if (track.height !== lines) track.height = lines;
  const pen = /** @type {CanvasRenderingContext2D} */ (track.getContext("2d"));
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}
