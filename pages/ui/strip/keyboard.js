// The keys of the strip, while its tokens have the focus. strip.html lists them.

import { nextBlock, nextFinding } from "./selection.js";

/** @import { Strip } from "./strip.js" */

/** @type {Map<string, (strip: Strip) => void>} */
const ACTIONS = new Map([
  ["ArrowRight", (strip) => move(strip, 1)],
  ["ArrowLeft", (strip) => move(strip, -1)],
  ["ArrowDown", (strip) => moveRows(strip, 1)],
  ["ArrowUp", (strip) => moveRows(strip, -1)],
  ["PageDown", (strip) => moveRows(strip, strip.view.rowsInSight)],
  ["PageUp", (strip) => moveRows(strip, -strip.view.rowsInSight)],
  ["Home", (strip) => strip.moveTo(0)],
  ["End", (strip) => strip.moveTo(strip.model.count - 1)],
  ["n", (strip) => moveToFinding(strip, 1)],
  ["p", (strip) => moveToFinding(strip, -1)],
  ["]", (strip) => moveToBlock(strip, 1)],
  ["[", (strip) => moveToBlock(strip, -1)],
  [" ", (strip) => strip.time.toggle()],
  ["g", (strip) => strip.goto.open()],
  ["/", (strip) => strip.finder.open()],
  ["?", (strip) => strip.help()],
]);

/**
 * Do what a key means; false when it means nothing here.
 * @param {Strip} strip
 * @param {KeyboardEvent} event
 */
export function onKey(strip, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  const act = ACTIONS.get(event.key);
  if (!act) return false;
  event.preventDefault();
  event.stopPropagation();
  act(strip);
  return true;
}

/**
 * One cell on or back; from nowhere to the first, or to the newest one shown.
 * @param {Strip} strip
 * @param {1 | -1} by
 */
function move(strip, by) {
  const { token } = strip.selection;
  if (token === null) strip.moveTo(by > 0 ? 0 : strip.time.shown - 1);
  else strip.moveTo(token + by);
}

/**
 * @param {Strip} strip
 * @param {number} rows
 */
function moveRows(strip, rows) {
  const { token } = strip.selection;
  strip.moveTo(token === null ? 0 : strip.layout.beside(token, rows));
}

/**
 * @param {Strip} strip
 * @param {1 | -1} by
 */
export function moveToFinding(strip, by) {
  const number = nextFinding(strip.model, strip.selection, by);
  if (number !== null) strip.choose(number);
}

/**
 * @param {Strip} strip
 * @param {1 | -1} by
 */
function moveToBlock(strip, by) {
  const cell = nextBlock(strip.model, strip.selection.token, by);
  if (cell !== null) strip.select(cell);
}
