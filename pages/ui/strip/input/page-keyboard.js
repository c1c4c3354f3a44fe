// Keys that work without a click into the strip. Keys that scroll the page stay the page's.

import { onKey } from "./keyboard.js";

/** @import { Strip } from "../strip.js" */

const LETTERS = new Set(["n", "p", "[", "]", "g", "/", "?", "v", "h", "z", "l"]);
const ARROWS = new Set(["ArrowLeft", "ArrowRight"]);
const TYPED =
  "input, textarea, select, [contenteditable], [role=listbox], [role=grid], [role=combobox], dialog";
const MOVED = `${TYPED}, button, a, [role=tab], [role=radio], [role=slider], [role=menuitem]`;
/** @type {Set<Strip>} strips on the page; the first one hears */
const strips = new Set();

/** @param {Strip} strip */
export function hearPage(strip) {
  if (!strips.size) document.addEventListener("keydown", hear);
  strips.add(strip);
}

/** @param {Strip} strip */
export function leavePage(strip) {
  strips.delete(strip);
  if (!strips.size) document.removeEventListener("keydown", hear);
}

/** @param {KeyboardEvent} event */
function hear(event) {
  if (event.defaultPrevented) return;
  const strip = [...strips].find(({ root }) => root.isConnected);
  const target = event.composedPath()[0];
  if (!strip || !(target instanceof Element)) return;
  if (isFind(event)) {
    if (target.closest(TYPED) && !strip.root.contains(target)) return;
    event.preventDefault();
    strip.finder.open();
    strip.elements.find.scrollIntoView({ block: "nearest" });
    return;
  }
  const hears = LETTERS.has(event.key) ? TYPED : ARROWS.has(event.key) ? MOVED : null;
  if (hears === null || target.closest(hears)) return;
  if (!onKey(strip, event)) return;
  if (event.key === "/" || event.key === "?" || event.key === "g") return;
  strip.elements.scroller.focus({ preventScroll: true });
  strip.elements.scroller.scrollIntoView({ block: "nearest" });
}

/**
 * The browser's own search sees only the tokens that are drawn. Pressed again in the form, it is the browser's.
 * @param {KeyboardEvent} event
 */
function isFind(event) {
  return (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey && event.key === "f";
}
