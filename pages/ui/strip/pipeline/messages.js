// Over the tokens a band for each message, with a dotted line where one ends, and under each token its ID.

import { plainText } from "../../text.js";
import { blockHue, blockWords } from "../model/blocks.js";
import { HEIGHT } from "./rows.js";
import { INSERT, SMALL_MONO } from "./slots.js";

/** @import { Placed } from "../model/blocks.js" */
/** @import { Scene } from "./paint.js" */

/**
 * @typedef {object} Brush
 * @property {CanvasRenderingContext2D} pen
 * @property {(name: string) => string} ink
 * @property {(x: number) => number} x of the slots, on the canvas
 * @property {(i: number) => number} top edge of a token of the model
 */

const LEAST = 48; // pixels of a band that has a name
const BAND_FONT =
  '600 11px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';

/**
 * @param {Brush} brush
 * @param {Scene} scene
 * @param {number} first slot in view
 */
export function paintMessages(brush, scene, first) {
  const { model, slots, rows, shown, gutter, width } = scene;
  const { pen } = brush;
  if (rows.band === null || !slots.length || !slots.cells) return;
  const line = rows.band + HEIGHT.band - 4;
  const known = Math.min(shown, slots.cells);
  for (let n = model.blockOf(Math.min(slots.starts[first], slots.cells - 1)); n < model.blocks.length; n++) {
    const block = model.blocks[n];
    if (block.start >= known) return;
    const [a, b] = [slots.slotOf[block.start], slots.slotOf[Math.min(block.end, known) - 1]];
    const left = brush.x(slots.xs[a]);
    if (left > width) return;
    const right = brush.x(slots.xs[b] + slots.widths[b]);
    if (n > 0) dots(brush, left - 2, rows.band + 4, rows.servers[0].bar);
    if (block.unnamed) continue;
    pen.fillStyle = brush.ink(blockHue(block));
    pen.fillRect(left, line, right - left, 2);
    const [from, to] = [Math.max(left, gutter), block.end >= known ? width : right];
    if (to - from < LEAST) continue;
    pen.save();
    pen.beginPath();
    pen.rect(from, rows.band, to - from, HEIGHT.band);
    pen.clip();
    const words = plainText(bandWords(scene, block, known), 60);
    pen.font = BAND_FONT;
    pen.textAlign = "left";
    pen.textBaseline = "middle";
    pen.fillText(words, from, rows.band + 8);
    pen.restore();
  }
}

/**
 * @param {Scene} scene
 * @param {Placed} block
 * @param {number} known cells that had arrived
 */
function bandWords({ model }, block, known) {
  const { title } = blockWords(model, block, known, known < block.body);
  const named = title.replace("→ functions.", "→ ");
  return block.number === null ? named : `message ${block.number} · ${named}`;
}

/**
 * @param {Brush} brush
 * @param {number} x
 * @param {number} top
 * @param {number} bottom
 */
function dots({ pen, ink }, x, top, bottom) {
  pen.setLineDash([1.5, 3]);
  pen.lineWidth = 1;
  pen.strokeStyle = ink("faint");
  pen.beginPath();
  pen.moveTo(Math.round(x) + 0.5, top);
  pen.lineTo(Math.round(x) + 0.5, bottom);
  pen.stroke();
  pen.setLineDash([]);
}

/**
 * @param {Brush} brush
 * @param {Scene} scene
 * @param {number} first slot in view
 * @param {number} last
 */
export function paintIds(brush, { model, slots, rows, shown }, first, last) {
  const { pen } = brush;
  pen.font = SMALL_MONO;
  pen.fillStyle = brush.ink("faint");
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  for (let k = first; k <= last && slots.ranks[k] < shown; k++) {
    const i = slots.starts[k];
    if (slots.kinds[k] === INSERT || slots.ends[k] - i !== 1) continue; // of a header in one pill no ID is the one
    const id = model.idOf(i) ?? model.unsentOf(i)?.id ?? null;
    if (id === null) continue;
    const x = brush.x(slots.xs[k] + slots.widths[k] / 2);
    const y = brush.top(i) + HEIGHT.box + rows.ids / 2 + 1;
    pen.fillText(String(id), x, y);
  }
}
