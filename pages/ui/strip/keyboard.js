// The keys of the strip, while its tokens have the focus. strip.html lists them.

import { nextBlock, nextFinding } from "./selection.js";

/** @import { Strip } from "./strip.js" */

/** @typedef {{ extends: boolean }} How whether the step makes the chosen range longer */

/** @type {Map<string, (strip: Strip, how: How) => void>} */
const ACTIONS = new Map([
  ["ArrowRight", (strip, how) => move(strip, 1, how)],
  ["ArrowLeft", (strip, how) => move(strip, -1, how)],
  ["ArrowDown", (strip, how) => moveRows(strip, 1, how)],
  ["ArrowUp", (strip, how) => moveRows(strip, -1, how)],
  ["PageDown", (strip, how) => moveRows(strip, strip.view.rowsInSight, how)],
  ["PageUp", (strip, how) => moveRows(strip, -strip.view.rowsInSight, how)],
  ["Home", (strip, how) => strip.moveTo(0, how)],
  ["End", (strip, how) => strip.moveTo(strip.model.count - 1, how)],
  ["Escape", (strip) => strip.select(strip.selection.token)],
  ["n", (strip) => moveToFinding(strip, 1)],
  ["p", (strip) => moveToFinding(strip, -1)],
  ["]", (strip) => moveToBlock(strip, 1)],
  ["[", (strip) => moveToBlock(strip, -1)],
  [" ", (strip) => strip.time.toggle()],
  ["l", (strip) => strip.parts.loop.click()],
  ["+", (strip) => strip.parts["zoom-in"].click()],
  ["=", (strip) => strip.parts["zoom-in"].click()],
  ["-", (strip) => strip.parts["zoom-out"].click()],
  ["0", (strip) => strip.parts["zoom-fit"].click()],
  ["z", (strip) => strip.time.zoomToChosen()],
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
  act(strip, { extends: event.shiftKey });
  return true;
}

/**
 * One cell on or back; from nowhere to the first, or to the newest one shown.
 * @param {Strip} strip
 * @param {1 | -1} by
 * @param {How} how
 */
function move(strip, by, how) {
  const { token } = strip.selection;
  if (token === null) strip.moveTo(by > 0 ? 0 : strip.time.shown - 1, how);
  else strip.moveTo(token + by, how);
}

/**
 * @param {Strip} strip
 * @param {number} rows
 * @param {How} how
 */
function moveRows(strip, rows, how) {
  const { token } = strip.selection;
  strip.moveTo(token === null ? 0 : strip.layout.beside(token, rows), how);
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
