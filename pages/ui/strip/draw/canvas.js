// What a canvas is for: pens and colours for the track, widths of texts, and whether a colour is dark.

/** @import { TextWidth } from "../layout/sizes.js" */

const REMEMBERED = 50_000; // texts whose width is kept

/**
 * Colours of the sheet by name.
 * @param {HTMLCanvasElement} canvas
 */
export function inkOf(canvas) {
  const style = getComputedStyle(canvas);
  return (/** @type {string} */ name) => style.getPropertyValue(name).trim();
}

/**
 * A pen for an empty canvas with as many points as the screen has.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function penOf(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [points, lines] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== points) canvas.width = points;
  if (canvas.height !== lines) canvas.height = lines;
  const pen = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

/**
 * Widths as the browser draws them, each measured once on a canvas.
 * @returns {TextWidth}
 */
export function measuredOnCanvas() {
  const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  /** @type {Map<string, number>} */
  const known = new Map();
  return (text, font) => {
    const key = `${font}\n${text}`;
    let width = known.get(key);
    if (width === undefined) {
      if (known.size > REMEMBERED) known.clear();
      pen.font = font;
      width = pen.measureText(text).width;
      known.set(key, width);
    }
    return width;
  };
}

/**
 * Whether a colour is dark.
 * @param {string} colour as CSS has it
 */
export function isDark(colour) {
  const pen = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  pen.fillStyle = "#ffffff";
  pen.fillStyle = colour; // one that is none changes nothing
  const hex = /^#(..)(..)(..)/.exec(pen.fillStyle);
  if (!hex) return false;
  const [red, green, blue] = hex.slice(1).map((part) => Number.parseInt(part, 16));
  return red * 0.299 + green * 0.587 + blue * 0.114 < 128;
}
