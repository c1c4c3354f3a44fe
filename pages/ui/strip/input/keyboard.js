// The keys of the strip, while its tokens have the focus. strip.html lists them.

import { nextBlock, nextFinding } from "../model/selection.js";

/** @import { Elements } from "../elements.js" */
/** @import { Strip } from "../strip.js" */

/** @typedef {{ extends: boolean }} How whether the step makes the chosen range longer */

/** @type {Map<string, (strip: Strip, how: How) => void>} */
const ACTIONS = new Map([
  ["ArrowRight", (strip, how) => move(strip, 1, how)],
  ["ArrowLeft", (strip, how) => move(strip, -1, how)],
  ["ArrowDown", (strip, how) => moveRows(strip, 1, how)],
  ["ArrowUp", (strip, how) => moveRows(strip, -1, how)],
  ["PageDown", (strip, how) => moveRows(strip, strip.view.rowsInSight, how)],
  ["PageUp", (strip, how) => moveRows(strip, -strip.view.rowsInSight, how)],
  ["Home", (strip, how) => moveToEnd(strip, 0, 1, how)],
  ["End", (strip, how) => moveToEnd(strip, strip.model.count - 1, -1, how)],
  ["Escape", (strip) => strip.select(strip.selection.token)],
  ["n", (strip) => moveToFinding(strip, 1)],
  ["p", (strip) => moveToFinding(strip, -1)],
  ["]", (strip) => moveToBlock(strip, 1)],
  ["[", (strip) => moveToBlock(strip, -1)],
  [" ", (strip) => strip.time.toggle()],
  ["l", (strip) => strip.elements.loop.click()],
  ["+", (strip) => strip.elements["zoom-in"].click()],
  ["=", (strip) => strip.elements["zoom-in"].click()],
  ["-", (strip) => strip.elements["zoom-out"].click()],
  ["0", (strip) => strip.elements["zoom-fit"].click()],
  ["z", (strip) => strip.time.zoomToChosen()],
  ["c", (strip) => strip.display.fold(blockAt(strip))],
  ["C", (strip) => strip.display.fold(null)],
  ["h", (strip) => strip.display.showFraming(!strip.layout.folds.framing)],
  ["v", (strip) => strip.display.showClient(!strip.display.client)],
  ["g", (strip) => strip.goto.open()],
  ["/", (strip) => strip.finder.open()],
  ["?", (strip) => showHelp(strip.elements)],
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

/** @param {Elements} elements */
export function showHelp({ help }) {
  if (!help.open) help.showModal();
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
  else strip.moveTo(strip.layout.folds.beside(token, by), how);
}

/**
 * To the first or last cell that is shown.
 * @param {Strip} strip
 * @param {number} i
 * @param {1 | -1} by from there
 * @param {How} how
 */
function moveToEnd(strip, i, by, how) {
  if (strip.model.count) strip.moveTo(strip.layout.folds.from(i, by), how);
}

/**
 * The first cell of the block of the chosen cell, or of the first block.
 * @param {Strip} strip
 */
function blockAt({ model, selection }) {
  return model.count ? model.blockAt(selection.token ?? 0).start : 0;
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
  if (cell !== null) strip.select(strip.layout.folds.from(cell, 1));
}
